//! A semi-supervised problem in the flow's own space: preprocessed rows, visible labels, teacher predictions.

use std::sync::Arc;

use flowgmm_learners::Forest;
use ndarray::{Array2, ArrayView2, Axis};
use rand::Rng as _;
use semisup::{Part, Preprocess, SemiSupervised, Watch, metrics::log_sum_exp, split::evenly_spaced};

use crate::{
    Error, Result,
    config::{Dequantise, FitConfig},
    observer::{Observer, Phase, watched},
    teachers::Teachers,
};
use flowgmm_core::{
    Dequantiser, FlowGmm, Prior, SCORING_BATCH,
    train::{Purpose, TrainState, TrainingMatrix, TrainingRows, stream},
};

/// Unlabelled rows that tell how sure a model is, at most.
const CONFIDENCE_ROWS: usize = 4096;
/// One of so many unlabelled rows of a table is kept from the flow, to tell what is typical of fresh rows.
const KEPT: usize = 8;
/// One of so many unlabelled images: a flow of images needs every image, and there are enough of them.
const KEPT_IMAGES: usize = 32;
/// Rows that are kept from the flow, at most and at least; fewer would tell nothing.
const MOST_KEPT: usize = 2048;
const LEAST_KEPT: usize = 19;
/// With fewer unlabelled rows of a table, none is kept from the flow.
const ENOUGH_UNLABELLED: usize = 80;

/// The problem in the flow's space.
pub struct Prepared {
    /// The map from the user's columns to the flow's.
    pub preprocess: Preprocess,
    /// All rows, `[n, dim]`.
    pub x: Array2<f64>,
    /// The rows in the user's columns, and how they are spread, if training is to see them so.
    discrete: Option<(Array2<f64>, Arc<Dequantiser>)>,
    labelled: Vec<usize>,
    unlabelled: Vec<usize>,
    /// Unlabelled rows that neither the preprocessing nor the flow learns from, ascending; the teachers may see them.
    kept: Vec<usize>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    teachers: Teachers,
    /// What the teachers predict with all labels, `[n, K]`.
    predictions: Option<Array2<f64>>,
}

impl Prepared {
    /// Preprocesses the rows and lets the teachers predict them.
    pub fn new(config: &FitConfig, data: &SemiSupervised, observer: &mut dyn Observer) -> Result<Self> {
        Self::keeping(config, data, Vec::new(), observer)
    }

    /// [`Prepared::new`] with some unlabelled rows kept from preprocessing and training, to tell what is typical; none if there
    /// are few.
    pub(crate) fn keeping_some(
        config: &FitConfig,
        data: &SemiSupervised,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        Self::keeping(config, data, kept_rows(data, seed), observer)
    }

    fn keeping(
        config: &FitConfig,
        data: &SemiSupervised,
        kept: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let Scaled { normal, preprocess, spread, x } =
            watched(observer, &Phase::Preprocessing, data.n(), |watch| {
                Scaled::new(config, data, &kept, watch)
            })?;
        let teachers = if data.unlabelled().is_empty() { &[] } else { config.teachers.as_slice() };
        let teachers = Teachers::new(teachers, data.n_classes(), x.view(), normal.view(), observer)?;
        let teachers = match config.architecture.prior {
            Prior::Estimated { .. } => teachers.balanced(),
            Prior::Uniform | Prior::Empirical | Prior::Given(_) => teachers,
        };
        let mut problem = Self {
            preprocess,
            x,
            discrete: spread.map(|by| (data.x().to_owned(), by)),
            labelled: data.labelled(),
            unlabelled: data.unlabelled(),
            kept,
            y: data.y().to_vec(),
            n_classes: data.n_classes(),
            teachers,
            predictions: None,
        };
        problem.predictions = problem.teachers.predict(&problem.y, observer)?;
        Ok(problem)
    }

    /// The classes of the labelled rows, in their order.
    pub fn y_labelled(&self) -> Vec<usize> {
        self.labelled.iter().filter_map(|&row| self.y[row]).collect()
    }

    /// All labels, and what the teachers predict with them.
    pub fn whole(&self) -> Shown {
        Shown { y: self.y.clone(), predictions: self.predictions.clone() }
    }

    /// The labels without a fold (positions among the labelled rows), and what the teachers predict with them.
    pub fn without(&self, held: &[usize], observer: &mut dyn Observer) -> Result<Shown> {
        let mut y = self.y.clone();
        held.iter().for_each(|&at| y[self.labelled[at]] = None);
        let predictions = self.teachers.predict(&y, observer)?;
        Ok(Shown { y, predictions })
    }

    /// Unlabelled rows that the flow was not trained on; none if there are few.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The row of a labelled row, by its position among them.
    pub(crate) fn labelled_row(&self, at: usize) -> usize {
        self.labelled[at]
    }

