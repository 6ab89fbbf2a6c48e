//! Expectation-maximisation (paper, appendix A) and closed-form mixture estimates (appendix B).
//!
//! E-step, exact: q_k = p(k | x) for every unlabelled row. M-step: gradient steps until the next E-step on
//! -sum_k q_k log p(x | k), whose gradient at the moment of the E-step equals the marginal's. The mixture itself
//! can be re-estimated in closed form from z = f(x) and q:
//!
//!   mu_c = sum r_c z / sum r_c,   Sigma_c = sum r_c (z - mu_c) (z - mu_c)^T / sum r_c,   pi_k = mean q_k,
//!   w_c = share of c in its class
//!
//! with the diagonal of Sigma_c, or its mean, where covariances are diagonal or spherical, and one Sigma over all Gaussians
//! where they are tied. The mixture is estimated only once the flow has warmed up ([`Em::wait`]): the latent points of an
//! untrained flow know nothing of the classes, and means put among them merge what the labels should keep apart.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    mixture::{Covariance, MixtureSpec, MixtureValues, below_index},
    model::{FlowGmm, SCORING_BATCH},
    train::TrainingRows,
};

/// When E-steps happen and what they do to the mixture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Em {
    /// Epochs between two E-steps.
    pub every: usize,
    /// What the M-step does to the mixture.
    pub mixture: MixtureStep,
    /// The fraction of training before the mixture is estimated for the first time; E-steps happen from the start.
    #[serde(default = "Em::default_wait")]
    pub wait: f64,
}

impl Em {
    /// E-steps every `every` epochs; the mixture waits for a half of training.
    pub fn new(every: usize, mixture: MixtureStep) -> Self {
        Self { every, mixture, wait: Self::default_wait() }
    }

    fn default_wait() -> f64 {
        0.5
    }

    /// This with the mixture as it is at a step at which the flow still warms up.
    pub(crate) fn at(self, step: usize, steps: usize) -> Self {
        let warm = step as f64 >= self.wait * steps as f64;
        if warm { self } else { Self { mixture: MixtureStep::Fixed, ..self } }
    }
}

/// How the mixture's own parameters are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum MixtureStep {
    /// They stay fixed: the paper's setting.
    Fixed,
    /// One closed-form estimate with each E-step, jointly with the flow.
    ClosedForm,
    /// With each E-step, this many EM iterations of the mixture for the flow as it stands, then the flow goes on
    /// with the mixture fixed.
    Alternating {
        /// EM iterations per turn.
        iterations: usize,
    },
}

/// The result of an E-step.
pub(crate) struct Expectation {
    /// Responsibilities of the unlabelled rows, `[n_u, K]`.
    pub(crate) q: Vec<f32>,
    /// New mixture values, if the M-step has any.
    pub(crate) mixture: Option<MixtureValues>,
}

impl Expectation {
    /// Whether all values are finite; a latent row that overflowed makes them NaN.
    pub(crate) fn is_finite(&self) -> bool {
        let mixture = self.mixture.as_ref().is_none_or(|values| {
            let MixtureValues { means, log_sigma, below, log_weight, log_prior } = values;
            means
                .iter()
                .chain(log_sigma)
                .chain(below)
                .chain(log_weight)
                .chain(log_prior)
                .all(|v| v.is_finite())
        });
        mixture && self.q.iter().all(|v| v.is_finite())
    }
}

/// Smallest sigma a closed-form estimate may give: a Gaussian on a single point must not collapse.
const MIN_SIGMA: f64 = 1e-2;

