//! Fits of points in the plane, on threads of their own: frames are kept, and streamed to whoever watches.
//!
//! A fit may be paused for long, so it never runs in a pool that others need.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use axum::{
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use flowgmm::{
    Control,
    playground::{self as library, Frame, Points, Seen, Settings, Watch},
};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    App,
    compute::JsonBody,
    failure::{Failure, Result},
    routes::json_text,
};

/// Fits that are kept; a new one takes the place of the oldest.
const MOST_RUNS: usize = 6;
/// Frames of a fit that are kept; if there are more, the older half loses every second one.
const MOST_FRAMES: usize = 800;
/// Steps that `step` takes are those to the next frame of a fit of so many frames.
const FRAMES: usize = 300;

/// The fits of the playground.
#[derive(Default)]
pub struct Playgrounds {
    runs: Mutex<BTreeMap<u64, Arc<Run>>>,
    last: AtomicU64,
}

impl Playgrounds {
    fn get(&self, job: &str) -> Result<Arc<Run>> {
        let gone = || Failure::not_found("there is no such fit; it may have made room for newer ones");
        let number: u64 = job.parse().map_err(|_| gone())?;
        self.lock().get(&number).cloned().ok_or_else(gone)
    }

    fn add(&self, run: Arc<Run>) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut runs = self.lock();
        runs.insert(number, run);
        while runs.len() > MOST_RUNS
            && let Some((_, oldest)) = runs.pop_first()
        {
            oldest.steer(|steering| steering.stopped = true);
        }
        number
    }

    /// Stops all fits.
    pub fn stop_all(&self) {
        self.lock().values().for_each(|run| run.steer(|steering| steering.stopped = true));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fit, or two beside each other.
struct Run {
    frames: Mutex<Kept>,
    changed: watch::Sender<u64>,
    steering: Mutex<Steering>,
    wake: Condvar,
    running: AtomicUsize,
    began: Instant,
    steps: usize,
}

#[derive(Default)]
struct Kept {
    /// Lines of JSON by their number, ascending.
    frames: Vec<(u64, Bytes)>,
    next: u64,
    /// The last line.
    end: Option<Bytes>,
}

#[derive(Default)]
struct Steering {
    paused: bool,
    stopped: bool,
    /// Steps that each fit may take while paused.
    owed: [usize; 2],
    /// The step of each fit's last frame; fits beside each other go on in step.
    shown: [Option<usize>; 2],
}

impl Run {
    fn steer(&self, change: impl FnOnce(&mut Steering)) {
        change(&mut self.steering.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, frame: &Frame, alone: bool) {
        let mut kept = self.kept();
        let number = kept.next;
        let line = line(frame, number, alone);
        kept.next += 1;
        kept.frames.push((number, line));
        if kept.frames.len() > MOST_FRAMES {
            let half = MOST_FRAMES / 2;
            let mut at = 0;
            kept.frames.retain(|_| {
                at += 1;
                at > half || at % 2 == 1
            });
        }
        drop(kept);
        self.changed.send_modify(|count| *count += 1);
    }

    /// One of the fits ended; the other need not wait for it.
    fn ended(&self, side: usize, result: std::result::Result<(), Failure>) {
        self.steer(|steering| steering.shown[side] = Some(usize::MAX));
        let last = self.running.fetch_sub(1, Ordering::SeqCst) == 1;
        let mut kept = self.kept();
        match result {
            Err(failure) if kept.end.is_none() => {
                let error = json!({ "error": { "kind": failure.kind, "message": failure.message } });
                kept.end = Some(format!("{error}\n").into());
            }
            _ if last && kept.end.is_none() => {
                let stopped = self.steering.lock().unwrap_or_else(PoisonError::into_inner).stopped;
                let seconds = self.began.elapsed().as_secs_f64();
                let end =
                    json!({ "finished": { "stopped": stopped, "seconds": seconds, "frames": kept.next } });
                kept.end = Some(format!("{end}\n").into());
            }
            _ => {}
        }
        drop(kept);
        self.changed.send_modify(|count| *count += 1);
    }
}

/// A frame as a line of JSON.
fn line(frame: &Frame, index: u64, alone: bool) -> Bytes {
    let [w, h] = frame.cells;
    let [x0, x1, y0, y1] = frame.square;
    let latent: Vec<u8> = frame.latent.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    let value = json!({
        "index": index,
        "step": frame.step,
        "of": frame.of,
        "loss": frame.loss,
        "accuracy": frame.accuracy,
        "alone": alone,
        "grid": {
            "w": w, "h": h, "x0": x0, "x1": x1, "y0": y0, "y1": y1,
            "classes": STANDARD.encode(&frame.classes),
            "certainty": STANDARD.encode(&frame.certainty),
        },
        "latent": STANDARD.encode(latent),
        "means": frame.means,
    });
    format!("{value}\n").into()
}

/// One fit of a run, and who watches it.
struct Watcher {
    run: Arc<Run>,
    side: usize,
}

impl Watch for Watcher {
    fn frame(&mut self, frame: Frame) {
        self.run.add(&frame, self.side == 1);
        self.run.steer(|steering| steering.shown[self.side] = Some(frame.step));
    }

    fn wants_frame(&mut self) -> bool {
        let steering = self.run.steering.lock().unwrap_or_else(PoisonError::into_inner);
        steering.paused && steering.owed[self.side] == 0
    }

    fn go_on(&mut self) -> Control {
        let mut steering = self.run.steering.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if steering.stopped {
                return Control::Stop;
            }
            // Ahead of the other: wait for it.
            if steering.shown[self.side] > steering.shown[1 - self.side] {
                steering = self.run.wake.wait(steering).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !steering.paused {
                return Control::Continue;
            }
            if steering.owed[self.side] > 0 {
                steering.owed[self.side] -= 1;
                return Control::Continue;
            }
            steering = self.run.wake.wait(steering).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    points: Vec<[f64; 2]>,
    #[serde(default)]
    labels: Vec<Option<usize>>,
    #[serde(default)]
    settings: Settings,
    #[serde(default)]
    labels_alone: bool,
    #[serde(default)]
    paused: bool,
    truth: Option<Vec<usize>>,
    bounds: Option<[f64; 4]>,
    toy: Option<ToyAsked>,
}

#[derive(Deserialize)]
struct ToyAsked {
    name: String,
    #[serde(default = "ten")]
    labels: usize,
    #[serde(default = "thousand")]
    rows: usize,
    #[serde(default)]
    seed: u64,
}

fn ten() -> usize {
    10
}

fn thousand() -> usize {
    1000
}

#[derive(Serialize)]
struct Started {
    job: String,
    #[serde(flatten)]
    points: Points,
}

/// Fits points in the plane, watched.
pub async fn begin(State(app): State<Arc<App>>, body: JsonBody) -> Result<Response> {
    let text = app.compute(move |app| {
        let asked: Asked = body.read()?;
        if app.leaving() {
            return Err(Failure::busy("the server is leaving"));
        }
        let points = match &asked.toy {
            Some(toy) => Points::toy(&toy.name, toy.rows, toy.labels, toy.seed)?,
            None => Points::new(asked.points, asked.labels)?,
        };
        let points = match asked.truth {
            Some(truth) => points.with_truth(truth)?,
            None => points,
        };
        let points = match asked.bounds {
            Some(bounds) => points.with_bounds(bounds)?,
            None => points,
        };
        asked.settings.check()?;
        let run = Arc::new(Run {
            frames: Mutex::default(),
            changed: watch::Sender::new(0),
            steering: Mutex::new(Steering {
                paused: asked.paused,
                shown: [None, if asked.labels_alone { None } else { Some(usize::MAX) }],
                ..Steering::default()
            }),
            wake: Condvar::new(),
            running: AtomicUsize::new(1 + usize::from(asked.labels_alone)),
            began: Instant::now(),
            steps: asked.settings.steps,
        });
        let sides: &[Seen] =
            if asked.labels_alone { &[Seen::All, Seen::LabelledAlone] } else { &[Seen::All] };
        for (side, seen) in sides.iter().enumerate() {
            spawn(run.clone(), side, *seen, points.clone(), asked.settings);
        }
        let job = app.playgrounds.add(run).to_string();
        Ok(serde_json::to_string(&Started { job, points }).expect("plain data"))
    });
    Ok(json_text(text.await?))
}

fn spawn(run: Arc<Run>, side: usize, seen: Seen, points: Points, settings: Settings) {
    let work = {
        let run = run.clone();
        move || {
            let mut watcher = Watcher { run: run.clone(), side };
            let fit = || library::fit(&points, &settings, seen, &mut watcher).map(drop);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let result = match pool {
                Err(error) => Err(Failure::internal(format!("no thread for the fit: {error}"))),
                Ok(pool) => std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.install(fit)))
                    .unwrap_or_else(|_| {
                        Err(flowgmm::Error::Content("the fit ran into a bug in flowgmm".into()))
                    })
                    .map_err(Failure::from),
            };
            run.ended(
                side,
                match result {
                    Err(failure) if failure.status == StatusCode::CONFLICT => Ok(()), // stopped, as somebody asked
                    other => other,
                },
            );
        }
    };
    if thread::Builder::new().name("playground".into()).spawn(work).is_err() {
        run.ended(side, Err(Failure::busy("no thread is free for the fit")));
    }
}

/// Settings of the playground.
pub async fn defaults() -> Response {
    json_text(serde_json::to_string(&Settings::default()).expect("plain data"))
}

/// Points of one of the paper's toys.
pub async fn toy(
    State(app): State<Arc<App>>,
    Path(toy): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Result<Response> {
    let number = |name: &str, otherwise: u64| match query.get(name).map(|text| text.parse::<u64>()) {
        None => Ok(otherwise),
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => Err(Failure::request(format!("{name} must be a whole number"))),
    };
    let (rows, labels, seed) = (number("rows", 1000)?, number("labels", 10)?, number("seed", 0)?);
    let text = app.compute(move |_| {
        let points = Points::toy(&toy, rows as usize, labels as usize, seed)?;
        Ok(serde_json::to_string(&points).expect("plain data"))
    });
    Ok(json_text(text.await?))
}

/// The frames of a fit from a number on, line by line, as they come.
pub async fn frames(
    State(app): State<Arc<App>>,
    Path(job): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Result<Response> {
    let run = app.playgrounds.get(&job)?;
    let from = match query.get("from").map(|text| text.parse::<u64>()) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => return Err(Failure::request("from must be the number of a frame")),
    };
    let changed = run.changed.subscribe();
    let stream = futures_util::stream::unfold(Some((run, changed, from)), |state| async move {
        let (run, mut changed, from) = state?;
        loop {
            changed.mark_unchanged();
            let (lines, next, ended) = lines(&run, from);
            if ended {
                return Some((Ok::<Bytes, std::convert::Infallible>(lines), None));
            }
            if !lines.is_empty() {
                return Some((Ok(lines), Some((run, changed, next))));
            }
            changed.changed().await.ok()?;
        }
    });
    Ok(ndjson(Body::from_stream(stream)))
}

/// Lines from a number on, the number after them, and whether they end the stream.
fn lines(run: &Run, from: u64) -> (Bytes, u64, bool) {
    /// Frames that are sent at once, at most.
    const AT_ONCE: usize = 16;
    let kept = run.kept();
    let start = kept.frames.partition_point(|(number, _)| *number < from);
    let some = &kept.frames[start..(start + AT_ONCE).min(kept.frames.len())];
    let all = start + some.len() == kept.frames.len();
    let next = some.last().map_or(from, |(number, _)| number + 1);
    let mut text: Vec<u8> = some.iter().flat_map(|(_, line)| line.iter().copied()).collect();
    match &kept.end {
        Some(end) if all => {
            text.extend_from_slice(end);
            (text.into(), next, true)
        }
        _ => (text.into(), next, false),
    }
}

/// An answer of lines of JSON.
pub fn ndjson(body: Body) -> Response {
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Pauses, resumes, steps or stops a fit.
pub async fn steer(
    State(app): State<Arc<App>>,
    Path((job, action)): Path<(String, String)>,
) -> Result<Response> {
    let run = app.playgrounds.get(&job)?;
    let every = run.steps.div_ceil(FRAMES);
    match action.as_str() {
        "pause" => run.steer(|steering| steering.paused = true),
        "resume" => run.steer(|steering| (steering.paused, steering.owed) = (false, [0; 2])),
        "step" => run.steer(|steering| {
            steering.paused = true;
            steering.owed.iter_mut().for_each(|owed| *owed += every);
        }),
        "stop" => run.steer(|steering| steering.stopped = true),
        _ => return Err(Failure::not_found("a fit can be told to pause, resume, step or stop")),
    }
    let value: Value = {
        let steering = run.steering.lock().unwrap_or_else(PoisonError::into_inner);
        json!({ "paused": steering.paused, "stopped": steering.stopped })
    };
    Ok(json_text(value.to_string()))
}
