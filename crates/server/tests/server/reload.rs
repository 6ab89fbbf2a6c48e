//! Model files that are replaced while they are served, by good ones and by damaged ones.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    client::{get, post},
    fixture::{Running, files, tensors},
};

/// Puts a file in the place of another, as `fit` does.
fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, path).unwrap();
}

fn version(address: std::net::SocketAddr) -> String {
    get(address, "/v2/models/kinds").of(200)["versions"][0].as_str().unwrap().to_string()
}

fn wait_for(what: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !what() {
        assert!(Instant::now() < until, "it did not happen within 30 seconds");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Under load: every answer is that of one of the two models, whole, and the version it names.
#[test]
fn a_replaced_file_is_served_and_a_damaged_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kinds.flow");
    let (first, second) = (fs::read(&files().model).unwrap(), fs::read(&files().other).unwrap());
    fs::write(&path, &first).unwrap();
    let running = Running::start(|options| options.models = vec![path.clone()]);
    let address = running.address;
    let body = json!({ "inputs": tensors(&[0, 1, 2]), "outputs": [{ "name": "log_p" }] });
    let answer = || post(address, "/v2/models/kinds/infer", &body);
    let log_p = |answer: &Value| answer["outputs"][0]["data"].clone();
    let of_first = log_p(&answer().of(200));
    let (done, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let of_second = std::thread::scope(|scope| {
        let load = || {
            let mut seen = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let found = answer().of(200);
                seen.push((found["model_version"].clone(), log_p(&found)));
                asked.fetch_add(1, Ordering::Relaxed);
            }
            seen
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(load)).collect();
        let damaged: [Vec<u8>; 5] = [
            Vec::new(),
            first[..first.len() / 2].to_vec(),
            {
                let mut bytes = first.clone();
                let at = bytes.len() - 100;
                bytes[at] ^= 1;
                bytes
            },
            b"not a model at all".to_vec(),
            {
                let mut bytes = first.clone();
                bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
                bytes
            },
        ];
        for bytes in damaged {
            let failed = |text: String| {
                let line = text
                    .lines()
                    .find(|line| line.starts_with("flowgmm_failed_reloads_total"))
                    .map(String::from);
                line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap_or(0))
            };
            let before: u64 = failed(get(address, "/metrics").text());
            replace(&path, &bytes);
            wait_for(|| failed(get(address, "/metrics").text()) > before);
            assert_eq!(version(address), "1", "the old one goes on");
        }
        fs::remove_file(&path).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(version(address), "1", "a file that is gone changes nothing");
        replace(&path, &second);
        wait_for(|| version(address) == "2");
        let of_second = log_p(&answer().of(200));
        done.store(true, Ordering::Relaxed);
        for thread in threads {
            for (version, values) in thread.join().unwrap() {
                assert_eq!(values, if version == "1" { of_first.clone() } else { of_second.clone() });
            }
        }
        of_second
    });
    assert_ne!(of_first, of_second, "they are two models");
    assert!(asked.load(Ordering::Relaxed) > 20);
}

#[test]
fn a_file_from_a_stranger_cannot_be_served_and_two_of_one_name_neither() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kinds.flow");
    fs::write(&path, b"{\"__metadata__\":{\"digest\":\"").unwrap();
    let start = |models: Vec<std::path::PathBuf>| {
        let options = flowgmm_server::Options {
            models,
            data: None,
            address: "127.0.0.1:0".parse().unwrap(),
            token: None,
            hosts: Vec::new(),
            workers: 1,
            limits: flowgmm_server::Limits::default(),
        };
        match flowgmm_server::start(options) {
            Err(flowgmm_server::StartError::Library(error)) => error.to_string(),
            _ => panic!("nothing is served"),
        }
    };
    assert!(start(vec![path.clone()]).contains("not a usable model file"));
    fs::copy(&files().model, &path).unwrap();
    assert!(start(vec![path, files().model.clone()]).contains("'kinds'"));
}