pub(crate) fn expectation(
    model: &FlowGmm,
    rows: &TrainingRows,
    em: &Em,
    go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<Expectation> {
    let place = model.place();
    let k = rows.n_classes;
    let z_u = encoded(model, rows.unlabelled.array()?.view(), go_on)?;
    let z_l = encoded(model, rows.labelled.array()?.view(), go_on)?;
    let mut current = model.clone();
    let iterations = match em.mixture {
        MixtureStep::Fixed => 0,
        MixtureStep::ClosedForm => 1,
        MixtureStep::Alternating { iterations } => iterations,
    };
    for _ in 0..iterations {
        go_on()?;
        let q = latent_posterior(&current, z_u.view());
        let mut all = Array2::zeros((z_l.nrows() + z_u.nrows(), z_u.ncols()));
        let mut weights = Array2::zeros((all.nrows(), k));
        all.slice_mut(ndarray::s![..z_l.nrows(), ..]).assign(&z_l);
        all.slice_mut(ndarray::s![z_l.nrows().., ..]).assign(&z_u);
        for (row, &y) in rows.y.iter().enumerate() {
            weights[[row, y]] = 1.0;
        }
        weights.slice_mut(ndarray::s![z_l.nrows().., ..]).assign(&q);
        let shares = current.mixture().component_shares(place.rows(all.view()));
        let values = estimate(current.mixture().spec(), all.view(), weights.view(), shares.view());
        current.set_mixture(&values)?;
    }
    let q = latent_posterior(&current, z_u.view()).iter().map(|&v| v as f32).collect();
    Ok(Expectation { q, mixture: (iterations > 0).then(|| current.mixture().values()) })
}

/// z = f(x), batch by batch.
fn encoded(
    model: &FlowGmm,
    x: ArrayView2<f64>,
    go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<Array2<f64>> {
    let mut z = Array2::zeros((x.nrows(), model.dim()));
    let batches = x.axis_chunks_iter(Axis(0), SCORING_BATCH);
    for (x, mut z) in batches.zip(z.axis_chunks_iter_mut(Axis(0), SCORING_BATCH)) {
        go_on()?;
        z.assign(&model.encode(x));
    }
    Ok(z)
}

/// p(k | z), `[n, K]`.
fn latent_posterior(model: &FlowGmm, z: ArrayView2<f64>) -> Array2<f64> {
    let mixture = model.mixture();
    let joint = mixture.log_conditional(model.place().rows(z)) + mixture.log_prior();
    crate::tensor::to_array(&crate::tensor::log_normalise(joint)).mapv(f64::exp)
}

/// Closed-form estimates from latent rows `[n, dim]`, class weights `[n, K]` and, within classes, the shares of the
/// Gaussians `[n, C]`.
pub fn estimate(
    spec: &MixtureSpec,
    z: ArrayView2<f64>,
    q: ArrayView2<f64>,
    shares: ArrayView2<f64>,
) -> MixtureValues {
    let class_of = spec.class_of();
    let r = Array2::from_shape_fn((z.nrows(), class_of.len()), |(n, c)| q[[n, class_of[c]]] * shares[[n, c]]);
    let means = crate::means::centroids(z, r.view());
    let mass: Vec<f64> = r.columns().into_iter().map(|weights| weights.sum()).collect();
    let (log_sigma, below) = match spec.covariance {
        Covariance::Spherical | Covariance::Diagonal => {
            (log_sigma(spec, z, &means, &r, &mass), Array2::default((0, 0)))
        }
        Covariance::Full => {
            factors((0..class_of.len()).map(|c| scatter(z, &means, &r, c) / mass[c].max(1e-12)), spec.dim)
        }
        Covariance::Tied => {
            let zero = Array2::zeros((spec.dim, spec.dim));
            let total = (0..class_of.len()).fold(zero, |sum, c| sum + scatter(z, &means, &r, c));
            factors([total / mass.iter().sum::<f64>().max(1e-12)].into_iter(), spec.dim)
        }
    };
    // Shares and priors keep a little of every class, so that none can be lost for good.
    let log_share = |mass: f64, total: f64| ((mass + 1e-6) / (total + 1e-6)).ln();
    let of_class =
        |k: usize| -> f64 { (0..class_of.len()).filter(|&c| class_of[c] == k).map(|c| mass[c]).sum() };
    let log_weight = (0..class_of.len()).map(|c| log_share(mass[c], of_class(class_of[c]))).collect();
    let everything: f64 = mass.iter().sum();
    let log_prior = (0..spec.n_classes()).map(|k| log_share(of_class(k), everything)).collect();
    MixtureValues { means, log_sigma, below, log_weight, log_prior }
}

/// log sigma of spherical `[C, 1]` and diagonal `[C, dim]` covariances.
fn log_sigma(
    spec: &MixtureSpec,
    z: ArrayView2<f64>,
    means: &Array2<f64>,
    r: &Array2<f64>,
    mass: &[f64],
) -> Array2<f64> {
    let mut log_sigma = Array2::zeros(spec.covariance.sigma_shape(mass.len(), spec.dim));
    for (c, weights) in r.columns().into_iter().enumerate() {
        let mut variance = vec![0.0; spec.dim];
        for (row, &weight) in z.rows().into_iter().zip(weights) {
            for j in 0..spec.dim {
                variance[j] += weight * (row[j] - means[[c, j]]).powi(2);
            }
        }
        let total = mass[c].max(1e-12);
        match spec.covariance {
            Covariance::Spherical => {
                let mean = variance.iter().sum::<f64>() / (total * spec.dim as f64);
                log_sigma[[c, 0]] = mean.sqrt().max(MIN_SIGMA).ln();
            }
            _ => {
                for j in 0..spec.dim {
                    log_sigma[[c, j]] = (variance[j] / total).sqrt().max(MIN_SIGMA).ln();
                }
            }
        }
    }
    log_sigma
}

/// sum_n r_nc (z_n - mu_c) (z_n - mu_c)^T, `[dim, dim]`.
fn scatter(z: ArrayView2<f64>, means: &Array2<f64>, r: &Array2<f64>, c: usize) -> Array2<f64> {
    let mut apart = &z - &means.row(c);
    for (mut row, weight) in apart.rows_mut().into_iter().zip(r.column(c)) {
        row *= weight.sqrt();
    }
    apart.t().dot(&apart)
}

/// log sigma and the entries of U below the diagonal, a row for each covariance: with Sigma = L L^T, A = L^-1 = diag(1 / sigma) U.
fn factors(
    covariances: impl ExactSizeIterator<Item = Array2<f64>>,
    dim: usize,
) -> (Array2<f64>, Array2<f64>) {
    let n = covariances.len();
    let mut log_sigma = Array2::zeros((n, dim));
    let mut below = Array2::zeros((n, dim * dim.saturating_sub(1) / 2));
    for (at, covariance) in covariances.enumerate() {
        let l = bounded_cholesky(&covariance);
        let mut inverse = Array2::<f64>::eye(dim); // L^-1, by forward substitution
        for i in 0..dim {
            for j in 0..=i {
                let known: f64 = (j..i).map(|k| l[[i, k]] * inverse[[k, j]]).sum();
                inverse[[i, j]] = (f64::from(u8::from(i == j)) - known) / l[[i, i]];
            }
            log_sigma[[at, i]] = l[[i, i]].ln();
            for j in 0..i {
                below[[at, below_index(i, j)]] = l[[i, i]] * inverse[[i, j]];
            }
        }
    }
    (log_sigma, below)
}

/// L with L L^T = Sigma, but for columns whose standard deviation given those before is below [`MIN_SIGMA`].
fn bounded_cholesky(covariance: &Array2<f64>) -> Array2<f64> {
    let dim = covariance.nrows();
    let mut l = Array2::<f64>::zeros((dim, dim));
    for i in 0..dim {
        for j in 0..i {
            let known: f64 = (0..j).map(|k| l[[i, k]] * l[[j, k]]).sum();
            l[[i, j]] = (covariance[[i, j]] - known) / l[[j, j]];
        }
        let rest = covariance[[i, i]] - (0..i).map(|k| l[[i, k]].powi(2)).sum::<f64>();
        l[[i, i]] = rest.max(0.0).sqrt().max(MIN_SIGMA);
    }
    l
}
