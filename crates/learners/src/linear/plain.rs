//! Logistic regression as scikit-learn's default: on columns as they are, with a fixed C.

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, SemiSupervised};

use super::{Logistic, check_c};
use crate::targets::labelled;
use crate::{Error, Result};

/// Logistic regression on columns as they are, with scikit-learn's C. It ignores unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainLogisticRegression {
    /// The inverse of the L2 penalty, as scikit-learn defines it.
    pub c: f64,
}

impl Default for PlainLogisticRegression {
    /// c = 1, as in scikit-learn.
    fn default() -> Self {
        Self { c: 1. }
    }
}

impl Learner for PlainLogisticRegression {
    type Model = PlainLogisticModel;
    type Error = Error;

    fn name(&self) -> String {
        "logistic regression, plain".into()
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<PlainLogisticModel> {
        let (x, y) = labelled(data);
        let logistic = Logistic::fit_labels(x.view(), &y, data.n_classes(), self.c)?;
        Ok(PlainLogisticModel { logistic, classes: data.classes().to_vec() })
    }
}

/// The C of [`Logistic`] that gives scikit-learn's probabilities. With two classes scikit-learn penalises one vector, the
/// difference of our two, so that its C is twice ours.
pub(crate) fn scikit_learn_c(c: f64, n_classes: usize) -> Result<f64> {
    check_c(c)?;
    Ok(if n_classes == 2 { c / 2. } else { c })
}

/// A fitted [`PlainLogisticRegression`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlainLogisticModel {
    logistic: Logistic,
    classes: Vec<String>,
}

impl PlainLogisticModel {
    /// The weights.
    pub fn logistic(&self) -> &Logistic {
        &self.logistic
    }
}

impl Classifier for PlainLogisticModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.logistic.log_probs(x)
    }
}
