//! A semi-supervised problem in the flow's own space: preprocessed rows, visible labels, teacher predictions.

use std::sync::{Arc, OnceLock};

use flowgmm_learners::{Forest, NaiveBayes, NaiveBayesModel};
use ndarray::{Array2, ArrayView2, Axis};
use rand::Rng as _;
use semisup::{Part, Preprocess, SemiSupervised, Watch, metrics::log_sum_exp, split::evenly_spaced};

use crate::{
    Error, Result,
    config::{Dequantise, FitConfig},
    observer::{Observer, Phase, watched},
    teachers::{Taught, Teachers},
};
use flowgmm_core::{
    Dequantiser, FlowGmm, Prior, SCORING_BATCH,
    train::{Purpose, RowCache, TaughtRows, TrainState, TrainingMatrix, TrainingRows, stream},
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
/// Unlabelled rows that teachers see, at most: graphs grow faster than their rows, and the flow sees the rest.
pub(crate) const TAUGHT: usize = 30_000;
/// Rows that maps of columns and principal directions are learnt from, at most.
pub(crate) const MAPPED: usize = 200_000;
/// Rows that are mapped to the flow's space at once.
const PART: usize = 16_384;
/// With fewer unlabelled rows of a table, none is kept from the flow.
const ENOUGH_UNLABELLED: usize = 80;

/// The problem in the flow's space.
pub struct Prepared<'a> {
    /// The map from the user's columns to the flow's.
    pub preprocess: Preprocess,
    /// The rows in the user's columns: of all rows, only those to train on are kept in the flow's space, in single precision.
    data: &'a SemiSupervised,
    /// The unlabelled rows to train on.
    matrix: OnceLock<Arc<TrainingMatrix>>,
    /// More unlabelled rows to train on, which the data do not hold.
    cache: Option<Arc<RowCache>>,
    /// How rows are spread, if training is to see them so.
    spread: Option<Arc<Dequantiser>>,
    labelled: Vec<usize>,
    unlabelled: Vec<usize>,
    /// Unlabelled rows that neither the preprocessing nor the flow learns from, ascending; the teachers may see them.
    kept: Vec<usize>,
    /// Rows that the teachers see, ascending: the labelled ones, and the others or a sample of them.
    taught: Vec<usize>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    teachers: Teachers,
    /// What the teachers predict with all labels.
    predictions: Option<Arc<Taught>>,
}

impl<'a> Prepared<'a> {
    /// Preprocesses the rows and lets the teachers predict them.
    pub fn new(config: &FitConfig, data: &'a SemiSupervised, observer: &mut dyn Observer) -> Result<Self> {
        Self::keeping(config, data, Vec::new(), observer)
    }

    /// [`Prepared::new`] with some unlabelled rows kept from preprocessing and training, to tell what is typical; none if there
    /// are few.
    pub(crate) fn keeping_some(
        config: &FitConfig,
        data: &'a SemiSupervised,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        Self::keeping(config, data, kept_rows(data, seed), observer)
    }

    fn keeping(
        config: &FitConfig,
        data: &'a SemiSupervised,
        kept: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let taught = taught_rows(data);
        let Scaled { normal, preprocess, spread } =
            watched(observer, &Phase::Preprocessing, data.n(), |watch| {
                Scaled::new(config, data, &kept, &taught, watch)
            })?;
        let teachers = if data.unlabelled().is_empty() { &[] } else { config.teachers.as_slice() };
        let x = preprocess.apply(data.x().select(Axis(0), &taught).view());
        let teachers = Teachers::new(teachers, data.n_classes(), x.view(), normal.view(), observer)?;
        let teachers = match config.architecture.prior {
            Prior::Estimated { .. } => teachers.balanced(),
            Prior::Uniform | Prior::Empirical | Prior::Given(_) => teachers,
        };
        let mut problem = Self {
            preprocess,
            data,
            matrix: OnceLock::new(),
            cache: None,
            spread,
            labelled: data.labelled(),
            unlabelled: data.unlabelled(),
            kept,
            taught,
            y: data.y().to_vec(),
            n_classes: data.n_classes(),
            teachers,
            predictions: None,
        };
        problem.predictions = problem.predict(&problem.y, observer)?;
        Ok(problem)
    }

    /// The problem with more unlabelled rows to train on.
    pub(crate) fn with_cache(self, cache: Arc<RowCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Number of rows on disk.
    pub(crate) fn cached(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.len())
    }

