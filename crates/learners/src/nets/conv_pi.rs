//! The Pi-model of Laine and Aila (2017) on images, as the paper's table 2 cites it: a convolutional net, dropout, and two
//! views of every image, whose predictions are to agree.
//!
//! ```text
//! mean_labelled -log p_y(x')  +  weight exp(-5 (1 - t)^2) mean_all |p(x') - p(x'')|^2
//! ```
//!
//! x' and x'' are translations of an image with noise, and each pass has a dropout of its own. The rate falls to 0 along a
//! cosine. Their net has 128 maps and trains for 300 epochs; [`ConvPiModel::default`] is for CPUs.

use flowgmm_kernels::{AdamState, AdamStep, adam};
use ndarray::{Array2, ArrayView2, Axis, aview1};
use semisup::metrics::log_softmax;
use semisup::{Classifier, ImageShape, Learner, Preprocess, Rng, SemiSupervised, Watch, rng};

use super::conv::{ConvNet, Running, Weights};
use super::loss::{consistency, cross_entropy};
use super::train::{Consistency, Deck};
use super::views::{PiViews, views};
use crate::error::{positive, within};
use crate::{Error, Result};

/// Images of a chunk of a prediction.
const CHUNK: usize = 256;
const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;

/// The Pi-model of images.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvPiModel {
    /// Maps of the first block; the second has twice as many, the third four times.
    pub width: usize,
    /// The probability that a unit behind a pooling is dropped.
    pub dropout: f64,
    /// Views of the images.
    pub views: PiViews,
    /// Number of steps of Adam.
    pub steps: usize,
    /// Labelled images of a batch; all of them if there are fewer.
    pub labelled_batch: usize,
    /// Unlabelled images of a batch.
    pub unlabelled_batch: usize,
    /// The initial learning rate.
    pub learning_rate: f64,
    /// Weight of consistency; Laine and Aila have 100 n_l / n for a sum over classes divided by their number, ten here.
    pub weight: f64,
    /// The share of steps over which that weight is ramped up.
    pub ramp_up: f64,
}

impl Default for ConvPiModel {
    /// A quarter of the maps of Laine and Aila, half of their dropout, which so narrow a net does not take, their views, noise
    /// and rate; some thousand steps instead of 100,000.
    fn default() -> Self {
        Self {
            width: 32,
            dropout: 0.25,
            views: PiViews { shift: 2, flip: true, noise: 0.15 },
            steps: 2000,
            labelled_batch: 32,
            unlabelled_batch: 64,
            learning_rate: 3e-3,
            weight: 10.,
            ramp_up: 0.5,
        }
    }
}

impl ConvPiModel {
    fn check(&self) -> Result<()> {
        positive("width", self.width)?;
        positive("steps", self.steps)?;
        positive("labelled batch", self.labelled_batch)?;
        positive("unlabelled batch", self.unlabelled_batch)?;
        within("dropout", self.dropout, (0. ..1.).contains(&self.dropout), "in [0, 1)")?;
        let from_zero = |value: f64| value >= 0. && value.is_finite();
        within("noise", self.views.noise, from_zero(self.views.noise), "a number from 0")?;
        within("weight", self.weight, from_zero(self.weight), "a number from 0")?;
        within("ramp_up", self.ramp_up, (0. ..=1.).contains(&self.ramp_up), "in [0, 1]")?;
        let rate = self.learning_rate;
        within("learning_rate", rate, rate > 0. && rate.is_finite(), "a number above 0")
    }

    fn consistency(&self) -> Consistency {
        let &Self { weight, ramp_up, unlabelled_batch: batch, .. } = self;
        Consistency { weight, ramp_up, noise: 0., batch }
    }
}

impl Learner for ConvPiModel {
    type Model = ConvPiNet;
    type Error = Error;

