//! Every number of `golden/golden_image.npz`: preprocessing, masks, couplings, squeeze, factor-out, densities, bits per
//! dimension, losses, gradients, optimiser steps and the exact inverse. In double precision with composed operations
//! to 1e-10, in single precision with the kernels to 2e-4.

#[path = "golden/arrays.rs"]
mod arrays;
mod support;

use std::{cell::RefCell, collections::BTreeSet};

use arrays::Arrays;
use burn_tensor::{Tensor, activation::sigmoid};
use flowgmm_core::{
    Engine, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureValues,
    bijection::{Bijection, BijectionSpec, ConvNet, Form, ImageMask, ImageShape, Init, Mapped},
    bits_per_dim,
    objective::{cross_entropy, marginal_nll},
    tensor::{Place, one_hot, to_scalar, to_vec},
    train::{Adam, AdamConfig, gradients, set_trained, trained_values},
};
use ndarray::Array2;
use support::assert_close;

const SHAPE: ImageShape = ImageShape { channels: 1, height: 8, width: 8 };
const DIM: usize = 64;
const CLASSES: usize = 3;
const ROWS: usize = 3;
const PARTS: [&str; 5] = ["k1", "c1", "k2", "c2", "g"];

struct Golden {
    arrays: Arrays,
    seen: RefCell<BTreeSet<String>>,
}

impl Golden {
    fn open() -> Self {
        Self { arrays: Arrays::open("golden_image.npz"), seen: RefCell::default() }
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.seen.borrow_mut().insert(name.to_string());
        self.arrays.get(name).iter().copied().collect()
    }
}

struct Case<'a> {
    golden: &'a Golden,
    place: Place,
    engine: Engine,
    tolerance: f64,
}

impl Case<'_> {
    #[track_caller]
    fn check(&self, name: &str, got: &[f64]) {
        assert_close(name, got, &self.golden.values(name), self.tolerance);
    }

    /// v = (x + u) / 256, one image a row.
    fn rows(&self) -> Tensor<2> {
        let (x, u) = (self.golden.values("in_x_uint8"), self.golden.values("in_u"));
        let v: Vec<f64> = x.iter().zip(&u).map(|(x, u)| (x + u) / 256.0).collect();
        assert_close("v", &v, &self.golden.values("A_v"), 1e-15);
        self.place.matrix(v, [ROWS, DIM])
    }

    fn model(&self) -> FlowGmm {
        let coupling = |shape, mask| BijectionSpec::ConvAffine {
            shape,
            mask,
            net: ConvNet::Plain { hidden: 4 },
            form: Form::ShiftThenScale,
        };
        let squeezed = SHAPE.squeezed();
        let layers = vec![
            BijectionSpec::Logit { alpha: 0.05 },
            coupling(SHAPE, ImageMask::Checkerboard),
            BijectionSpec::Squeeze { shape: SHAPE },
            coupling(squeezed, ImageMask::Channels),
            BijectionSpec::FactorOut {
                shape: squeezed,
                keep: 2,
                layers: vec![BijectionSpec::Permutation { order: (0..32).collect() }],
            },
        ];
        let spec = FlowSpec { dim: DIM, layers };
        let mut flow = Flow::new(spec, Init::Random, &mut semisup::rng(0), &self.place).unwrap();
        for (layer, theta) in flow.thetas_mut().into_iter().enumerate() {
            theta.set(self.place.vector(self.parameters("", layer)));
        }
        let values = MixtureValues {
            means: Array2::from_shape_vec((CLASSES, DIM), self.golden.values("in_mu")).unwrap(),
            log_sigma: Array2::zeros((CLASSES, 1)),
            log_weight: vec![0.0; CLASSES],
            log_prior: vec![-(CLASSES as f64).ln(); CLASSES],
            ..MixtureValues::default()
        };
        let mixture = Mixture::new(MixtureSpec::fixed(DIM, CLASSES), &values, &self.place).unwrap();
        FlowGmm::new(flow, mixture).unwrap().with_engine(self.engine)
    }

    fn parameters(&self, prefix: &str, layer: usize) -> Vec<f64> {
        PARTS.iter().flat_map(|part| self.golden.values(&format!("{prefix}w{layer}_{part}"))).collect()
    }

    /// 3 ce + nll, and its two parts.
    fn loss(&self, model: &FlowGmm) -> [Tensor<1>; 3] {
        let densities = model.densities(self.rows());
        let y: Vec<usize> =
            self.golden.values("in_y").into_iter().filter(|y| *y >= 0.0).map(|y| y as usize).collect();
        let labelled = densities.rows(0, y.len());
        let ce = cross_entropy(&labelled, one_hot(&y, CLASSES, &self.place)).mean();
        let nll = marginal_nll(&densities).mean() + DIM as f64 * 256f64.ln();
        let weight = self.golden.values("in_label_weight")[0];
        [ce.clone() * weight + nll.clone(), ce, nll]
    }
}

fn check_everything(case: &Case) {
    check_layers(case);
    check_densities(case);
    check_training(case);
    check_inverse(case);
}

