//! A small HTTP client that can also misbehave.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The JSON of an answer that must have this status.
    pub fn of(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }
}

/// Sends bytes as they are and reads one answer; none if the server closes without one.
pub fn raw(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may close before it has read everything, which is its right.
    let _ = stream.write_all(request);
    read(&mut BufReader::new(stream))
}

/// Reads one answer.
pub fn read(stream: &mut BufReader<TcpStream>) -> Option<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_string()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let mut body = Vec::new();
    if header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut part = vec![0; size + 2];
            stream.read_exact(&mut part).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&part[..size]);
        }
    } else if let Some(length) = header("content-length") {
        body = vec![0; length.parse().ok()?];
        stream.read_exact(&mut body).ok()?;
    }
    Some(Answer { status, headers, body })
}

/// The bytes of a request of the usual kind.
pub fn bytes(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        head += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

pub fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    raw(address, &bytes(address, method, path, headers, body)).expect("an answer")
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, &[], b"")
}

pub fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    send(address, "POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
}
