//! The latent mixture in double precision: its density, its class posteriors and their gradients at single points.
//!
//!   log p(z | k) = logsumexp_{c in k} [ log w_c + log N(z; mu_c, Sigma_c) ]
//!   grad log p(z | k) = - sum_{c in k} r_c Sigma_c^-1 (z - mu_c),   r_c the responsibilities within class k
//!
//! The posterior is log p(k | z) = log p(z | k) / T + b_k + const: eq. 5 of the paper has T = 1 and b = log pi, a temperature on
//! the joint density b = log pi / T, one on the likelihood alone b = log pi.

use ndarray::{Array1, ArrayView1};
use semisup::metrics::log_sum_exp;

use crate::mixture::{Mixture, MixtureValues};

/// The values of a mixture, for questions about single points.
#[derive(Clone, Debug)]
pub struct Latent {
    pub(super) values: MixtureValues,
    pub(super) class_of: Vec<usize>,
    pub(super) temperature: f64,
    pub(super) bias: Vec<f64>, // b, [K]
}

impl Latent {
    /// The posterior of eq. 5.
    pub fn of(mixture: &Mixture) -> Self {
        let bias = mixture.values().log_prior;
        Self::new(mixture, 1.0, bias)
    }

    /// The posterior log p(z | k) / `temperature` + `bias`_k.
    ///
    /// # Panics
    /// If there is not one bias for each class.
    pub fn new(mixture: &Mixture, temperature: f64, bias: Vec<f64>) -> Self {
        assert_eq!(bias.len(), mixture.spec().n_classes(), "one bias for each class");
        Self { values: mixture.values(), class_of: mixture.spec().class_of(), temperature, bias }
    }

    /// Number of classes K.
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
            gradient.scaled_add((term - total).exp() / self.temperature, &self.values.gradient(c, z));
        }
        gradient
    }

    /// The mean of the component of class `k` that is nearest to `z`.
    pub fn nearest_mean(&self, z: ArrayView1<f64>, k: usize) -> ArrayView1<'_, f64> {
        self.values.means.row(self.component(k, |c| -square(self.values.means.row(c), z)))
    }

    /// The Gaussian of class `k` that explains `z` best.
    pub(super) fn best_component(&self, z: ArrayView1<f64>, k: usize) -> usize {
        self.component(k, |c| self.values.log_weight[c] + self.values.log_density(c, z))
    }

    fn component(&self, k: usize, score: impl Fn(usize) -> f64) -> usize {
        let best = self.components(k).max_by(|a, b| score(*a).total_cmp(&score(*b)));
        best.expect("a class has a component")
    }

    /// log p(z | k) without the constant (2 pi)^(-dim/2).
    fn log_conditional(&self, z: ArrayView1<f64>, k: usize) -> f64 {
        log_sum_exp(self.of_class(z, k).view())
    }

    fn components(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.class_of.len()).filter(move |&c| self.class_of[c] == k)
    }

    /// log w_c + log N(z; mu_c, Sigma_c) of the components of a class.
    fn of_class(&self, z: ArrayView1<f64>, k: usize) -> Array1<f64> {
        self.components(k).map(|c| self.values.log_weight[c] + self.values.log_density(c, z)).collect()
    }
}

/// |a - b|^2.
pub(super) fn square(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}
