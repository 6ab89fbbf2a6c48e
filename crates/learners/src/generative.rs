//! Generative models of the rows: a Gaussian mixture in data space, naive Bayes, and the variational auto-encoders M1+M2.

mod m1m2;
mod mixture;
mod naive_bayes;

pub use m1m2::{M1M2, M1M2Model, VaeStage};
pub use mixture::{CovarianceType, GaussianMixture, GaussianMixtureModel};
pub use naive_bayes::{NaiveBayes, NaiveBayesModel};
