//! The paper's supervised net: three hidden layers, ReLU, dropout, Adam, on the labelled rows alone.
//!
//! Columns are brought to mean 0 and variance 1 first, by the moments of all rows, labelled or not.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use semisup::metrics::log_softmax;
use semisup::{Classifier, Learner, Preprocess, SemiSupervised, rng};

use crate::net::{Dropout, Net};
use crate::train::{Rows, train};
use crate::{Error, Result};

/// Rows in one piece of a prediction.
const PIECE: usize = 512;

/// A fully connected net as a learner.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// The probability that a hidden unit is dropped, in [0, 1).
    pub dropout: f64,
    /// Steps of Adam.
    pub steps: usize,
    /// Labelled rows of a step; all of them if there are fewer.
    pub batch: usize,
    /// The learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

impl Default for Mlp {
    /// The paper's: 3 x 512, dropout 0.5, learning rate 3e-4. It does not say how long; a thousand steps of at most
    /// 200 rows fit every set of few labels we tried.
    fn default() -> Self {
        let (hidden, dropout, steps, batch) = (vec![512; 3], 0.5, 1000, 200);
        Self { hidden, dropout, steps, batch, learning_rate: 3e-4, weight_decay: 0. }
    }
}

impl Mlp {
    /// Which setting is out of its range, if one is.
    pub(crate) fn check(&self) -> Result<()> {
        positive("hidden units", self.hidden.iter().copied().min().unwrap_or(1))?;
        positive("steps", self.steps)?;
        positive("batch", self.batch)?;
        within("dropout", self.dropout, (0. ..1.).contains(&self.dropout), "in [0, 1)")?;
        let rate = self.learning_rate;
        within("learning_rate", rate, rate > 0. && rate.is_finite(), "a number above 0")?;
        let decay = self.weight_decay;
        within("weight_decay", decay, decay >= 0. && decay.is_finite(), "a number from 0")
    }
}

impl Learner for Mlp {
    type Model = NetModel;
    type Error = Error;

    fn name(&self) -> String {
        "neural net".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<NetModel> {
        self.check()?;
        NetModel::fit(data, |rows| train(self, None, rows, data.n_classes(), seed))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps, ..self.clone() })
    }
}

/// A trained net, with the scale of its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct NetModel {
    preprocess: Preprocess,
    net: Net<f32>,
    classes: Vec<String>,
}

impl NetModel {
    pub(crate) fn fit(
        data: &SemiSupervised,
        train: impl FnOnce(&Rows<f32>) -> Result<Net<f32>>,
    ) -> Result<Self> {
        let preprocess = Preprocess::standardise(data.x())?;
        let net = train(&Rows::of(data, &preprocess))?;
        Ok(Self { preprocess, net, classes: data.classes().to_vec() })
    }

    fn logits(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let x = self.preprocess.apply(x).mapv(|value| value as f32);
        let unused = &mut rng(0); // without dropout nothing is drawn
        self.net.forward(x, Dropout::NONE, unused).logits.mapv(f64::from)
    }
}

impl Classifier for NetModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let pieces: Vec<ArrayView2<f64>> = x.axis_chunks_iter(Axis(0), PIECE).collect();
        let logits: Vec<Array2<f64>> = pieces.into_par_iter().map(|x| self.logits(x)).collect();
        let mut out = Array2::zeros((x.nrows(), self.classes.len()));
        for (mut to, logits) in out.axis_chunks_iter_mut(Axis(0), PIECE).zip(&logits) {
            to.assign(logits);
        }
        log_softmax(out.view())
    }
}

pub(crate) fn positive(name: &'static str, found: usize) -> Result<()> {
    within(name, found as f64, found > 0, "at least 1")
}

pub(crate) fn within(name: &'static str, found: f64, holds: bool, expected: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(semisup::Error::Setting { name, found, expected }.into()) }
}
