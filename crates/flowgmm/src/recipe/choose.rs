//! The automatic recipe: settings chosen from the data, with reasons.
//!
//! Training a flow for every candidate would take too long and, with few labels, would choose by luck. So cheap
//! teachers speak for it: label spreading in each candidate space, for how well that space keeps classes together, and
//! self-training of a logistic regression, for what straight lines can do. Each is cross-validated on the labelled
//! rows, never on others. The best space, by the probability of held-out labels, becomes the flow's, unless the usual one
//! for so many columns is about as good; all teachers that deserve it guide the start, sharpened and weighed by what
//! they said of held-out labels.

use ndarray::ArrayView2;
use semisup::SemiSupervised;
use serde::{Deserialize, Serialize};

use super::heard::{Heard, Sample, Together, weighed};
use crate::{
    Result,
    config::{Calibration, Columns, FitConfig, Prepare},
    teachers::{Guide, Teacher},
};
use flowgmm_core::Prior;

/// Neighbours and reach of label spreading.
const NEIGHBOURS: usize = 7;
const ALPHA: f64 = 0.99;
/// Columns from which their relative scales may be taken to mean something. With fewer, nothing that is chosen depends
/// on the units they are in.
const ONE_UNIT: usize = 25;
/// Self-training of a logistic regression; and with its weights held down, for more columns than labels.
const LINES: Teacher = Teacher::SelfTraining { c: 1.0, threshold: 0.75 };
const SHORT_LINES: Teacher = Teacher::SelfTraining { c: 0.1, threshold: 0.75 };
/// The regression on the labels alone: it cannot be misled by its own predictions.
const PLAIN_LINES: Teacher = Teacher::SelfTraining { c: 1.0, threshold: 2.0 };
/// Shares of K classes are judged by confusions of K x K, learnt from the labels: times that many imagined rows.
const IMAGINED: f64 = 2.0;

/// A setting that was chosen, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What was decided.
    pub what: String,
    /// For what.
    pub choice: String,
    /// For which reason, with the figures it rests on.
    pub why: String,
}

/// Settings chosen for a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The settings.
    pub config: FitConfig,
    /// How they came about.
    pub decisions: Vec<Decision>,
}

impl Recipe {
    /// Chooses settings for this problem. The same data and seed give the same choice.
    pub fn choose(data: &SemiSupervised, seed: u64) -> Result<Self> {
        let mut recipe = Self { config: FitConfig::table(data), decisions: Vec::new() };
        recipe.choose_columns(data);
        let sample = Sample::new(data, recipe.config.columns, somewhat_uneven(data), seed);
        let spaces = spaces(sample.shaped.view());
        recipe.config.prepare = spaces[0];
        let spreading = |space: &Prepare| Teacher::LabelSpreading {
            space: Some(*space),
            neighbours: NEIGHBOURS,
            alpha: ALPHA,
        };
        let heard: Result<Option<Vec<Heard>>> =
            spaces.iter().map(|space| sample.hear(spreading(space))).collect();
        let lines: &[Teacher] = if data.dim() > data.labelled().len() {
            &[LINES, SHORT_LINES, PLAIN_LINES]
        } else {
            &[LINES, PLAIN_LINES]
        };
        let lines: Result<Option<Vec<Heard>>> = lines.iter().map(|&lines| sample.hear(lines)).collect();
        match (heard?, lines?) {
            (Some(heard), Some(lines)) => {
                let space = recipe.choose_space(&spaces, heard);
                let mut heard = vec![space];
                // Label spreading that makes no mistake needs no help, and lines would bend what it found.
                if heard[0].accuracy() < 1.0 {
                    heard.push(likeliest(lines));
                }
                let together = recipe.choose_guides(heard);
                if !data.unlabelled().is_empty() {
                    recipe.choose_confidence(&together);
                }
            }
            _ => recipe.take_the_usual(&[spreading(&spaces[0]), LINES]),
        }
        recipe.choose_prior(data);
        recipe.choose_size(data);
        Ok(recipe)
    }

    fn note(&mut self, what: &str, choice: impl Into<String>, why: impl Into<String>) {
        self.decisions.push(Decision { what: what.into(), choice: choice.into(), why: why.into() });
    }

