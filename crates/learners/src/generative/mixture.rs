//! A Gaussian for each class in data space, learnt by EM from labelled and unlabelled rows: FlowGMM with the identity for
//! a flow.
//!
//! ```text
//! maximise  sum_labelled log pi_y N(x; mu_y, Sigma_y) + sum_unlabelled log sum_k pi_k N(x; mu_k, Sigma_k)
//!           - nu/2 sum_k (log|Sigma_k| + tr Sigma_k^-1 T)
//! ```
//!
//! E-step: q `[n, K]` is the posterior, and one-hot where there is a label. M-step, with N_k = sum_i q_ik and
//! S_k the covariance of rows weighted by q_k: pi_k = N_k / n, Sigma_k = (N_k S_k + nu T) / (N_k + nu). T holds
//! the variances of all rows, so that a covariance is shrunk towards them as if by nu more rows. No step lowers
//! the objective.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;
use semisup::metrics::{log_softmax, log_sum_exp};
use semisup::{Classifier, Learner, SemiSupervised, Watch};

use crate::chunks::in_chunks;
use crate::error::within;
use crate::targets::one_hot;
use crate::{Error, Result};

mod gaussian;

use gaussian::Gaussian;

/// Rows of a chunk of parallel work: fixed, so that sums have the same bits on any number of threads.
const CHUNK: usize = 1024;

/// The form of the covariance of a class (scikit-learn's `covariance_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CovarianceType {
    /// Any covariance.
    Full,
    /// Columns are independent within a class.
    Diagonal,
}

/// A Gaussian mixture with one component for each class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianMixture {
    /// The form of the covariances.
    pub covariance: CovarianceType,
    /// nu, the strength of the shrinkage in rows, above 0.
    pub shrinkage: f64,
    /// The largest number of steps of EM; 0 learns from the labels alone.
    pub steps: usize,
}

impl Default for GaussianMixture {
    /// Full covariances, shrunk towards the variances of all rows by ten rows, until EM converges.
    fn default() -> Self {
        Self { covariance: CovarianceType::Full, shrinkage: 10., steps: 500 }
    }
}

impl Learner for GaussianMixture {
    type Model = GaussianMixtureModel;
    type Error = Error;

    fn name(&self) -> String {
        match self.covariance {
            CovarianceType::Full => "Gaussian mixture".into(),
            CovarianceType::Diagonal => "Gaussian mixture, diagonal".into(),
        }
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<GaussianMixtureModel> {
        Ok(self.fit_traced(data)?.0)
    }

    fn fit_watched(
        &self,
        data: &SemiSupervised,
        _seed: u64,
        watch: &dyn Watch,
    ) -> Result<GaussianMixtureModel> {
        Ok(self.maximise_by_em(data, watch)?.0)
    }
}

impl GaussianMixture {
    /// The model, and the objective at the start of each step.
    pub fn fit_traced(&self, data: &SemiSupervised) -> Result<(GaussianMixtureModel, Vec<f64>)> {
        self.maximise_by_em(data, &())
    }

    fn maximise_by_em(
        &self,
        data: &SemiSupervised,
        watch: &dyn Watch,
    ) -> Result<(GaussianMixtureModel, Vec<f64>)> {
        /// EM has converged when a step gains less than this, in nats per row.
        const TOLERANCE: f64 = 1e-6;
        let shrinkage = self.shrinkage;
        within("shrinkage", shrinkage, shrinkage > 0. && shrinkage.is_finite(), "a number above 0")?;
        let target = data.x().var_axis(Axis(0), 0.).mapv(|v| if v > 0. { v } else { 1. });
        let labels = one_hot(data.y(), data.n_classes());
        let mut model = self.maximise(data, &labels, &target)?;
        let mut trace = Vec::new();
        for step in 0..self.steps {
            watch.at(step as f64 / self.steps as f64)?;
            let log_joint = model.log_joint(data.x());
            trace.push(self.objective(&model, &log_joint, data.y(), &target));
            if let [.., before, now] = trace[..]
                && now - before <= TOLERANCE * data.n() as f64
            {
                break;
            }
            let mut q = log_softmax(log_joint.view()).exp();
            for (row, _) in data.y().iter().enumerate().filter(|(_, y)| y.is_some()) {
                q.row_mut(row).assign(&labels.row(row));
            }
            model = self.maximise(data, &q, &target)?;
        }
        Ok((model, trace))
    }

