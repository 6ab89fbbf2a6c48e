//! Downloads from a local server that cuts, redirects, refuses, forgets ranges, and serves the wrong bytes.

#[path = "common/server.rs"]
mod server;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use flowgmm_datasets::*;
use server::{Reply, Request, Server};
use tempfile::tempdir;

/// 200,000 bytes that differ from place to place, and their MD5 (`md5sum` of the same bytes).
fn content() -> Vec<u8> {
    (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
const MD5: Checksum = Checksum::Md5("7340da468b423f050180eed803596380");
const SIZE: Option<u64> = Some(200_000);

fn dataset(urls: &[String], size: Option<u64>, checksum: Option<Checksum>) -> &'static Dataset {
    let urls: Vec<&'static str> = urls.iter().map(|url| &*url.clone().leak()).collect();
    let file = DataFile { name: "file.bin", urls: urls.leak(), size, checksum, copies: &[] };
    Box::leak(Box::new(Dataset {
        name: "test",
        title: "",
        licence: "",
        home: "http://example.org/",
        folder: "test",
        kind: Kind::MiniBoone,
        files: Box::leak(Box::new([file])),
        merged: None,
    }))
}

fn store(folder: &Path, attempts: u32) -> Store {
    let retry = Retry { attempts, first_wait: Duration::from_millis(5) };
    Store::from_variables(|_| None).with_directory(folder).with_retry(retry)
}

fn get(store: &Store, dataset: &'static Dataset) -> Result<Vec<Fetched>> {
    store.get_dataset(dataset, &mut |_| ControlFlow::Continue(()))
}

fn target(folder: &Path, ending: &str) -> PathBuf {
    folder.join(format!("test/file.bin{ending}"))
}

/// The file is there whole, and nothing else of it.
fn check_done(folder: &Path) {
    assert!(fs::read(target(folder, "")).unwrap() == content());
    assert!(!target(folder, ".part").exists() && !target(folder, ".tag").exists());
}

#[test]
fn a_whole_file_and_its_progress() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let (store, set) = (store(folder.path(), 1), dataset(&[server.url("/a")], SIZE, Some(MD5)));
    let mut seen = Vec::new();
    let fetched = store.get_dataset(set, &mut |progress| {
        assert_eq!((progress.file, progress.total), ("file.bin", SIZE));
        seen.push(progress.done);
        ControlFlow::Continue(())
    });
    assert_eq!(
        fetched.unwrap(),
        [Fetched { path: target(folder.path(), ""), checked: Checked::Checksum("MD5"), was_there: false }]
    );
    check_done(folder.path());
    assert!(seen.is_sorted() && seen[0] == 0 && seen.last() == Some(&200_000));
    assert!(get(&store, set).unwrap()[0].was_there);
    assert_eq!(server.requests().len(), 1, "the second time it is there");
}

#[test]
fn a_cut_at_every_quarter_is_resumed() {
    for quarter in 0..4 {
        let cut = 50_000 * quarter;
        let (folder, server) = (
            tempdir().unwrap(),
            Server::start(move |request, number| {
                let reply = Reply::ranged(request, &content());
                if number == 0 { reply.cut(cut) } else { reply }
            }),
        );
        get(&store(folder.path(), 3), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap();
        check_done(folder.path());
        let from: Vec<Option<usize>> = server.requests().iter().map(Request::from).collect();
        assert_eq!(from, [None, Some(cut).filter(|&cut| cut > 0)]);
    }
}

#[test]
fn a_later_run_goes_on_where_the_first_was_cut() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|request, number| {
            let reply = Reply::ranged(request, &content()).header("etag", "\"v1\"");
            if number == 0 { reply.cut(120_000) } else { reply }
        }),
    );
    let (store, set) = (store(folder.path(), 1), dataset(&[server.url("/a")], None, None));
    let error = get(&store, set).unwrap_err();
    assert!(
        matches!(error, Error::Network { .. }) && error.to_string().contains("run the same command"),
        "{error}"
    );
    assert_eq!(fs::metadata(target(folder.path(), ".part")).unwrap().len(), 120_000);
    assert_eq!(get(&store, set).unwrap()[0].checked, Checked::Nothing);
    check_done(folder.path());
    let request = &server.requests()[1];
    assert_eq!((request.from(), request.headers["if-range"].as_str()), (Some(120_000), "\"v1\""));
}

#[test]
fn a_file_that_changed_meanwhile_is_fetched_anew() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|request, _| {
            let same = request.headers.get("if-range").is_some_and(|tag| tag == "\"v2\"");
            let reply = if same { Reply::ranged(request, &content()) } else { Reply::new(200, &content()) };
            reply.header("etag", "\"v2\"")
        }),
    );
    let url = server.url("/a");
    fs::create_dir_all(folder.path().join("test")).unwrap();
    fs::write(target(folder.path(), ".part"), vec![1; 70_000]).unwrap();
    fs::write(target(folder.path(), ".tag"), format!("{url}\n\"v1\"")).unwrap();
    get(&store(folder.path(), 1), dataset(&[url], None, None)).unwrap();
    check_done(folder.path());
    assert_eq!(server.requests()[0].from(), Some(70_000));
}

