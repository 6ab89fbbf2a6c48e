//! Rows from elsewhere (paper, appendix F). Likelihood alone can prefer them: a flow gives simple rows a high density
//! though it has never seen their like. Four scores, each high for strangers:
//!
//!   raw           -log p(x)
//!   typicality    |log p(x) - median log p of our rows|        too likely is as suspicious as too unlikely
//!   latent        min_k sum_d (z_d - m_kd)^2 / v_d             m, v: class means and spread of our own rows in z
//!   ratio         log b(x) - log p(x)                          b a background that knows no content
//!
//! For pictures log b is minus the length of a universal code (see [`code_length`]), for tables the density of
//! independent normal columns, both in the model's own space, where units cancel.

use flowgmm_data::Layout;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use semisup::metrics::arg_max;

use super::{code_length, latent::log_sum_exp};
use crate::model::Model;

/// So many rows at its Gaussian's mean are added to each class: a class without rows has its mean there.
const PRIOR_ROWS: f64 = 1.0;
/// Variances are at least this share of their mean: what never varied would weigh without bound.
const FLOOR: f64 = 1e-2;

/// What our own rows look like to a model.
#[derive(Clone, Debug)]
pub struct Domain {
    median: f64,
    class_means: Array2<f64>, // [K, dim]
    variance: Array1<f64>,    // [dim]
    background: Background,
}

#[derive(Clone, Debug)]
enum Background {
    Code(Layout),
    Columns { mean: Array1<f64>, variance: Array1<f64> },
}

/// How strange rows are, by each score; higher is stranger, NaN beyond what numbers hold.
#[derive(Clone, Debug)]
pub struct Strangeness {
    /// -log p(x).
    pub raw: Vec<f64>,
    /// Distance of log p(x) from its median.
    pub typicality: Vec<f64>,
    /// Distance from the nearest class in the latent space.
    pub latent: Vec<f64>,
    /// Likelihood ratio of a background to the model.
    pub ratio: Vec<f64>,
}

impl Strangeness {
    /// The scores with their names, in the order of this page.
    pub fn named(&self) -> [(&'static str, &[f64]); 4] {
        [
            ("raw likelihood", &self.raw),
            ("typicality", &self.typicality),
            ("latent distance", &self.latent),
            ("likelihood ratio", &self.ratio),
        ]
    }
}

impl Domain {
    /// Learns from our own rows, `[n, dim_in]`, n > 0; none of their labels is needed.
    pub fn learn(model: &Model, x: ArrayView2<f64>) -> Self {
        let (log_p, predicted) = own_density(model, x);
        let mut sorted: Vec<f64> = log_p.into_iter().filter(|v| !v.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let (class_means, variance) = class_moments(model, model.encode(x).view(), &predicted);
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

    /// All scores of rows.
    pub fn scores(&self, model: &Model, x: ArrayView2<f64>) -> Strangeness {
        let (log_p, _) = own_density(model, x);
        let z = model.encode(x);
        let background = self.background.log_density(model, x);
        Strangeness {
            raw: log_p.iter().map(|v| -v).collect(),
            typicality: log_p.iter().map(|v| (v - self.median).abs()).collect(),
            latent: z.rows().into_iter().map(|z| self.latent(z)).collect(),
            ratio: background.iter().zip(&log_p).map(|(b, p)| b - p).collect(),
        }
    }

    fn latent(&self, z: ArrayView1<f64>) -> f64 {
        let to = |mean: ArrayView1<f64>| {
            z.iter().zip(mean).zip(&self.variance).map(|((z, m), v)| (z - m).powi(2) / v).sum::<f64>()
        };
        let distances = self.class_means.rows().into_iter().map(to);
        // `min` would drop a NaN, which is the strangest of all.
        distances.fold(f64::INFINITY, |least, d| if d.is_nan() || d < least { d } else { least })
    }
}

impl Background {
    fn log_density(&self, model: &Model, x: ArrayView2<f64>) -> Vec<f64> {
        match self {
            Self::Code(layout) => {
                let nats = |row: ArrayView1<f64>| -code_length(&layout.picture(&row.to_vec()));
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

/// log p of rows in the space the flow works in (of pictures: of pixel values), and their classes.
fn own_density(model: &Model, x: ArrayView2<f64>) -> (Vec<f64>, Vec<usize>) {
    if model.rows().layout().is_some() {
        let scores = model.score(x);
        return (scores.log_marginal, arg_max(scores.log_probs.view()));
    }
    let joint = model.gmm().log_joint(model.preprocess().apply(x).view());
    (joint.rows().into_iter().map(|row| log_sum_exp(&row.to_vec())).collect(), arg_max(joint.view()))
}

/// Means of the classes' latent points, and the variance within classes.
fn class_moments(model: &Model, z: ArrayView2<f64>, classes: &[usize]) -> (Array2<f64>, Array1<f64>) {
    let mixture = model.gmm().mixture();
    let (values, class_of) = (mixture.values(), mixture.spec().class_of());
    let k = mixture.spec().n_classes();
    let (mut means, mut counts) = (Array2::zeros((k, z.ncols())), vec![PRIOR_ROWS; k]);
    for (c, &class) in class_of.iter().enumerate() {
        let share = PRIOR_ROWS / mixture.spec().per_class[class] as f64;
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
    use semisup::{Toy, metrics::Detection};

    use super::*;
    use crate::{FitConfig, Fitter};

    /// Moons against points far away, and against points between and around them.
    #[test]
    fn strangers_to_moons_are_found() {
        let problem = Toy::Moons.problem(3);
        let mut config = FitConfig::toy();
        config.train.steps = 400;
        let model = Fitter::new(&config, &problem.train, 0).run(&mut ()).unwrap();
        let domain = Domain::learn(&model, problem.train.x());
        let ours = domain.scores(&model, problem.test.x());
        let far = domain.scores(&model, (&problem.test.x() * 3.0 + 4.0).view());
        for ((name, ours), (_, far)) in ours.named().into_iter().zip(far.named()) {
            let Detection { auroc, .. } = Detection::of(ours, far);
            let wanted = if name == "likelihood ratio" { 0.0 } else { 0.99 };
            assert!(auroc >= wanted, "{name}: {auroc}");
        }
        // A cloud over both moons: their background explains it as well as ever, they do not.
        let mut rng = semisup::rng(4);
        let cloud = Array2::from_shape_fn((400, 2), |(_, j)| {
            let (mean, sd) =
                (problem.train.x().column(j).mean().unwrap(), problem.train.x().column(j).std(0.0));
            mean + sd * rand::Rng::sample::<f64, _>(&mut rng, rand_distr::StandardNormal)
        });
        let cloud = domain.scores(&model, cloud.view());
        let Detection { auroc, .. } = Detection::of(&ours.ratio, &cloud.ratio);
        assert!(auroc > 0.85, "{auroc}");
        assert!(far.raw.iter().all(|v| v.is_finite()));
    }
}
