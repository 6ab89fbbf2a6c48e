//! Closed-form estimates, and the two laws of EM.

use burn_tensor::Tensor;
use flowgmm_core::{
    Covariance, Flow, FlowGmm, FlowSpec, MixtureSpec, Trainable,
    bijection::{BijectionSpec, Init},
    estimate,
    objective::{expected_nll, marginal_nll},
    tensor::{Place, to_vec},
    train::gradients,
};
use ndarray::{Array2, ArrayView1};
use semisup::Rng;

use crate::{
    ALL, DOUBLE, flat, log_sum, model, naive_components, naive_conditional, posterior, random_mixture,
    shapes,
    support::{assert_close, normal_rows, uniform_rows},
};

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
            let covariance = |c: usize, j: usize, k: usize| -> f64 {
                (0..40)
                    .map(|n| r[[n, c]] * (z[[n, j]] - got.means[[c, j]]) * (z[[n, k]] - got.means[[c, k]]))
                    .sum()
            };
            let (dim, all) = (spec.dim, 0..class_of.len());
            let want = Array2::from_shape_fn((dim, dim), |(j, k)| match spec.covariance {
                Covariance::Spherical if j == k => variance.iter().sum::<f64>() / dim as f64,
                Covariance::Diagonal if j == k => variance[j],
                Covariance::Spherical | Covariance::Diagonal => 0.0,
                Covariance::Full => covariance(c, j, k) / mass[c],
                Covariance::Tied => {
                    all.clone().map(|c| covariance(c, j, k)).sum::<f64>() / mass.iter().sum::<f64>()
                }
            });
            let sigma = got.covariance(c);
            assert_close("Sigma", &flat(&sigma), &flat(&want), 1e-10);
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