#[test]
fn without_checksum_and_version_nothing_is_resumed() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    fs::create_dir_all(folder.path().join("test")).unwrap();
    fs::write(target(folder.path(), ".part"), vec![1; 70_000]).unwrap();
    get(&store(folder.path(), 1), dataset(&[server.url("/a")], None, None)).unwrap();
    check_done(folder.path());
    assert_eq!(server.requests()[0].from(), None);
}

#[test]
fn a_server_without_ranges_starts_over() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|_, number| {
            let reply = Reply::new(200, &content());
            if number == 0 { reply.cut(90_000) } else { reply }
        }),
    );
    get(&store(folder.path(), 2), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap();
    check_done(folder.path());
    assert_eq!(server.requests()[1].from(), Some(90_000), "it was asked");
}

#[test]
fn a_part_of_something_else_is_found_out() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    fs::create_dir_all(folder.path().join("test")).unwrap();
    for foreign in [50_000, 200_000, 300_000] {
        fs::write(target(folder.path(), ".part"), vec![1; foreign]).unwrap();
        let _ = fs::remove_file(target(folder.path(), ""));
        get(&store(folder.path(), 3), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap();
        check_done(folder.path());
    }
}

#[test]
fn wrong_bytes_never_get_into_place() {
    let mut wrong = content();
    wrong[123_456] ^= 1;
    let (folder, server) =
        (tempdir().unwrap(), Server::start(move |request, _| Reply::ranged(request, &wrong)));
    let error = get(&store(folder.path(), 2), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::WrongChecksum { kind: "MD5", .. }), "{error}");
    assert!(error.to_string().contains(&server.url("/a")), "{error}");
    assert!(!target(folder.path(), "").exists());
    assert_eq!(fs::metadata(target(folder.path(), ".part")).unwrap().len(), 0, "and are not resumed from");
}

#[test]
fn a_page_instead_of_the_file_is_refused_before_it_is_read() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|_, _| Reply::new(200, b"<html>Please log in")));
    let error = get(&store(folder.path(), 2), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::WrongSize { found: 19, expected: 200_000, .. }), "{error}");
}

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
fn a_stopped_download_is_kept() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let (store, set) = (store(folder.path(), 1), dataset(&[server.url("/a")], SIZE, Some(MD5)));
    let mut stop = |progress: Progress| match progress.done {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let error = store.get_dataset(set, &mut stop).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    let kept = fs::metadata(target(folder.path(), ".part")).unwrap().len();
    assert!(kept > 0);
    get(&store, set).unwrap();
    check_done(folder.path());
    assert_eq!(server.requests()[1].from(), Some(kept as usize));
}

/// The variables of this very process: the test runs itself again with them set.
#[test]
fn the_proxy_of_the_environment_is_used() {
    const CHILD: &str = "FLOWGMM_TEST_PROXY_TARGET";
    if let Ok(folder) = std::env::var(CHILD) {
        let retry = Retry { attempts: 1, first_wait: Duration::ZERO };
        let store = Store::from_env().with_directory(&folder).with_retry(retry);
        // A name nobody can resolve: only the proxy can have answered.
        get(&store, dataset(&["http://data.invalid/a".into()], SIZE, Some(MD5))).unwrap();
        return;
    }
    let (folder, proxy) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let run = |no_proxy: &str| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "the_proxy_of_the_environment_is_used"]).env(CHILD, folder.path());
        child.env("HTTP_PROXY", proxy.url("")).env("NO_PROXY", no_proxy).output().unwrap().status.success()
    };
    assert!(!run("data.invalid"), "without the proxy the name does not resolve");
    assert!(run("example.org"));
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

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    fs::create_dir_all(folder.path().join("test")).unwrap();
    std::os::unix::fs::symlink("/dev/full", target(folder.path(), ".part")).unwrap();
    let error = get(&store(folder.path(), 3), dataset(&[server.url("/a")], SIZE, Some(MD5))).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }) && error.to_string().contains("make room"), "{error}");
    assert_eq!(server.requests().len(), 1, "and not tried again");
}

#[test]
fn two_processes_do_not_write_one_file() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    fs::create_dir_all(folder.path().join("test")).unwrap();
    let lock = fs::File::create(folder.path().join("test/.lock")).unwrap();
    lock.lock().unwrap();
    let (store, set) = (store(folder.path(), 1), dataset(&[server.url("/a")], SIZE, Some(MD5)));
    assert!(matches!(get(&store, set).unwrap_err(), Error::Busy { .. }));
    drop(lock);
    get(&store, set).unwrap();
}

#[test]
fn our_own_damaged_copy_is_replaced_and_others_are_reported() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let set = dataset(&[server.url("/a")], SIZE, Some(MD5));
    fs::create_dir_all(folder.path().join("test")).unwrap();
    fs::write(target(folder.path(), ""), b"short").unwrap();
    let error = get(&Store::offline(folder.path()), set).unwrap_err();
    assert!(matches!(error, Error::WrongSize { found: 5, .. }), "{error}");
    get(&store(folder.path(), 1), set).unwrap();
    check_done(folder.path());
    let error = get(&Store::offline(folder.path().join("empty")), set).unwrap_err();
    assert!(matches!(error, Error::Offline { .. }), "{error}");
    let nowhere = dataset(&[], None, None);
    let error = get(&store(&folder.path().join("b"), 1), nowhere).unwrap_err().to_string();
    assert!(error.contains("http://example.org/") && error.contains("file.bin"), "{error}");
}
