//! Out-of-distribution detection (paper, appendix F). Likelihood alone can fail: a flow may give simple rows a high
//! density though it was never trained on anything like them. Four scores, each high for out-of-distribution rows:
//!
//!   likelihood         -log p(x)
//!   typicality         |log p(x) - median log p of in-distribution rows|     too likely is as suspicious as too unlikely
//!   latent distance    min_k sum_d (z_d - m_kd)^2 / v_d                      m, v: class means and variances in z
//!   likelihood ratio   log b(x) - log p(x)                                   b a background density without content
//!
//! For images log b is minus the length of a universal code (see [`code_length`]), for tables the density of
//! independent normal columns, both in the space that the flow works in, where units cancel.

use flowgmm_core::{SCORING_BATCH, tensor::to_array};
use flowgmm_data::ImageLayout;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use semisup::metrics::{arg_max, log_sum_exp};

use super::code_length;
use crate::model::Model;

/// Pseudo-count of rows at the Gaussian's mean that each class mean starts from: a class without rows has its mean there.
const PSEUDO_COUNT: f64 = 1.0;
/// Variances are at least this share of their mean: without it, a dimension that never varied would weigh without bound.
const FLOOR: f64 = 1e-2;

/// Tells rows of another distribution from rows like those it was fitted to.
///
/// ```
/// use flowgmm::insight::OutOfDistributionDetector;
/// # use flowgmm::{FitConfig, FlowGmmLearner};
/// # use semisup::{Learner, Toy, metrics::Detection};
/// # let problem = Toy::Moons.problem(3);
/// # let mut config = FitConfig::toy();
/// # config.train.steps = 100;
/// # let model = FlowGmmLearner { name: "FlowGMM".into(), config }.fit(&problem.train, 0)?;
/// let detector = OutOfDistributionDetector::fit(&model, problem.train.x());
/// let near = detector.scores(&model, problem.test.x());
/// let far = detector.scores(&model, (&problem.test.x() + 10.0).view());
/// assert!(Detection::of(&near.latent_distance, &far.latent_distance).auroc > 0.99);
/// # Ok::<(), flowgmm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutOfDistributionDetector {
    median: f64,
    class_means: Array2<f64>, // [K, dim]
    variance: Array1<f64>,    // [dim]
    background: Background,
}

#[derive(Clone, Debug)]
enum Background {
    Code(ImageLayout),
    Columns { mean: Array1<f64>, variance: Array1<f64> },
}

/// Four scores of rows, each `[n]`: higher is further from the training distribution, NaN where numbers overflow.
#[derive(Clone, Debug)]
pub struct OutOfDistributionScores {
    /// -log p(x).
    pub likelihood: Vec<f64>,
    /// Distance of log p(x) from its median over in-distribution rows.
    pub typicality: Vec<f64>,
    /// Squared distance from the nearest class mean in the latent space, each dimension divided by its variance.
    pub latent_distance: Vec<f64>,
    /// Log-likelihood ratio of a background density to the model.
    pub likelihood_ratio: Vec<f64>,
}

impl OutOfDistributionScores {
    /// The scores with their names: `raw likelihood`, `typicality`, `latent distance`, `likelihood ratio`.
    pub fn named(&self) -> [(&'static str, &[f64]); 4] {
        [
            ("raw likelihood", &self.likelihood),
            ("typicality", &self.typicality),
            ("latent distance", &self.latent_distance),
            ("likelihood ratio", &self.likelihood_ratio),
        ]
    }
}

impl OutOfDistributionDetector {
    /// Learns what in-distribution rows `[n, dim_in]`, n > 0, look like to a model; their labels are not needed.
    pub fn fit(model: &Model, x: ArrayView2<f64>) -> Self {
        let Mapped { log_p, predicted, z } = Mapped::of(model, x);
        let mut sorted: Vec<f64> = log_p.into_iter().filter(|v| !v.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let (class_means, variance) = class_moments(model, z.view(), &predicted);
        let background = match model.rows().layout() {
            Some(layout) => Background::Code(*layout),
            None => {
                let x = model.preprocess().apply(x);
                let mean = x.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(x.ncols()));
                Background::Columns { variance: floored(x.var_axis(Axis(0), 0.0)), mean }
            }
        };
        Self {
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0.0),
            class_means,
            variance,
            background,
        }
    }

    /// All scores of rows `[n, dim_in]`.
    pub fn scores(&self, model: &Model, x: ArrayView2<f64>) -> OutOfDistributionScores {
        let Mapped { log_p, z, .. } = Mapped::of(model, x);
        let background = self.background.log_density(model, x);
        OutOfDistributionScores {
            likelihood: log_p.iter().map(|v| -v).collect(),
            typicality: log_p.iter().map(|v| (v - self.median).abs()).collect(),
            latent_distance: z.rows().into_iter().map(|z| self.latent_distance(z)).collect(),
            likelihood_ratio: background.iter().zip(&log_p).map(|(b, p)| b - p).collect(),
        }
    }

    fn latent_distance(&self, z: ArrayView1<f64>) -> f64 {
        let to = |mean: ArrayView1<f64>| {
            z.iter().zip(mean).zip(&self.variance).map(|((z, m), v)| (z - m).powi(2) / v).sum::<f64>()
        };
        let distances = self.class_means.rows().into_iter().map(to);
        // `min` would drop a NaN, which is further away than any number.
        distances.fold(f64::INFINITY, |least, d| if d.is_nan() || d < least { d } else { least })
    }
}

