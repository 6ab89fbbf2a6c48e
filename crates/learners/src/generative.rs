//! Generative models of the rows: a Gaussian mixture in data space, and the variational auto-encoders M1+M2.

mod m1m2;
mod mixture;

pub use m1m2::{M1M2, M1M2Model, VaeStage};
pub use mixture::{CovarianceType, GaussianMixture, GaussianMixtureModel};
