//! The latent mixture against a plain computation: densities and posteriors of spherical, diagonal, full and tied
//! Gaussians, one or several per class; their gradients; rows far away; sampling; the placements of means; closed-form estimates;
//! and the two laws of EM: its gradient is the marginal's, and its iterations never lose likelihood.

mod boundary;
mod em;
mod means;
mod sampling;
#[path = "../support/mod.rs"]
mod support;

use burn_tensor::Tensor;
use flowgmm_core::{
    Covariance, Error, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureValues, Trainable,
    bijection::{Form, Init},
    tensor::{Place, log_normalise, to_array, to_vec},
};
use ndarray::{Array2, ArrayView1};
use semisup::Rng;
use support::{assert_close, normal_rows, slope_at_zero, uniform_rows};

/// Double precision; the quadratic form is expanded in the library and direct here.
const DOUBLE: f64 = 1e-11;
/// Central differences with step 1e-6 of sums of tens of terms.
const DIFFERENCE: f64 = 1e-5;

const ALL: Trainable = Trainable { means: true, covariances: true, weights: true };

/// The shapes every law is tried on: one Gaussian each, several each, and uneven numbers.
fn shapes() -> Vec<MixtureSpec> {
    let mut specs = Vec::new();
    for covariance in [Covariance::Spherical, Covariance::Diagonal, Covariance::Full, Covariance::Tied] {
        for per_class in [vec![1, 1], vec![1, 1, 1, 1], vec![2, 2], vec![3, 1, 2]] {
            for dim in [1, 3] {
                specs.push(MixtureSpec { dim, per_class: per_class.clone(), covariance, trainable: ALL });
            }
        }
    }
    specs
}

/// Random values; weights and prior are not normalised, because the library normalises on use.
fn draw(spec: &MixtureSpec, rng: &mut Rng) -> MixtureValues {
    let c = spec.n_components();
    let [rows, columns] = spec.covariance.sigma_shape(c, spec.dim);
    let [below_rows, below_columns] = spec.covariance.below_shape(c, spec.dim);
    MixtureValues {
        means: normal_rows(c, spec.dim, rng) * 2.0,
        log_sigma: normal_rows(rows, columns, rng) * 0.4,
        below: normal_rows(below_rows, below_columns, rng) * 0.7,
        log_weight: uniform_rows(1, c, -1.0, 1.0, rng).into_raw_vec_and_offset().0,
        log_prior: uniform_rows(1, spec.n_classes(), -1.0, 1.0, rng).into_raw_vec_and_offset().0,
    }
}

fn random_mixture(spec: &MixtureSpec, rng: &mut Rng) -> (Mixture, MixtureValues) {
    let values = draw(spec, rng);
    (Mixture::new(spec.clone(), &values, &Place::cpu_f64()).unwrap(), values)
}

fn flat(x: &Array2<f64>) -> Vec<f64> {
    x.iter().copied().collect()
}

fn log_sum(values: &[f64]) -> f64 {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter().map(|v| (v - max).exp()).sum::<f64>().ln() + max
}

/// log w_c + log N(z; mu_c, Sigma_c), by the book.
fn naive_components(spec: &MixtureSpec, values: &MixtureValues, z: ArrayView1<f64>) -> Vec<f64> {
    let class_of = spec.class_of();
    (0..class_of.len())
        .map(|c| {
            let own: Vec<f64> = (0..class_of.len())
                .filter(|&o| class_of[o] == class_of[c])
                .map(|o| values.log_weight[o])
                .collect();
            let mut log_density = values.log_weight[c] - log_sum(&own);
            log_density += dense_log_density(&naive_precision(spec, values, c), values.means.row(c), z);
            log_density
        })
        .collect()
}

/// Sigma_c^-1 = (diag(1 / sigma) U)^T (diag(1 / sigma) U) as a dense matrix, from the definition.
fn naive_precision(spec: &MixtureSpec, values: &MixtureValues, c: usize) -> Array2<f64> {
    let row = if spec.covariance == Covariance::Tied { 0 } else { c };
    let mut a = Array2::<f64>::eye(spec.dim);
    if spec.covariance.is_correlated() {
        let mut entries = values.below.row(row).into_iter();
        for i in 1..spec.dim {
            for j in 0..i {
                a[[i, j]] = *entries.next().expect("dim (dim - 1) / 2 entries");
            }
        }
    }
    for (i, mut entries) in a.rows_mut().into_iter().enumerate() {
        entries *= (-values.log_sigma[[row, i.min(values.log_sigma.ncols() - 1)]]).exp();
    }
    a.t().dot(&a)
}

