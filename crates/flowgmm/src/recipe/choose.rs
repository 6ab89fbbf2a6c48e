//! The automatic recipe: settings chosen from the data, with reasons.
//!
//! Training a flow for every candidate would take too long and, with few labels, would choose by luck. So quick teachers
//! stand in for it: label spreading in spaces of different whitening, for how well a space keeps classes together, and a
//! pool of supervised experts. Each is cross-validated on the labelled rows, never on others. Nothing is switched by
//! them: the whitening of the flow's space is the mean over candidates, each teacher counts by the probability it gives
//! to held-out labels, and both start from a prior that few labels hardly move.

use ndarray::ArrayView2;
use semisup::{Part, SemiSupervised, Watch};
use serde::{Deserialize, Serialize};

use super::held_out::{HeldOut, Sample, posterior, together, weighted};
use crate::{
    Result,
    config::{FitConfig, ForestConfig, Prepare, QuantileTransform},
    fitter::shares::smoothed,
    prepared::TAUGHT,
    teachers::{Teacher, TeacherMethod},
};
use flowgmm_core::Prior;

/// Neighbours and alpha of label spreading.
const NEIGHBOURS: usize = 7;
const ALPHA: f64 = 0.99;
/// Columns from which their relative scales may be taken to mean something. With fewer, nothing that is chosen depends
/// on the units they are in.
const ONE_UNIT: usize = 25;
/// One in so many columns of 0 and 1 makes a table one of categories.
const FEW_LEVELS: usize = 5;
/// The pool of experts. Its trees vote as one, so that few are enough for a teacher.
const EXPERTS: TeacherMethod = TeacherMethod::Experts { n_trees: 100 };
/// Candidates of the whitening, and the prior of each: relative variances are kept unless held-out labels say otherwise,
/// since whitening blows up directions of noise.
const WHITENING: [(f64, f64); 3] = [(0.0, 0.9), (0.5, 0.07), (1.0, 0.03)];
/// Naive Bayes: five unlabelled rows count as much as a label, for few labels shall decide what classes mean.
const NAIVE_BAYES: TeacherMethod = TeacherMethod::NaiveBayes { bins: 5, unlabelled_weight: 0.2 };
/// How much teachers count before any label is held out: the experts, label spreading and naive Bayes.
const TRUST: [f64; 3] = [0.68, 0.17, 0.15];
/// Rows up to which a table is small: a narrow flow and half the steps are as good there.
const SMALL: usize = 4000;
/// Values up to which a column is discrete. A small table whose columns are mostly discrete wants more noise: a density of
/// points on a grid is a set of spikes.
const DISCRETE: usize = 20;
/// Trees beside the flow, at most.
const TREES: usize = 200;
/// Labels of each class at which the class shares that teachers find count half, and even shares the other half.
const PSEUDO_COUNT: f64 = 2.0;