    /// Long-tailed and zero-inflated columns become normal.
    fn choose_columns(&mut self, data: &SemiSupervised) {
        self.config.columns = Columns::Skewed;
        let n = Columns::Skewed.learn(data.x()).iter().flatten().count();
        let choice = match n {
            0 => "columns as they are".to_string(),
            n => format!("{n} of {} columns made normal", data.dim()),
        };
        self.note("columns", choice, "a column with a long tail, or one value in many rows, is made normal");
    }

    /// The space in which label spreading does best, if it does so by more than chance; and what it said there.
    fn choose_space(&mut self, spaces: &[Prepare], mut heard: Vec<Heard>) -> Heard {
        let mut best = 0;
        for other in 1..spaces.len() {
            if heard[other].beats(&heard[best], 1.0) {
                best = other;
            }
        }
        self.config.prepare = spaces[best];
        let scores = spaces.iter().zip(&heard);
        let scores =
            scores.map(|(space, heard)| format!("{} {:.0}%", describe(space), 100.0 * heard.accuracy()));
        let why = format!("label spreading on held-out labels: {}", scores.collect::<Vec<_>>().join(", "));
        self.note("space", describe(&spaces[best]), why);
        heard.swap_remove(best)
    }

    /// Who guides the start, and what each counts; and what they are right about together.
    fn choose_guides(&mut self, heard: Vec<Heard>) -> Together {
        let guides = weighed(&heard);
        let choice = guides.iter().map(|guide| {
            format!(
                "{} {:.0}%",
                teacher(&guide.by),
                100.0 * guide.weight / guides.iter().map(|g| g.weight).sum::<f64>()
            )
        });
        let choice: Vec<String> = choice.collect();
        let scores =
            heard.iter().map(|heard| format!("{} {:.0}%", teacher(&heard.by), 100.0 * heard.accuracy()));
        let together = Together::new(&heard, &guides);
        let why = format!(
            "right on held-out labels: {}; together {:.0}%",
            scores.collect::<Vec<_>>().join(", "),
            100.0 * together.held_out
        );
        self.config.guides = guides;
        self.note("guides", choice.join(", "), why);
        together
    }

    /// How sure the model may be of its predictions.
    fn choose_confidence(&mut self, together: &Together) {
        self.config.calibration = Some(Calibration::Expected { accuracy: together.expected });
        let choice = format!("{:.0}% on average over unlabelled rows", 100.0 * together.expected);
        self.note("confidence", choice, "the share of them the model may be expected to be right about");
    }

    /// How common classes are: as among the labels, if these are clearly uneven; else what the rows say.
    fn choose_prior(&mut self, data: &SemiSupervised) {
        let counts = data.class_counts();
        let (n, k) = (data.labelled().len() as f64, data.n_classes() as f64);
        if clearly_uneven(data) {
            // One more label of each class: a class is never ruled out.
            let shares: Vec<f64> = counts.iter().map(|&c| (c as f64 + 1.0) / (n + k)).collect();
            self.config.architecture.prior = Prior::Given(shares);
            self.note("class shares", "as among the labels", "labels are clearly uneven over classes");
        } else if !data.unlabelled().is_empty() {
            let imagined = IMAGINED * k * k / n;
            self.config.architecture.prior = Prior::Estimated { imagined };
            self.note(
                "class shares",
                "as makes unlabelled rows most likely",
                format!(
                    "labels are even, rows may not be; held to even shares with a weight of {imagined:.2}"
                ),
            );
        }
    }

    /// Without a label to hold out.
    fn take_the_usual(&mut self, teachers: &[Teacher]) {
        let why = "a class has one label only: nothing to compare by";
        self.config.guides = teachers.iter().map(|&by| Guide::plain(by)).collect();
        self.note("space", describe(&self.config.prepare), why);
        let names: Vec<String> = teachers.iter().map(teacher).collect();
        self.note("guides", names.join(", "), why);
    }

