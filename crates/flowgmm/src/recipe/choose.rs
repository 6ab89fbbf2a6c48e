//! The automatic recipe: settings chosen from the data, with reasons.
//!
//! Training a flow for every candidate would take too long and, with few labels, would choose by luck. So quick teachers
//! stand in for it: label spreading in each candidate space, for how well that space keeps classes together, and
//! self-training of a logistic regression, for what a linear classifier can do. Each is cross-validated on the labelled
//! rows, never on others. The best space, by the probability of held-out labels, becomes the flow's, unless the default
//! for so many columns is about as good; the teachers whose predictions of held-out labels are good enough guide the
//! start, at the temperatures and weights learnt there.

use ndarray::ArrayView2;
use semisup::{Part, SemiSupervised, Watch};
use serde::{Deserialize, Serialize};

use super::held_out::{HeldOut, Sample, Together, weighted};
use crate::{
    Result,
    config::{Calibration, FitConfig, Prepare, QuantileTransform},
    teachers::{Teacher, TeacherMethod},
};
use flowgmm_core::Prior;

/// Neighbours and alpha of label spreading.
const NEIGHBOURS: usize = 7;
const ALPHA: f64 = 0.99;
/// Columns from which their relative scales may be taken to mean something. With fewer, nothing that is chosen depends
/// on the units they are in.
const ONE_UNIT: usize = 25;
/// Self-training of a logistic regression; and with a stronger penalty, for more columns than labels.
const SELF_TRAINING: TeacherMethod = TeacherMethod::SelfTraining { c: 1.0, threshold: 0.75 };
const PENALISED: TeacherMethod = TeacherMethod::SelfTraining { c: 0.1, threshold: 0.75 };
/// The regression on the labels alone: it cannot be misled by its own pseudo-labels.
const LOGISTIC_REGRESSION: TeacherMethod = TeacherMethod::SelfTraining { c: 1.0, threshold: 2.0 };
/// Shares of K classes rest on K x K confusions learnt from the labels: the pseudo-count is this times K^2 / n_l.
const PSEUDO_COUNT: f64 = 2.0;

/// The fractions of the choice after which the columns are looked at, and label spreading is cross-validated.
const COLUMNS: f64 = 0.05;
const SPREAD: f64 = 0.85;

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
    /// The settings it started from, before it looked at the rows.
    pub start: FitConfig,
    /// What the labels that were held out say about accuracy; `None` if none could be held out.
    pub held_out: Option<HeldOutAccuracy>,
}

/// How often labels that were held out were predicted right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutAccuracy {
    /// Share that was right.
    pub accuracy: f64,
    /// Labels that were held out.
    pub n: usize,
}

impl HeldOutAccuracy {
    /// An interval that holds the accuracy on new rows like these with 95% probability (Wilson's).
    pub fn interval(&self) -> (f64, f64) {
        let (n, p, z) = (self.n as f64, self.accuracy, 1.96_f64);
        let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }
}

impl Recipe {
    /// Chooses settings for this problem. The same data and seed give the same choice.
    pub fn choose(data: &SemiSupervised, seed: u64) -> Result<Self> {
        Self::choose_watched(data, seed, &())
    }