    /// The M-step.
    fn maximise(
        &self,
        data: &SemiSupervised,
        q: &Array2<f64>,
        target: &Array1<f64>,
    ) -> Result<GaussianMixtureModel> {
        let mass = q.sum_axis(Axis(0)); // [K], N_k
        let fitted = q.columns().into_iter().zip(&mass).map(|(q, mass)| {
            let mu = data.x().t().dot(&q) / *mass;
            let scatter = self.scatter(data.x(), &q.to_owned(), &mu);
            let sigma = match self.covariance {
                CovarianceType::Full => scatter + Array2::from_diag(&(target * self.shrinkage)),
                CovarianceType::Diagonal => scatter + (target * self.shrinkage).insert_axis(Axis(0)),
            };
            Gaussian::new(mu, sigma / (mass + self.shrinkage), self.covariance).ok_or(Error::Setting {
                name: "shrinkage",
                found: self.shrinkage,
                expected: "more, since the covariance of a class is singular",
            })
        });
        let gaussians = fitted.collect::<Result<Vec<Gaussian>>>()?;
        let log_pi = (&mass / mass.sum()).ln();
        Ok(GaussianMixtureModel { log_pi, gaussians, classes: data.classes().to_vec() })
    }

    /// sum_i q_i (x_i - mu)(x_i - mu)^T, `[dim, dim]`, or its diagonal, `[1, dim]`.
    fn scatter(&self, x: ArrayView2<f64>, q: &Array1<f64>, mu: &Array1<f64>) -> Array2<f64> {
        let of_chunk = |chunk: usize| {
            let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(x.nrows());
            let centred = &x.slice(s![rows.clone(), ..]) - mu;
            let q = q.slice(s![rows]);
            match self.covariance {
                CovarianceType::Full => (&centred * &q.insert_axis(Axis(1))).t().dot(&centred),
                CovarianceType::Diagonal => q.dot(&(&centred * &centred)).insert_axis(Axis(0)),
            }
        };
        let chunks: Vec<Array2<f64>> = (0..x.nrows().div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
        chunks.into_iter().reduce(|sum, chunk| sum + chunk).expect("data have rows")
    }

    fn objective(
        &self,
        model: &GaussianMixtureModel,
        log_joint: &Array2<f64>,
        y: &[Option<usize>],
        target: &Array1<f64>,
    ) -> f64 {
        let term = |(row, y): (usize, &Option<usize>)| match y {
            Some(k) => log_joint[[row, *k]],
            None => log_sum_exp(log_joint.row(row)),
        };
        let penalty = model.gaussians.iter().map(|gaussian| gaussian.penalty(target)).sum::<f64>();
        y.iter().enumerate().map(term).sum::<f64>() - self.shrinkage / 2. * penalty
    }
}

/// A fitted Gaussian mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixtureModel {
    log_pi: Array1<f64>, // [K]
    gaussians: Vec<Gaussian>,
    classes: Vec<String>,
}

impl GaussianMixtureModel {
    /// log pi_k N(x; mu_k, Sigma_k) of rows, `[n, K]`.
    pub fn log_joint(&self, x: ArrayView2<f64>) -> Array2<f64> {
        in_chunks(x, CHUNK, self.classes.len(), |x| {
            let columns: Vec<Array1<f64>> =
                self.gaussians.iter().map(|gaussian| gaussian.log_density(x)).collect();
            Array2::from_shape_fn((x.nrows(), columns.len()), |(i, k)| columns[k][i]) + &self.log_pi
        })
    }

    /// The mean of class k.
    pub fn mean(&self, k: usize) -> &Array1<f64> {
        self.gaussians[k].mean()
    }
}

impl Classifier for GaussianMixtureModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        log_softmax(self.log_joint(x).view())
    }
}