    fn name(&self) -> String {
        "Pi-model, convolutional".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ConvPiNet> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<ConvPiNet> {
        self.check()?;
        let shape = data.image_shape().ok_or(Error::NotImages { method: "the convolutional Pi-model" })?;
        let preprocess = Preprocess::pixels(data.dim());
        let images = Images::of(data, &preprocess, shape);
        let mut rng = rng(seed);
        let (net, weights) = ConvNet::new(shape, self.width, data.n_classes(), &mut rng);
        let mut training = Training::new(weights);
        let (mut labelled, mut unlabelled) = (Deck::new(images.y.len()), Deck::new(images.n_unlabelled()));
        for step in 0..self.steps {
            watch.at(step as f64 / self.steps as f64)?;
            let rows = labelled.draw(self.labelled_batch, &mut rng).to_vec();
            let others = unlabelled.draw(self.unlabelled_batch, &mut rng).to_vec();
            let loss = training.step(self, &net, &images.batch(&rows, &others), step, &mut rng);
            if !loss.is_finite() {
                let (step, steps, learning_rate) = (step + 1, self.steps, self.learning_rate);
                return Err(Error::Diverged { step, steps, loss, learning_rate });
            }
        }
        let Training { weights, running, .. } = training;
        Ok(ConvPiNet { preprocess, net, weights, running, classes: data.classes().to_vec() })
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps, ..self.clone() })
    }
}

/// Pixels of [0, 1], those with a label apart from those without.
struct Images {
    shape: ImageShape,
    labelled: Array2<f32>,
    y: Vec<usize>,
    unlabelled: Array2<f32>,
}

/// The images of a step, the labelled ones first.
struct Batch {
    shape: ImageShape,
    x: Vec<f32>,
    y: Vec<usize>,
}

impl Images {
    fn of(data: &SemiSupervised, preprocess: &Preprocess, shape: ImageShape) -> Self {
        let part = |rows: Vec<usize>| {
            preprocess.apply(data.x().select(Axis(0), &rows).view()).mapv(|value| value as f32)
        };
        let (labelled, unlabelled) = (part(data.labelled()), part(data.unlabelled()));
        Self { shape, labelled, y: data.y().iter().flatten().copied().collect(), unlabelled }
    }

    fn n_unlabelled(&self) -> usize {
        self.unlabelled.nrows()
    }

    fn batch(&self, rows: &[usize], others: &[usize]) -> Batch {
        let of = |x: &Array2<f32>, rows: &[usize]| x.select(Axis(0), rows).into_iter().collect::<Vec<f32>>();
        let x = [of(&self.labelled, rows), of(&self.unlabelled, others)].concat();
        Batch { shape: self.shape, x, y: rows.iter().map(|&row| self.y[row]).collect() }
    }
}

/// Weights, the state of Adam, running moments.
struct Training {
    weights: Weights,
    m: Weights,
    v: Weights,
    running: Running,
}

impl Training {
    fn new(weights: Weights) -> Self {
        let zeros: Weights = weights.iter().map(|w| vec![0.; w.len()]).collect();
        Self { m: zeros.clone(), v: zeros, weights, running: Running::default() }
    }

