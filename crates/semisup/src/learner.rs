//! The traits of a method: hyper-parameters fit, models predict.
//!
//! A [`Learner`] turns `SemiSupervised` data and a seed into a model; a [`Classifier`] turns rows `[n, dim]`
//! into log p(y = k | x), `[n, n_classes]`.

use ndarray::{Array2, ArrayView2};

use crate::metrics::arg_max;
use crate::{SemiSupervised, Watch};

/// A fitted model.
pub trait Classifier {
    /// The names of the classes, in the order of the columns of [`Classifier::log_probs`].
    fn classes(&self) -> &[String];

    /// log p(y = k | x) for each row, `[n, dim] -> [n, n_classes]`.
    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64>;

    /// The most probable class of each row.
    fn predict(&self, x: ArrayView2<f64>) -> Vec<usize> {
        arg_max(self.log_probs(x).view())
    }
}

/// A method with its hyper-parameters.
pub trait Learner {
    /// The fitted model.
    type Model: Classifier;
    /// The error of a failed fit.
    type Error: std::error::Error;

    /// The name in tables and reports.
    fn name(&self) -> String;

    /// Fits a model to the labelled and unlabelled rows. Equal data and seeds give equal models.
    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<Self::Model, Self::Error>;

    /// [`Learner::fit`], watched: the same model, unless `watch` stops the fit, which is an error. A method whose fits take
    /// no longer than a moment need not say more than this.
    fn fit_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        _watch: &dyn Watch,
    ) -> Result<Self::Model, Self::Error> {
        self.fit(data, seed)
    }

    /// This method with another number of training steps; `None` if it is not trained in steps.
    fn with_steps(&self, _steps: usize) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}