/// log N(z; mu, P^-1) with a dense P, its determinant by elimination.
fn dense_log_density(precision: &Array2<f64>, mean: ArrayView1<f64>, z: ArrayView1<f64>) -> f64 {
    let (dim, apart) = (z.len(), &z - &mean);
    let mut left = precision.clone();
    let mut log_det = 0.0;
    for i in 0..dim {
        log_det += left[[i, i]].ln();
        for j in i + 1..dim {
            let factor = left[[j, i]] / left[[i, i]];
            let row = left.row(i).to_owned();
            left.row_mut(j).scaled_add(-factor, &row);
        }
    }
    0.5 * (log_det - apart.dot(&precision.dot(&apart)) - dim as f64 * std::f64::consts::TAU.ln())
}

/// log p(z | k), `[n, K]`.
fn naive_conditional(spec: &MixtureSpec, values: &MixtureValues, z: &Array2<f64>) -> Array2<f64> {
    let class_of = spec.class_of();
    let mut out = Array2::zeros((z.nrows(), spec.n_classes()));
    for (row, z) in z.rows().into_iter().enumerate() {
        let components = naive_components(spec, values, z);
        for k in 0..spec.n_classes() {
            let own: Vec<f64> =
                (0..class_of.len()).filter(|&c| class_of[c] == k).map(|c| components[c]).collect();
            out[[row, k]] = log_sum(&own);
        }
    }
    out
}

#[test]
fn densities_are_those_of_the_book() {
    let rng = &mut semisup::rng(1);
    for spec in shapes() {
        let (mixture, values) = random_mixture(&spec, rng);
        let z = normal_rows(7, spec.dim, rng) * 3.0;
        let got = to_vec(&mixture.log_conditional(Place::cpu_f64().rows(z.view())));
        assert_close(&format!("{spec:?}"), &got, &flat(&naive_conditional(&spec, &values, &z)), DOUBLE);
        let prior = to_vec(&mixture.log_prior());
        let total = log_sum(&values.log_prior);
        let want: Vec<f64> = values.log_prior.iter().map(|p| p - total).collect();
        assert_close("log prior", &prior, &want, DOUBLE);
    }
}

#[test]
fn posteriors_are_those_of_bayes_and_sum_to_one() {
    let rng = &mut semisup::rng(2);
    for spec in shapes() {
        let (mixture, values) = random_mixture(&spec, rng);
        let z = normal_rows(7, spec.dim, rng) * 3.0;
        let posterior = posterior(&mixture, &z, &Place::cpu_f64()).mapv(f64::exp);
        let conditional = naive_conditional(&spec, &values, &z);
        for (got, conditional) in posterior.rows().into_iter().zip(conditional.rows()) {
            assert!((got.sum() - 1.0).abs() < 1e-12);
            let joint: Vec<f64> = conditional.iter().zip(&values.log_prior).map(|(c, p)| c + p).collect();
            let want: Vec<f64> = joint.iter().map(|j| (j - log_sum(&joint)).exp()).collect();
            assert_close("posterior", &got.to_vec(), &want, DOUBLE);
        }
    }
}

/// log p(k | z).
fn posterior(mixture: &Mixture, z: &Array2<f64>, place: &Place) -> Array2<f64> {
    let joint = mixture.log_conditional(place.rows(z.view())) + mixture.log_prior();
    to_array(&log_normalise(joint))
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let rng = &mut semisup::rng(3);
    for spec in shapes() {
        check_gradients(&spec, rng);
    }
}

