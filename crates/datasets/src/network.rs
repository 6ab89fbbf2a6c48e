//! Network settings: proxies, hosts that bypass them, and trusted certificates.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ureq::http::Uri;

/// Proxies by scheme, the hosts that need none, and the certificates to trust. The default is a direct connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// The proxy for `http://` addresses.
    pub http_proxy: Option<String>,
    /// The proxy for `https://` addresses.
    pub https_proxy: Option<String>,
    /// Hosts reached without a proxy: `example.org` and all names that end in it, `example.org:8080`, or `*`.
    pub no_proxy: Vec<String>,
    /// A PEM file of certificates to trust instead of Mozilla's, as the proxies of companies need.
    pub certificates: Option<PathBuf>,
}

impl Network {
    /// Takes the variables that curl and wget read from `lookup`: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and
    /// `NO_PROXY`, in capitals or not, and `SSL_CERT_FILE`. A variable that is empty counts as absent.
    ///
    /// ```
    /// use flowgmm_datasets::Network;
    ///
    /// let network = Network::from_variables(|name| (name == "ALL_PROXY").then(|| "http://proxy:3128".into()));
    /// assert_eq!(network.https_proxy.as_deref(), Some("http://proxy:3128"));
    /// ```
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| lookup(name)?.into_string().ok().filter(|value| !value.trim().is_empty());
        let either = |name: &str| text(&name.to_lowercase()).or_else(|| text(name));
        let all = either("ALL_PROXY");
        Self {
            http_proxy: either("HTTP_PROXY").or_else(|| all.clone()),
            https_proxy: either("HTTPS_PROXY").or(all),
            no_proxy: either("NO_PROXY")
                .unwrap_or_default()
                .split(',')
                .map(|host| host.trim().to_string())
                .filter(|host| !host.is_empty())
                .collect(),
            certificates: lookup("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from),
        }
    }

    /// The proxy for this address, if it needs one.
    pub(crate) fn proxy(&self, uri: &Uri) -> Option<&str> {
        let host = uri.host()?.trim_matches(['[', ']']).to_lowercase();
        let port = uri.port_u16();
        let exempt = |rule: &String| {
            let rule = rule.trim_start_matches('.').to_lowercase();
            let (name, rule_port) = match rule.rsplit_once(':') {
                Some((name, digits)) if !name.contains(':') => (name, digits.parse().ok()),
                _ => (rule.as_str(), None),
            };
            let named = host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            !name.is_empty() && (name == "*" || (named && (rule_port.is_none() || rule_port == port)))
        };
        if self.no_proxy.iter().any(exempt) {
            return None;
        }
        if uri.scheme_str() == Some("https") {
            self.https_proxy.as_deref()
        } else {
            self.http_proxy.as_deref()
        }
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
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
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
