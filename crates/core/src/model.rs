//! FlowGMM (paper, section 4): a flow and a latent mixture, which are a density and a classifier at once.
//!
//!   log p(x | k) = log p(z | k) + log|det df/dx|,   z = f(x)      (eqs. 1 and 2)
//!   log p(x)     = logsumexp_k [ log pi_k + log p(x | k) ]         (eqs. 1 and 3)
//!   p(k | x)     = softmax_k  [ log pi_k + log p(z | k) ]          (eq. 5: the log-det cancels)

use burn_tensor::Tensor;
use ndarray::{Array2, ArrayView2, s};
use semisup::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{Bijection, Dropout, Init, Mapped, NormStatistics},
    flow::{Engine, Flow, FlowOutput, FlowSpec},
    fused,
    mixture::{Mixture, MixtureSpec, MixtureValues},
    tensor::{Place, log_normalise, log_sum_exp, to_array},
    theta::Theta,
};

/// The architecture of a model: everything but its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The invertible network.
    pub flow: FlowSpec,
    /// The latent mixture.
    pub mixture: MixtureSpec,
}

impl ModelSpec {
    /// Number of values of a model of this architecture, computed before anything is allocated; `None` if it overflows.
    pub fn n_parameters(&self) -> Option<usize> {
        let total = self.flow.layers.iter().try_fold(self.flow.n_parameters()?, |sum, layer| {
            sum.checked_add(layer.n_running_statistics()?) // in the file, though not trained
        })?;
        let MixtureSpec { dim, covariance, .. } = self.mixture;
        let (c, area) =
            (self.mixture.n_components(), |[rows, columns]: [usize; 2]| rows.checked_mul(columns));
        // A square that overflows is refused before it is taken.
        dim.checked_mul(dim)?;
        let covariances =
            area(covariance.sigma_shape(c, dim))?.checked_add(area(covariance.below_shape(c, dim))?)?;
        let mixture = c.checked_mul(dim.checked_add(1)?)?.checked_add(covariances)?;
        total.checked_add(mixture)?.checked_add(self.mixture.n_classes())
    }
}

/// Rows per pass when scoring: memory stays bounded by this, not by the data.
pub const SCORING_BATCH: usize = 2048;

/// A flow with a latent Gaussian mixture.
#[derive(Clone, Debug)]
pub struct FlowGmm {
    flow: Flow,
    mixture: Mixture,
}

/// Latent rows, log-densities and the prior of a batch of rows.
#[derive(Clone, Debug)]
pub struct Densities {
    /// z = f(x), `[n, dim]`.
    pub z: Tensor<2>,
    /// log p(x | k), `[n, K]`.
    pub log_conditional: Tensor<2>,
    /// log pi_k, `[1, K]`.
    pub log_prior: Tensor<2>,
}

impl Densities {
    /// log p(x, k), `[n, K]`.
    pub fn log_joint(&self) -> Tensor<2> {
        self.log_conditional.clone() + self.log_prior.clone()
    }

    /// log p(x), `[n, 1]`.
    pub fn log_marginal(&self) -> Tensor<2> {
        log_sum_exp(self.log_joint())
    }

    /// log p(k | x), `[n, K]`.
    pub fn log_posterior(&self) -> Tensor<2> {
        log_normalise(self.log_joint())
    }

    /// The densities of `length` rows from `start` on.
    pub fn rows(&self, start: usize, length: usize) -> Self {
        Self {
            z: self.z.clone().narrow(0, start, length),
            log_conditional: self.log_conditional.clone().narrow(0, start, length),
            log_prior: self.log_prior.clone(),
        }
    }
}

impl FlowGmm {
    /// Joins a flow and a mixture of the same dimension.
    pub fn new(flow: Flow, mixture: Mixture) -> Result<Self> {
        if flow.dim() != mixture.spec().dim {
            return Err(Error::Config(format!(
                "the flow has {} dimensions and the mixture {}",
                flow.dim(),
                mixture.spec().dim
            )));
        }
        Ok(Self { flow, mixture })
    }

    /// A model of this architecture whose parameters are about to be loaded from a file.
    pub fn blank(spec: &ModelSpec, place: &Place) -> Result<Self> {
        let c = spec.mixture.n_components();
        let MixtureSpec { dim, covariance, .. } = spec.mixture;
        spec.mixture.validate()?;
        let values = MixtureValues {
            means: Array2::zeros((c, dim)),
            log_sigma: Array2::zeros(covariance.sigma_shape(c, dim)),
            below: Array2::zeros(covariance.below_shape(c, dim)),
            log_weight: vec![0.0; c],
            log_prior: vec![0.0; spec.mixture.n_classes()],
        };
        let flow = Flow::new(spec.flow.clone(), Init::Identity, &mut semisup::rng(0), place)?;
        Self::new(flow, Mixture::new(spec.mixture.clone(), &values, place)?)
    }

    /// The architecture.
    pub fn spec(&self) -> ModelSpec {
        ModelSpec { flow: self.flow.spec().clone(), mixture: self.mixture.spec().clone() }
    }

