//! Downloads that are cut, stopped, resumed, full of wrong bytes, or of a file that changed meanwhile.

#[path = "common/fetch.rs"]
mod fetch;
#[path = "common/server.rs"]
mod server;

use std::{fs, ops::ControlFlow};

use fetch::*;
use flowgmm_datasets::*;
use server::{Reply, Request, Server};
use tempfile::tempdir;

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
        matches!(error, Error::Network { .. }) && error.to_string().contains("the next attempt resumes"),
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

/// Nothing but the range says that these bytes belong elsewhere: there is no checksum.
#[test]
fn a_range_that_was_not_asked_for_is_not_taken() {
    let (folder, server) = (
        tempdir().unwrap(),
        Server::start(|request, number| {
            let reply = match number {
                0 => {
                    Reply::new(206, &content()[10_000..]).header("content-range", "bytes 10000-199999/200000")
                }
                _ => Reply::ranged(request, &content()),
            };
            reply.header("etag", "\"v1\"")
        }),
    );
    let url = server.url("/a");
    fs::create_dir_all(folder.path().join("test")).unwrap();
    fs::write(target(folder.path(), ".part"), &content()[..70_000]).unwrap();
    fs::write(target(folder.path(), ".tag"), format!("{url}\n\"v1\"")).unwrap();
    get(&store(folder.path(), 2), dataset(&[url], None, None)).unwrap();
    check_done(folder.path());
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
fn a_stopped_download_is_kept() {
    let (folder, server) =
        (tempdir().unwrap(), Server::start(|request, _| Reply::ranged(request, &content())));
    let (store, set) = (store(folder.path(), 1), dataset(&[server.url("/a")], SIZE, Some(MD5)));
    let mut stop = |progress: DownloadProgress| match progress.done {
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