    /// One step down the gradient; the loss before it.
    fn step(&mut self, how: &ConvPiModel, net: &ConvNet, batch: &Batch, step: usize, rng: &mut Rng) -> f64 {
        let mut pass = || {
            let x = views(&batch.x, batch.shape, how.views, rng);
            net.forward(&self.weights, &x, how.dropout, rng)
        };
        let (first, second) = (pass(), pass());
        self.running.follow(&first);
        let n = batch.x.len() / batch.shape.dim();
        let logits = |trace: &super::conv::Trace| {
            let k = trace.logits.len() / n;
            Array2::from_shape_vec((n, k), trace.logits.clone()).expect("a row of logits for each image")
        };
        let (one, two) = (logits(&first), logits(&second));
        let weight = how.consistency().weight_at(step, how.steps) / n as f64;
        let (disagreement, [mut d_one, d_two]) = consistency(one.view(), two.view(), weight);
        let n_l = batch.y.len();
        let (labelled, d_labelled) =
            cross_entropy(one.slice(ndarray::s![..n_l, ..]), &batch.y, 1. / n_l as f64);
        d_one.slice_mut(ndarray::s![..n_l, ..]).zip_mut_with(&d_labelled, |d, more| *d += more);
        let flat = |d: &Array2<f32>| d.iter().copied().collect::<Vec<f32>>();
        let mut gradient = net.backward(&self.weights, first, &flat(&d_one));
        let other = net.backward(&self.weights, second, &flat(&d_two));
        for (sum, more) in gradient.iter_mut().zip(&other) {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let falling = 0.5 * (1. + (std::f64::consts::PI * step as f64 / how.steps as f64).cos());
        self.descend(&gradient, how.learning_rate * falling, step as i32 + 1);
        disagreement + labelled
    }

    fn descend(&mut self, gradient: &Weights, rate: f64, t: i32) {
        let step = AdamStep {
            shrink: 1.,
            l2: 0.,
            beta1: BETA_1 as f32,
            beta2: BETA_2 as f32,
            correct2: (1. / (1. - BETA_2.powi(t))) as f32,
            rate: (rate / (1. - BETA_1.powi(t))) as f32,
            epsilon: 1e-8,
            keep: 1.,
            average: 0.,
        };
        let moments = self.m.iter_mut().zip(&mut self.v);
        let states = (self.weights.iter_mut().zip(moments).zip(gradient))
            .map(|((theta, (m, v)), gradient)| AdamState { theta, m, v, ema: &mut [], gradient });
        adam(states.collect(), &step);
    }
}

/// A trained convolutional net.
#[derive(Clone, Debug)]
pub struct ConvPiNet {
    preprocess: Preprocess,
    net: ConvNet,
    weights: Weights,
    running: Running,
    classes: Vec<String>,
}

impl Classifier for ConvPiNet {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let k = self.classes.len();
        let mut logits = Array2::zeros((x.nrows(), k));
        let chunks = x.axis_chunks_iter(Axis(0), CHUNK).zip(logits.axis_chunks_iter_mut(Axis(0), CHUNK));
        for (x, mut to) in chunks {
            let pixels: Vec<f32> = self.preprocess.apply(x).iter().map(|&v| v as f32).collect();
            let found = self.net.predict(&self.weights, &self.running, &pixels);
            let found = aview1(&found).mapv(f64::from).into_shape_with_order((x.nrows(), k));
            to.assign(&found.expect("K logits for each image"));
        }
        log_softmax(logits.view())
    }
}

#[cfg(test)]
mod tests {
    use semisup::{Scores, digits_problem};

    use super::*;

    /// 8 x 8 digits as images, five labels of each.
    fn digits(seed: u64) -> (SemiSupervised, semisup::Labelled) {
        let semisup::Problem { train, test } = digits_problem(5, seed);
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        // 0 to 16 become pixel values.
        let train = train.with_rows(train.x().mapv(|v| 15.9 * v)).unwrap().with_image_shape(Some(shape));
        let x = test.x().mapv(|v| 15.9 * v);
        let test =
            semisup::Labelled::new(x, test.y().to_vec(), test.classes().to_vec(), test.columns().to_vec());
        (train, test.unwrap())
    }

    fn accuracy(learner: &ConvPiModel, train: &SemiSupervised, test: &semisup::Labelled) -> f64 {
        let model = learner.fit(train, 1).unwrap();
        Scores::from_log_probs(&model.log_probs(test.x()), test.y()).accuracy
    }

    #[test]
    fn it_learns_digits_and_consistency_helps() {
        let (train, test) = digits(600);
        let views = PiViews { shift: 1, flip: false, noise: 0.1 };
        let learner = ConvPiModel { width: 16, steps: 300, dropout: 0.1, views, ..ConvPiModel::default() };
        let with = accuracy(&learner, &train, &test);
        let without = accuracy(&ConvPiModel { weight: 0., ..learner.clone() }, &train.labelled_only(), &test);
        assert!(with > 0.85, "{with}");
        assert!(with > without, "{with} with unlabelled images, {without} without");
        assert_eq!(accuracy(&learner, &train, &test), with, "the seed decides");
    }

    #[test]
    fn rows_that_are_no_images_are_refused() {
        let train = digits_problem(5, 0).train.with_image_shape(None);
        let error = ConvPiModel::default().fit(&train, 0).unwrap_err().to_string();
        assert!(error.contains("images"), "{error}");
        let (train, _) = digits(0);
        assert!(ConvPiModel { dropout: 1., ..ConvPiModel::default() }.fit(&train, 0).is_err());
    }
}
