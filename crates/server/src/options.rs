//! What is served, where, to whom, and how much of it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use flowgmm::Source;

/// What is served, where and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Model files; each is called by its stem.
    pub models: Vec<PathBuf>,
    /// Rows to look at with the models.
    pub data: Option<Source>,
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// What clients must show; needed unless the address is a loopback one.
    pub token: Option<String>,
    /// Names besides its addresses that clients may call this server by.
    pub hosts: Vec<String>,
    /// Threads that score requests.
    pub workers: usize,
    /// Bounds.
    pub limits: Limits,
}

/// What a client may ask for, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Rows of a request.
    pub rows: usize,
    /// Time for a body to arrive.
    pub body_time: Duration,
    /// Time for an answer.
    pub answer_time: Duration,
    /// Requests under way.
    pub requests: usize,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Connections.
    pub connections: usize,
    /// Time to finish requests under way after SIGTERM.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            rows: 100_000,
            body_time: Duration::from_secs(15),
            answer_time: Duration::from_secs(60),
            requests: 512,
            queue: 1024,
            connections: 1024,
            grace: Duration::from_secs(10),
        }
    }
}
