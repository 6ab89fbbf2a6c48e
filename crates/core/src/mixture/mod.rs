//! The latent Gaussian mixture (paper, section 4 and appendix B).
//!
//! Class k owns one or more Gaussians c with weights w_c (summing to one within the class), means mu_c and
//! covariances Sigma_c; classes have the prior pi (eqs. 2 and 3, for any prior):
//!
//!   log p(z | k) = logsumexp_{c in k} [ log w_c + log N(z; mu_c, Sigma_c) ],   log p(z, k) = log pi_k + log p(z | k)
//!
//! Spherical and diagonal: the quadratic form is expanded, sum_d (z_d - mu_d)^2 / sigma_d^2 = z^2 . a - 2 z . (mu a) + mu^2 . a
//! with a = sigma^-2, so that it is two matrix products; the CPU kernel squares differences instead.
//!
//! Full and tied: Sigma^-1 = A^T A with A = diag(1 / sigma) U, U unit lower triangular, so that any numbers make a
//! covariance, log|A| = -sum_d log sigma_d, and the quadratic form is |A (z - mu)|^2. sigma_d is the standard deviation of
//! column d given the columns before it.

mod spec;
mod values;

use burn_tensor::Tensor;
use ndarray::Array2;
use rand::Rng as _;
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

use crate::{
    Error, Result,
    flow::Engine,
    fused,
    tensor::{Place, log_normalise, log_sum_exp, to_vec},
    theta::Theta,
};

pub use spec::{Covariance, MixtureSpec, Trainable};
pub use values::MixtureValues;
pub(crate) use values::below_index;

/// The mixture with its parameters.
#[derive(Clone, Debug)]
pub struct Mixture {
    spec: MixtureSpec,
    means: Theta,
    log_sigma: Theta,
    weights: Theta,
    /// Gaussian of (class, slot), padded with repeats, and -1e30 on the padding. `None`: one each.
    slots: Option<(Vec<usize>, Tensor<2>)>,
    engine: Engine,
}

const LOG_2PI: f64 = 1.837_877_066_409_345_3;
/// Log-weight of a slot that is not there: far below any real one, yet finite, so that no NaN can arise.
const ABSENT: f64 = -1e30;

impl Mixture {
    /// A mixture with given values.
    pub fn new(spec: MixtureSpec, values: &MixtureValues, place: &Place) -> Result<Self> {
        spec.validate()?;
        let (c, k) = (spec.n_components(), spec.n_classes());
        let sigma_shape = spec.covariance.sigma_shape(c, spec.dim);
        let below_shape = spec.covariance.below_shape(c, spec.dim);
        if values.means.dim() != (c, spec.dim)
            || values.log_sigma.shape() != sigma_shape
            || (values.below.shape() != below_shape && below_shape[0] > 0)
            || values.log_weight.len() != c
            || values.log_prior.len() != k
        {
            return Err(Error::Config(format!(
                "mixture values do not fit {c} Gaussians of {k} classes in {} dimensions",
                spec.dim
            )));
        }
        let piece = |name: &str, shape: [usize; 2], values: Vec<f64>| (name.to_string(), shape, values);
        let means = vec![piece("means", [c, spec.dim], values.means.iter().copied().collect())];
        let mut log_sigma = vec![piece("log_sigma", sigma_shape, values.log_sigma.iter().copied().collect())];
        if below_shape[1] > 0 {
            log_sigma.push(piece("below", below_shape, values.below.iter().copied().collect()));
        }
        let weights = vec![
            piece("log_weight", [1, c], values.log_weight.clone()),
            piece("log_prior", [1, k], values.log_prior.clone()),
        ];
        let slots = slots(&spec, place);
        Ok(Self {
            means: Theta::new(means, place),
            log_sigma: Theta::new(log_sigma, place),
            weights: Theta::new(weights, place),
            slots,
            spec,
            engine: Engine::default(),
        })
    }

    /// Whether densities can be computed from rows that carry their log-det, by the kernel.
    pub(crate) fn takes_joined(&self) -> bool {
        self.engine != Engine::Composed && !self.spec.covariance.is_correlated()
    }

    /// This mixture, computed by another engine.
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The architecture.
    pub fn spec(&self) -> &MixtureSpec {
        &self.spec
    }

    /// The current values; weights and prior normalised.
    pub fn values(&self) -> MixtureValues {
        let matrix = |t: Tensor<2>| crate::tensor::to_array(&t);
        let (log_weight, log_prior) = self.log_weights();
        MixtureValues {
            means: matrix(self.means.part(0)),
            log_sigma: matrix(self.log_sigma.part(0)),
            below: match self.log_sigma.parts().len() {
                1 => {
                    Array2::default(self.spec.covariance.below_shape(self.spec.n_components(), self.spec.dim))
                }
                _ => matrix(self.log_sigma.part(1)),
            },
            log_weight: to_vec(&log_weight),
            log_prior: to_vec(&log_prior),
        }
    }