/// The fractions of the choice after which the columns are looked at, and label spreading and experts are cross-validated.
const COLUMNS: f64 = 0.05;
const SPREAD: f64 = 0.85;
const EXPERTS_DONE: f64 = 0.95;

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
        let family = Family::of(sample.normal.view());
        let spreading = |space: Prepare| TeacherMethod::LabelSpreading {
            space: Some(space),
            neighbours: NEIGHBOURS,
            alpha: ALPHA,
        };
        let spread = Part::new(watch, COLUMNS..SPREAD);
        let by_space = WHITENING.iter().enumerate().map(|(i, &(whiten, _))| {
            let part = Part::of(&spread, i, WHITENING.len());
            sample.cross_validate(spreading(family.whitened(whiten)), &part)
        });
        let by_space = by_space.collect::<Result<Option<Vec<HeldOut>>>>()?;
        let experts = sample.cross_validate(EXPERTS, &Part::new(watch, SPREAD..EXPERTS_DONE))?;
        let naive_bayes = sample.cross_validate(NAIVE_BAYES, &Part::new(watch, EXPERTS_DONE..1.0))?;
        match (by_space, experts, naive_bayes) {
            (Some(by_space), Some(experts), Some(naive_bayes)) => {
                let (space, spread) = recipe.choose_space(family, by_space);
                recipe.choose_teachers(&[experts, spread, naive_bayes]);
                recipe.config.teachers[1].method = spreading(space);
            }
            _ => {
                let safe = family.whitened(0.0);
                recipe.take_defaults(&[EXPERTS, spreading(safe), NAIVE_BAYES], safe);
            }
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

    /// The mean whitening over candidates, each weighted by its prior and by the probability that label spreading in it gives
    /// to held-out labels; and the predictions of the candidate that counts most.
    fn choose_space(&mut self, family: Family, mut held_out: Vec<HeldOut>) -> (Prepare, HeldOut) {
        let weights = posterior(&held_out, &WHITENING.map(|(_, prior)| prior));
        let whiten: f64 = WHITENING.iter().zip(&weights).map(|((whiten, _), weight)| whiten * weight).sum();
        let space = family.whitened((100.0 * whiten).round() / 100.0);
        self.config.prepare = space;
        let scores = WHITENING.iter().zip(&held_out).zip(&weights).map(|(((whiten, _), found), weight)| {
            format!("{whiten} {:.0}% (counts {:.0}%)", 100.0 * found.accuracy(), 100.0 * weight)
        });
        let why = format!(
            "mean over whitenings, by label spreading on held-out labels: {}",
            scores.collect::<Vec<_>>().join(", ")
        );
        self.note("space", describe(&space), why);
        let most = (0..weights.len()).fold(0, |best, at| if weights[at] > weights[best] { at } else { best });
        (space, held_out.swap_remove(most))
    }

    /// How much each teacher counts.
    fn choose_teachers(&mut self, candidates: &[HeldOut]) {
        let teachers = weighted(candidates, &TRUST);
        let total = teachers.iter().map(|teacher| teacher.weight).sum::<f64>();
        let shares = teachers.iter().map(|teacher| {
            format!("{} {:.0}%", describe_method(&teacher.method), 100.0 * teacher.weight / total)
        });
        let choice = shares.collect::<Vec<String>>().join(", ");
        let scores = candidates
            .iter()
            .map(|found| format!("{} {:.0}%", describe_method(&found.method), 100.0 * found.accuracy()));
        let why = format!(
            "right on held-out labels: {}; together {:.0}%",
            scores.collect::<Vec<_>>().join(", "),
            100.0 * together(candidates, &teachers)
        );
        self.config.teachers = teachers;
        self.note("teachers", choice, why);
    }

    /// How common classes are: as among the labels, if these are clearly uneven; else what the teachers find in the rows.
    fn choose_prior(&mut self, data: &SemiSupervised) {
        let counts = data.class_counts();
        let (n, k) = (data.labelled().len() as f64, data.n_classes() as f64);
        if clearly_uneven(data) {
            self.config.architecture.prior = Prior::Given(smoothed(&counts));
            self.note("class shares", "as among the labels", "labels are clearly uneven over classes");
        } else if !data.unlabelled().is_empty() {
            let pseudo_count = PSEUDO_COUNT * k;
            self.config.architecture.prior = Prior::Estimated { pseudo_count };
            self.note(
                "class shares",
                "what the teachers predict for unlabelled rows on average, shrunk towards even shares",
                format!(
                    "labels are even, rows may not be; even shares count as {pseudo_count} labels of {}",
                    n + pseudo_count
                ),
            );
        }
    }

    /// The defaults, where no label can be held out.
    fn take_defaults(&mut self, methods: &[TeacherMethod], space: Prepare) {
        let why = "a class has one label only, so that nothing can be cross-validated";
        self.config.teachers = methods.iter().map(|&method| Teacher::plain(method)).collect();
        for (teacher, trust) in self.config.teachers.iter_mut().zip(TRUST) {
            (teacher.weight, teacher.temperature) = (trust, teacher.method.usual_temperature());
        }
        self.config.prepare = space;
        self.note("space", describe(&space), why);
        let names: Vec<String> = methods.iter().map(describe_method).collect();
        self.note("teachers", names.join(", "), why);
    }

    /// Width, steps and noise by the size of the problem.
    fn choose_size(&mut self, data: &SemiSupervised) {
        let (n, k) = (data.n(), data.n_classes());
        if data.unlabelled().is_empty() {
            self.config.train.objective.consistency = None;
        }
        if n <= SMALL {
            self.config.architecture.hidden = vec![64];
            self.config.train.steps = 1000;
            if mostly_discrete(data.x()) {
                (self.config.train.noise, self.config.train.view_noise) = (0.5, 0.5);
            }
        }
        if n > 50_000 || k > 20 {
            self.config.train.steps = 3000;
            self.config.train.batch_unlabelled = 400;
        }
        self.config.forest = Some(ForestConfig { n_trees: TREES });
        let train = &self.config.train;
        let choice = format!(
            "{} couplings of width {:?}, {} steps of {} unlabelled rows",
            self.config.architecture.depth,
            self.config.architecture.hidden,
            train.steps,
            train.batch_unlabelled
        );
        self.note("size", choice, format!("{n} rows of {} columns, {k} classes", data.dim()));
        if data.unlabelled().len() > TAUGHT {
            let why = "graphs of more rows take too long; the flow learns from the other rows, too";
            self.note("sample", format!("teachers see the labels and {TAUGHT} unlabelled rows"), why);
        }
    }
}

