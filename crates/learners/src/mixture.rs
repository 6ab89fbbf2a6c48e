//! A Gaussian for each class in data space, learnt by EM from labelled and unlabelled rows: what a flow with a
//! mixture in latent space is when the flow is the identity.
//!
//! ```text
//! maximise  sum_labelled log pi_y N(x; mu_y, Sigma_y) + sum_unlabelled log sum_k pi_k N(x; mu_k, Sigma_k)
//!           - nu/2 sum_k (log|Sigma_k| + tr Sigma_k^-1 T)
//! ```
//!
//! E-step: q `[n, K]` is the posterior, and one-hot where there is a label. M-step, with N_k = sum_i q_ik and
//! S_k the covariance of rows weighted by q_k: pi_k = N_k / n, Sigma_k = (N_k S_k + nu T) / (N_k + nu). T holds
//! the variances of all rows, so nu is the number of rows by which a covariance is drawn to them. No step
//! lowers the objective.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use crate::graph::one_hot;
use semisup::metrics::{log_softmax, log_sum_exp};
use semisup::{Classifier, Error, Learner, Result, SemiSupervised};

mod gaussian;

use gaussian::Gaussian;

/// Rows in one piece of parallel work: fixed, so that sums have the same bits on any number of threads.
const PIECE: usize = 1024;

/// The shape of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covariance {
    /// Any ellipsoid.
    Full,
    /// Columns are independent within a class.
    Diagonal,
}

/// The mixture as a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianMixture {
    /// The shape of classes.
    pub covariance: Covariance,
    /// nu, in rows, above 0.
    pub shrinkage: f64,
    /// Most steps of EM; 0 learns from the labels alone.
    pub steps: usize,
}

impl Default for GaussianMixture {
    /// Full covariances, drawn to the pooled variances by ten rows, until EM stands still.
    fn default() -> Self {
        Self { covariance: Covariance::Full, shrinkage: 10., steps: 500 }
    }
}

impl Learner for GaussianMixture {
    type Model = GaussianMixtureModel;
    type Error = Error;

    fn name(&self) -> String {
        match self.covariance {
            Covariance::Full => "Gaussian mixture".into(),
            Covariance::Diagonal => "Gaussian mixture, diagonal".into(),
        }
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<GaussianMixtureModel> {
        Ok(self.fit_traced(data)?.0)
    }
}

impl GaussianMixture {
    /// The model, and the objective at the start of each step.
    pub fn fit_traced(&self, data: &SemiSupervised) -> Result<(GaussianMixtureModel, Vec<f64>)> {
        /// EM stands still when a step gains less than this share of a nat per row.
        const TOLERANCE: f64 = 1e-6;
        if !(self.shrinkage > 0. && self.shrinkage.is_finite()) {
            let (name, expected) = ("shrinkage", "a number above 0");
            return Err(Error::Setting { name, found: self.shrinkage, expected });
        }
        let target = data.x().var_axis(Axis(0), 0.).mapv(|v| if v > 0. { v } else { 1. });
        let labels = one_hot(data.y(), data.n_classes());
        let mut model = self.maximise(data, &labels, &target)?;
        let mut trace = Vec::new();
        for _ in 0..self.steps {
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
                Covariance::Full => scatter + Array2::from_diag(&(target * self.shrinkage)),
                Covariance::Diagonal => scatter + (target * self.shrinkage).insert_axis(Axis(0)),
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
        let piece = |piece: usize| {
            let rows = piece * PIECE..((piece + 1) * PIECE).min(x.nrows());
            let centred = &x.slice(s![rows.clone(), ..]) - mu;
            let q = q.slice(s![rows]);
            match self.covariance {
                Covariance::Full => (&centred * &q.insert_axis(Axis(1))).t().dot(&centred),
                Covariance::Diagonal => q.dot(&(&centred * &centred)).insert_axis(Axis(0)),
            }
        };
        let pieces: Vec<Array2<f64>> = (0..x.nrows().div_ceil(PIECE)).into_par_iter().map(piece).collect();
        pieces.into_iter().reduce(|sum, piece| sum + piece).expect("data have rows")
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

/// The fitted mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixtureModel {
    log_pi: Array1<f64>, // [K]
    gaussians: Vec<Gaussian>,
    classes: Vec<String>,
}

impl GaussianMixtureModel {
    /// log pi_k N(x; mu_k, Sigma_k) of rows, `[n, K]`.
    pub fn log_joint(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let pieces: Vec<ArrayView2<f64>> = x.axis_chunks_iter(Axis(0), PIECE).collect();
        let piece = |x: &ArrayView2<f64>| {
            let columns: Vec<Array1<f64>> =
                self.gaussians.iter().map(|gaussian| gaussian.log_density(*x)).collect();
            Array2::from_shape_fn((x.nrows(), columns.len()), |(i, k)| columns[k][i]) + &self.log_pi
        };
        let joints: Vec<Array2<f64>> = pieces.par_iter().map(piece).collect();
        let mut out = Array2::zeros((x.nrows(), self.classes.len()));
        for (mut to, joint) in out.axis_chunks_iter_mut(Axis(0), PIECE).zip(&joints) {
            to.assign(joint);
        }
        out
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