    /// All parameters, trained or not, in a fixed order.
    pub fn thetas(&self) -> Vec<&Theta> {
        vec![&self.means, &self.log_sigma, &self.weights]
    }

    /// The parameters of [`Mixture::thetas`], to be updated.
    pub fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        vec![&mut self.means, &mut self.log_sigma, &mut self.weights]
    }

    /// Which of [`Mixture::thetas`] are trained.
    pub fn trained(&self) -> [bool; 3] {
        let Trainable { means, covariances, weights } = self.spec.trainable;
        [means, covariances, weights]
    }

    /// log p(z | k) for every class, `[n, K]`.
    pub fn log_conditional(&self, z: Tensor<2>) -> Tensor<2> {
        self.of_classes(self.log_components(z))
    }

    /// log p(z | k) + log_det from rows `[n, dim + 1]` of z and log_det, by the kernel.
    ///
    /// # Panics
    /// Where the kernel does not apply; rows of this shape come from it.
    pub(crate) fn log_conditional_joined(&self, rows: &Tensor<2>) -> Tensor<2> {
        let components =
            fused::log_densities(rows, fused::Tail::LogDet, self.means.value(), self.log_sigma.value());
        self.of_classes(components.expect("these rows come from a kernel"))
    }

    /// log p(. | k) from the log-densities of all Gaussians, `[n, C]` -> `[n, K]`.
    fn of_classes(&self, components: Tensor<2>) -> Tensor<2> {
        match &self.slots {
            None => components,
            Some((indices, absent)) => {
                let [n, _] = components.dims();
                let (k, slots) = (self.spec.n_classes(), indices.len() / self.spec.n_classes());
                let (log_weight, _) = self.log_weights();
                let place = Place::of(&components);
                let padded = (components + log_weight).select(1, place.indices(indices)) + absent.clone();
                log_sum_exp(padded.reshape([n * k, slots])).reshape([n, k])
            }
        }
    }

    /// log pi_k, `[1, K]`.
    pub fn log_prior(&self) -> Tensor<2> {
        log_normalise(self.weights.part(1))
    }

    /// The share of each Gaussian within its class at z, `[n, C]`: 1 where a class has only one.
    pub(crate) fn component_shares(&self, z: Tensor<2>) -> Array2<f64> {
        let components = self.log_components(z.clone()) + self.log_weights().0;
        let place = Place::of(&components);
        let own = self.log_conditional(z).select(1, place.indices(&self.spec.class_of()));
        crate::tensor::to_array(&(components - own).exp())
    }

    /// log N(z; mu_c, Sigma_c), `[n, C]`.
    fn log_components(&self, z: Tensor<2>) -> Tensor<2> {
        if self.spec.covariance.is_correlated() {
            return self.log_correlated(z);
        }
        if self.engine != Engine::Composed
            && let Some(found) =
                fused::log_densities(&z, fused::Tail::Nothing, self.means.value(), self.log_sigma.value())
        {
            return found;
        }
        let d = self.spec.dim as f64;
        let (means, log_sigma) = (self.means.part(0), self.log_sigma.part(0)); // [C, dim], [C, 1 or dim]
        let c = self.spec.n_components();
        let precision = (log_sigma.clone() * -2.0).exp().expand([c, self.spec.dim]); // [C, dim]
        let weighted = means.clone() * precision.clone();
        let constant = (means * weighted.clone()).sum_dim(1).transpose(); // [1, C]
        let quadratic = z.clone().square().matmul(precision.transpose())
            - z.matmul(weighted.transpose()) * 2.0
            + constant;
        let log_volume = match self.spec.covariance {
            Covariance::Spherical => log_sigma * d,
            _ => log_sigma.sum_dim(1),
        };
        (quadratic * -0.5 - log_volume.transpose()).sub_scalar(0.5 * d * LOG_2PI)
    }

    /// log N(z; mu_c, Sigma_c) of full or tied covariances, `[n, C]`: -|A_c (z - mu_c)|^2 / 2 - sum_d log sigma_d + const.
    fn log_correlated(&self, z: Tensor<2>) -> Tensor<2> {
        let dim = self.spec.dim;
        let (means, log_sigma) = (self.means.part(0), self.log_sigma.part(0)); // [C, dim], [C or 1, dim]
        let tied = self.spec.covariance == Covariance::Tied;
        let one = |c: usize| {
            let row = if tied { 0 } else { c };
            let own = log_sigma.clone().narrow(0, row, 1); // [1, dim]
            let apart = z.clone() - means.clone().narrow(0, c, 1);
            let whitened = apart.matmul(self.unit_lower(row).transpose()) * (own.clone() * -1.0).exp();
            whitened.square().sum_dim(1) * -0.5 - own.sum_dim(1)
        };
        let components: Vec<Tensor<2>> = (0..self.spec.n_components()).map(one).collect();
        Tensor::cat(components, 1).sub_scalar(0.5 * dim as f64 * LOG_2PI)
    }

    /// U of row `row` of the covariances, `[dim, dim]`: ones on the diagonal, `below` under it.
    fn unit_lower(&self, row: usize) -> Tensor<2> {
        let dim = self.spec.dim;
        let place = Place::of(self.log_sigma.value());
        let identity = place.rows(Array2::eye(dim).view());
        if dim == 1 {
            return identity;
        }
        let below = self.log_sigma.part(1).narrow(0, row, 1); // [1, dim (dim - 1) / 2]
        let absent = below.dims()[1]; // the index of the zero that is appended
        let padded = Tensor::cat(vec![below.clone(), below.zeros_like().narrow(1, 0, 1)], 1);
        let at = |i: usize, j: usize| if j < i { values::below_index(i, j) } else { absent };
        let indices: Vec<usize> = (0..dim * dim).map(|cell| at(cell / dim, cell % dim)).collect();
        padded.select(1, place.indices(&indices)).reshape([dim, dim]) + identity
    }

    /// log w_c normalised within classes `[1, C]`, and log pi `[1, K]`.
    fn log_weights(&self) -> (Tensor<2>, Tensor<2>) {
        let raw = self.weights.part(0);
        let log_weight = match &self.slots {
            None => raw.zeros_like(),
            Some((indices, absent)) => {
                let (k, slots) = (self.spec.n_classes(), indices.len() / self.spec.n_classes());
                let place = Place::of(&raw);
                let padded = raw.clone().select(1, place.indices(indices)) + absent.clone();
                let per_class = log_sum_exp(padded.reshape([k, slots])).transpose(); // [1, K]
                raw - per_class.select(1, place.indices(&self.spec.class_of()))
            }
        };
        (log_weight, self.log_prior())
    }

    /// Latent draws: class `class` (or a class from the prior), then one of its Gaussians, then z ~ N(mu, T^2 Sigma).
    ///
    /// T is a factor of the standard deviation: T = 1 gives samples of the model, T = 0 the means. The paper's appendix H
    /// writes N(mu, T I) and takes T = 0.25^2, which is 0.25 here.
    ///
    /// Returns z `[n, dim]` and the class of each row.
    pub fn sample(
        &self,
        n: usize,
        class: Option<usize>,
        temperature: f64,
        rng: &mut Rng,
    ) -> (Array2<f64>, Vec<usize>) {
        let values = self.values();
        let class_of = self.spec.class_of();
        let mut z = Array2::zeros((n, self.spec.dim));
        let mut classes = Vec::with_capacity(n);
        for mut row in z.rows_mut() {
            let k = class.unwrap_or_else(|| draw(&values.log_prior, rng));
            let own: Vec<usize> = (0..class_of.len()).filter(|&c| class_of[c] == k).collect();
            let log_weight: Vec<f64> = own.iter().map(|&c| values.log_weight[c]).collect();
            let c = own[draw(&log_weight, rng)];
            row.iter_mut().for_each(|value| *value = StandardNormal.sample(rng));
            values.colour(c, temperature, row);
            classes.push(k);
        }
        (z, classes)
    }
}

/// An index drawn with probabilities exp(log_p) (normalised already, up to rounding).
fn draw(log_p: &[f64], rng: &mut Rng) -> usize {
    let mut rest: f64 = rng.random::<f64>() * log_p.iter().map(|l| l.exp()).sum::<f64>();
    for (i, l) in log_p.iter().enumerate() {
        rest -= l.exp();
        if rest < 0.0 {
            return i;
        }
    }
    log_p.len() - 1
}

/// The padded table (class, slot) -> Gaussian, unless every class has exactly one.
fn slots(spec: &MixtureSpec, place: &Place) -> Option<(Vec<usize>, Tensor<2>)> {
    let widest = *spec.per_class.iter().max()?;
    if widest == 1 {
        return None;
    }
    let (mut indices, mut absent, mut first) = (Vec::new(), Vec::new(), 0);
    for &m in &spec.per_class {
        for slot in 0..widest {
            indices.push(first + slot.min(m - 1));
            absent.push(if slot < m { 0.0 } else { ABSENT });
        }
        first += m;
    }
    let columns = absent.len();
    Some((indices, place.matrix(absent, [1, columns])))
}