fn check_layers(case: &Case) {
    let model = case.model();
    let board = case.golden.values("in_checker_mask");
    assert!(board.iter().enumerate().all(|(at, kept)| *kept == ((at / 8 + at % 8) % 2) as f64));
    let mut x = case.rows();
    let names = [
        ("A_logit", Some("A_ld_logit")),
        ("A_after_checker", Some("A_ld_checker")),
        ("A_squeezed", None),
        ("A_after_channel", Some("A_ld_channel")),
        ("A_z", None),
    ];
    for (layer, (value_name, log_det_name)) in names.into_iter().enumerate() {
        let Mapped { value, log_det } = model.flow().slice(layer..layer + 1).forward(x);
        case.check(value_name, &to_vec(&value));
        match log_det_name {
            Some(name) => case.check(name, &to_vec(&log_det)),
            None => assert_eq!(to_vec(&log_det), [0.0; ROWS]),
        }
        x = value;
    }
    let Mapped { value, log_det } = model.flow().forward(case.rows());
    case.check("A_z", &to_vec(&value));
    case.check("A_logdet", &to_vec(&log_det));
}

fn check_densities(case: &Case) {
    let densities = case.model().densities(case.rows());
    case.check("A_logpv_k", &to_vec(&densities.log_conditional));
    let log_marginal = to_vec(&densities.log_marginal());
    case.check("A_logpv", &log_marginal);
    case.check("A_post", &to_vec(&densities.log_posterior().exp()));
    // In units of pixel values, as a model of the library has it: log p(x) = log p(v) - dim log 256.
    let of_pixels: Vec<f64> = log_marginal.iter().map(|v| v - DIM as f64 * 256f64.ln()).collect();
    case.check("A_nll_discrete", &of_pixels.iter().map(|v| -v).collect::<Vec<_>>());
    let bits: Vec<f64> = of_pixels.iter().map(|v| bits_per_dim(&[*v], DIM)).collect();
    case.check("A_bpd", &bits);
}

fn check_training(case: &Case) {
    let mut model = case.model();
    let tracked = model.tracked();
    let [loss, ce, nll] = case.loss(&tracked);
    for (name, value) in [("A_loss_image", &loss), ("A_loss_ce", &ce), ("A_loss_nll", &nll)] {
        case.check(name, &to_vec(value));
    }
    for (layer, gradient) in gradients(&tracked, &loss).iter().enumerate() {
        let want = case.parameters("A_grad_image_", layer);
        assert_close(&format!("gradient of coupling {layer}"), &to_vec(gradient), &want, case.tolerance);
    }
    let losses = case.golden.values("A_adam_losses");
    let mut adam = Adam::new(AdamConfig::default(), &trained_values(&model));
    for step in 0..3 {
        let tracked = model.tracked();
        let [loss, ..] = case.loss(&tracked);
        assert_close("loss before a step", &[to_scalar(&loss)], &losses[step..=step], case.tolerance);
        let gradients = gradients(&tracked, &loss);
        let mut thetas = trained_values(&model);
        adam.step(&mut thetas, None, &gradients, Adam::norm(&gradients), 1e-2);
        for (layer, theta) in thetas.iter().enumerate() {
            let want = case.parameters(&format!("A_adam_step{}_", step + 1), layer);
            assert_close(
                &format!("coupling {layer} after step {step}"),
                &to_vec(theta),
                &want,
                case.tolerance,
            );
        }
        set_trained(&mut model, thetas);
    }
    let [loss, ..] = case.loss(&model);
    assert_close("loss after all steps", &[to_scalar(&loss)], &losses[3..], case.tolerance);
}

fn check_inverse(case: &Case) {
    let model = case.model();
    let flow = model.flow();
    let mu = case.place.matrix(case.golden.values("in_mu"), [CLASSES, DIM]);
    let logits = flow.slice(1..flow.depth()).inverse(mu.clone());
    case.check("A_inv_means_logit", &to_vec(&logits));
    case.check("A_inv_means_sigmoid", &to_vec(&sigmoid(logits.clone())));
    // The whole inverse also undoes the squeeze to [.05, .95], which the authors' code leaves.
    let exact: Vec<f64> = to_vec(&sigmoid(logits)).iter().map(|p| (p - 0.05) / 0.9).collect();
    assert_close("exact inverse", &to_vec(&flow.inverse(mu)), &exact, case.tolerance);
    let v = case.rows();
    let back = flow.inverse(flow.forward(v.clone()).value);
    assert_close("round trip", &to_vec(&back), &to_vec(&v), case.tolerance);
}

#[test]
fn double_precision_agrees_with_every_golden_array() {
    let golden = Golden::open();
    let place = Place::cpu_f64();
    check_everything(&Case { golden: &golden, place, engine: Engine::Composed, tolerance: 1e-10 });
    let all: BTreeSet<String> = golden.arrays.names().into_iter().collect();
    let seen = golden.seen.borrow();
    let left: Vec<&String> = all.difference(&seen).collect();
    assert!(left.is_empty(), "not looked at: {left:?}");
}

#[test]
fn single_precision_and_the_kernels_agree_with_the_golden_arrays() {
    let golden = Golden::open();
    check_everything(&Case { golden: &golden, place: Place::cpu(), engine: Engine::Fused, tolerance: 2e-4 });
}
