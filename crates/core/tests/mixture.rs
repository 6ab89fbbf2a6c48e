//! The latent mixture against a plain computation: densities and posteriors of spherical and diagonal Gaussians, one
//! or several per class; their gradients; rows far away; sampling; the placements of means; closed-form estimates;
//! and the two laws of EM: its gradient is the marginal's, and its iterations never lose likelihood.

mod support;

use burn::tensor::Tensor;
use flowgmm_core::{
    Covariance, Error, Flow, FlowGmm, FlowSpec, Means, Mixture, MixtureSpec, MixtureValues, Trainable,
    bijection::{BijectionSpec, Form, Init},
    centroids, estimate,
    objective::{expected_nll, marginal_nll},
    tensor::{Place, log_normalise, to_array, to_vec},
    train::gradients,
};
use ndarray::{Array1, Array2, ArrayView1, Axis, array, s};
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
    for covariance in [Covariance::Spherical, Covariance::Diagonal] {
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
    let columns = match spec.covariance {
        Covariance::Spherical => 1,
        Covariance::Diagonal => spec.dim,
    };
    MixtureValues {
        means: normal_rows(c, spec.dim, rng) * 2.0,
        log_sigma: normal_rows(c, columns, rng) * 0.4,
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
            for j in 0..spec.dim {
                let log_sigma = values.log_sigma[[c, j.min(values.log_sigma.ncols() - 1)]];
                let scaled = (z[j] - values.means[[c, j]]) / log_sigma.exp();
                log_density += -0.5 * scaled * scaled - log_sigma - 0.5 * std::f64::consts::TAU.ln();
            }
            log_density
        })
        .collect()
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

#[test]
fn samples_follow_the_mixture() {
    const N: usize = 20_000;
    let spec = MixtureSpec {
        dim: 2,
        per_class: vec![2, 1],
        covariance: Covariance::Diagonal,
        trainable: Trainable::default(),
    };
    let values = MixtureValues {
        means: array![[-4.0, 0.0], [4.0, 1.0], [0.0, 9.0]],
        log_sigma: array![[0.5, 1.0], [1.0, 0.25], [2.0, 0.5]].mapv(f64::ln),
        log_weight: [0.25_f64, 0.75, 1.0].map(f64::ln).to_vec(),
        log_prior: [0.3_f64, 0.7].map(f64::ln).to_vec(),
    };
    let mixture = Mixture::new(spec, &values, &Place::cpu()).unwrap();
    for temperature in [1.0, 0.5] {
        let (z, classes) = mixture.sample(N, None, temperature, &mut semisup::rng(5));
        let share = classes.iter().filter(|&&k| k == 0).count() as f64 / N as f64;
        assert!((share - 0.3).abs() < 0.015, "4 standard errors of a share are 0.013; got {share}");
        // The Gaussians are far apart: the nearest mean is the one a row came from.
        let of = |c: usize| -> Vec<usize> {
            let nearest = |row: ArrayView1<f64>| {
                let square = |c: usize| (&row - &values.means.row(c)).mapv(|v| v * v).sum();
                (0..3).min_by(|&a, &b| square(a).total_cmp(&square(b))).expect("three")
            };
            (0..N).filter(|&row| nearest(z.row(row)) == c).collect()
        };
        for c in 0..3 {
            let rows = of(c);
            assert!(
                rows.iter().all(|&row| classes[row] == usize::from(c == 2)),
                "classes are those of Gaussians"
            );
            let expected = [0.3 * 0.25, 0.3 * 0.75, 0.7][c];
            assert!((rows.len() as f64 / N as f64 - expected).abs() < 0.015, "weight of Gaussian {c}");
            check_moments(&z.select(Axis(0), &rows), &values, c, temperature);
        }
    }
    let (_, classes) = mixture.sample(50, Some(1), 1.0, &mut semisup::rng(6));
    assert_eq!(classes, [1; 50]);
}