    /// What the teachers predict with these labels `[n]`, of the rows that they see.
    fn predict(&self, y: &[Option<usize>], observer: &mut dyn Observer) -> Result<Option<Arc<Taught>>> {
        let y: Vec<Option<usize>> = self.taught.iter().map(|&row| y[row]).collect();
        Ok(self.teachers.predict(&y, observer)?.map(Arc::new))
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
        let predictions = self.predict(&y, observer)?;
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
        let is_unlabelled = |&at: &usize| self.y[self.taught[at]].is_none();
        let unlabelled: Vec<usize> = (0..self.taught.len()).filter(is_unlabelled).collect();
        Some(predictions.targets.select(Axis(0), &unlabelled).mean_axis(Axis(0))?.to_vec())
    }

    /// The labelled rows whose labels are shown, ascending, and their classes.
    pub(crate) fn visible(&self, shown: &Shown) -> (Vec<usize>, Vec<usize>) {
        self.labelled.iter().filter_map(|&row| Some((row, shown.y[row]?))).unzip()
    }

    /// Naive Bayes on the rows that the teachers see, in the user's columns.
    pub(crate) fn naive_bayes(&self, learner: &NaiveBayes, shown: &Shown) -> Result<NaiveBayesModel> {
        let y: Vec<Option<usize>> = self.taught.iter().map(|&row| shown.y[row]).collect();
        let x = self.user_rows(&self.taught);
        Ok(learner.fit_rows(x.view(), &y, self.data.classes(), &())?)
    }

    /// A forest in the user's columns, distilled from the labels and what the teachers predict with them.
    pub(crate) fn forest(&self, shown: &Shown, n_trees: usize, seed: u64) -> Result<Forest> {
        let none = Array2::zeros((self.taught.len(), self.n_classes));
        let q = shown.predictions.as_ref().map_or(none.view(), |taught| taught.for_trees.view());
        let y: Vec<Option<usize>> = self.taught.iter().map(|&row| shown.y[row]).collect();
        Ok(flowgmm_learners::distil(self.user_rows(&self.taught).view(), &y, q, n_trees, seed)?)
    }

