//! Who is let in.

use serde_json::json;

use crate::{
    client::{get, raw, send},
    fixture::Running,
};

#[test]
fn other_names_and_pages_of_other_origins_are_refused_on_every_route() {
    let address = Running::shared();
    let document = get(address, "/openapi.json").of(200);
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{model}", "kinds").replace(['{', '}'], "");
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let status = |headers: &[(&str, &str)]| send(address, &method, &path, headers, b"").status;
            assert_eq!(status(&[("host", "evil.example")]), 403, "{method} {path}");
            assert_eq!(status(&[("origin", "http://evil.example")]), 403, "{method} {path}");
            assert_eq!(status(&[("sec-fetch-site", "cross-site")]), 403, "{method} {path}");
            tried += 1;
        }
    }
    assert!(tried > 35, "{tried} routes");
    // What no route answers is guarded, too.
    assert_eq!(send(address, "GET", "/nothing", &[("host", "evil.example")], b"").status, 403);
    assert_eq!(send(address, "GET", "/", &[("host", "evil.example")], b"").status, 403);
}

#[test]
fn every_answer_carries_the_security_headers() {
    let address = Running::shared();
    for path in ["/", "/v2", "/api/v1/models", "/nothing", "/metrics", "/api/v1/models/kinds/page", "/app.js"]
    {
        let answer = get(address, path);
        let header =
            |name: &str| answer.header(name).unwrap_or_else(|| panic!("{path} has no {name}")).to_string();
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let policy = header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'self'"),
            "{policy}"
        );
        let inline = policy.contains("'unsafe-inline'");
        assert_eq!(inline, path.ends_with("/page"), "only the explain page has styles of its own: {policy}");
        assert!(!inline || policy.contains("sandbox"), "{policy}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn a_server_with_a_token_tells_nothing_without_it() {
    let running = Running::start(|options| options.token = Some("open sesame".into()));
    let address = running.address;
    for path in ["/v2", "/v2/models/kinds", "/api/v1/models", "/metrics", "/openapi.json", "/nothing"] {
        let answer = get(address, path);
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        let with = |token: &str| send(address, "GET", path, &[("authorization", token)], b"").status;
        assert_eq!(with("Bearer open sesame!"), 401);
        assert_ne!(with("Bearer open sesame"), 401, "{path}");
    }
    assert_eq!(get(address, "/").status, 200, "the page itself holds nothing of the user's");
}

#[test]
fn other_machines_need_a_token_or_nothing_starts() {
    let options = |token: Option<&str>| flowgmm_server::Options {
        models: Vec::new(),
        data: None,
        address: "0.0.0.0:0".parse().unwrap(),
        token: token.map(String::from),
        hosts: Vec::new(),
        workers: 1,
        limits: flowgmm_server::Limits::default(),
    };
    for token in [None, Some(""), Some("short")] {
        let Err(flowgmm_server::StartError::Library(error)) = flowgmm_server::start(options(token)) else {
            panic!("{token:?} is too little")
        };
        assert!(error.to_string().contains("--token"), "{error}");
    }
    assert!(flowgmm_server::start(options(Some("long enough"))).is_ok());
}

#[test]
fn answers_to_heads_that_make_no_sense_end_the_connection() {
    let address = Running::shared();
    for head in [
        "GET / HTTP/9.9\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET /\r\n\r\n",
        "POST /v2 HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ] {
        let answer = raw(address, head.as_bytes());
        assert!(answer.is_none_or(|answer| answer.status == 400), "{head:?}");
    }
    assert_eq!(get(address, "/v2/health/live").of(200), json!({ "live": true }));
}