fn check_gradients(spec: &MixtureSpec, rng: &mut Rng) {
    let place = Place::cpu_f64();
    let (mixture, _) = random_mixture(spec, rng);
    let z: Tensor<2> = place.rows((normal_rows(5, spec.dim, rng) * 2.0).view());
    let c = place.rows(normal_rows(5, spec.n_classes(), rng).view());
    let d = place.rows(normal_rows(1, spec.n_classes(), rng).view());
    let probe = |mixture: &Mixture| {
        (mixture.log_conditional(z.clone()) * c.clone()).sum() + (mixture.log_prior() * d.clone()).sum()
    };
    let mut tracked = mixture.clone();
    for theta in tracked.thetas_mut() {
        let leaf = theta.value().clone().autodiff().require_grad();
        theta.set(leaf);
    }
    let graph = probe(&tracked).backward();
    for (t, theta) in tracked.thetas().into_iter().enumerate() {
        let gradient = theta.value().grad(&graph).map_or_else(|| vec![0.0; theta.len()], |g| to_vec(&g));
        for i in 0..theta.len() {
            let slope = slope_at_zero(|step| {
                let mut moved = mixture.clone();
                let theta = &mut moved.thetas_mut()[t];
                let mut values = to_vec(theta.value());
                values[i] += step;
                theta.set(place.vector(values));
                to_vec(&probe(&moved))[0]
            });
            let slope = slope.expect("smooth");
            let gap = (gradient[i] - slope).abs();
            assert!(
                gap <= DIFFERENCE * (1.0 + slope.abs()),
                "{spec:?} theta {t}[{i}]: {} {slope}",
                gradient[i]
            );
        }
    }
}

#[test]
fn rows_far_away_keep_finite_densities_and_posteriors() {
    let rng = &mut semisup::rng(4);
    for spec in shapes() {
        let values = draw(&spec, rng);
        let far = Array2::from_shape_fn((4, spec.dim), |(i, j)| if (i >> j) & 1 == 0 { 1e4 } else { -1e4 });
        for (place, tolerance) in [(Place::cpu(), 1e-5), (Place::cpu_f64(), DOUBLE)] {
            let mixture = Mixture::new(spec.clone(), &values, &place).unwrap();
            let got = to_vec(&mixture.log_conditional(place.rows(far.view())));
            assert_close("log p(z | k)", &got, &flat(&naive_conditional(&spec, &values, &far)), tolerance);
            let log_posterior = posterior(&mixture, &far, &place);
            assert!(log_posterior.iter().all(|v| v.is_finite()), "{log_posterior}");
            for row in log_posterior.rows() {
                assert!((row.mapv(f64::exp).sum() - 1.0).abs() < 1e-6);
            }
        }
    }
}

/// A model whose flow is fixed, on the CPU in double precision.
fn model(spec: MixtureSpec, rng: &mut Rng) -> FlowGmm {
    let (mixture, _) = random_mixture(&spec, rng);
    let layers = FlowSpec::couplings(spec.dim, 2, &[6], Form::ScaleThenShift);
    FlowGmm::new(Flow::new(layers, Init::Random, rng, &Place::cpu_f64()).unwrap(), mixture).unwrap()
}

#[test]
fn values_that_are_set_are_the_values() {
    let rng = &mut semisup::rng(10);
    for spec in shapes() {
        let mut model = model(spec.clone(), rng);
        let values = draw(&spec, rng);
        model.set_mixture(&values).unwrap();
        let got = model.mixture().values();
        assert_eq!(
            (&got.means, &got.log_sigma, &got.below),
            (&values.means, &values.log_sigma, &values.below)
        );
        let total: f64 = got.log_prior.iter().map(|p| p.exp()).sum();
        assert!((total - 1.0).abs() < 1e-12, "the prior comes back normalised");
        for k in 0..spec.n_classes() {
            let own = (0..spec.n_components()).filter(|&c| spec.class_of()[c] == k);
            let total: f64 = own.map(|c| got.log_weight[c].exp()).sum();
            assert!((total - 1.0).abs() < 1e-12, "so do the weights of class {k}");
        }
    }
    let mut model = model(shapes()[0].clone(), rng);
    let foreign = draw(&shapes()[1], rng);
    assert!(matches!(model.set_mixture(&foreign), Err(Error::Config(_))), "other sizes are refused");
}

#[test]
fn mixtures_without_sense_are_refused() {
    let spec = |dim, per_class| MixtureSpec { dim, per_class, ..shapes()[0].clone() };
    let huge = usize::MAX / 2 + 1;
    for spec in [
        spec(0, vec![1, 1]),
        spec(2, vec![]),
        spec(2, vec![1, 0]),
        spec(2, vec![1 << 17]),
        spec(2, vec![huge, huge]),                           // a sum that wraps to 0
        spec(2, [vec![1 << 15], vec![1; 1 << 15]].concat()), // a table of 2^30 slots
    ] {
        assert!(matches!(spec.validate(), Err(Error::Config(_))), "{} classes", spec.per_class.len());
    }
}