    /// [`Recipe::choose`], watched.
    pub(super) fn choose_watched(data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<Self> {
        let mut recipe = Self::from(FitConfig::table(data));
        recipe.choose_columns(data, &Part::new(watch, 0.0..COLUMNS))?;
        let sample = Sample::new(data, recipe.config.quantile_transform, somewhat_uneven(data), seed);
        let spaces = spaces(sample.normal.view());
        recipe.config.prepare = spaces[0];
        let spreading = |space: &Prepare| TeacherMethod::LabelSpreading {
            space: Some(*space),
            neighbours: NEIGHBOURS,
            alpha: ALPHA,
        };
        let linear: &[TeacherMethod] = if data.dim() > data.labelled().len() {
            &[SELF_TRAINING, PENALISED, LOGISTIC_REGRESSION]
        } else {
            &[SELF_TRAINING, LOGISTIC_REGRESSION]
        };
        let spread = Part::new(watch, COLUMNS..SPREAD);
        let by_space = spaces
            .iter()
            .enumerate()
            .map(|(i, space)| sample.cross_validate(spreading(space), &Part::of(&spread, i, spaces.len())));
        let by_space = by_space.collect::<Result<Option<Vec<HeldOut>>>>()?;
        let rest = Part::new(watch, SPREAD..1.0);
        let linear = linear
            .iter()
            .enumerate()
            .map(|(i, &method)| sample.cross_validate(method, &Part::of(&rest, i, linear.len())));
        let linear = linear.collect::<Result<Option<Vec<HeldOut>>>>()?;
        match (by_space, linear) {
            (Some(by_space), Some(linear)) => {
                let mut candidates = vec![recipe.choose_space(&spaces, by_space)];
                // Label spreading is already perfect on the held-out labels; a linear teacher could only hurt.
                if candidates[0].accuracy() < 1.0 {
                    candidates.push(likeliest(linear));
                }
                let together = recipe.choose_teachers(candidates);
                let (accuracy, n) = (together.held_out, data.labelled().len());
                recipe.held_out = Some(HeldOutAccuracy { accuracy, n });
                if !data.unlabelled().is_empty() {
                    recipe.choose_confidence(&together);
                }
            }
            _ => recipe.take_defaults(&[spreading(&spaces[0]), SELF_TRAINING]),
        }
        recipe.choose_prior(data);
        recipe.choose_size(data);
        Ok(recipe)
    }

    fn note(&mut self, what: &str, choice: impl Into<String>, why: impl Into<String>) {
        self.decisions.push(Decision { what: what.into(), choice: choice.into(), why: why.into() });
    }

    /// Long-tailed and zero-inflated columns become normal.
    fn choose_columns(&mut self, data: &SemiSupervised, watch: &dyn Watch) -> Result<()> {
        self.config.quantile_transform = QuantileTransform::Skewed;
        let n = QuantileTransform::Skewed.learn_watched(data.x(), watch)?.iter().flatten().count();
        let choice = match n {
            0 => "columns as they are".to_string(),
            n => format!("{n} of {} columns made normal", data.dim()),
        };
        self.note("columns", choice, "a column with a long tail, or one value in many rows, is made normal");
        Ok(())
    }

    /// The space in which label spreading does best, if it does so by more than chance; and its predictions there.
    fn choose_space(&mut self, spaces: &[Prepare], mut held_out: Vec<HeldOut>) -> HeldOut {
        let mut best = 0;
        for other in 1..spaces.len() {
            if held_out[other].beats(&held_out[best], 1.0) {
                best = other;
            }
        }
        self.config.prepare = spaces[best];
        let scores = spaces.iter().zip(&held_out);
        let scores =
            scores.map(|(space, found)| format!("{} {:.0}%", describe(space), 100.0 * found.accuracy()));
        let why = format!("label spreading on held-out labels: {}", scores.collect::<Vec<_>>().join(", "));
        self.note("space", describe(&spaces[best]), why);
        held_out.swap_remove(best)
    }

    /// Which teachers guide the start, and how much each counts; and how often they are right together.
    fn choose_teachers(&mut self, candidates: Vec<HeldOut>) -> Together {
        let teachers = weighted(&candidates);
        let total = teachers.iter().map(|teacher| teacher.weight).sum::<f64>();
        let shares = teachers.iter().map(|teacher| {
            format!("{} {:.0}%", describe_method(&teacher.method), 100.0 * teacher.weight / total)
        });
        let choice = shares.collect::<Vec<String>>().join(", ");
        let scores = candidates
            .iter()
            .map(|found| format!("{} {:.0}%", describe_method(&found.method), 100.0 * found.accuracy()));
        let together = Together::new(&candidates, &teachers);
        let why = format!(
            "right on held-out labels: {}; together {:.0}%",
            scores.collect::<Vec<_>>().join(", "),
            100.0 * together.held_out
        );
        self.config.teachers = teachers;
        self.note("teachers", choice, why);
        together
    }

    /// How confident the model may be of its predictions.
    fn choose_confidence(&mut self, together: &Together) {
        self.config.calibration = Some(Calibration::Expected { accuracy: together.expected });
        let choice = format!("{:.0}% on average over unlabelled rows", 100.0 * together.expected);
        self.note("confidence", choice, "the expected accuracy on them");
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
            let pseudo_count = PSEUDO_COUNT * k * k / n;
            self.config.architecture.prior = Prior::Estimated { pseudo_count };
            self.note(
                "class shares",
                "as makes unlabelled rows most likely",
                format!(
                    "labels are even, rows may not be; a Dirichlet prior with a pseudo-count of {pseudo_count:.2} for each row \
                     favours even shares"
                ),
            );
        }
    }

    /// The defaults, where no label can be held out.
    fn take_defaults(&mut self, methods: &[TeacherMethod]) {
        let why = "a class has one label only, so that nothing can be cross-validated";
        self.config.teachers = methods.iter().map(|&method| Teacher::plain(method)).collect();
        self.note("space", describe(&self.config.prepare), why);
        let names: Vec<String> = methods.iter().map(describe_method).collect();
        self.note("teachers", names.join(", "), why);
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

impl From<FitConfig> for Recipe {
    /// These settings, of which nothing was chosen.
    fn from(config: FitConfig) -> Self {
        Self { start: config.clone(), config, decisions: Vec::new(), held_out: None }
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
fn likeliest(held_out: Vec<HeldOut>) -> HeldOut {
    let better = |best: HeldOut, other: HeldOut| if other.beats(&best, 0.0) { other } else { best };
    held_out.into_iter().reduce(better).expect("at least one")
}

/// Candidate spaces, the default for so many columns first. Of few columns each tells something of its own, and
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

fn describe_method(method: &TeacherMethod) -> String {
    match method {
        TeacherMethod::LabelSpreading { space: Some(space), .. } => {
            format!("label spreading in {}", describe(space))
        }
        TeacherMethod::LabelSpreading { space: None, .. } => "label spreading".into(),
        TeacherMethod::SelfTraining { threshold, .. } if *threshold > 1.0 => "logistic regression".into(),
        TeacherMethod::SelfTraining { .. } => "self-training".into(),
        TeacherMethod::Experts { .. } => "experts".into(),
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
