//! The latent mixture in double precision: its density, its class posteriors and their gradients.
//!
//!   log p(z | k) = logsumexp_{c in k} [ log w_c + log N(z; mu_c, Sigma_c) ]
//!   grad log p(z | k) = - sum_{c in k} r_c (z - mu_c) / sigma_c^2,   r_c the responsibilities within class k
//!
//! The posterior is log p(k | z) = log p(z | k) / T + b_k + const, T the flow's temperature and b_k the model's weight of class k:
//! log pi_k / T, or log pi_k in models of old files.

use ndarray::{Array1, ArrayView1};
use semisup::metrics::log_sum_exp;

use flowgmm_core::{Mixture, MixtureValues};

use crate::model::{Model, Tempering};

/// The values of a mixture, for questions about single points.
pub(super) struct Latent {
    values: MixtureValues,
    class_of: Vec<usize>,
    temperature: f64,
    bias: Vec<f64>, // b, [K]
}

impl Latent {
    pub fn of(model: &Model) -> Self {
        Self::new(model.gmm().mixture(), model.flow_temperature(), model.tempering)
    }

    pub fn new(mixture: &Mixture, temperature: f64, tempering: Tempering) -> Self {
        let values = mixture.values();
        let divisor = match tempering {
            Tempering::Likelihood => 1.0,
            Tempering::Joint => temperature,
        };
        let bias = values.log_prior.iter().map(|log_pi| log_pi / divisor).collect();
        Self { values, class_of: mixture.spec().class_of(), temperature, bias }
    }

    pub fn n_classes(&self) -> usize {
        self.values.log_prior.len()
    }

    /// log p(z) without the constant (2 pi)^(-dim/2).
    pub fn log_density(&self, z: ArrayView1<f64>) -> f64 {
        let joint = |k: usize| self.values.log_prior[k] + self.log_conditional(z, k);
        log_sum_exp((0..self.n_classes()).map(joint).collect::<Array1<f64>>().view())
    }

    /// log p(k | z) up to a constant, `[K]`.
    pub fn log_posterior(&self, z: ArrayView1<f64>) -> Vec<f64> {
        let of = |k: usize| self.bias[k] + self.log_conditional(z, k) / self.temperature;
        (0..self.n_classes()).map(of).collect()
    }

    /// The gradient of log p(z | k) / T with respect to z, `[dim]`.
    pub fn gradient(&self, z: ArrayView1<f64>, k: usize) -> Array1<f64> {
        let terms = self.of_class(z, k);
        let total = log_sum_exp(terms.view());
        let mut gradient = Array1::zeros(z.len());
        for (c, term) in self.components(k).zip(terms) {
            let r = (term - total).exp() / self.temperature;
            for (d, g) in gradient.iter_mut().enumerate() {
                *g -= r * (z[d] - self.values.means[[c, d]]) / self.variance(c, d);
            }
        }
        gradient
    }

    /// The mean of the component of class `k` that is nearest to `z`.
    pub fn nearest_mean(&self, z: ArrayView1<f64>, k: usize) -> ArrayView1<'_, f64> {
        let apart =
            |c: &usize| self.values.means.row(*c).iter().zip(z).map(|(m, z)| (m - z).powi(2)).sum::<f64>();
        let nearest = self.components(k).min_by(|a, b| apart(a).total_cmp(&apart(b)));
        self.values.means.row(nearest.expect("a class has a component"))
    }

    /// log p(z | k) without the constant (2 pi)^(-dim/2).
    fn log_conditional(&self, z: ArrayView1<f64>, k: usize) -> f64 {
        log_sum_exp(self.of_class(z, k).view())
    }

    fn components(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.class_of.len()).filter(move |&c| self.class_of[c] == k)
    }

    fn variance(&self, c: usize, d: usize) -> f64 {
        (2.0 * self.log_sigma(c, d)).exp()
    }

    fn log_sigma(&self, c: usize, d: usize) -> f64 {
        self.values.log_sigma[[c, d.min(self.values.log_sigma.ncols() - 1)]]
    }

    /// log w_c + log N(z; mu_c, Sigma_c) of the components of a class.
    fn of_class(&self, z: ArrayView1<f64>, k: usize) -> Array1<f64> {
        let log_density = |c: usize| {
            let of = |d: usize| {
                let log_sigma = self.log_sigma(c, d);
                -0.5 * ((z[d] - self.values.means[[c, d]]) * (-log_sigma).exp()).powi(2) - log_sigma
            };
            self.values.log_weight[c] + (0..z.len()).map(of).sum::<f64>()
        };
        self.components(k).map(log_density).collect()
    }
}
