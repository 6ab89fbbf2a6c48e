//! The outermost layer, around every route: who may ask, how much at once, and what every answer carries.
//!
//! ```text
//! request ─Host, Origin→ 403 ─token→ 401 ─requests under way→ 429 ─handler, panics caught→ answer
//!   ─failures rendered, security headers─log, metrics→ client
//! ```
//!
//! A page of another origin cannot reach the server: a browser says by `Origin` and `Sec-Fetch-Site` who asks, and a name that
//! was rebound to this address is not in the list of names.

use std::{net::IpAddr, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt as _;
use subtle::ConstantTimeEq as _;

use crate::{
    App, assets,
    failure::{Failure, Result},
};

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; \
                   connect-src 'self'; frame-src 'self' blob:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Names and addresses of this server, in lower case, without ports.
    hosts: Vec<String>,
    token: Option<String>,
}

impl Admission {
    /// A server at this address is called by it, by `localhost` if it is a loopback one, and by `names`.
    pub fn new(address: IpAddr, names: &[String], token: Option<String>) -> Self {
        let mut hosts: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        if address.is_loopback() || address.is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(String::from));
        }
        if !address.is_unspecified() {
            hosts.push(match address {
                IpAddr::V4(v4) => v4.to_string(),
                IpAddr::V6(v6) => format!("[{v6}]"),
            });
        }
        Self { hosts, token }
    }

    fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        let refuse = |kind, message: String| Err(Failure::new(StatusCode::FORBIDDEN, kind, message));
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (uri.authority(), hosts.next(), hosts.next()) {
            (_, _, Some(_)) => return refuse("host", "the request names several hosts".into()),
            (Some(authority), _, None) => Some(authority.as_str()),
            (None, Some(host), None) => host.to_str().ok(),
            (None, None, None) => None,
        };
        let Some(host) =
            host.map(str::to_lowercase).filter(|host| self.hosts.iter().any(|own| own == name_of(host)))
        else {
            let message = "this server is not called by that name; start it with --host NAME to allow it";
            return refuse("host", message.into());
        };
        let foreign = || refuse("origin", "pages of another origin may not use this server".into());
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default().to_lowercase();
            let authority = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            if authority != Some(host.as_str()) {
                return foreign();
            }
        }
        let sent = |name: &'static str| headers.get(HeaderName::from_static(name)).map(HeaderValue::as_bytes);
        // A link from elsewhere may open the page, and nothing else.
        let opens_page =
            method == Method::GET && uri.path() == "/" && sent("sec-fetch-mode") == Some(b"navigate");
        if sent("sec-fetch-site").is_some_and(|site| site != b"same-origin" && site != b"none") && !opens_page
        {
            return foreign();
        }
        match &self.token {
            Some(token) if !assets::is_asset(uri.path()) && !shows(headers, token) => Err(Failure::new(
                StatusCode::UNAUTHORIZED,
                "token",
                "send the token that the server was started with: Authorization: Bearer TOKEN",
            )),
            _ => Ok(()),
        }
    }
}

/// The name or address of an authority, without its port.
fn name_of(authority: &str) -> &str {
    match authority.rfind(':') {
        Some(at)
            if authority[at + 1..].bytes().all(|b| b.is_ascii_digit()) && !authority[..at].ends_with(':') =>
        {
            &authority[..at]
        }
        _ => authority,
    }
}

fn shows(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
    given.ct_eq(token.as_bytes()).into()
}

/// Admits a request, runs it, and completes its answer.
pub async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_string());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    let answer = match app.admission.admit(&method, request.uri(), request.headers()) {
        Err(failure) => failure.into_response(),
        Ok(()) => match app.requests.try_acquire() {
            Err(_) => {
                let message = "too many requests are under way; come back in a second";
                Failure::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message).into_response()
            }
            Ok(_permit) => {
                app.metrics.under_way.inc();
                let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
                app.metrics.under_way.dec();
                answer.unwrap_or_else(|_| {
                    app.metrics.panics.inc();
                    Failure::internal("this is a bug in flowgmm; the server goes on").into_response()
                })
            }
        },
    };
    let answer = completed(answer, &path);
    let (status, took) = (answer.status().as_u16(), began.elapsed());
    app.metrics.answered(method.as_str(), route.as_deref().unwrap_or("page"), status, took);
    tracing::info!(
        target: "flowgmm::requests",
        method = %method,
        path = %path.escape_default(),
        status,
        micros = took.as_micros() as u64,
        "request"
    );
    answer
}

/// Failures in words, and the headers of every answer.
fn completed(mut answer: Response, path: &str) -> Response {
    let protocol = path == "/v2" || path.starts_with("/v2/");
    if let Some(failure) = answer.extensions_mut().remove::<Failure>() {
        answer = failure.render(protocol);
    } else if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allow = answer.headers().get(header::ALLOW).cloned();
        let message = "this route has other methods; /openapi.json lists them";
        answer = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method", message).render(protocol);
        if let Some(allow) = allow {
            answer.headers_mut().insert(header::ALLOW, allow);
        }
    }
    let headers = answer.headers_mut();
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(CSP));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(admission: &Admission, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let admitted = admission.admit(&Method::GET, &uri.parse().unwrap(), &map);
        admitted.map_or_else(|failure| failure.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_own_names_and_origins_are_admitted() {
        let own = Admission::new("127.0.0.1".parse().unwrap(), &["Model.example".into()], None);
        for host in ["127.0.0.1:80", "localhost", "LOCALHOST:1234", "[::1]:9", "model.example"] {
            assert_eq!(status(&own, "/v2", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.",
            "",
            "[::1",
            "127.0.0.1:80:80",
            "a@localhost",
        ] {
            assert_eq!(status(&own, "/v2", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&own, "/v2", &[]), 403);
        assert_eq!(status(&own, "/v2", &[("host", "localhost"), ("host", "evil.example")]), 403);
        assert_eq!(status(&own, "http://evil.example/v2", &[("host", "localhost")]), 403);
        let from = |origin: &str| status(&own, "/v2", &[("host", "localhost:8"), ("origin", origin)]);
        assert_eq!(from("http://localhost:8"), 200);
        for origin in [
            "http://localhost:9",
            "http://evil.example",
            "null",
            "file://",
            "http://localhost:8.evil.example",
        ] {
            assert_eq!(from(origin), 403, "{origin}");
        }
        let site = |site: &str, mode: &str, path: &str| {
            let headers = [("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
            status(&own, path, &headers)
        };
        assert_eq!(site("cross-site", "no-cors", "/v2"), 403);
        assert_eq!(site("same-site", "cors", "/v2"), 403);
        assert_eq!(site("cross-site", "navigate", "/"), 200);
        assert_eq!(site("cross-site", "navigate", "/v2"), 403);
        assert_eq!(site("same-origin", "cors", "/v2"), 200);
    }

    #[test]
    fn a_token_is_asked_for_everywhere_but_on_the_page() {
        let guarded = Admission::new("10.0.0.7".parse().unwrap(), &[], Some("secret".into()));
        let with = |path: &str, token: &str| {
            status(&guarded, path, &[("host", "10.0.0.7"), ("authorization", token)])
        };
        assert_eq!(with("/v2", "Bearer secret"), 200);
        for wrong in ["", "secret", "Bearer secre", "Bearer secret2", "Bearer ", "Basic secret"] {
            assert_eq!(with("/v2", wrong), 401, "{wrong}");
        }
        assert_eq!(with("/", ""), 200);
        assert_eq!(with("/metrics", ""), 401);
        assert_eq!(status(&guarded, "/", &[("host", "localhost")]), 403);
    }
}