impl Background {
    fn log_density(&self, model: &Model, x: ArrayView2<f64>) -> Vec<f64> {
        match self {
            Self::Code(layout) => {
                let nats = |row: ArrayView1<f64>| -code_length(&layout.image(&row.to_vec()));
                x.rows().into_iter().map(nats).collect()
            }
            Self::Columns { mean, variance } => {
                let constant: f64 = variance.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum();
                let quadratic = |row: ArrayView1<f64>| {
                    row.iter().zip(mean).zip(variance).map(|((x, m), v)| (x - m).powi(2) / v).sum::<f64>()
                };
                let x = model.preprocess().apply(x);
                x.rows().into_iter().map(|row| -0.5 * (quadratic(row) + constant)).collect()
            }
        }
    }
}

/// Rows after one pass through the flow.
struct Mapped {
    /// log p in the space that the flow works in; of images, that of pixel values.
    log_p: Vec<f64>,
    predicted: Vec<usize>,
    z: Array2<f64>, // [n, dim]
}

impl Mapped {
    fn of(model: &Model, x: ArrayView2<f64>) -> Self {
        if model.rows().layout().is_some() {
            let scores = model.score(x);
            return Self { predicted: scores.classes(), log_p: scores.log_marginal, z: scores.z };
        }
        let gmm = model.gmm();
        let (mut joint, mut z) = (Array2::zeros((0, gmm.n_classes())), Array2::zeros((0, gmm.dim())));
        for rows in model.preprocess().apply(x).axis_chunks_iter(Axis(0), SCORING_BATCH) {
            let densities = gmm.densities(gmm.place().rows(rows));
            joint.append(Axis(0), to_array(&densities.log_joint()).view()).expect("as many classes");
            z.append(Axis(0), to_array(&densities.z).view()).expect("as many dimensions");
        }
        let log_p = joint.rows().into_iter().map(log_sum_exp).collect();
        Self { log_p, predicted: arg_max(joint.view()), z }
    }
}

/// Means of the classes' latent points, and the variance within classes.
fn class_moments(model: &Model, z: ArrayView2<f64>, classes: &[usize]) -> (Array2<f64>, Array1<f64>) {
    let mixture = model.gmm().mixture();
    let (values, class_of) = (mixture.values(), mixture.spec().class_of());
    let k = mixture.spec().n_classes();
    let (mut means, mut counts) = (Array2::zeros((k, z.ncols())), vec![PSEUDO_COUNT; k]);
    for (c, &class) in class_of.iter().enumerate() {
        let share = PSEUDO_COUNT / mixture.spec().per_class[class] as f64;
        means.row_mut(class).scaled_add(share, &values.means.row(c));
    }
    for (z, &class) in z.rows().into_iter().zip(classes) {
        means.row_mut(class).scaled_add(1.0, &z);
        counts[class] += 1.0;
    }
    for (mut mean, count) in means.rows_mut().into_iter().zip(counts) {
        mean /= count;
    }
    let mut variance = Array1::zeros(z.ncols());
    for (z, &class) in z.rows().into_iter().zip(classes) {
        variance += &(&z - &means.row(class)).mapv(|v| v * v);
    }
    (means, floored(variance / z.nrows().max(1) as f64))
}

fn floored(variance: Array1<f64>) -> Array1<f64> {
    let floor = (FLOOR * variance.mean().unwrap_or(1.0)).max(f64::MIN_POSITIVE);
    variance.mapv(|v| v.max(floor))
}

#[cfg(test)]
mod tests {
    use semisup::{Learner, Toy, metrics::Detection};

    use super::*;
    use crate::{FitConfig, FlowGmmLearner};

    /// Moons against points far away, and against points between and around them.
    #[test]
    fn rows_unlike_the_moons_are_detected() {
        let problem = Toy::Moons.problem(3);
        let mut config = FitConfig::toy();
        config.train.steps = 400;
        let model = FlowGmmLearner { name: "FlowGMM".into(), config }.fit(&problem.train, 0).unwrap();
        let detector = OutOfDistributionDetector::fit(&model, problem.train.x());
        let near = detector.scores(&model, problem.test.x());
        let far = detector.scores(&model, (&problem.test.x() * 3.0 + 4.0).view());
        for ((name, near), (_, far)) in near.named().into_iter().zip(far.named()) {
            let Detection { auroc, .. } = Detection::of(near, far);
            let wanted = if name == "likelihood ratio" { 0.0 } else { 0.99 };
            assert!(auroc >= wanted, "{name}: {auroc}");
        }
        // A normal cloud over both moons: the background density explains it as well as the moons, the model does not.
        let mut rng = semisup::rng(4);
        let cloud = Array2::from_shape_fn((400, 2), |(_, j)| {
            let (mean, sd) =
                (problem.train.x().column(j).mean().unwrap(), problem.train.x().column(j).std(0.0));
            mean + sd * rand::Rng::sample::<f64, _>(&mut rng, rand_distr::StandardNormal)
        });
        let cloud = detector.scores(&model, cloud.view());
        let Detection { auroc, .. } = Detection::of(&near.likelihood_ratio, &cloud.likelihood_ratio);
        assert!(auroc > 0.85, "{auroc}");
        assert!(far.likelihood.iter().all(|v| v.is_finite()));
    }
}