/// Mean and standard deviation within five standard errors.
fn check_moments(z: &Array2<f64>, values: &MixtureValues, c: usize, temperature: f64) {
    let n = z.nrows() as f64;
    for j in 0..z.ncols() {
        let sigma = temperature * values.log_sigma[[c, j]].exp();
        let mean = z.column(j).sum() / n;
        let std = (z.column(j).mapv(|v| (v - mean).powi(2)).sum() / n).sqrt();
        assert!((mean - values.means[[c, j]]).abs() < 5.0 * sigma / n.sqrt(), "mean {mean}");
        assert!((std / sigma - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "sigma {std} is not {sigma}");
    }
}

#[test]
fn the_coldest_samples_are_the_means() {
    let rng = &mut semisup::rng(7);
    let spec = MixtureSpec { trainable: Trainable::default(), ..shapes()[7].clone() };
    let (mixture, values) = random_mixture(&spec, rng);
    let (z, classes) = mixture.sample(200, None, 0.0, rng);
    for (row, &class) in z.rows().into_iter().zip(&classes) {
        let own = (0..spec.n_components()).filter(|&c| spec.class_of()[c] == class);
        assert!(own.into_iter().any(|c| values.means.row(c) == row), "{row} is no mean of class {class}");
    }
}

fn place_means(means: Means, n_classes: usize, dim: usize) -> Result<Array2<f64>, Error> {
    let (z, q) = (Array2::zeros((0, dim)), Array2::zeros((0, n_classes)));
    means.place(n_classes, dim, z.view(), q.view(), &mut semisup::rng(8))
}

#[test]
fn ring_means_are_evenly_on_a_circle() {
    let means = place_means(Means::Ring { r: 2.5 }, 5, 4).unwrap();
    for k in 0..5 {
        let (x, y) = (means[[k, 0]], means[[k, 1]]);
        assert!((x.hypot(y) - 2.5).abs() < 1e-12);
        let turn = y.atan2(x).rem_euclid(std::f64::consts::TAU) / std::f64::consts::TAU;
        assert!((turn - k as f64 / 5.0).abs() < 1e-12, "{turn}");
    }
    assert!(means.slice(s![.., 2..]).iter().all(|&v| v == 0.0));
    assert_eq!(place_means(Means::Ring { r: 1.0 }, 2, 1).unwrap(), array![[1.0], [-1.0]]);
}

#[test]
fn antipodal_means_are_two_and_as_far_apart_as_asked() {
    for dim in [1, 2, 9] {
        let means = place_means(Means::Antipodal { distance: 7.5 }, 2, dim).unwrap();
        let apart = (&means.row(0) - &means.row(1)).mapv(|v| v * v).sum().sqrt();
        assert!((apart - 7.5).abs() < 1e-12);
        assert_eq!(means.row(0), means.row(1).mapv(|v| -v));
    }
    for n_classes in [1, 3] {
        let refused = place_means(Means::Antipodal { distance: 7.5 }, n_classes, 2);
        assert!(matches!(refused, Err(Error::Config(ref why)) if why.contains("two classes")), "{refused:?}");
    }
}

#[test]
fn random_means_have_the_scale_asked_for() {
    let means = place_means(Means::Random { r: 3.0 }, 100, 100).unwrap();
    let variance = means.mapv(|v| v * v).sum() / 1e4;
    assert!((variance / 9.0 - 1.0).abs() < 0.06, "4 standard errors of 10000 squares are 0.057; {variance}");
    assert!(means.sum().abs() / 1e4 < 0.12, "4 standard errors of the mean");
    assert_eq!(means, place_means(Means::Random { r: 3.0 }, 100, 100).unwrap(), "the seed decides");
    assert_ne!(
        means,
        Means::Random { r: 3.0 }.place(100, 100, means.view(), means.view(), &mut semisup::rng(9)).unwrap()
    );
}

#[test]
fn centroids_are_weighted_and_scaled_around_their_centre() {
    let z = array![[0.0, 0.0], [2.0, 0.0], [4.0, 8.0], [9.0, 9.0]];
    let q = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
    let own = array![[1.0, 0.0], [4.0, 8.0]];
    assert_eq!(centroids(z.view(), q.view()), own);
    let wide = Means::Centroids { r: 3.0 }.place(2, 2, z.view(), q.view(), &mut semisup::rng(0)).unwrap();
    let centre: Array1<f64> = array![2.5, 4.0];
    assert_eq!(wide, (&own - &centre) * 3.0 + &centre);
    // Soft weights weigh; a class that nobody belongs to gets the overall mean.
    let soft = array![[0.5, 0.0], [1.5, 0.0], [0.0, 0.0], [0.0, 0.0]];
    let means = centroids(z.view(), soft.view());
    assert_eq!(means.row(0), array![1.5, 0.0]);
    assert_eq!(means.row(1), array![15.0 / 4.0, 17.0 / 4.0]);
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
        assert_eq!((&got.means, &got.log_sigma), (&values.means, &values.log_sigma));
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

#[test]
fn closed_form_estimates_are_weighted_moments() {
    let rng = &mut semisup::rng(11);
    for spec in shapes() {
        let (k, c, class_of) = (spec.n_classes(), spec.n_components(), spec.class_of());
        let z = normal_rows(40, spec.dim, rng) * 2.0;
        let normalised = |n: usize, rng: &mut Rng| {
            let mut q = uniform_rows(40, n, 0.1, 1.0, rng);
            q.rows_mut().into_iter().for_each(|mut row| row /= row.sum());
            q
        };
        let (q, shares) = (normalised(k, rng), uniform_rows(40, c, 0.1, 1.0, rng));
        let got = estimate(&spec, z.view(), q.view(), shares.view());
        let r = Array2::from_shape_fn((40, c), |(n, c)| q[[n, class_of[c]]] * shares[[n, c]]);
        let mass: Vec<f64> = r.columns().into_iter().map(|column| column.sum()).collect();
        for c in 0..c {
            let weight = |n: usize| r[[n, c]] / mass[c];
            let mean: Vec<f64> =
                (0..spec.dim).map(|j| (0..40).map(|n| weight(n) * z[[n, j]]).sum()).collect();
            assert_close("mean", &got.means.row(c).to_vec(), &mean, DOUBLE);
            let variance: Vec<f64> = (0..spec.dim)
                .map(|j| (0..40).map(|n| weight(n) * (z[[n, j]] - mean[j]).powi(2)).sum())
                .collect();
            let sigma: Vec<f64> = got.log_sigma.row(c).iter().map(|l| l.exp()).collect();
            let want = match spec.covariance {
                Covariance::Spherical => vec![(variance.iter().sum::<f64>() / spec.dim as f64).sqrt()],
                Covariance::Diagonal => variance.iter().map(|v| v.sqrt()).collect(),
            };
            assert_close("sigma", &sigma, &want, DOUBLE);
        }
        // A millionth of a row is added to every class and Gaussian, so that none is lost for good.
        let class_mass = |k: usize| -> f64 { (0..c).filter(|&o| class_of[o] == k).map(|o| mass[o]).sum() };
        let total: f64 = mass.iter().sum();
        for k in 0..k {
            assert!((got.log_prior[k].exp() - class_mass(k) / total).abs() < 1e-5);
        }
        for o in 0..c {
            assert!((got.log_weight[o].exp() - mass[o] / class_mass(class_of[o])).abs() < 1e-5);
        }
    }
}

#[test]
fn an_estimate_from_one_point_or_none_stays_finite() {
    for spec in shapes() {
        let z = Array2::from_elem((1, spec.dim), 2.0);
        let mut q = Array2::zeros((1, spec.n_classes()));
        q[[0, 0]] = 1.0;
        let shares = Array2::from_elem((1, spec.n_components()), 0.5);
        let got = estimate(&spec, z.view(), q.view(), shares.view());
        let numbers = got.means.iter().chain(&got.log_sigma).chain(&got.log_weight).chain(&got.log_prior);
        assert!(numbers.into_iter().all(|v| v.is_finite()), "{got:?}");
        assert!(got.log_sigma.iter().all(|l| l.exp() >= 0.0099), "a Gaussian must not collapse");
    }
}

/// Appendix A: d/dtheta of -log p(x) is d/dtheta of -sum_k q_k log p(x | k) with q = p(k | x) held constant, for the
/// flow, the means and the covariances (the prior enters only the first).
#[test]
fn the_gradient_of_em_is_the_gradient_of_the_marginal() {
    let rng = &mut semisup::rng(12);
    for spec in shapes() {
        let trainable = Trainable { weights: false, ..ALL };
        let model = model(MixtureSpec { trainable, ..spec }, rng);
        let x: Tensor<2> = model.place().rows(normal_rows(9, model.dim(), rng).view());
        let q = model.densities(x.clone()).log_posterior().exp();
        let tracked = model.tracked();
        let marginal = gradients(&tracked, &marginal_nll(&tracked.densities(x.clone())).sum());
        let tracked = model.tracked();
        let em = gradients(&tracked, &expected_nll(&tracked.densities(x), q).sum());
        assert_eq!(marginal.len(), em.len());
        for (marginal, em) in marginal.iter().zip(&em) {
            assert_close("gradient", &to_vec(em), &to_vec(marginal), 1e-10);
        }
    }
}

/// For a fixed flow, EM on the mixture never loses likelihood of labelled and unlabelled rows together.
#[test]
fn closed_form_em_never_loses_likelihood() {
    let rng = &mut semisup::rng(13);
    for spec in shapes() {
        let (mixture, _) = random_mixture(&spec, rng);
        let flow = FlowSpec { dim: spec.dim, layers: vec![BijectionSpec::ActNorm] };
        let flow = Flow::new(flow, Init::Random, rng, &Place::cpu_f64()).unwrap();
        let mut model = FlowGmm::new(flow, mixture).unwrap();
        let x = normal_rows(60, spec.dim, rng) * 2.0;
        let y: Vec<usize> = (0..2 * spec.n_classes()).map(|row| row % spec.n_classes()).collect();
        let before = log_likelihood(&model, &x, &y);
        let mut last = before;
        for _ in 0..15 {
            em_iteration(&mut model, &x, &y);
            let now = log_likelihood(&model, &x, &y);
            // The millionths that estimates add to every class cost at most their share of 60 rows.
            assert!(now >= last - 1e-4, "{spec:?}: {last} falls to {now}");
            last = now;
        }
        assert!(last > before + 1.0, "{spec:?}: nothing was learnt");
    }
}

/// sum_l log p(x, y) + sum_u log p(x); the first rows are labelled.
fn log_likelihood(model: &FlowGmm, x: &Array2<f64>, y: &[usize]) -> f64 {
    let joint = model.log_joint(x.view());
    let of = |(row, joint): (usize, ArrayView1<f64>)| match y.get(row) {
        Some(&y) => joint[y],
        None => log_sum(&joint.to_vec()),
    };
    joint.rows().into_iter().enumerate().map(of).sum()
}

fn em_iteration(model: &mut FlowGmm, x: &Array2<f64>, y: &[usize]) {
    let (z, spec, values) =
        (model.encode(x.view()), model.mixture().spec().clone(), model.mixture().values());
    let mut q = posterior(model.mixture(), &z, &model.place()).mapv(f64::exp);
    for (row, &y) in y.iter().enumerate() {
        q.row_mut(row).fill(0.0);
        q[[row, y]] = 1.0;
    }
    let conditional = naive_conditional(&spec, &values, &z);
    let class_of = spec.class_of();
    let mut shares = Array2::zeros((z.nrows(), spec.n_components()));
    for (row, point) in z.rows().into_iter().enumerate() {
        for (c, log) in naive_components(&spec, &values, point).into_iter().enumerate() {
            shares[[row, c]] = (log - conditional[[row, class_of[c]]]).exp();
        }
    }
    let values = estimate(&spec, z.view(), q.view(), shares.view());
    model.set_mixture(&values).unwrap();
}
