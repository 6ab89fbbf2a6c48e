//! What stands between us and a file: redirects, proxies, busy servers, missing files, TLS.

#[path = "common/fetch.rs"]
mod fetch;
#[path = "common/server.rs"]
mod server;

use std::time::Duration;

use fetch::*;
use flowgmm_datasets::*;
use server::{Reply, Request, Server};
use tempfile::tempdir;

#[test]
fn not_found_is_final_and_the_next_address_is_asked() {
    let answer = |request: &Request, _| match request.path() {
        "/gone" => Reply::new(404, b"no"),
        _ => Reply::ranged(request, &content()),
    };
    let (folder, server) = (tempdir().unwrap(), Server::start(answer));
    let error = get(&store(folder.path(), 5), dataset(&[server.url("/gone")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::Status { status: 404, .. }), "{error}");
    assert_eq!(server.requests().len(), 1, "asking again does not help");
    let both = [server.url("/gone"), server.url("/here")];
    get(&store(folder.path(), 5), dataset(&both, SIZE, Some(MD5))).unwrap();
    check_done(folder.path());
    let twice = [server.url("/gone"), server.url("/gone")];
    let error = get(&store(&folder.path().join("b"), 5), dataset(&twice, SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(&error, Error::AllFailed { errors, .. } if errors.len() == 2), "{error}");
}

#[test]
fn a_busy_server_is_asked_again() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|request, number| match number {
            0 => Reply::new(503, b"").header("retry-after", 0),
            1 => Reply::new(500, b""),
            _ => Reply::ranged(request, &content()),
        }),
    );
    get(&store(folder.path(), 3), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap();
    check_done(folder.path());
    let (folder, server) = (tempdir().unwrap(), Server::start(|_, _| Reply::new(503, b"")));
    let error = get(&store(folder.path(), 3), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::Status { status: 503, .. }), "{error}");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn the_server_says_when_to_come_back() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|request, number| match number {
            0 => Reply::new(429, b"").header("retry-after", 0),
            _ => Reply::ranged(request, &content()),
        }),
    );
    let patient = Retry { attempts: 2, first_wait: Duration::from_secs(30) };
    let start = std::time::Instant::now();
    let options = StoreOptions { retry: patient, ..StoreOptions::default() };
    let store = Store::new(options).with_directory(folder.path());
    get(&store, dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "not after our own thirty seconds");
}

#[test]
fn redirects_are_followed_to_their_end() {
    let answer = |request: &Request, _| match request.path() {
        "/a/old" => Reply::new(302, b"").header("location", "new?x=1"),
        "/a/new?x=1" => {
            let host = request.headers["host"].clone();
            Reply::new(301, b"").header("location", format!("http://{host}/b"))
        }
        "/b" => Reply::new(307, b"").header("location", "/c"),
        "/round" => Reply::new(302, b"").header("location", "/round"),
        _ => Reply::ranged(request, &content()),
    };
    let (folder, server) = (tempdir().unwrap(), Server::start(answer));
    get(&store(folder.path(), 1), dataset(&[server.url("/a/old")], SIZE, Some(MD5))).unwrap();
    check_done(folder.path());
    let paths: Vec<String> = server.requests().iter().map(|request| request.path().to_string()).collect();
    assert_eq!(paths, ["/a/old", "/a/new?x=1", "/b", "/c"]);
    let error =
        get(&store(&folder.path().join("b"), 1), dataset(&[server.url("/round")], None, None)).unwrap_err();
    assert!(error.to_string().contains("redirects without end"), "{error}");
}

#[test]
fn the_proxy_is_used() {
    let (folder, proxy) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let run = |no_proxy: &str| {
        let variables = [("HTTP_PROXY", proxy.url("")), ("NO_PROXY", no_proxy.to_string())];
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let retry = Retry { attempts: 1, first_wait: Duration::ZERO };
        let options = StoreOptions { retry, ..StoreOptions::from_variables(lookup) };
        let store = Store::new(options).with_directory(folder.path());
        // A name nobody can resolve: only the proxy can have answered.
        get(&store, dataset(&["http://data.invalid/a".into()], SIZE, Some(MD5)))
    };
    assert!(run("data.invalid").is_err(), "without the proxy the name does not resolve");
    run("example.org").unwrap();
    check_done(folder.path());
    assert_eq!(proxy.requests()[0].line, "CONNECT data.invalid:80 HTTP/1.1");
}

#[cfg(feature = "https")]
#[test]
fn https_speaks_tls() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let url = server.url("/a").replace("http://", "https://");
    let error = get(&store(folder.path(), 1), dataset(&[url], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "a server without TLS is refused: {error}");
    assert!(
        server.requests().iter().all(|request| !request.line.starts_with("GET")),
        "nothing is sent in the clear"
    );
}

#[cfg(not(feature = "https"))]
#[test]
fn without_https_the_message_says_so() {
    let folder = tempdir().unwrap();
    let set = dataset(&["https://example.org/a".into()], None, None);
    let error = get(&store(folder.path(), 1), set).unwrap_err().to_string();
    assert!(error.contains("built without HTTPS"), "{error}");
}

#[test]
fn a_page_instead_of_the_file_is_refused_before_it_is_read() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|_, _| Reply::new(200, b"<html>Please log in")));
    let error = get(&store(folder.path(), 2), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::WrongSize { found: 19, expected: 200_000, .. }), "{error}");
}