    /// Width and steps by the size of the problem.
    fn choose_size(&mut self, data: &SemiSupervised) {
        let (n, k) = (data.n(), data.n_classes());
        if data.unlabelled().is_empty() {
            self.config.train.objective.consistency = None;
        }
        if n > 50_000 || k > 20 {
            self.config.train.steps = 3000;
            self.config.train.batch_unlabelled = 400;
        }
        let train = &self.config.train;
        let choice = format!(
            "{} couplings of width {:?}, {} steps of {} unlabelled rows",
            self.config.architecture.depth,
            self.config.architecture.hidden,
            train.steps,
            train.batch_unlabelled
        );
        self.note("size", choice, format!("{n} rows of {} columns, {k} classes", data.dim()));
    }
}

/// Whether labels are uneven, but not clearly: then what they say of how common classes are is not believed. With even
/// labels there is nothing to disbelieve, and folds that hide one label more of a class than of another are no reason.
fn somewhat_uneven(data: &SemiSupervised) -> bool {
    let counts = data.class_counts();
    counts.iter().any(|n| *n != counts[0]) && !clearly_uneven(data)
}

/// Whether labels are so uneven over classes that they hardly were drawn evenly, by chi-square: even chances give K - 1 on
/// average, with a variance of twice that.
fn clearly_uneven(data: &SemiSupervised) -> bool {
    let (n, k) = (data.labelled().len() as f64, data.n_classes() as f64);
    let uneven: f64 = data.class_counts().iter().map(|&c| (c as f64 - n / k).powi(2) / (n / k)).sum();
    uneven > k - 1.0 + 3.0 * (2.0 * (k - 1.0)).sqrt()
}

/// The one that gives held-out labels most probability.
fn likeliest(heard: Vec<Heard>) -> Heard {
    let better = |best: Heard, other: Heard| if other.beats(&best, 0.0) { other } else { best };
    heard.into_iter().reduce(better).expect("at least one")
}

/// Candidate spaces, the usual one for so many columns first. Of few columns each tells something of its own, and
/// whitening gives all a say; of many, the last principal directions are mostly noise, and if they look to be in one
/// unit, their scales tell what matters.
fn spaces(x: ArrayView2<f64>) -> Vec<Prepare> {
    let dims = if x.ncols() > 128 { 64 } else { 32 };
    let whitening = match x.ncols() {
        ..=12 => [1.0, 0.5, 0.0],
        13..=24 => [0.5, 0.0, 1.0],
        _ => [0.0, 0.5, 1.0],
    };
    let mut spaces = whitening.map(|whiten| Prepare::PcaStandardised { dims, whiten }).to_vec();
    if x.ncols() >= ONE_UNIT && comparable(x) {
        spaces.insert(0, Prepare::Pca { dims, whiten: 0.0 });
    }
    spaces
}

fn teacher(by: &Teacher) -> String {
    match by {
        Teacher::LabelSpreading { space: Some(space), .. } => {
            format!("label spreading in {}", describe(space))
        }
        Teacher::LabelSpreading { space: None, .. } => "label spreading".into(),
        Teacher::SelfTraining { threshold, .. } if *threshold > 1.0 => "logistic regression".into(),
        Teacher::SelfTraining { .. } => "self-training".into(),
    }
}

/// Whether columns look as if they were in one unit, such as pixels: only then do their relative scales mean something.
fn comparable(x: ArrayView2<f64>) -> bool {
    let range = |column: ndarray::ArrayView1<f64>| {
        let (low, high) = column.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        high - low
    };
    let mut ranges: Vec<f64> = x.columns().into_iter().map(range).filter(|range| *range > 0.0).collect();
    ranges.sort_by(f64::total_cmp);
    match ranges.len() {
        0 => false,
        n => ranges[n * 9 / 10] <= 30.0 * ranges[n / 10],
    }
}

fn describe(prepare: &Prepare) -> String {
    match prepare {
        Prepare::Standardise => "standardised columns".into(),
        Prepare::Scale => "columns by one scale".into(),
        Prepare::Pixels => "pixels in [0, 1]".into(),
        Prepare::Pca { whiten, .. } => format!("principal directions, whitening {whiten}"),
        Prepare::PcaStandardised { whiten, .. } => {
            format!("principal directions of standardised columns, whitening {whiten}")
        }
    }
}
