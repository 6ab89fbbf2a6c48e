//! The paper's supervised net: three hidden layers, ReLU, dropout, Adam, on the labelled rows alone.
//!
//! Columns are standardised first, by the mean and variance of all rows, labelled or not.

use ndarray::{Array2, ArrayView2};
use semisup::metrics::log_softmax;
use semisup::{Classifier, Learner, Preprocess, SemiSupervised, Watch, rng};

use super::net::{Dropout, Net};
use super::train::{Rows, train};
use crate::chunks::in_chunks;
use crate::error::{positive, within};
use crate::{Error, Result};

/// Rows of a chunk of a prediction.
const CHUNK: usize = 512;

/// A fully connected net, trained on the labelled rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// The probability that a hidden unit is dropped, in [0, 1).
    pub dropout: f64,
    /// Number of steps of Adam.
    pub steps: usize,
    /// Labelled rows of a batch; all of them if there are fewer.
    pub batch: usize,
    /// The learning rate.
    pub learning_rate: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

impl Default for Mlp {
    /// The paper's net: 3 x 512 units, dropout 0.5, learning rate 3e-4. The paper does not give the number of steps; a
    /// thousand steps of at most 200 rows fit every small set of labels we tried.
    fn default() -> Self {
        let (hidden, dropout, steps, batch) = (vec![512; 3], 0.5, 1000, 200);
        Self { hidden, dropout, steps, batch, learning_rate: 3e-4, weight_decay: 0. }
    }
}

impl Mlp {
    /// Checks that every setting is in its range.
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
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<NetModel> {
        self.check()?;
        NetModel::fit(data, |rows| train(self, None, rows, data.n_classes(), seed, watch))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { steps, ..self.clone() })
    }
}

/// A trained net, with the preprocessing of its inputs.
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
        let unused = &mut rng(0); // nothing is drawn without dropout
        self.net.forward(x, Dropout::NONE, unused).logits.mapv(f64::from)
    }
}

impl Classifier for NetModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        log_softmax(in_chunks(x, CHUNK, self.classes.len(), |x| self.logits(x)).view())
    }
}
