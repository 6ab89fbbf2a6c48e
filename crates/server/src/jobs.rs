//! Fits of served models again, with labels that were given: progress is streamed, and the new model takes the old one's place.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use flowgmm::{Control, Observer, Phase, Request};
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::{
    App,
    compute::JsonBody,
    explorer::labels::{Mark, numbered},
    failure::{Failure, Result},
    playground::ndjson,
    routes::json_text,
    served::Served,
};

/// Fits under way, at most.
const MOST_RUNNING: usize = 2;
/// Fits that are remembered.
const MOST_KEPT: usize = 32;
/// Time between two lines of progress.
const LINE_EVERY: Duration = Duration::from_millis(100);

/// Fits of served models.
#[derive(Default)]
pub struct Jobs {
    jobs: Mutex<BTreeMap<u64, Arc<Job>>>,
    last: AtomicU64,
}

/// A fit.
struct Job {
    told: Mutex<Told>,
    changed: watch::Sender<u64>,
    stop: AtomicBool,
}

/// What is known of a fit.
#[derive(Clone, Default)]
struct Told {
    phase: &'static str,
    done: usize,
    total: Option<usize>,
    loss: Option<f64>,
    seconds_left: Option<f64>,
    end: Option<Value>,
}

impl Jobs {
    fn get(&self, job: &str) -> Result<Arc<Job>> {
        let gone = || Failure::not_found("there is no such job");
        let number = job.strip_prefix("fit-").and_then(|number| number.parse().ok()).ok_or_else(gone)?;
        self.lock().get(&number).cloned().ok_or_else(gone)
    }

    fn add(&self) -> Result<(String, Arc<Job>)> {
        let mut jobs = self.lock();
        if jobs.values().filter(|job| job.told().end.is_none()).count() >= MOST_RUNNING {
            let message = format!("{MOST_RUNNING} fits are under way; wait for one, or stop it");
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message));
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let told = Told { phase: "waiting", ..Told::default() };
        let job =
            Job { told: Mutex::new(told), changed: watch::Sender::new(0), stop: AtomicBool::new(false) };
        let job = Arc::new(job);
        jobs.insert(number, job.clone());
        while jobs.len() > MOST_KEPT {
            jobs.pop_first();
        }
        Ok((format!("fit-{number}"), job))
    }

    /// Stops all fits.
    pub fn stop_all(&self) {
        self.lock().values().for_each(|job| job.stop.store(true, Ordering::Relaxed));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn told(&self) -> Told {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_modify(|count| *count += 1);
    }
}

/// Passes what a fit tells on to a job.
struct Reporter {
    job: Arc<Job>,
    began: Instant,
    total: Option<usize>,
    loss: Option<f64>,
    last: Instant,
}

impl Observer for Reporter {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        (self.began, self.total) = (Instant::now(), total);
        let doing = phase.doing();
        self.job
            .tell(|told| (told.phase, told.done, told.total, told.seconds_left) = (doing, 0, total, None));
    }

    fn progress(&mut self, done: usize) -> Control {
        if self.last.elapsed() >= LINE_EVERY {
            self.last = Instant::now();
            let took = self.began.elapsed().as_secs_f64();
            let left = self
                .total
                .filter(|_| done > 0)
                .map(|total| took * (total.saturating_sub(done)) as f64 / done as f64);
            let loss = self.loss;
            self.job.tell(|told| (told.done, told.loss, told.seconds_left) = (done, loss, left));
        }
        if self.job.stop.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    }

    fn loss(&mut self, loss: f64) {
        self.loss = Some(loss);
    }
}

#[derive(Deserialize)]
#[serde(default)]
struct Asked {
    labels: Vec<Mark>,
    seed: u64,
    /// Settings by their path, such as `train.steps`.
    settings: Map<String, Value>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { labels: Vec::new(), seed: 0, settings: Map::new() }
    }
}

/// Fits a model again with the labels that were given.
pub async fn refit(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
    body: JsonBody,
) -> Result<Response> {
    let shared = app.clone();
    let text = app.compute(move |app| {
        let asked: Asked = body.read()?;
        if app.leaving() {
            return Err(Failure::busy("the server is leaving"));
        }
        let served = app.models.get(&model)?;
        if !served.has_data() {
            return Err(Failure::request("there are no data to fit to: start the server with --data FILE"));
        }
        served.mark(numbered(&served, &asked.labels)?);
        let source = served.study()?.relabelled(&served.model, &served.marks())?;
        let mut request = Request::new(source.clone()).with("seed", asked.seed);
        if let Some(layout) = served.model.rows().layout() {
            request.image_size = Some((layout.height, layout.width));
        }
        for (path, value) in asked.settings {
            request = request.with(&path, value);
        }
        let (name, job) = app.jobs.add()?;
        let began = job.clone();
        let work = move || run(&shared, &served, &request, source, &began);
        if thread::Builder::new().name("refit".into()).spawn(work).is_err() {
            job.tell(|told| {
                told.end = Some(json!({ "error": { "kind": "busy", "message": "no thread is free" } }))
            });
        }
        Ok(json!({ "job": name }).to_string())
    });
    Ok(json_text(text.await?))
}

fn run(app: &App, served: &Served, request: &Request, source: flowgmm::Source, job: &Arc<Job>) {
    let now = Instant::now();
    let mut reporter = Reporter { job: job.clone(), began: now, total: None, loss: None, last: now };
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let fit = || flowgmm::fit(request, &mut reporter);
    let fitted = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Err(error) => Err(Failure::internal(format!("no threads for the fit: {error}"))),
        Ok(pool) => std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.install(fit)))
            .unwrap_or_else(|_| Err(flowgmm::Error::Content("the fit ran into a bug in flowgmm".into())))
            .map_err(Failure::from),
    };
    let end = match fitted {
        Ok(fit) => {
            let seconds = now.elapsed().as_secs_f64();
            let new = app.models.replace(&served.name, fit.model, Some(source));
            // The map is drawn at once; its rows are scored before somebody asks.
            drop(new.study());
            json!({ "finished": { "model": new.name, "version": new.version, "seconds": seconds } })
        }
        Err(failure) => json!({ "error": { "kind": failure.kind, "message": failure.message } }),
    };
    job.tell(|told| told.end = Some(end));
}

/// The progress of a fit, line by line.
pub async fn follow(State(app): State<Arc<App>>, Path(job): Path<String>) -> Result<Response> {
    let job = app.jobs.get(&job)?;
    let changed = job.changed.subscribe();
    let stream = futures_util::stream::unfold(Some((job, changed, true)), |state| async move {
        let (job, mut changed, first) = state?;
        if !first {
            changed.changed().await.ok()?;
        }
        changed.mark_unchanged();
        let told = job.told();
        let line = match &told.end {
            Some(end) => end.clone(),
            None => json!({
                "phase": told.phase,
                "done": told.done,
                "total": told.total,
                "loss": told.loss,
                "seconds_left": told.seconds_left,
            }),
        };
        let next = told.end.is_none().then_some((job, changed, false));
        Some((Ok::<Bytes, std::convert::Infallible>(format!("{line}\n").into()), next))
    });
    Ok(ndjson(Body::from_stream(stream)))
}

/// Stops a fit.
pub async fn stop(State(app): State<Arc<App>>, Path(job): Path<String>) -> Result<Response> {
    app.jobs.get(&job)?.stop.store(true, Ordering::Relaxed);
    Ok(json_text("{}".into()))
}