    /// The mean of what the teachers predict for unlabelled rows, `[K]`; `None` without teachers or such rows.
    pub(crate) fn average_prediction(&self, shown: &Shown) -> Option<Vec<f64>> {
        let predictions = shown.predictions.as_ref()?;
        let mean = predictions.select(Axis(0), &self.unlabelled).mean_axis(Axis(0))?;
        Some(mean.to_vec())
    }

    /// A forest on rows x in the user's columns, distilled from the labels and what experts predict with them, or, without
    /// experts, the teachers.
    pub(crate) fn forest(
        &self,
        x: ArrayView2<f64>,
        shown: &Shown,
        n_trees: usize,
        seed: u64,
    ) -> Result<Forest> {
        let q = match self.teachers.experts(&shown.y)? {
            Some(q) => q,
            None => self.weights(shown),
        };
        Ok(flowgmm_learners::distil(x, &shown.y, q.view(), n_trees, seed)?)
    }

    /// Class weights of every row for placing means: labels, and teacher predictions if there are some.
    pub fn weights(&self, shown: &Shown) -> Array2<f64> {
        let predictions = shown.predictions.clone();
        let mut q = predictions.unwrap_or_else(|| Array2::zeros((self.x.nrows(), self.n_classes)));
        for (mut row, y) in q.rows_mut().into_iter().zip(&shown.y) {
            if let Some(k) = *y {
                row.fill(0.0);
                row[k] = 1.0;
            }
        }
        q
    }

    /// Rows to train on; a held-out fold joins neither side, nor do the rows that tell what is typical.
    pub fn rows(&self, shown: &Shown) -> TrainingRows {
        let labelled: Vec<usize> =
            self.labelled.iter().copied().filter(|&row| shown.y[row].is_some()).collect();
        let unlabelled = without(&self.unlabelled, &self.kept);
        let soft = shown
            .predictions
            .as_ref()
            .map(|q| q.select(Axis(0), &unlabelled).iter().map(|&v| v as f32).collect());
        TrainingRows {
            y: labelled.iter().filter_map(|&row| shown.y[row]).collect(),
            labelled: self.pick(&labelled),
            unlabelled: self.pick(&unlabelled),
            soft_targets: soft,
            n_classes: self.n_classes,
        }
    }

    fn pick(&self, rows: &[usize]) -> TrainingMatrix {
        let discrete = self.discrete.as_ref().map(|(x, by)| by.rows(x.view(), rows));
        TrainingMatrix::new(self.x.select(Axis(0), rows).view()).dequantised(discrete)
    }

    /// An error unless every labelled row has a finite density: a run too short to give up must not end in NaN.
    pub fn check_finite(&self, gmm: &FlowGmm, state: &TrainState) -> Result<()> {
        let joint = gmm.log_joint(self.x.select(Axis(0), &self.labelled).view());
        if joint.iter().all(|v| v.is_finite()) {
            return Ok(());
        }
        let cause = "a labelled row has no finite density".to_string();
        Err(Error::Diverged { step: state.step, cause, rollbacks: state.rollbacks })
    }

    /// log p(x, k) of held-out labelled rows, `[held, K]`.
    pub fn joint_of(&self, gmm: &FlowGmm, held: &[usize]) -> Array2<f64> {
        let held: Vec<usize> = held.iter().map(|&at| self.labelled[at]).collect();
        gmm.log_joint(self.x.select(Axis(0), &held).view())
    }

    /// The temperature, at least 1, at which the mean probability of the predicted class of unlabelled rows is
    /// `accuracy`.
    pub(crate) fn temperature_for(
        &self,
        gmm: &FlowGmm,
        accuracy: f64,
        observer: &mut dyn Observer,
    ) -> Result<f64> {
        if self.unlabelled.is_empty() {
            return Ok(1.0);
        }
        let joint = self.unlabelled_joint(gmm, observer)?;
        let confidence = |temperature: f64| {
            let log_probs = semisup::metrics::log_softmax((&joint / temperature).view());
            let top =
                log_probs.rows().into_iter().map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)).exp());
            top.sum::<f64>() / joint.nrows() as f64
        };
        // Confidence falls as the temperature rises.
        let (mut low, mut high) = (0.0f64, 1e3f64.ln());
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if confidence(middle.exp()) > accuracy {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high.exp())
    }

    /// log p(x, k) of some unlabelled rows, evenly spread.
    fn unlabelled_joint(&self, gmm: &FlowGmm, observer: &mut dyn Observer) -> Result<Array2<f64>> {
        let some = evenly_spaced(self.unlabelled.len(), CONFIDENCE_ROWS);
        let rows: Vec<usize> = some.into_iter().map(|at| self.unlabelled[at]).collect();
        let n = rows.len();
        let mut joint = Array2::zeros((0, self.n_classes));
        watched(observer, &Phase::TemperatureScaling, n, |watch| {
            for rows in rows.chunks(SCORING_BATCH) {
                watch.at(joint.nrows() as f64 / n as f64)?;
                let chunk = gmm.log_joint(self.x.select(Axis(0), rows).view());
                joint.append(Axis(0), chunk.view()).expect("as many classes");
            }
            Ok(joint)
        })
    }

    /// Mean log p(y | x) of held-out labelled rows plus mean log p(x) per dimension of unlabelled rows.
    pub fn score(&self, gmm: &FlowGmm, held: &[usize]) -> f64 {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let joint = self.joint_of(gmm, held);
        let held: Vec<usize> = held.iter().map(|&at| self.labelled[at]).collect();
        let own = held
            .iter()
            .zip(joint.rows())
            .map(|(&row, joint)| joint[self.y[row].expect("held rows are labelled")] - log_sum_exp(joint));
        let labelled = mean(own.collect());
        let rows: Vec<usize> = self.unlabelled.iter().copied().take(4096).collect();
        let joint = gmm.log_joint(self.x.select(Axis(0), &rows).view());
        let unlabelled = mean(joint.rows().into_iter().map(log_sum_exp).collect());
        let score = labelled + unlabelled / gmm.dim() as f64;
        if score.is_nan() { f64::NEG_INFINITY } else { score }
    }
}

