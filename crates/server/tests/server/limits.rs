//! Bodies, rows, time, requests and the queue are bounded.

use std::{
    io::{BufReader, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    client::{bytes, post, raw, read, send},
    fixture::{Running, tensors},
};

const INFER: &str = "/v2/models/kinds/infer";

#[test]
fn large_bodies_and_many_rows_are_413() {
    let running = Running::start(|options| {
        options.limits.body = 20_000;
        options.limits.rows = 100;
    });
    let address = running.address;
    let infer = |rows: usize| post(address, INFER, &json!({ "inputs": tensors(&vec![0; rows]) }));
    assert_eq!((infer(100).status, infer(101).status), (200, 413));
    // Announced to be too long: refused before it is sent.
    let head = format!("POST {INFER} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 99999999999\r\n\r\n");
    assert_eq!(raw(address, head.as_bytes()).unwrap().status, 413);
    // Too long without saying so.
    let mut chunked =
        format!("POST {INFER} HTTP/1.1\r\nhost: {address}\r\ntransfer-encoding: chunked\r\n\r\n")
            .into_bytes();
    for _ in 0..30 {
        chunked.extend_from_slice(b"400\r\n");
        chunked.extend(vec![b' '; 1024]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(raw(address, &chunked).unwrap().status, 413);
    assert_eq!(infer(3).status, 200);
}

#[test]
fn slow_bodies_are_408() {
    let running = Running::start(|options| options.limits.body_time = Duration::from_millis(300));
    let mut stream = TcpStream::connect(running.address).unwrap();
    write!(stream, "POST {INFER} HTTP/1.1\r\nhost: {}\r\ncontent-length: 100\r\n\r\n{{", running.address)
        .unwrap();
    let began = Instant::now();
    let answer = read(&mut BufReader::new(stream)).unwrap();
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn too_many_requests_are_429_and_say_when_to_come_back() {
    let running = Running::start(|options| options.limits.requests = 2);
    let address = running.address;
    // Two requests whose bodies do not come hold both places.
    let holding: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(stream, "POST {INFER} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 100\r\n\r\n")
                .unwrap();
            stream
        })
        .collect();
    let answer = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Some(send(address, "GET", "/v2", &[], b"")).filter(|answer| answer.status == 429)
    });
    let answer = answer.expect("both places are taken");
    assert_eq!(answer.header("retry-after"), Some("1"));
    drop(holding);
    let again = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        send(address, "GET", "/v2", &[], b"").status == 200
    });
    assert!(again, "the places are free again");
}

/// With one worker and a queue of one, of many requests at once some are refused and none is answered wrongly.
#[test]
fn a_full_queue_is_503_and_says_when_to_come_back() {
    let running = Running::start(|options| {
        options.workers = 1;
        options.limits.queue = 1;
    });
    let address = running.address;
    let rows: Vec<usize> = (0..160).cycle().take(20_000).collect();
    let body = json!({ "inputs": tensors(&rows) }).to_string();
    let request = bytes(address, "POST", INFER, &[], body.as_bytes());
    let statuses: Vec<(u16, Option<String>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|_| {
                let request = &request;
                scope.spawn(move || {
                    let answer = raw(address, request).unwrap();
                    (answer.status, answer.header("retry-after").map(String::from))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|(status, _)| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(statuses.iter().any(|(status, _)| *status == 200));
    let busy: Vec<_> = statuses.iter().filter(|(status, _)| *status == 503).collect();
    assert!(!busy.is_empty() && busy.iter().all(|(_, retry)| retry.as_deref() == Some("1")), "{statuses:?}");
}

#[test]
fn answers_that_take_too_long_are_503() {
    let running = Running::start(|options| {
        options.workers = 1;
        options.limits.answer_time = Duration::from_millis(1);
    });
    let rows: Vec<usize> = (0..160).cycle().take(20_000).collect();
    let answer = post(running.address, INFER, &json!({ "inputs": tensors(&rows) }));
    assert_eq!(answer.status, 503, "{}", answer.text());
}