    /// The invertible network.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The latent mixture.
    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.flow.dim()
    }

    /// Number of classes K.
    pub fn n_classes(&self) -> usize {
        self.mixture.spec().n_classes()
    }

    /// This model, computed by another engine.
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.flow = self.flow.with_engine(engine);
        self.mixture = self.mixture.with_engine(engine);
        self
    }

    /// This model with batch normalisation by running statistics (prediction) or by those of the batch (training).
    pub fn with_statistics(mut self, statistics: NormStatistics) -> Self {
        self.flow = self.flow.with_statistics(statistics);
        self
    }

    /// Whether the flow has batch normalisation, and so running statistics.
    pub fn has_running_statistics(&self) -> bool {
        self.flow.trained().contains(&false)
    }

    /// Moves the running statistics of batch normalisation towards those of a batch,
    /// m <- (1 - momentum) m + momentum m_batch.
    pub fn update_running_statistics(&mut self, x: Tensor<2>, momentum: f64) {
        self.flow.update_running_statistics(x, momentum);
    }

    /// Device and precision of the model.
    pub fn place(&self) -> Place {
        self.mixture.thetas()[0].place()
    }

    /// A copy of the model on another device or in another precision.
    pub fn to_place(&self, place: &Place) -> Self {
        let mut model = self.clone();
        for theta in model.thetas_mut() {
            let value = place.vector(crate::tensor::to_vec(theta.value()));
            theta.set(value);
        }
        // The mixture's constants follow its parameters.
        let mixture = Mixture::new(self.mixture.spec().clone(), &self.mixture.values(), place);
        let mut mixture = mixture.expect("a mixture that exists is valid").with_engine(self.flow.engine());
        for (to, from) in mixture.thetas_mut().into_iter().zip(model.mixture.thetas()) {
            to.set(from.value().clone());
        }
        model.mixture = mixture;
        model
    }

    /// Replaces the mixture's values, e.g. by closed-form estimates.
    pub fn set_mixture(&mut self, values: &MixtureValues) -> Result<()> {
        let mixture = Mixture::new(self.mixture.spec().clone(), values, &self.place())?;
        self.mixture = mixture.with_engine(self.flow.engine());
        Ok(())
    }

    /// Data-dependent initialisation of the flow on a first batch.
    pub fn adapt(&mut self, x: &Tensor<2>) {
        self.flow.adapt(x);
    }

    /// Latent values and log-densities of rows.
    pub fn densities(&self, x: Tensor<2>) -> Densities {
        let (z, log_conditional) = match self.flow.output(x) {
            FlowOutput::Joined(rows, before) if self.mixture.takes_joined() => {
                let own = self.mixture.log_conditional_joined(&rows);
                (fused::separate(rows).value, before.map_or(own.clone(), |before| own + before))
            }
            output => {
                let Mapped { value: z, log_det } = output.separate();
                (z.clone(), self.mixture.log_conditional(z) + log_det)
            }
        };
        Densities { z, log_conditional, log_prior: self.mixture.log_prior() }
    }

    /// Latent values and log-densities of rows in a training step with dropout in the conditioners.
    pub fn densities_with_dropout(&self, x: Tensor<2>, dropout: &mut Dropout) -> Densities {
        let Mapped { value: z, log_det } = self.flow.forward_with_dropout(x, dropout);
        let log_conditional = self.mixture.log_conditional(z.clone()) + log_det;
        Densities { z, log_conditional, log_prior: self.mixture.log_prior() }
    }

    /// log p(x, k) for many rows, in batches: `[n, K]`.
    pub fn log_joint(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.in_batches(x, self.n_classes(), |x| self.densities(x).log_joint())
    }

    /// z = f(x) for many rows.
    pub fn encode(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.in_batches(x, self.dim(), |x| self.flow.forward(x).value)
    }

    /// x = f^-1(z) for many rows.
    pub fn decode(&self, z: ArrayView2<f64>) -> Array2<f64> {
        self.in_batches(z, self.dim(), |z| self.flow.inverse(z))
    }

    /// Draws rows of a class (or of classes by the prior): x and the class of each.
    pub fn sample(
        &self,
        n: usize,
        class: Option<usize>,
        temperature: f64,
        rng: &mut Rng,
    ) -> (Array2<f64>, Vec<usize>) {
        let (z, classes) = self.mixture.sample(n, class, temperature, rng);
        (self.decode(z.view()), classes)
    }

    fn in_batches(
        &self,
        x: ArrayView2<f64>,
        columns: usize,
        map: impl Fn(Tensor<2>) -> Tensor<2>,
    ) -> Array2<f64> {
        let place = self.place();
        let mut out = Array2::zeros((x.nrows(), columns));
        for start in (0..x.nrows()).step_by(SCORING_BATCH) {
            let end = (start + SCORING_BATCH).min(x.nrows());
            let result = map(place.rows(x.slice(s![start..end, ..])));
            out.slice_mut(s![start..end, ..]).assign(&to_array(&result));
        }
        out
    }

    /// All parameters in a fixed order: the flow's layers, then the mixture's means, log sigmas and weights.
    pub fn thetas(&self) -> Vec<&Theta> {
        let mut thetas = self.flow.thetas();
        thetas.extend(self.mixture.thetas());
        thetas
    }

    /// The parameters of [`FlowGmm::thetas`], to be updated.
    pub fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        let mut thetas = self.flow.thetas_mut();
        thetas.extend(self.mixture.thetas_mut());
        thetas
    }

    /// A name for each of [`FlowGmm::thetas`].
    pub fn theta_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.flow.labels().into_iter().map(|label| format!("flow{label}")).collect();
        names.extend(["mixture.means", "mixture.covariances", "mixture.weights"].map(String::from));
        names
    }

    /// Which of [`FlowGmm::thetas`] are trained.
    pub fn trained(&self) -> Vec<bool> {
        let mut trained = self.flow.trained();
        trained.extend(self.mixture.trained());
        trained
    }

    /// A copy whose trained parameters are leaves of a fresh gradient graph.
    pub fn tracked(&self) -> Self {
        let mut model = self.clone();
        let trained = self.trained();
        for (theta, trained) in model.thetas_mut().into_iter().zip(trained) {
            if trained {
                let leaf = theta.value().clone().autodiff().require_grad();
                theta.set(leaf);
            }
        }
        model
    }
}
