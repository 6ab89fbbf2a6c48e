//! The hand-derived gradients against finite differences.

use ndarray::Array2;
use rand::Rng as _;
use rand_distr::StandardNormal;
use semisup::rng;

use super::likelihood::Likelihood;
use super::{m1, m2};
use crate::nets::{Gradient, Net};

fn normal(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    Array2::from_shape_simple_fn((n, d), || rng.sample(StandardNormal))
}

/// A net whose biases are off zero, so that their derivative is checked where it matters.
fn net(sizes: &[usize], seed: u64) -> Net<f64> {
    let rng = &mut rng(seed);
    let mut net = Net::new(sizes, rng);
    net.layers.iter_mut().for_each(|layer| layer.b.mapv_inplace(|_| rng.random_range(-0.3..0.3)));
    net
}

/// The law: each weight's derivative is that of finite differences. In f64 with steps of 1e-6 the error of the
/// difference is about 1e-9 times the loss, which is some tens here.
fn check<const N: usize>(mut nets: [Net<f64>; N], loss: impl Fn(&[Net<f64>; N]) -> Gradient<f64, N>) {
    const H: f64 = 1e-6;
    let (value, gradients) = loss(&nets);
    assert!(value.abs() > 1e-3, "a loss that is not zero by chance: {value}");
    for (i, gradient) in gradients.iter().enumerate() {
        let mut largest: f64 = 0.;
        for (j, layer) in gradient.layers.iter().enumerate() {
            let n_w = layer.w.len();
            for at in 0..n_w + layer.b.len() {
                let by_hand = if at < n_w { layer.w.as_slice().unwrap()[at] } else { layer.b[at - n_w] };
                let mut moved = |by: f64| {
                    let layer = &mut nets[i].layers[j];
                    let place = if at < n_w {
                        &mut layer.w.as_slice_mut().unwrap()[at]
                    } else {
                        &mut layer.b[at - n_w]
                    };
                    let old = *place;
                    *place = old + by;
                    let value = loss(&nets).0;
                    let layer = &mut nets[i].layers[j];
                    if at < n_w {
                        layer.w.as_slice_mut().unwrap()[at] = old
                    } else {
                        layer.b[at - n_w] = old
                    }
                    value
                };
                let numeric = (moved(H) - moved(-H)) / (2. * H);
                assert!(
                    (by_hand - numeric).abs() < 1e-7,
                    "net {i}, layer {j}: {by_hand} by hand, {numeric} by differences"
                );
                largest = largest.max(by_hand.abs());
            }
        }
        assert!(largest > 1e-2, "net {i}: gradients that are not all about zero: {largest}");
    }
}

#[test]
fn the_bound_of_m1_agrees_with_differences() {
    for likelihood in [Likelihood::Bernoulli, Likelihood::Gaussian] {
        let nets = [net(&[3, 6, 5, 4], 1), net(&[2, 5, 6, likelihood.outputs(3)], 2)];
        let x = match likelihood {
            Likelihood::Bernoulli => normal(5, 3, 3).mapv(|v| 1. / (1. + v.exp())),
            Likelihood::Gaussian => normal(5, 3, 3),
        };
        let weights = m1::Weights { nll: 0.3, kl: 0.2 };
        check(nets, |nets| m1::bound(nets, likelihood, x.clone(), weights, &mut rng(4)));
    }
}

/// q(y | z1), q(z2 | z1, y), p(z1 | z2, y) for 3 features, 4 classes and 2 latent dimensions.
fn nets_of_m2() -> [Net<f64>; 3] {
    [net(&[3, 6, 4], 5), net(&[7, 5, 4], 6), net(&[6, 5, 6], 7)]
}

#[test]
fn the_bounds_of_m2_agree_with_differences() {
    let z1 = normal(5, 3, 8);
    check(nets_of_m2(), |nets| {
        m2::labelled_loss(nets, z1.clone(), &[0, 3, 1, 2, 0], [0.2, 0.7], &mut rng(9))
    });
    check(nets_of_m2(), |nets| m2::unlabelled_loss(nets, z1.clone(), 0.3, &mut rng(9)));
}

/// Where q(y | z1) is certain, the unlabelled bound is the labelled one of that class.
#[test]
fn a_certain_row_is_a_labelled_row() {
    let mut nets = nets_of_m2();
    let last = nets[0].layers.last_mut().unwrap();
    last.w.fill(0.);
    last.b.fill(0.);
    last.b[0] = 800.; // softmax is 1 and 0 in f64
    let z1 = normal(1, 3, 10);
    let (certain, _) = m2::unlabelled_loss(&nets, z1.clone(), 1., &mut rng(11));
    let (labelled, _) = m2::labelled_loss(&nets, z1, &[0], [1., 0.], &mut rng(11));
    assert!((certain - labelled).abs() < 1e-9, "{certain} {labelled}");
}

/// The Gaussian's density by its definition, for one value.
#[test]
fn a_decoder_gives_the_density_it_says() {
    let (output, x) = (ndarray::array![[0.5, -1.0]], ndarray::array![[2.0]]);
    let (nll, _) = Likelihood::Gaussian.nll(output.view(), x.view(), ndarray::array![1.].view());
    let v = 0.01 + (-1f64).exp();
    let density = (-(1.5f64 * 1.5) / (2. * v)).exp() / (std::f64::consts::TAU * v).sqrt();
    assert!((nll[0] + density.ln()).abs() < 1e-12);
    let (output, x) = (ndarray::array![[0.7, -2.0]], ndarray::array![[1.0, 0.25]]);
    let (nll, _) = Likelihood::Bernoulli.nll(output.view(), x.view(), ndarray::array![1.].view());
    let p = |o: f64| 1. / (1. + (-o).exp());
    let expected = p(0.7).ln() + 0.25 * p(-2.).ln() + 0.75 * (1. - p(-2.)).ln();
    assert!((nll[0] + expected).abs() < 1e-12);
}
