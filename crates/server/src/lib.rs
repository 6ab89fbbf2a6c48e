//! Models over HTTP: the explorer's page, what it asks for, and scoring by the Open Inference Protocol.
//!
//! ```text
//! client ─hyper: heads in time, at most so many connections→ guard: Host, Origin, token, requests under way
//!   ─routes─┬ /              the page, inside the program                                     assets
//!           ├ /v2/...        Open Inference Protocol ─Queue→ workers, batches of one model    oip, queue
//!           ├ /api/v1/...    what the page asks ─compute→ a thread that may take its time      explorer/
//!           ├ /api/v1/playground, /jobs   fits on threads of their own, frames and progress   playground, jobs
//!           └ /metrics, /openapi.json, /health
//!   ─guard: failures in words, security headers, log, metrics→ client
//!
//! model file ─Registry→ Arc<Served> (one version) ←Watcher: a replaced file is loaded, and served once it is valid
//! ```
//!
//! | type | is |
//! |---|---|
//! | [`Options`], [`Limits`] | what is served, where, to whom, how much |
//! | `App` | everything that requests share |
//! | `Registry`, `Served` | models by name; one version of a model, its rows ([`flowgmm::study::Study`]), labels that were given |
//! | `Queue`, `Job`, `Question` | requests to score; a question knows its rows and makes its answer |
//! | `Jobs`, `Playgrounds` | fits that somebody watches |
//! | `Failure` | why not, as a status: one table |
//!
//! No mathematics: every number comes from the library `flowgmm`. Nothing heavy runs on the threads that serve connections.
//!
//! ```
//! use flowgmm_server::{Limits, Options, start};
//!
//! let options = Options {
//!     models: vec![], // files; without one, the playground alone
//!     data: None,
//!     address: "127.0.0.1:0".parse()?, // a free port
//!     token: None,
//!     hosts: vec![],
//!     workers: 2,
//!     limits: Limits::default(),
//! };
//! let server = start(options).expect("a free port");
//! println!("http://{}", server.address());
//! server.run(async { /* serves until this is done, or SIGTERM comes */ })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assets;
mod compute;
mod explorer;
mod failure;
mod guard;
mod jobs;
mod metrics;
mod oip;
mod openapi;
mod options;
mod playground;
mod queue;
mod registry;
mod routes;
mod run;
mod served;

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Semaphore;

pub use options::{Limits, Options};
pub use run::Server;

use guard::Admission;
use jobs::Jobs;
use metrics::Metrics;
use playground::Playgrounds;
use queue::Queue;
use registry::Registry;

/// Everything that requests share.
struct App {
    models: Registry,
    queue: Arc<Queue>,
    admission: Admission,
    limits: Limits,
    metrics: Arc<Metrics>,
    /// Requests that may be under way.
    requests: Semaphore,
    /// Computations that may be under way, besides the queue's.
    computing: Arc<Semaphore>,
    jobs: Jobs,
    playgrounds: Playgrounds,
    leaving: AtomicBool,
}

impl App {
    /// No new fits from now on, and those under way stop; requests are answered until the last connection is done.
    fn leave(&self) {
        if !self.leaving.swap(true, Ordering::SeqCst) {
            self.jobs.stop_all();
            self.playgrounds.stop_all();
        }
    }

    fn leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }
}

/// Why a server could not be started.
#[derive(Debug)]
pub enum StartError {
    /// A model or the request for it.
    Library(flowgmm::Error),
    /// The address.
    Io(std::io::Error),
}

/// Loads the models and begins to listen.
pub fn start(options: Options) -> Result<Server, StartError> {
    let Options { models, data, address, token, hosts, workers, limits } = options;
    if !address.ip().is_loopback() && token.as_deref().is_none_or(|token| token.len() < 8) {
        return Err(StartError::Library(flowgmm::Error::Request(format!(
            "{} can be reached from other machines: give --token with at least 8 characters that clients must send",
            address.ip()
        ))));
    }
    let models = Registry::load(&models, data.as_ref()).map_err(StartError::Library)?;
    let listener = TcpListener::bind(address).map_err(StartError::Io)?;
    let metrics = Arc::new(Metrics::new());
    let workers = workers.max(1);
    let app = App {
        models,
        queue: Queue::start(limits.queue, workers, metrics.clone()),
        admission: Admission::new(address.ip(), &hosts, token),
        limits,
        metrics,
        requests: Semaphore::new(limits.requests),
        computing: Arc::new(Semaphore::new(workers)),
        jobs: Jobs::default(),
        playgrounds: Playgrounds::default(),
        leaving: AtomicBool::new(false),
    };
    Server::new(Arc::new(app), listener, workers).map_err(StartError::Io)
}