impl From<FitConfig> for Recipe {
    /// These settings, of which nothing was chosen.
    fn from(config: FitConfig) -> Self {
        Self { start: config.clone(), config, decisions: Vec::new() }
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

/// How columns become the space that flow and label spreading work in, but for the whitening.
#[derive(Clone, Copy)]
struct Family {
    dims: usize,
    /// Whether columns are in one unit, so that their relative scales tell what matters.
    one_unit: bool,
}

impl Family {
    fn of(x: ArrayView2<f64>) -> Self {
        let dims = if x.ncols() > 128 { 64 } else { 32 };
        Self { dims, one_unit: x.ncols() >= ONE_UNIT && comparable(x) }
    }

    fn whitened(self, whiten: f64) -> Prepare {
        let dims = self.dims;
        match self.one_unit {
            true => Prepare::Pca { dims, whiten },
            false => Prepare::PcaStandardised { dims, whiten },
        }
    }
}

fn describe_method(method: &TeacherMethod) -> String {
    match method {
        TeacherMethod::LabelSpreading { space: Some(space), .. } => {
            format!("label spreading in {}", describe(space))
        }
        TeacherMethod::LabelSpreading { space: None, .. } => "label spreading".into(),
        TeacherMethod::SelfTraining { threshold, .. } if *threshold > 1.0 => "logistic regression".into(),
        TeacherMethod::SelfTraining { .. } => "self-training".into(),
        TeacherMethod::Experts { .. } => "experts (regressions and trees)".into(),
        TeacherMethod::NaiveBayes { .. } => "naive Bayes".into(),
    }
}

/// Whether at least half of the columns have few values.
fn mostly_discrete(x: ArrayView2<f64>) -> bool {
    let few = |column: &ndarray::ArrayView1<f64>| {
        let mut values = column.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len() <= DISCRETE
    };
    2 * x.columns().into_iter().filter(few).count() >= x.ncols()
}

/// Whether columns look as if they were in one unit, such as pixels: only then do their relative scales mean something.
fn comparable(x: ArrayView2<f64>) -> bool {
    let range = |column: ndarray::ArrayView1<f64>| {
        let (low, high) = column.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        high - low
    };
    // Categories have no unit, but a few columns of 0 and 1 may be pixels that hardly vary. And one column in another unit is
    // enough: it would be all that principal directions see.
    let is_level = |column: ndarray::ArrayView1<f64>| column.iter().all(|v| *v == 0.0 || *v == 1.0);
    let varies = |column: &ndarray::ArrayView1<f64>| range(*column) > 0.0;
    let columns: Vec<_> = x.columns().into_iter().filter(varies).collect();
    let levels = columns.iter().filter(|column| is_level(**column)).count();
    if FEW_LEVELS * levels >= columns.len() {
        return false;
    }
    let counted = columns.into_iter().filter(|column| !is_level(*column));
    let mut ranges: Vec<f64> = counted.map(range).collect();
    ranges.sort_by(f64::total_cmp);
    let n = ranges.len();
    ranges[n * 9 / 10] <= 30.0 * ranges[n / 10] && ranges[n - 1] <= 10.0 * ranges[n / 2]
}

fn describe(prepare: &Prepare) -> String {
    match prepare {
        Prepare::Raw => "columns as they are".into(),
        Prepare::Standardise => "standardised columns".into(),
        Prepare::Scale => "columns by one scale".into(),
        Prepare::Pixels => "pixels in [0, 1]".into(),
        Prepare::Pca { whiten, .. } => format!("principal directions, whitening {whiten}"),
        Prepare::PcaStandardised { whiten, .. } => {
            format!("principal directions of standardised columns, whitening {whiten}")
        }
    }
}
