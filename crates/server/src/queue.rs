//! Requests to score: they wait in one queue, and a worker takes as many of one model as fit into a batch.
//!
//! ```text
//! handler ─Job { model, body }→ queue ─worker: read each, score all at once, write each→ handler
//! ```
//!
//! Nobody waits for a batch to fill: while a worker scores, requests gather. What a request is answered does not depend on the
//! others of its batch.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use tokio::sync::oneshot;

use crate::{
    failure::{Failure, Result},
    metrics::Metrics,
    served::Served,
};

/// Bytes of bodies that are read into one batch, about.
const BATCH_BYTES: usize = 1 << 17;
/// Requests of a batch, at most.
const BATCH_REQUESTS: usize = 128;

/// A request that waits.
pub struct Job {
    /// The version of the model that answers it.
    pub served: Arc<Served>,
    /// What it asks.
    pub question: Box<dyn Question>,
    reply: oneshot::Sender<Result<Answer>>,
}

/// An answer.
pub struct Answer {
    /// Its media type.
    pub kind: &'static str,
    /// Its body.
    pub bytes: Vec<u8>,
    /// How many of the body's bytes are JSON, if tensors of bytes follow it.
    pub json: Option<usize>,
}

/// Something that rows are read from, and an answer made for once they are scored.
pub trait Question: Send {
    /// How large it is, in bytes.
    fn size(&self) -> usize;

    /// Its rows `[n, dim]`.
    fn rows(&mut self, served: &Served) -> Result<ndarray::Array2<f64>>;

    /// The answer for what the model says about them.
    fn answer(&self, served: &Served, found: &flowgmm::Predictions) -> Result<Answer>;
}

/// Requests that wait, and whoever works on them.
pub struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    /// A queue of at most so many requests, with so many workers.
    pub fn start(most: usize, workers: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        let queue = Arc::new(Self { waiting: Mutex::default(), wake: Condvar::new(), most });
        for worker in 0..workers {
            let (queue, metrics) = (queue.clone(), metrics.clone());
            let work = move || {
                while let Some(batch) = queue.take() {
                    metrics.batch.observe(batch.len() as f64);
                    score(batch, &metrics);
                }
            };
            thread::Builder::new()
                .name(format!("score-{worker}"))
                .spawn(work)
                .expect("a thread can be started");
        }
        queue
    }

    /// Puts a request at the end; its answer comes through the receiver.
    pub fn put(
        &self,
        served: Arc<Served>,
        question: Box<dyn Question>,
    ) -> Result<oneshot::Receiver<Result<Answer>>> {
        let (reply, answer) = oneshot::channel();
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(Failure::busy("the server is leaving"));
        }
        if waiting.jobs.len() >= self.most {
            return Err(Failure::busy("too many requests wait to be scored; come back in a second"));
        }
        waiting.jobs.push_back(Job { served, question, reply });
        drop(waiting);
        self.wake.notify_one();
        Ok(answer)
    }

    /// Lets the workers go once the queue is empty.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// The next request, and those behind it that can be scored with it; nothing once the queue is closed and empty.
    fn take(&self) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        loop {
            if let Some(first) = waiting.jobs.pop_front() {
                let mut size = first.question.size();
                let mut batch = vec![first];
                while let Some(next) = waiting.jobs.front() {
                    size += next.question.size();
                    let fits = size <= BATCH_BYTES && batch.len() < BATCH_REQUESTS;
                    if !fits || !Arc::ptr_eq(&next.served, &batch[0].served) {
                        break;
                    }
                    batch.extend(waiting.jobs.pop_front());
                }
                return Some(batch);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a batch. A panic answers those requests with 500 that it leaves.
fn score(batch: Vec<Job>, metrics: &Metrics) {
    let mut open = Vec::with_capacity(batch.len());
    let mut rows = Vec::with_capacity(batch.len());
    for mut job in batch {
        // Nobody waits for it any more.
        if job.reply.is_closed() {
            continue;
        }
        match guarded(metrics, || job.question.rows(&job.served)) {
            Ok(x) => {
                rows.push(x);
                open.push(job);
            }
            Err(failure) => drop(job.reply.send(Err(failure))),
        }
    }
    let Some(first) = open.first() else { return };
    let served = first.served.clone();
    metrics.scored(&served.name, rows.iter().map(|x| x.nrows()).sum());
    let found = guarded(metrics, || Ok(flowgmm::score_together(&served.model, &rows)));
    match found {
        Err(failure) => open.into_iter().for_each(|job| drop(job.reply.send(Err(failure.clone())))),
        Ok(found) => {
            for (job, found) in open.into_iter().zip(found) {
                let answer = guarded(metrics, || job.question.answer(&served, &found?));
                drop(job.reply.send(answer)); // whoever asked may have left
            }
        }
    }
}

fn guarded<T>(metrics: &Metrics, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        metrics.panics.inc();
        Err(Failure::internal("this is a bug in flowgmm; the server goes on"))
    })
}
