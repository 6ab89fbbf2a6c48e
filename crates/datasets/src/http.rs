//! One GET request: with a range, through a proxy, after redirects. The caller retries.

use std::{io::Read, time::Duration};

use ureq::{
    Agent,
    http::{HeaderMap, Uri},
};

use crate::{Error, Network};

/// What to do about a failed request.
pub(crate) enum Failure {
    /// It may work later; the server may have said when.
    Transient(Box<Error>, Option<Duration>),
    /// It will not.
    Final(Box<Error>),
}

impl Failure {
    pub fn transient(error: Error, wait: Option<Duration>) -> Self {
        Self::Transient(error.into(), wait)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error.into())
    }
}

/// A response with a body: status 200, 206 or 416.
pub(crate) struct Answer {
    pub status: u16,
    /// Bytes of the body.
    pub length: Option<u64>,
    /// First byte and total length of a 206; of a 416 the total length.
    pub range: (Option<u64>, Option<u64>),
    /// What identifies this version of the file: a strong ETag, else the date.
    pub validator: Option<String>,
    pub body: Box<dyn Read + Send>,
}

const MOST_REDIRECTS: usize = 8;

/// Asks for a file from byte `from` on; with a validator, for all of it if it has changed.
pub(crate) fn get(
    network: &Network,
    url: &str,
    from: u64,
    validator: Option<&str>,
) -> Result<Answer, Failure> {
    let mut at = url.to_string();
    for _ in 0..=MOST_REDIRECTS {
        let uri = check_address(&at)?;
        let response = request(&agent(network, &uri)?, &at, from, validator)?;
        let status = response.status().as_u16();
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        match (status, location) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => at = follow(&uri, &at, location)?,
            (200 | 206 | 416, _) => return Ok(answer(response)),
            (408 | 425 | 429 | 500..=599, _) => {
                let wait = number(response.headers(), "retry-after").map(Duration::from_secs);
                return Err(Failure::transient(Error::Status { url: at, status }, wait));
            }
            _ => return Err(Error::Status { url: at, status }.into()),
        }
    }
    Err(address(url, "it redirects without end"))
}

fn check_address(url: &str) -> Result<Uri, Failure> {
    let uri: Uri = url.parse().map_err(|_| address(url, "it is no address"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(_)) => Ok(uri),
        (Some("https"), Some(_)) if cfg!(feature = "https") => Ok(uri),
        (Some("https"), Some(_)) => Err(address(
            url,
            "this program was built without HTTPS. Build it with the feature 'https', or download the file by hand",
        )),
        _ => Err(address(url, "expected http://.. or https://..")),
    }
}

fn agent(network: &Network, uri: &Uri) -> Result<Agent, Failure> {
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));
    let proxy = network.proxy(uri).map(|proxy| {
        ureq::Proxy::new(proxy).map_err(|error| address(proxy, &format!("as a proxy: {error}")))
    });
    let config = trust(Agent::config_builder(), network)?
        .proxy(proxy.transpose()?)
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_connect(PATIENCE)
        .timeout_recv_response(PATIENCE)
        .timeout_per_read(PATIENCE)
        .user_agent(concat!("flowgmm/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(config.into())
}

type Builder = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// The user's certificates, if there are any, instead of Mozilla's.
#[cfg(feature = "https")]
fn trust(builder: Builder, network: &Network) -> Result<Builder, Failure> {
    use ureq::tls::{PemItem, TlsConfig, parse_pem};
    let Some(path) = network.certificates() else { return Ok(builder) };
    let pem = std::fs::read(path).map_err(|error| Error::io("read the certificates", path, error))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let certificates: Vec<_> = parse_pem(&pem).filter_map(certificate).collect();
    if certificates.is_empty() {
        return Err(Error::damaged(path, "PEM certificates", "it holds none").into());
    }
    let roots = ureq::tls::RootCerts::from(certificates);
    Ok(builder.tls_config(TlsConfig::builder().root_certs(roots).build()))
}

#[cfg(not(feature = "https"))]
fn trust(builder: Builder, _: &Network) -> Result<Builder, Failure> {
    Ok(builder)
}

type Response = ureq::http::Response<ureq::Body>;

fn request(agent: &Agent, url: &str, from: u64, validator: Option<&str>) -> Result<Response, Failure> {
    // Identity: a server that zips on the way would make lengths and ranges those of the zipped bytes.
    let mut request = agent.get(url).header("accept-encoding", "identity");
    if from > 0 {
        request = request.header("range", format!("bytes={from}-"));
    }
    if let (true, Some(validator)) = (from > 0, validator) {
        request = request.header("if-range", validator);
    }
    request.call().map_err(|error| match error {
        ureq::Error::BadUri(why) => address(url, &why),
        other => Failure::transient(Error::Network { url: url.into(), why: other.to_string() }, None),
    })
}

fn answer(response: Response) -> Answer {
    let headers = response.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let strong = text("etag").filter(|tag| !tag.starts_with("W/"));
    Answer {
        status: response.status().as_u16(),
        length: number(headers, "content-length"),
        range: text("content-range").map_or((None, None), content_range),
        validator: strong.or(text("last-modified")).map(String::from),
        body: Box::new(response.into_body().into_reader()),
    }
}

/// `bytes 5-9/10` is (5, 10), `bytes */10` is (none, 10).
fn content_range(text: &str) -> (Option<u64>, Option<u64>) {
    let Some((range, total)) = text.trim().strip_prefix("bytes ").and_then(|rest| rest.split_once('/'))
    else {
        return (None, None);
    };
    (range.split_once('-').and_then(|(first, _)| first.parse().ok()), total.parse().ok())
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The address a redirect leads to; never from an encrypted one to a plain one.
fn follow(from: &Uri, url: &str, location: &str) -> Result<String, Failure> {
    let (scheme, authority) =
        (from.scheme_str().unwrap_or("http"), from.authority().map_or("", |a| a.as_str()));
    let to = match location {
        absolute if absolute.contains("://") => absolute.to_string(),
        other if other.starts_with("//") => format!("{scheme}:{other}"),
        path if path.starts_with('/') => format!("{scheme}://{authority}{path}"),
        relative => {
            let directory = from.path().rsplit_once('/').map_or("", |(directory, _)| directory);
            format!("{scheme}://{authority}{directory}/{relative}")
        }
    };
    if scheme == "https" && to.starts_with("http://") {
        return Err(address(url, &format!("it redirects from HTTPS to plain {to}")));
    }
    Ok(to)
}

fn address(url: &str, why: &str) -> Failure {
    Error::Address { url: url.into(), why: why.into() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(from: &str, location: &str) -> Option<String> {
        follow(&from.parse().unwrap(), from, location).ok()
    }

    #[test]
    fn redirects_are_resolved_and_never_lose_their_encryption() {
        assert_eq!(to("http://a.org:81/x/y?z", "w").as_deref(), Some("http://a.org:81/x/w"));
        assert_eq!(to("https://a.org/x/y", "/w").as_deref(), Some("https://a.org/w"));
        assert_eq!(to("https://a.org/x/y", "//b.org/w").as_deref(), Some("https://b.org/w"));
        assert_eq!(to("http://a.org/", "https://b.org/").as_deref(), Some("https://b.org/"));
        assert_eq!(to("https://a.org/", "http://b.org/"), None);
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(content_range("bytes 5-9/10"), (Some(5), Some(10)));
        assert_eq!(content_range("bytes 5-9/*"), (Some(5), None));
        assert_eq!(content_range("bytes */10"), (None, Some(10)));
        assert_eq!(content_range("lines 1-2/3"), (None, None));
    }
}
