//! Perturbations that make views of rows.

use std::fmt::Debug;

use semisup::Rng;

use super::batches::jitter;

/// Makes a view of rows for consistency regularisation (paper, section 4.1).
pub trait Perturbation: Debug + Send + Sync {
    /// Perturbs row-major values in place.
    fn perturb(&self, values: &mut [f32], dim: usize, rng: &mut Rng);

    /// Perturbs values for the other view, whose prediction is the target of the first.
    fn perturb_target(&self, values: &mut [f32], dim: usize, rng: &mut Rng) {
        self.perturb(values, dim, rng);
    }

    /// Perturbs the values of labelled rows, where they are perturbed at all.
    fn perturb_labelled(&self, values: &mut [f32], dim: usize, rng: &mut Rng) {
        self.perturb(values, dim, rng);
    }
}

/// Additive Gaussian noise: the perturbation for tables and embeddings.
#[derive(Clone, Copy, Debug)]
pub struct GaussianNoise {
    /// Its standard deviation.
    pub sigma: f64,
}

impl Perturbation for GaussianNoise {
    fn perturb(&self, values: &mut [f32], _dim: usize, rng: &mut Rng) {
        jitter(values, self.sigma, rng);
    }
}
