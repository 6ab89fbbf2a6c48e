//! Logistic regression on the labelled rows, and self-training with it on all rows.
//!
//! [`LogisticRegression`] and [`SelfTraining`] are the learners; [`Logistic`] and [`self_training`] are the fits on
//! matrices that they are made of. Learners standardise columns first, by the mean and variance of all rows, so that the
//! penalty treats columns alike.

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, Preprocess, SemiSupervised, Watch};

use crate::error::within;
use crate::targets::one_hot;
use crate::{Error, Result};

mod features;
mod lbfgs;
mod logistic;
mod plain;

pub(crate) use features::Features;
pub use logistic::{Logistic, self_training, self_training_watched};
pub(crate) use plain::scikit_learn_c;
pub use plain::{PlainLogisticModel, PlainLogisticRegression};

/// Multinomial logistic regression, which ignores unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogisticRegression {
    /// The inverse of the L2 penalty.
    pub c: f64,
}

/// Logistic regression that takes its own confident predictions as pseudo-labels (Yarowsky 1995).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfTraining {
    /// The inverse of the L2 penalty.
    pub c: f64,
    /// The least probability of a prediction that becomes a pseudo-label, in (0, 1].
    pub threshold: f64,
}

impl Default for LogisticRegression {
    /// c = 1, as in scikit-learn.
    fn default() -> Self {
        Self { c: 1. }
    }
}

impl Default for SelfTraining {
    /// c = 1 and a threshold of 0.75, as in scikit-learn.
    fn default() -> Self {
        Self { c: 1., threshold: 0.75 }
    }
}

impl Learner for LogisticRegression {
    type Model = LinearModel;
    type Error = Error;

    fn name(&self) -> String {
        "logistic regression".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<LinearModel> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, _seed: u64, watch: &dyn Watch) -> Result<LinearModel> {
        check_c(self.c)?;
        let preprocess = Preprocess::standardise(data.x())?;
        let labelled = data.labelled_only();
        let q = one_hot(labelled.y(), data.n_classes());
        let x = preprocess.apply(labelled.x());
        let logistic = Logistic::fit_watched(x.view(), q.view(), self.c, watch)?;
        Ok(LinearModel { preprocess, logistic, classes: data.classes().to_vec() })
    }
}

impl Learner for SelfTraining {
    type Model = LinearModel;
    type Error = Error;

    fn name(&self) -> String {
        "self-training".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<LinearModel> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, _seed: u64, watch: &dyn Watch) -> Result<LinearModel> {
        check_c(self.c)?;
        within("threshold", self.threshold, self.threshold > 0. && self.threshold <= 1., "in (0, 1]")?;
        let preprocess = Preprocess::standardise(data.x())?;
        let x = preprocess.apply(data.x());
        let (y, n_classes) = (data.y(), data.n_classes());
        let (logistic, _) = self_training_watched(x.view(), y, n_classes, self.c, self.threshold, watch)?;
        Ok(LinearModel { preprocess, logistic, classes: data.classes().to_vec() })
    }
}

fn check_c(c: f64) -> Result<()> {
    within("c", c, c > 0. && c.is_finite(), "a number above 0")
}

/// A fitted logistic regression, with the preprocessing of its inputs and the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    preprocess: Preprocess,
    logistic: Logistic,
    classes: Vec<String>,
}

impl Classifier for LinearModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.logistic.log_probs(self.preprocess.apply(x).view())
    }
}
