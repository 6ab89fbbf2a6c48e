//! The automatic recipe: settings chosen from the data, with reasons.
//!
//! Training a flow for every candidate would take too long and, with few labels, would choose by luck. So cheap
//! learners speak for it: label spreading in a candidate space for how well that space keeps classes together, and
//! logistic regression for what straight lines can do. Each is cross-validated on the labelled rows, never on others:
//!
//! ```text
//! score = mean over held-out labelled rows of log max(p(y | x), 0.02)
//! ```
//!
//! A candidate replaces the default only if it is better by more than half its paired standard error.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use semisup::{Logistic, Preprocess, SemiSupervised, graph, split};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    config::{Columns, FitConfig, Guide, Prepare},
    train::{Purpose, stream},
};

/// Rows that selection looks at, at most, besides the labelled ones.
const SAMPLE: usize = 6000;
/// Neighbours and reach of label spreading.
const NEIGHBOURS: usize = 10;
const ALPHA: f64 = 0.99;
/// Repeats of the cross-validation.
const REPEATS: u64 = 4;

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
        let sample = Sample::new(data, seed);
        recipe.choose_columns(&sample);
        let opinions = recipe.choose_space(&sample)?;
        recipe.choose_guides(&sample, opinions)?;
        recipe.choose_size(data);
        Ok(recipe)
    }

    fn note(&mut self, what: &str, choice: impl Into<String>, why: impl Into<String>) {
        self.decisions.push(Decision { what: what.into(), choice: choice.into(), why: why.into() });
    }

    /// Long-tailed and zero-inflated columns become normal.
    fn choose_columns(&mut self, sample: &Sample) {
        self.config.columns = Columns::Skewed;
        let n = Columns::Skewed.learn(sample.x.view()).iter().flatten().count();
        let choice = match n {
            0 => "columns as they are".to_string(),
            n => format!("{n} of {} columns made normal", sample.x.ncols()),
        };
        self.note("columns", choice, "a column with a long tail, or one value in many rows, is made normal");
    }

    /// The space in which label spreading does best.
    fn choose_space(&mut self, sample: &Sample) -> Result<Option<Scored>> {
        let shapes = self.config.columns.learn(sample.x.view());
        let shaped = semisup::shape(sample.x.view(), &shapes);
        let dims = if sample.x.ncols() > 128 { 64 } else { 32 };
        let mut candidates = vec![
            Prepare::PcaStandardised { dims, whiten: 0.0 },
            Prepare::PcaStandardised { dims, whiten: 0.5 },
            Prepare::PcaStandardised { dims, whiten: 1.0 },
        ];
        if comparable(shaped.view()) {
            candidates.insert(1, Prepare::Pca { dims, whiten: 0.0 });
        }
        self.config.prepare = candidates[0];
        let Some(folds) = &sample.folds else {
            self.note("space", describe(&candidates[0]), "a class has one label only: nothing to compare by");
            return Ok(None);
        };
        let mut best: Option<(Prepare, Scored)> = None;
        let mut scores = Vec::new();
        for candidate in candidates {
            let x = candidate.learn(shaped.view())?.apply(shaped.view());
            let scored = Scored::label_spreading(x.view(), sample, folds);
            scores.push(format!("{} {:.0}%", describe(&candidate), 100.0 * scored.accuracy()));
            match &best {
                Some((_, leader)) if !scored.beats(leader) => {}
                _ => best = Some((candidate, scored)),
            }
        }
        let (prepare, scored) = best.expect("there are candidates");
        self.config.prepare = prepare;
        let why = format!("label spreading on held-out labels: {}", scores.join(", "));
        self.note("space", describe(&prepare), why);
        Ok(Some(scored))
    }

    /// Who guides the start: whoever does not do clearly worse on held-out labels.
    fn choose_guides(&mut self, sample: &Sample, spreading: Option<Scored>) -> Result<()> {
        let spread = Guide::LabelSpreading { neighbours: NEIGHBOURS, alpha: ALPHA };
        let lines = Guide::SelfTraining { c: 1.0, threshold: 0.75 };
        self.config.guides = vec![spread, lines];
        let both = "label spreading and self-training";
        let (Some(spreading), Some(folds)) = (spreading, &sample.folds) else {
            self.note("guides", both, "a class has one label only: nothing to compare by");
            return Ok(());
        };
        let shapes = self.config.columns.learn(sample.x.view());
        let shaped = semisup::shape(sample.x.view(), &shapes);
        let x = Preprocess::standardise(shaped.view())?.apply(shaped.view());
        let logistic = Scored::logistic(x.view(), sample, folds);
        let choice = if logistic.clearly_beats(&spreading) {
            self.config.guides = vec![lines];
            "self-training"
        } else if spreading.clearly_beats(&logistic) {
            self.config.guides = vec![spread];
            "label spreading"
        } else {
            both
        };
        let why = format!(
            "on held-out labels label spreading is right in {:.0}%, logistic regression in {:.0}%",
            100.0 * spreading.accuracy(),
            100.0 * logistic.accuracy()
        );
        self.note("guides", choice, why);
        Ok(())
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
        Prepare::Pca { whiten, .. } => format!("principal directions, whitening {whiten}"),
        Prepare::PcaStandardised { whiten, .. } => {
            format!("principal directions of standardised columns, whitening {whiten}")
        }
    }
}

