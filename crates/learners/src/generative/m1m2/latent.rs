//! A Gaussian q = N(mean, diag e^log_var) for each row: its reparametrised draw, and its KL to N(0, I).
//!
//! A net gives `[mean, log_var]`, `[n, 2 d]`. With noise e ~ N(0, I) held fixed,
//!
//! ```text
//! z = mean + e^(log_var / 2) e                  KL(q | N(0, I)) = 1/2 sum (mean^2 + e^log_var - 1 - log_var)
//! dL/dmean = dL/dz + w mean                     dL/dlog_var = 1/2 (dL/dz e^(log_var / 2) e + w (e^log_var - 1))
//! ```
//!
//! where w is the weight of the row's KL in the loss L.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, NdFloat, Zip};
use rand::Rng as _;
use rand_distr::StandardNormal;
use semisup::Rng;

use crate::nets::number;

/// Noise for `n` draws of `d` dimensions.
pub(super) fn noise<F: NdFloat>(n: usize, d: usize, rng: &mut Rng) -> Array2<F> {
    Array2::from_shape_simple_fn((n, d), || number(rng.sample::<f64, _>(StandardNormal)))
}

/// Draws of a batch.
pub(super) struct Latent<F> {
    mean: Array2<F>, // [n, d], as are all
    log_var: Array2<F>,
    /// e^(log_var / 2) e.
    spread: Array2<F>,
}

impl<F: NdFloat> Latent<F> {
    /// The draw that noise `[n, d]` gives for each row of a net's output, `[n, 2 d]`.
    pub fn draw(output: ArrayView2<F>, noise: Array2<F>) -> Self {
        let (mean, log_var) = output.split_at(Axis(1), output.ncols() / 2);
        let (half, mut spread) = (number::<F>(0.5), noise);
        spread.zip_mut_with(&log_var, |e, &v| *e *= (half * v).exp());
        Self { mean: mean.to_owned(), log_var: log_var.to_owned(), spread }
    }

    /// What was drawn, `[n, d]`.
    pub fn z(&self) -> Array2<F> {
        &self.mean + &self.spread
    }

    /// KL(q | N(0, I)) of each row.
    pub fn kl(&self) -> Array1<F> {
        let half = number::<F>(0.5);
        let mut sums = Array1::zeros(self.mean.nrows());
        Zip::from(&mut sums).and(self.mean.rows()).and(self.log_var.rows()).for_each(|sum, mean, log_var| {
            let each = mean.iter().zip(log_var).map(|(&m, &v)| m * m + v.exp() - F::one() - v);
            *sum = half * each.fold(F::zero(), |sum, term| sum + term);
        });
        sums
    }

    /// The gradient by the net's output, from that by z and the weight of each row's KL.
    pub fn backward(&self, d_z: ArrayView2<F>, weights: ArrayView1<F>) -> Array2<F> {
        let half = number::<F>(0.5);
        let weights = weights.insert_axis(Axis(1));
        // Row by row in memory, which `concatenate` does not promise.
        let mut d = Array2::zeros((self.mean.nrows(), 2 * self.mean.ncols()));
        let (mut d_mean, mut d_log_var) = d.view_mut().split_at(Axis(1), self.mean.ncols());
        d_mean.assign(&(&self.mean * &weights + d_z));
        d_log_var.assign(&(self.log_var.mapv(|v| v.exp() - F::one()) * weights));
        Zip::from(&mut d_log_var).and(&d_z).and(&self.spread).for_each(|d, &d_z, &spread| {
            *d = half * (*d + d_z * spread);
        });
        d
    }
}
