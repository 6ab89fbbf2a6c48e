//! `flowgmm serve` as a process: what it says, answers equal to `predict`, and how it leaves.
#![cfg(unix)]

mod common;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use common::{Bench, cells, json};
use serde_json::{Value, json};

struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(bench: &Bench, words: &str) -> Self {
        let mut command = bench.command(&format!("serve {words} --port 0 --no-open --json"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = json(&line);
        Self { child, address: format!("127.0.0.1:{}", said["port"]) }
    }

    fn post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        post(&self.address, path, body)
    }

    fn terminate(&self) {
        assert!(
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    /// The exit code, within some seconds.
    fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not leave")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a request; none if the server does not take it any more.
fn post(address: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json"
    );
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok().filter(|n| *n > 0)?;
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole answer");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("its length");
    assert_eq!(length.parse(), Ok(body.len()), "no answer is cut off");
    Some((head.split(' ').nth(1)?.parse().ok()?, json(body)))
}

fn request(x1: &[f64], x2: &[f64]) -> Value {
    let tensor = |name: &str, data: &[f64]| json!({ "name": name, "datatype": "FP64", "shape": [data.len()], "data": data });
    let outputs =
        ["class", "probabilities", "log_p", "boundary", "typicality"].map(|name| json!({ "name": name }));
    json!({ "inputs": [tensor("x1", x1), tensor("x2", x2)], "outputs": outputs })
}

/// A row alone and all rows at once: the numbers of `predict`, in as many digits as it takes.
#[test]
fn answers_are_those_of_predict() {
    let bench = Bench::new();
    bench.tiny_model("m.flow");
    let predicted = cells(&bench.ok("predict m.flow test.csv --digits 17 --quiet"));
    let rows = cells(&bench.read("test.csv"));
    let column = |j: usize| rows[1..].iter().map(|row| row[j].parse().unwrap()).collect::<Vec<f64>>();
    let (x1, x2) = (column(0), column(1));
    let served = Served::start(&bench, "m.flow");
    let check = |first: usize, n: usize| {
        let (status, answer) = served
            .post("/v2/models/m/infer", &request(&x1[first..first + n], &x2[first..first + n]))
            .unwrap();
        assert_eq!(status, 200, "{answer}");
        let data = |at: usize| answer["outputs"][at]["data"].as_array().unwrap();
        for i in 0..n {
            let line = &predicted[1 + first + i];
            assert_eq!(data(0)[i].as_str(), Some(line[0].as_str()));
            let number = |cell: &str| cell.parse::<f64>().unwrap();
            let found = |at: usize, i: usize| data(at)[i].as_f64().unwrap();
            assert_eq!((found(1, 2 * i), found(1, 2 * i + 1)), (number(&line[1]), number(&line[2])));
            assert_eq!(
                (found(2, i), found(3, i), found(4, i)),
                (number(&line[5]), number(&line[6]), number(&line[7]))
            );
        }
    };
    check(0, x1.len());
    (0..40).for_each(|row| check(row * 7, 1));
}

/// SIGTERM under load: whatever was asked is answered whole, or not taken; the program ends with 0.
#[test]
fn it_leaves_in_good_order_when_it_is_terminated_under_load() {
    let bench = Bench::new();
    bench.tiny_model("m.flow");
    let mut served = Served::start(&bench, "m.flow --data train.csv");
    let body = request(&[0.5; 200], &[0.25; 200]);
    let expected = served.post("/v2/models/m/infer", &body).unwrap();
    let done = AtomicBool::new(false);
    // A fit that nobody waits for does not keep it.
    let playground = json!({ "toy": { "name": "moons" }, "settings": { "steps": 20000 } });
    assert_eq!(served.post("/api/v1/playground", &playground).unwrap().0, 200);
    let address = served.address.clone();
    std::thread::scope(|scope| {
        let load = || {
            let mut answers = Vec::new();
            while !done.load(Ordering::Relaxed) {
                answers.extend(post(&address, "/v2/models/m/infer", &body));
            }
            answers
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        std::thread::sleep(Duration::from_millis(300));
        served.terminate();
        let code = served.wait();
        done.store(true, Ordering::Relaxed);
        let answers: Vec<(u16, Value)> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(code, Some(0));
        assert!(answers.len() > 10, "{} answers", answers.len());
        for answer in answers {
            assert!(answer == expected || answer.0 == 503, "{answer:?}");
        }
    });
}

#[test]
fn what_cannot_be_served_is_said_in_words() {
    let bench = Bench::new();
    bench.tiny_model("m.flow");
    bench.fails("serve gone.flow --no-open", 5, &["gone.flow"]);
    bench.fails("serve train.csv --no-open", 4, &["train.csv"]);
    bench.fails("serve m.flow --bind 0.0.0.0 --no-open", 2, &["--token", "0.0.0.0"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    bench.fails(&format!("serve m.flow --no-open --port {port}"), 2, &["--port"]);
}