    /// Number of classes.
    pub(crate) fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.data.n()
    }

    /// Number of the flow's columns.
    pub fn dim(&self) -> usize {
        self.preprocess.dim_out()
    }

    /// Some rows in the flow's space, `[rows, dim]`.
    pub fn x_of(&self, rows: &[usize]) -> Array2<f64> {
        self.preprocess.apply(self.data.x().select(Axis(0), rows).view())
    }

    /// The rows that the teachers see, in the flow's space, `[n_taught, dim]`.
    pub(crate) fn taught_x(&self) -> Array2<f64> {
        self.x_of(&self.taught)
    }

    /// The unlabelled rows that the flow is trained on, ascending.
    pub(crate) fn trained_on(&self) -> Vec<usize> {
        without(&self.unlabelled, &self.kept)
    }

    /// The rows in the user's columns, `[rows, dim_in]`.
    pub(crate) fn user_rows(&self, rows: &[usize]) -> Array2<f64> {
        self.data.x().select(Axis(0), rows)
    }

    /// The rows with a label, ascending.
    pub(crate) fn labelled_rows(&self) -> &[usize] {
        &self.labelled
    }

    /// How rows are spread, if training is to see them so.
    pub(crate) fn spread(&self) -> Option<&Arc<Dequantiser>> {
        self.spread.as_ref()
    }

    /// Class weights of these rows for placing means: labels, and teacher predictions if there are some.
    pub fn weights(&self, shown: &Shown) -> Array2<f64> {
        let predictions = shown.predictions.as_ref().map(|taught| taught.targets.clone());
        let mut q = predictions.unwrap_or_else(|| Array2::zeros((self.taught.len(), self.n_classes)));
        for (mut row, at) in q.rows_mut().into_iter().zip(&self.taught) {
            if let Some(k) = shown.y[*at] {
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
        let unlabelled = self.trained_on();
        let soft = shown.predictions.as_ref().map(|taught| {
            // Both ascending: where each unlabelled row is among the taught ones.
            let at = unlabelled.iter().map(|row| self.taught.binary_search(row).ok());
            let (rows, at): (Vec<usize>, Vec<usize>) =
                at.enumerate().filter_map(|(i, at)| at.map(|at| (i, at))).unzip();
            let q = taught.targets.select(Axis(0), &at).iter().map(|&v| v as f32).collect();
            TaughtRows { rows, q }
        });
        TrainingRows {
            y: labelled.iter().filter_map(|&row| shown.y[row]).collect(),
            labelled: self.pick(&labelled),
            unlabelled: self.matrix.get_or_init(|| Arc::new(self.matrix_of(&unlabelled))).clone(),
            soft_targets: soft,
            n_classes: self.n_classes,
        }
    }

    /// Unlabelled rows, and after them those on disk.
    fn matrix_of(&self, unlabelled: &[usize]) -> TrainingMatrix {
        let rows = self.pick(unlabelled);
        match &self.cache {
            None => rows,
            Some(cache) => rows.with_cache(cache.clone()),
        }
    }

    fn pick(&self, rows: &[usize]) -> TrainingMatrix {
        training_matrix(self.data.x(), rows, &self.preprocess, self.spread.as_ref())
    }

    /// An error unless every labelled row has a finite density: a run too short to give up must not end in NaN.
    pub fn check_finite(&self, gmm: &FlowGmm, state: &TrainState) -> Result<()> {
        let joint = gmm.log_joint(self.x_of(&self.labelled).view());
        if joint.iter().all(|v| v.is_finite()) {
            return Ok(());
        }
        let cause = "a labelled row has no finite density".to_string();
        Err(Error::Diverged { step: state.step, cause, rollbacks: state.rollbacks })
    }

    /// log p(x, k) of held-out labelled rows, `[held, K]`.
    pub fn joint_of(&self, gmm: &FlowGmm, held: &[usize]) -> Array2<f64> {
        let held: Vec<usize> = held.iter().map(|&at| self.labelled[at]).collect();
        gmm.log_joint(self.x_of(&held).view())
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
                let chunk = gmm.log_joint(self.x_of(rows).view());
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
        let joint = gmm.log_joint(self.x_of(&rows).view());
        let unlabelled = mean(joint.rows().into_iter().map(log_sum_exp).collect());
        let score = labelled + unlabelled / gmm.dim() as f64;
        if score.is_nan() { f64::NEG_INFINITY } else { score }
    }
}

/// Some rows of x `[n, dim_in]` as training sees them.
pub(crate) fn training_matrix(
    x: ArrayView2<f64>,
    rows: &[usize],
    preprocess: &Preprocess,
    spread: Option<&Arc<Dequantiser>>,
) -> TrainingMatrix {
    let discrete = spread.map(|by| by.rows(x, rows));
    let parts = rows.chunks(PART).map(|rows| preprocess.apply(x.select(Axis(0), rows).view()));
    TrainingMatrix::from_parts(preprocess.dim_out(), parts).dequantised(discrete)
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

/// The rows that teachers see: the labelled ones, and a random one of each of [`TAUGHT`] stretches of the others, or all of
/// them if there are no more. Whatever the seed, they are the same.
fn taught_rows(data: &SemiSupervised) -> Vec<usize> {
    let unlabelled = data.unlabelled();
    let n = unlabelled.len();
    if n <= TAUGHT {
        return (0..data.n()).collect();
    }
    let mut rng = stream(0, Purpose::Selection, 1);
    let mut pick = |i: usize| unlabelled[rng.random_range(i * n / TAUGHT..(i + 1) * n / TAUGHT)];
    let mut rows: Vec<usize> = data.labelled().into_iter().chain((0..TAUGHT).map(&mut pick)).collect();
    rows.sort_unstable();
    rows
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
    predictions: Option<Arc<Taught>>, // [n, K]
}

/// Rows on their way to the flow's space.
struct Scaled {
    /// The taught rows in the user's columns, skewed ones made normal.
    normal: Array2<f64>,
    preprocess: Preprocess,
    spread: Option<Arc<Dequantiser>>,
}

impl Scaled {
    /// Learns the maps from all rows but those kept, or from a sample of them.
    fn new(
        config: &FitConfig,
        data: &SemiSupervised,
        kept: &[usize],
        taught: &[usize],
        watch: &dyn Watch,
    ) -> Result<Self> {
        // A map that had seen the rows kept would make them more typical than fresh ones: with as many dimensions as a
        // tenth of the rows, whitening does so visibly.
        let all: Vec<usize> = (0..data.n()).collect();
        let shown = without(&all, kept);
        let shown: Vec<usize> = evenly_spaced(shown.len(), MAPPED).into_iter().map(|at| shown[at]).collect();
        let seen = data.x().select(Axis(0), &shown);
        let shapes = config.quantile_transform.learn_watched(seen.view(), &Part::new(watch, 0.0..0.6))?;
        let seen = semisup::to_normal_columns(seen.view(), &shapes);
        watch.at(0.7)?;
        let preprocess = config.prepare.learn(seen.view())?;
        drop(seen);
        let normal = semisup::to_normal_columns(data.x().select(Axis(0), taught).view(), &shapes);
        let preprocess = preprocess.with_column_maps(shapes.clone());
        watch.at(0.8)?;
        let spread = match config.dequantise {
            Dequantise::Off => None,
            Dequantise::Uniform => Dequantiser::new(data.x(), data.steps(), &shapes, &preprocess),
        };
        Ok(Self { normal, preprocess, spread })
    }
}
