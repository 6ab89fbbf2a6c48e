//! Logistic regression on columns and cluster memberships together.

use ndarray::{Array2, ArrayView2, Axis};
use semisup::metrics::log_softmax;
use semisup::{Classifier, Learner, SemiSupervised};
use serde::{Deserialize, Serialize};

use super::ClusterFeatures;
use crate::chunks::in_chunks;
use crate::linear::{Features, Logistic, scikit_learn_c};
use crate::targets::{check_rows, one_hot};
use crate::{Error, Result};

/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;

/// Logistic regression on the columns and the [`ClusterFeatures`] of all rows. It does not standardise columns: see
/// [`Standardised`](crate::Standardised).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterRegression {
    /// The inverse of the L2 penalty, as scikit-learn defines it.
    pub c: f64,
}

impl Default for ClusterRegression {
    /// c = 1, as in scikit-learn's logistic regression.
    fn default() -> Self {
        Self { c: 1. }
    }
}

impl Learner for ClusterRegression {
    type Model = ClusterRegressionModel;
    type Error = Error;

    fn name(&self) -> String {
        "cluster regression".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ClusterRegressionModel> {
        let regression = ClusterLogistic::fit(data.x(), data.y(), data.n_classes(), self.c, seed)?;
        Ok(ClusterRegressionModel { regression, classes: data.classes().to_vec() })
    }
}

/// A fitted [`ClusterRegression`] with the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRegressionModel {
    regression: ClusterLogistic,
    classes: Vec<String>,
}

impl Classifier for ClusterRegressionModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.regression.log_probs(x)
    }
}

/// A fitted [`ClusterRegression`] on rows of numbers, without class names. One read from a file must pass
/// [`ClusterLogistic::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterLogistic {
    clusters: ClusterFeatures,
    logistic: Logistic, // of columns, then memberships
}

impl ClusterLogistic {
    /// Fits rows x `[n, dim]`: clusters of all rows, and logistic regression on those with a class in y `[n]`. `c` is the
    /// inverse of the L2 penalty, as scikit-learn defines it.
    pub fn fit(x: ArrayView2<f64>, y: &[Option<usize>], n_classes: usize, c: f64, seed: u64) -> Result<Self> {
        Self::fit_with(ClusterFeatures::fit(x, n_classes, seed)?, x, y, n_classes, c)
    }

    /// [`ClusterLogistic::fit`] with clusters that are known already: they do not depend on labels.
    pub fn fit_with(
        clusters: ClusterFeatures,
        x: ArrayView2<f64>,
        y: &[Option<usize>],
        n_classes: usize,
        c: f64,
    ) -> Result<Self> {
        let rows: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).collect();
        let labels: Vec<Option<usize>> = rows.iter().map(|&row| y[row]).collect();
        let x = x.select(Axis(0), &rows);
        check_rows(x.view(), &labels.iter().flatten().copied().collect::<Vec<_>>(), n_classes, None)?;
        let q = one_hot(&labels, n_classes);
        let groups = clusters.memberships(x.view());
        let features = features(&clusters, x.view(), groups.view());
        let logistic = Logistic::fit_features(features, q.view(), scikit_learn_c(c, n_classes)?);
        Ok(Self { clusters, logistic })
    }

    /// log p(k | x) of rows, `[n, n_classes]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the model was fitted to.
    pub fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let (w, b) = (self.logistic.weights(), self.logistic.intercepts());
        in_chunks(x, CHUNK, w.nrows(), |x| {
            let groups = self.clusters.memberships(x);
            log_softmax(features(&self.clusters, x, groups.view()).logits(w, b).view())
        })
    }

    /// Checks a model from a file: clusters of `dim` columns, and weights of all features for `n_classes`.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        self.clusters.validate(dim)?;
        self.logistic.validate(dim + self.clusters.width(), n_classes)
    }
}

/// Columns and memberships.
fn features<'a>(
    clusters: &ClusterFeatures,
    x: ArrayView2<'a, f64>,
    groups: ArrayView2<'a, u32>,
) -> Features<'a> {
    Features { x, groups, n_groups: clusters.width(), value: clusters.value() }
}