/// The rows selection looks at, and how their labels are held out.
struct Sample {
    x: Array2<f64>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    /// Labelled rows first: their number.
    n_labelled: usize,
    /// Folds (labelled rows) of all repeats; `None` if a class has one label only.
    folds: Option<Vec<Vec<usize>>>,
}

impl Sample {
    fn new(data: &SemiSupervised, seed: u64) -> Self {
        let labelled = data.labelled();
        let mut rows = data.unlabelled();
        rows.shuffle(&mut stream(seed, Purpose::Selection, 0));
        rows.truncate(SAMPLE);
        rows.sort_unstable();
        let n_labelled = labelled.len();
        let rows: Vec<usize> = labelled.into_iter().chain(rows).collect();
        let y: Vec<Option<usize>> = rows.iter().map(|&row| data.y()[row]).collect();
        let known: Vec<usize> = y[..n_labelled].iter().flatten().copied().collect();
        let fewest = data.class_counts().into_iter().min().unwrap_or(0);
        let folds = (fewest >= 2).then(|| {
            let count = fewest.min(5);
            (0..REPEATS)
                .flat_map(|repeat| split::folds(&known, count, &mut stream(seed, Purpose::Folds, repeat)))
                .collect()
        });
        let x = data.x().select(Axis(0), &rows);
        Self { x, y, n_classes: data.n_classes(), n_labelled, folds }
    }

    /// Labels with a fold hidden.
    fn visible(&self, fold: &[usize]) -> Vec<Option<usize>> {
        let mut y = self.y.clone();
        fold.iter().for_each(|&row| y[row] = None);
        y
    }
}

/// How a learner did on held-out labelled rows, by row: averages over the repeats.
struct Scored {
    log_p: Array1<f64>,
    right: Array1<f64>,
}

impl Scored {
    /// Cross-validates a learner that turns visible labels into p(k | x) of the labelled rows.
    fn new(
        sample: &Sample,
        folds: &[Vec<usize>],
        learn: impl Fn(&[Option<usize>]) -> Array2<f64> + Sync,
    ) -> Self {
        let mut scored =
            Self { log_p: Array1::zeros(sample.n_labelled), right: Array1::zeros(sample.n_labelled) };
        for fold in folds {
            let p = learn(&sample.visible(fold));
            for &row in fold {
                let (p, y) = (p.row(row), sample.y[row].expect("folds are of labelled rows"));
                let best = semisup::metrics::arg_max(p.insert_axis(Axis(0)))[0];
                scored.log_p[row] += p[y].max(0.02).ln() / REPEATS as f64;
                scored.right[row] += f64::from(best == y) / REPEATS as f64;
            }
        }
        scored
    }

    fn label_spreading(x: ArrayView2<f64>, sample: &Sample, folds: &[Vec<usize>]) -> Self {
        let graph = graph::Graph::symmetric_knn(x, NEIGHBOURS, graph::EdgeWeight::LocalGaussian);
        Self::new(sample, folds, |y| graph::spread(graph.clone(), y, sample.n_classes, ALPHA))
    }

    fn logistic(x: ArrayView2<f64>, sample: &Sample, folds: &[Vec<usize>]) -> Self {
        Self::new(sample, folds, |y| {
            let rows: Vec<usize> = (0..sample.n_labelled).filter(|&row| y[row].is_some()).collect();
            let mut q = Array2::zeros((rows.len(), sample.n_classes));
            rows.iter().enumerate().for_each(|(i, &row)| q[[i, y[row].expect("filtered")]] = 1.0);
            let model = Logistic::fit(x.select(Axis(0), &rows).view(), q.view(), 1.0);
            model.log_probs(x.slice(ndarray::s![..sample.n_labelled, ..])).exp()
        })
    }

    fn accuracy(&self) -> f64 {
        self.right.mean().unwrap_or(0.0)
    }

    /// Mean and standard error of the paired difference to another learner.
    fn lead(&self, other: &Self) -> (f64, f64) {
        let difference = &self.log_p - &other.log_p + &self.right - &other.right;
        let n = difference.len() as f64;
        (difference.mean().unwrap_or(0.0), difference.std(0.0) / n.sqrt())
    }

    fn beats(&self, other: &Self) -> bool {
        let (mean, error) = self.lead(other);
        mean > 0.5 * error
    }

    fn clearly_beats(&self, other: &Self) -> bool {
        let (mean, error) = self.lead(other);
        mean > 1.5 * error && mean > 0.1
    }
}