/// Unlabelled rows to be kept from the flow: a random one of each of as many stretches of equal length, so that neither an
/// order nor a period of the rows decides.
fn kept_rows(data: &SemiSupervised, seed: u64) -> Vec<usize> {
    let unlabelled = data.unlabelled();
    let n = unlabelled.len();
    let one_of = if data.image_shape().is_some() { KEPT_IMAGES } else { KEPT };
    let count = if n < enough_unlabelled(data) { 0 } else { (n / one_of).clamp(LEAST_KEPT, MOST_KEPT) };
    let mut rng = stream(seed, Purpose::Typicality, 0);
    let mut pick = |i: usize| rng.random_range(i * n / count..(i + 1) * n / count);
    (0..count).map(|i| unlabelled[pick(i)]).collect()
}

/// The least number of unlabelled rows of which some are kept from training.
pub(crate) fn enough_unlabelled(data: &SemiSupervised) -> usize {
    if data.image_shape().is_some() { KEPT_IMAGES * LEAST_KEPT } else { ENOUGH_UNLABELLED }
}

/// The rows that are not among those left out, both ascending.
fn without(rows: &[usize], left_out: &[usize]) -> Vec<usize> {
    rows.iter().copied().filter(|row| left_out.binary_search(row).is_err()).collect()
}

/// Labels that a run may see, and what the teachers predict with them.
pub struct Shown {
    y: Vec<Option<usize>>,            // [n]
    predictions: Option<Array2<f64>>, // [n, K]
}

/// Rows on their way to the flow's space.
struct Scaled {
    /// The user's columns, skewed ones made normal.
    normal: Array2<f64>,
    preprocess: Preprocess,
    spread: Option<Arc<Dequantiser>>,
    /// The flow's columns.
    x: Array2<f64>,
}

impl Scaled {
    /// Learns the maps from all rows but those kept, and applies them to all.
    fn new(config: &FitConfig, data: &SemiSupervised, kept: &[usize], watch: &dyn Watch) -> Result<Self> {
        let learn_shapes =
            |x: ArrayView2<f64>| config.quantile_transform.learn_watched(x, &Part::new(watch, 0.0..0.6));
        let (shapes, preprocess, normal) = if kept.is_empty() {
            let shapes = learn_shapes(data.x())?;
            let normal = semisup::to_normal_columns(data.x(), &shapes);
            watch.at(0.7)?;
            (shapes, config.prepare.learn(normal.view())?, normal)
        } else {
            // A map that had seen the rows kept would make them more typical than fresh ones: with as many dimensions as a
            // tenth of the rows, whitening does so visibly.
            let all: Vec<usize> = (0..data.n()).collect();
            let seen = data.x().select(Axis(0), &without(&all, kept));
            let shapes = learn_shapes(seen.view())?;
            let seen = semisup::to_normal_columns(seen.view(), &shapes);
            watch.at(0.7)?;
            let preprocess = config.prepare.learn(seen.view())?;
            drop(seen);
            let normal = semisup::to_normal_columns(data.x(), &shapes);
            (shapes, preprocess, normal)
        };
        let preprocess = preprocess.with_column_maps(shapes.clone());
        watch.at(0.8)?;
        let spread = match config.dequantise {
            Dequantise::Off => None,
            Dequantise::Uniform => Dequantiser::new(data.x(), data.steps(), &shapes, &preprocess),
        };
        watch.at(0.9)?;
        let x = preprocess.apply(data.x());
        Ok(Self { normal, preprocess, spread, x })
    }
}
