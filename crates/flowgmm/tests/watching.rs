//! Every long phase of a fit can be watched, and stopped wherever it is.

use std::{
    collections::BTreeMap,
    fs,
    mem::{Discriminant, discriminant},
    time::{Duration, Instant},
};

use flowgmm::{Control, ErrorKind, Observer, Phase, Request, Source};
use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};

/// Three classes in `dim` columns, the middle ones long-tailed; every hundredth row has a label.
fn rows(n: usize, dim: usize, seed: u64) -> (Array2<f64>, Vec<Option<String>>) {
    let mut rng = semisup::rng(seed);
    let x = Array2::from_shape_fn((n, dim), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        let value = noise + if j % 3 == i % 3 { 2.5 } else { 0.0 };
        if j == dim / 2 { value.exp() } else { value }
    });
    let label = |i: usize| (i % 100 < 3).then(|| ["a", "b", "c"][i % 3].to_string());
    (x, (0..n).map(label).collect())
}

fn request(n: usize, dim: usize, steps: usize) -> Request {
    let (x, labels) = rows(n, dim, 1);
    Request::new(Source::matrix(x.view()).labels(labels)).with("train.steps", steps)
}

/// Which phases there were, and the longest time without a word, with the phase it fell into.
struct Listener {
    phases: Vec<(Phase, Option<usize>)>,
    /// The most that was reported of the phase.
    done: usize,
    heard: Instant,
    silence: (Duration, String),
    stop_in: Option<Discriminant<Phase>>,
    stopped: Option<Instant>,
}

impl Listener {
    fn new(stop_in: Option<Discriminant<Phase>>) -> Self {
        let silence = (Duration::ZERO, "the beginning".into());
        Self { phases: Vec::new(), done: 0, heard: Instant::now(), silence, stop_in, stopped: None }
    }

    fn hear(&mut self) {
        let phase = self.phases.last().map(|(phase, _)| format!("{phase:?}"));
        self.silence = self.silence.clone().max((self.heard.elapsed(), phase.unwrap_or_default()));
        self.heard = Instant::now();
    }
}

impl Observer for Listener {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        self.hear();
        assert!(self.stopped.is_none(), "{phase:?} begins after the stop");
        self.phases.push((phase.clone(), total));
        self.done = 0;
    }

    fn progress(&mut self, done: usize) -> Control {
        self.hear();
        let (phase, total) = self.phases.last().expect("a phase is announced before it goes on");
        assert!(done >= self.done, "{phase:?} goes back from {} to {done}", self.done);
        assert!(total.is_none_or(|total| done <= total), "{phase:?}: {done} of {total:?}");
        self.done = done;
        if self.stop_in == Some(discriminant(phase)) {
            self.stopped.get_or_insert_with(Instant::now);
            return Control::Stop;
        }
        Control::Continue
    }
}

/// A fit with two starts and calibration by folds, so that it has every phase.
fn thorough(file: &std::path::Path) -> Request {
    Request::new(Source::path(file).label_column("class"))
        .with("train.steps", 12)
        .with("multi_start.starts", 2)
        .with("multi_start.folds", 2)
        .with("calibration", serde_json::json!({ "kind": "folds", "folds": 2, "fraction": 0.5 }))
}

fn csv(n: usize, dim: usize) -> String {
    let (x, labels) = rows(n, dim, 2);
    let mut text = (0..dim).map(|j| format!("x{j},")).collect::<String>() + "class\n";
    for (row, label) in x.rows().into_iter().zip(labels) {
        row.iter().for_each(|value| text += &format!("{value},"));
        text += &(label.unwrap_or_default() + "\n");
    }
    text
}

#[test]
fn a_fit_stops_in_every_phase_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    fs::write(&file, csv(600, 5)).unwrap();
    let run = |request: &Request| {
        let mut listener = Listener::new(None);
        flowgmm::fit(request, &mut listener).unwrap();
        listener.phases.into_iter().map(|(phase, _)| (format!("{phase:?}"), discriminant(&phase)))
    };
    let mut seen = BTreeMap::new();
    let request = thorough(&file);
    run(&request).for_each(|(name, kind)| {
        let name = name.split([' ', '{']).next().unwrap_or_default().to_string();
        seen.entry(name).or_insert(kind);
    });
    let expected = "Certifying Choosing HoldingOut LabelSpreading Neighbours PlacingMeans Preprocessing Reading \
                    Start TemperatureScaling Training Typicality";
    let names: Vec<&str> = seen.keys().map(String::as_str).filter(|name| *name != "SelfTraining").collect();
    assert_eq!(names.join(" "), expected);
    for (name, kind) in seen {
        let mut listener = Listener::new(Some(kind));
        let error = flowgmm::fit(&request, &mut listener).expect_err(&name);
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
        let took = listener.stopped.expect("it was stopped").elapsed();
        assert!(took < Duration::from_secs(1), "{name}: stopped after {took:?}");
    }
}

/// Four seconds are generous: on a quiet machine of two cores the longest silence, while experts learn, is about one.
#[test]
fn a_fit_is_never_silent_for_long() {
    let mut listener = Listener::new(None);
    let fit = flowgmm::fit(&request(20_000, 20, 60), &mut listener).unwrap();
    let (silence, phase) = &listener.silence;
    assert!(*silence < Duration::from_secs(4), "silent for {silence:?} in {phase}");
    assert!(fit.seconds >= *silence);
    let without: Vec<_> = listener.phases.iter().filter(|(_, total)| total.is_none()).collect();
    assert!(without.iter().all(|(phase, _)| *phase == Phase::Reading), "phases without a total: {without:?}");
}

#[test]
fn a_watched_fit_has_the_bits_of_one_that_nobody_watches() {
    let request = request(800, 6, 20);
    let watched = flowgmm::fit(&request, &mut Listener::new(None)).unwrap().model;
    let alone = flowgmm::fit(&request, &mut ()).unwrap().model;
    assert_eq!(watched.to_bytes(), alone.to_bytes());
}
