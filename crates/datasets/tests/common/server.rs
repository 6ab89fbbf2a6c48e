//! An HTTP/1.1 server for tests: one thread, one request per connection, every answer decided by a closure.

#![allow(dead_code)] // each test file uses its own share

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What a client asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET /path HTTP/1.1`.
    pub line: String,
    /// By name in lower case.
    pub headers: HashMap<String, String>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// The first byte asked for.
    pub fn from(&self) -> Option<usize> {
        self.headers.get("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// What the server does.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Closes the connection after so many bytes of the body.
    pub cut: Option<usize>,
}

impl Reply {
    pub fn new(status: u16, body: &[u8]) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    pub fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    pub fn cut(self, after: usize) -> Self {
        Self { cut: Some(after), ..self }
    }

    /// The whole file, or the range asked for.
    pub fn ranged(request: &Request, file: &[u8]) -> Self {
        match request.from() {
            None => Self::new(200, file),
            Some(from) if from < file.len() => {
                let range = format!("bytes {from}-{}/{}", file.len() - 1, file.len());
                Self::new(206, &file[from..]).header("content-range", range)
            }
            Some(_) => Self::new(416, b"").header("content-range", format!("bytes */{}", file.len())),
        }
    }

    fn send(&self, stream: &mut TcpStream) {
        let mut head = format!("HTTP/1.1 {} Test\r\nconnection: close\r\n", self.status);
        head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = &self.body[..self.cut.unwrap_or(self.body.len()).min(self.body.len())];
        // A client that has seen enough may be gone: not the server's concern.
        let _ = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(body));
    }
}

pub struct Server {
    pub address: String,
    log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers with what the closure says, given the request and its number from 0. Lives as long as the process.
    pub fn start(answer: impl Fn(&Request, usize) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = log.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                // After CONNECT the same connection carries the real request.
                while let Some(request) = read(&stream) {
                    let tunnel = request.line.starts_with("CONNECT");
                    let number =
                        seen.lock().unwrap().iter().filter(|r| !r.line.starts_with("CONNECT")).count();
                    seen.lock().unwrap().push(request.clone());
                    if !tunnel {
                        answer(&request, number).send(&mut stream);
                        break;
                    }
                    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
                }
            }
        });
        Self { address, log }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let line = lines.next()?.ok()?;
    let mut headers = HashMap::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_lowercase(), value.trim().to_string());
    }
    Some(Request { line, headers })
}
