//! How long a fit goes without a word to its observer, phase by phase, and how soon it stops.
//!
//!     cargo run --release -p flowgmm --example silence -- 200000 20 200
//!
//! Rows, columns and labels of a synthetic table of four classes. The fit runs once to its end; then once for each of
//! several moments at which the observer stops it.

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, Instant},
};

use flowgmm::{Control, Observer, Phase, Request, Source};
use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};

/// Moments at which a fit is stopped, as fractions of its time.
const MOMENTS: [f64; 8] = [0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.97];

struct Listener {
    began: Instant,
    heard: Instant,
    phase: String,
    /// The longest silence and the time of each phase.
    phases: BTreeMap<String, (Duration, Duration)>,
    stop_after: Option<Duration>,
    stopped: Option<Instant>,
}

impl Listener {
    fn new(stop_after: Option<Duration>) -> Self {
        let now = Instant::now();
        let phase = "before any phase".to_string();
        Self { began: now, heard: now, phase, phases: BTreeMap::new(), stop_after, stopped: None }
    }

    fn hear(&mut self) {
        let silence = self.heard.elapsed();
        let (longest, time) = self.phases.entry(self.phase.clone()).or_default();
        (*longest, *time) = ((*longest).max(silence), *time + silence);
        self.heard = Instant::now();
    }
}

impl Observer for Listener {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.hear();
        self.phase = format!("{phase:?}");
    }

    fn progress(&mut self, _done: usize) -> Control {
        self.hear();
        match self.stop_after {
            Some(after) if self.began.elapsed() >= after => {
                self.stopped.get_or_insert_with(Instant::now);
                Control::Stop
            }
            _ => Control::Continue,
        }
    }
}

fn main() -> flowgmm::Result<()> {
    let mut sizes = env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let mut size = |default| sizes.next().unwrap_or(default);
    let (n, dim, labels) = (size(20_000), size(20), size(200));
    let mut rng = semisup::rng(0);
    let x = Array2::from_shape_fn((n, dim), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        noise + if j % 4 == i % 4 { 1.5 } else { 0.0 }
    });
    let labels = (0..n).map(|i| (i < labels).then(|| format!("c{}", i % 4)));
    let request = Request::new(Source::matrix(x.view()).labels(labels));
    let mut listener = Listener::new(None);
    let fit = flowgmm::fit(&request, &mut listener)?;
    listener.hear();
    println!("{n} rows of {dim} columns: {:.1} s", fit.seconds.as_secs_f64());
    for (phase, (longest, time)) in &listener.phases {
        println!("{phase}: {:.1} s, longest silence {:.2} s", time.as_secs_f64(), longest.as_secs_f64());
    }
    for moment in MOMENTS {
        let mut listener = Listener::new(Some(fit.seconds.mul_f64(moment)));
        let stopped = flowgmm::fit(&request, &mut listener);
        let took = listener.stopped.map_or(0.0, |stopped| stopped.elapsed().as_secs_f64());
        match stopped {
            Ok(_) => println!("asked at {moment}: it was finished"),
            Err(error) => println!("asked at {moment} of the time: {error}, {took:.3} s later"),
        }
    }
    Ok(())
}
