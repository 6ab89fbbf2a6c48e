//! A model while it is trained: what it says about rows after the step just taken.

use flowgmm_core::{SCORING_BATCH, tensor::to_array, train::TrainState};
use ndarray::{Array2, ArrayView2, Axis};
use semisup::{Preprocess, metrics::log_sum_exp};

/// The state of a fit after a step. To look at it costs nothing to training but the time it takes.
pub struct Snapshot<'a> {
    pub(crate) state: &'a TrainState,
    pub(crate) preprocess: &'a Preprocess,
}

/// What a model in training says about rows.
#[derive(Clone, Debug)]
pub struct Glimpse {
    /// log p(k | x) by the flow, `[n, K]`.
    pub log_probs: Array2<f64>,
    /// z = f(x), `[n, latent dim]`.
    pub z: Array2<f64>,
}

impl Snapshot<'_> {
    /// Steps done.
    pub fn step(&self) -> usize {
        self.state.step
    }

    /// The means of the mixture's Gaussians, `[components, latent dim]`.
    pub fn means(&self) -> Array2<f64> {
        self.state.averaged().mixture().values().means
    }

    /// What the model that training would leave now says about rows `[n, dim]`: the averaged weights, where there is an
    /// average. Flows with batch normalisation use the running statistics they have.
    pub fn look(&self, x: ArrayView2<f64>) -> Glimpse {
        let gmm = self.state.averaged();
        let n = x.nrows();
        let (mut log_probs, mut z) = (Array2::zeros((n, gmm.n_classes())), Array2::zeros((n, gmm.dim())));
        let parts = x.axis_chunks_iter(Axis(0), SCORING_BATCH);
        let out = log_probs.axis_chunks_iter_mut(Axis(0), SCORING_BATCH);
        let latent = z.axis_chunks_iter_mut(Axis(0), SCORING_BATCH);
        for ((x, mut log_probs), mut z) in parts.zip(out).zip(latent) {
            let densities = gmm.densities(gmm.place().rows(self.preprocess.apply(x).view()));
            log_probs.assign(&to_array(&densities.log_joint()));
            for mut row in log_probs.rows_mut() {
                let total = log_sum_exp(row.view());
                row -= total;
            }
            z.assign(&to_array(&densities.z));
        }
        Glimpse { log_probs, z }
    }
}
