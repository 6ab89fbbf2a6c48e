//! What stands between us and a server: the variables that curl and wget read.

use std::path::{Path, PathBuf};

use ureq::http::Uri;

/// Proxies by scheme, the hosts that need none, and whom to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    http: Option<String>,
    https: Option<String>,
    none_for: Vec<String>,
    certificates: Option<PathBuf>,
}

impl Network {
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment, in capitals or not; and
    /// `SSL_CERT_FILE`, a PEM file of certificates to trust instead of Mozilla's, as companies' proxies need.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The same from any source of variables. An empty one counts as absent.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            let named = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
            named(&name.to_lowercase()).or_else(|| named(name))
        };
        let all = either("ALL_PROXY");
        Self {
            http: either("HTTP_PROXY").or_else(|| all.clone()),
            https: either("HTTPS_PROXY").or(all),
            none_for: either("NO_PROXY")
                .unwrap_or_default()
                .split(',')
                .map(|host| host.trim().trim_start_matches('.').to_lowercase())
                .filter(|host| !host.is_empty())
                .collect(),
            certificates: variable("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from),
        }
    }

    /// The proxy for this address, if it needs one.
    pub(crate) fn proxy(&self, uri: &Uri) -> Option<&str> {
        let host = uri.host()?.trim_matches(['[', ']']).to_lowercase();
        let port = uri.port_u16();
        let exempt = |rule: &String| {
            let (name, rule_port) = match rule.rsplit_once(':') {
                Some((name, digits)) if !name.contains(':') => (name, digits.parse().ok()),
                _ => (rule.as_str(), None),
            };
            let named = host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            name == "*" || (named && (rule_port.is_none() || rule_port == port))
        };
        if self.none_for.iter().any(exempt) {
            return None;
        }
        if uri.scheme_str() == Some("https") { self.https.as_deref() } else { self.http.as_deref() }
    }

    /// The file of certificates to trust, if not the built-in ones.
    #[cfg_attr(not(feature = "https"), allow(dead_code))]
    pub(crate) fn certificates(&self) -> Option<&Path> {
        self.certificates.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
        Network::from_variables(find).proxy(&url.parse().unwrap()).map(String::from)
    }

    #[test]
    fn the_scheme_chooses_and_all_proxy_fills_in() {
        let both = [("HTTP_PROXY", "http://a"), ("https_proxy", "http://b")];
        assert_eq!(of(&both, "http://x.org/").as_deref(), Some("http://a"));
        assert_eq!(of(&both, "https://x.org/").as_deref(), Some("http://b"));
        assert_eq!(
            of(&[("ALL_PROXY", "http://c"), ("HTTP_PROXY", " ")], "http://x/").as_deref(),
            Some("http://c")
        );
        assert_eq!(of(&[], "http://x/"), None);
    }

    #[test]
    fn exempt_hosts_are_reached_directly() {
        let rules = |list| [("http_proxy", "http://a"), ("NO_PROXY", list)];
        for list in ["x.org", ".org", "*", "y.com, x.org", "X.ORG", "x.org:8080"] {
            assert_eq!(of(&rules(list), "http://x.org:8080/"), None, "{list}");
        }
        for list in ["ax.org", "x.or", "x.org:81", "g"] {
            assert!(of(&rules(list), "http://x.org:8080/").is_some(), "{list}");
        }
    }
}
