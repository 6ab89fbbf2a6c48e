//! Every number of `golden/golden_tabular.npz`, which another program computed with another autodiff, comes out of
//! this library: the flow and its log-det, densities, losses, gradients, optimiser steps, the analyses of the
//! latent space and the calibration metrics. In double precision with composed operations to 1e-10, and the
//! core again in single precision with the fused kernel to 2e-5.

mod support;

use std::{cell::RefCell, collections::BTreeSet, fs::File, path::Path};

use burn::tensor::Tensor;
use flowgmm_core::{
    Engine, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureValues, Trainable, analysis,
    bijection::{Bijection, BijectionSpec, Form, Init, Mapped, Mask},
    objective::{
        Agreement, Batch, Consistency, Labelled, Objective, Unlabelled, UnlabelledBatch, cross_entropy,
        expected_nll, marginal_nll, predictions, total,
    },
    tensor::{Place, one_hot, to_array, to_scalar, to_vec},
    train::{Adam, AdamConfig, Decay, gradients, set_trained, trained_values},
};
use ndarray::{Array2, ArrayD, IxDyn, OwnedRepr};
use ndarray_npy::NpzReader;
use semisup::metrics;
use support::assert_close;

const DIM: usize = 6;
const HIDDEN: usize = 8;
const LAYERS: usize = 3;
const CLASSES: usize = 3;
const PARTS: [&str; 7] = ["W1", "b1", "W2", "b2", "W3", "b3", "g"];
const FORMS: [(&str, Form); 2] = [("A", Form::ShiftThenScale), ("B", Form::ScaleThenShift)];

/// Both sides compute in double precision, in another order of operations: some ten digits are safe.
const DOUBLE: f64 = 1e-10;
/// Single precision has 6e-8; a few dozen operations deep, with sums over tens of terms, this holds.
const SINGLE: f64 = 2e-5;

/// Arrays of the file that this test does not look at, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[]; // none so far

/// The file, and which of its arrays were asked for.
struct Golden {
    reader: RefCell<NpzReader<File>>,
    seen: RefCell<BTreeSet<String>>,
}

impl Golden {
    fn open() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/golden_tabular.npz");
        let reader =
            NpzReader::new(File::open(path).expect("the golden file is there")).expect("an npz file");
        Self { reader: RefCell::new(reader), seen: RefCell::default() }
    }

    fn array(&self, name: &str) -> ArrayD<f64> {
        self.seen.borrow_mut().insert(name.to_string());
        let read = self.reader.borrow_mut().by_name::<OwnedRepr<f64>, IxDyn>(name);
        read.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn values(&self, name: &str) -> Vec<f64> {
        self.array(name).iter().copied().collect()
    }

    fn matrix(&self, name: &str) -> Array2<f64> {
        self.array(name).into_dimensionality().expect("two dimensions")
    }

    fn scalar(&self, name: &str) -> f64 {
        self.values(name)[0]
    }

    fn indices(&self, name: &str) -> Vec<usize> {
        self.seen.borrow_mut().insert(name.to_string());
        let read = self.reader.borrow_mut().by_name::<OwnedRepr<i64>, IxDyn>(name);
        read.unwrap_or_else(|error| panic!("{name}: {error}")).iter().map(|&i| i as usize).collect()
    }

    fn names(&self) -> Vec<String> {
        self.reader.borrow_mut().names().expect("a readable directory")
    }
}

#[test]
fn double_precision_agrees_with_every_golden_array() {
    let golden = Golden::open();
    check_masks(&golden);
    for (name, form) in FORMS {
        let case = Case::new(&golden, name, form, Place::cpu_f64(), Engine::Composed, DOUBLE);
        check_flow(&case);
        check_densities(&case);
        check_losses(&case);
        check_objective(&case);
        check_gradients(&case);
        check_mean_gradient(&case);
        check_optimisers(&case);
        check_boundary(&case);
        check_generation(&case);
        check_features(&case);
    }
    check_calibration(&golden);
    check_coverage(&golden);
}

#[test]
fn single_precision_and_the_fused_kernel_agree_with_the_golden_arrays() {
    let golden = Golden::open();
    for (name, form) in FORMS {
        let case = Case::new(&golden, name, form, Place::cpu(), Engine::Fused, SINGLE);
        check_flow(&case);
        check_densities(&case);
        check_losses(&case);
        check_objective(&case);
        check_gradients(&case);
        check_mean_gradient(&case);
        check_optimisers(&case);
        check_boundary(&case);
        check_generation(&case);
        check_features(&case);
    }
}

/// The mixture of the main arrays, or that of the `gen_` arrays.
#[derive(Clone, Copy, PartialEq)]
enum Gaussians {
    Unit,
    General,
}

impl Gaussians {
    fn prefix(self) -> &'static str {
        match self {
            Self::Unit => "",
            Self::General => "gen_",
        }
    }
}

/// One form of the coupling in one precision on one engine.
struct Case<'a> {
    golden: &'a Golden,
    name: &'static str,
    form: Form,
    place: Place,
    engine: Engine,
    tolerance: f64,
    x_l: Tensor<2>,
    y_l: Vec<usize>,
    x_u: Tensor<2>,
    x_u1: Tensor<2>,
    x_u2: Tensor<2>,
}

impl<'a> Case<'a> {
    fn new(
        golden: &'a Golden,
        name: &'static str,
        form: Form,
        place: Place,
        engine: Engine,
        tolerance: f64,
    ) -> Self {
        let rows = |name: &str| place.rows(golden.matrix(name).view());
        Self {
            x_l: rows("in_x_l"),
            y_l: golden.indices("in_y_l"),
            x_u: rows("in_x_u"),
            x_u1: rows("in_x_u1"),
            x_u2: rows("in_x_u2"),
            golden,
            name,
            form,
            place,
            engine,
            tolerance,
        }
    }

    /// Name of an array of this form.
    fn key(&self, name: &str) -> String {
        format!("{}_{name}", self.name)
    }

    #[track_caller]
    fn check(&self, name: &str, got: &[f64]) {
        let key = self.key(name);
        assert_close(&key, got, &self.golden.values(&key), self.tolerance);
    }

    fn model(&self, gaussians: Gaussians, trainable: Trainable) -> FlowGmm {
        let layers = (0..LAYERS).map(|layer| BijectionSpec::Affine {
            mask: mask(layer),
            hidden: vec![HIDDEN; 2],
            form: self.form,
        });
        let spec = FlowSpec { dim: DIM, layers: layers.collect() };
        let mut flow = Flow::new(spec, Init::Random, &mut semisup::rng(0), &self.place).unwrap();
        for (layer, theta) in flow.thetas_mut().into_iter().enumerate() {
            let names: Vec<&str> = theta.parts().iter().map(|part| part.name.as_str()).collect();
            assert_eq!(names, PARTS);
            theta.set(self.place.vector(live_values(self.golden, "", layer)));
        }
        let (sigma, prior) = match gaussians {
            Gaussians::Unit => (vec![1.0; CLASSES], vec![1.0 / CLASSES as f64; CLASSES]),
            Gaussians::General => {
                (self.golden.values("in_sigma_general"), self.golden.values("in_pi_general"))
            }
        };
        let values = MixtureValues {
            means: self.golden.matrix("in_mu"),
            log_sigma: Array2::from_shape_fn((CLASSES, 1), |(k, _)| sigma[k].ln()),
            log_weight: vec![0.0; CLASSES],
            log_prior: prior.iter().map(|p| p.ln()).collect(),
        };
        let spec = MixtureSpec { trainable, ..MixtureSpec::fixed(DIM, CLASSES) };
        let mixture = Mixture::new(spec, &values, &self.place).unwrap();
        FlowGmm::new(flow, mixture).unwrap().with_engine(self.engine)
    }

    fn fixed(&self) -> FlowGmm {
        self.model(Gaussians::Unit, Trainable::default())
    }
}

fn mask(layer: usize) -> Mask {
    if layer.is_multiple_of(2) { Mask::KeepFirst } else { Mask::KeepSecond }
}

/// Which entries (row-major) of a golden weight our split nets have; the golden nets see all columns times a mask.
fn live(layer: usize, part: &str) -> Vec<usize> {
    let (keep, change) = mask(layer).split(DIM);
    // Raw scales of the changed columns, then their shifts.
    let outputs: Vec<usize> = change.iter().copied().chain(change.iter().map(|c| DIM + c)).collect();
    match part {
        "W1" => (0..HIDDEN).flat_map(|row| keep.iter().map(move |c| row * DIM + c)).collect(),
        "b1" | "b2" => (0..HIDDEN).collect(),
        "W2" => (0..HIDDEN * HIDDEN).collect(),
        "W3" => outputs.iter().flat_map(|row| (0..HIDDEN).map(move |c| row * HIDDEN + c)).collect(),
        "b3" => outputs,
        "g" => change,
        other => unreachable!("{other}"),
    }
}

/// The live entries of `{prefix}w{layer}_*`, part after part: the order of a coupling's parameter vector.
fn live_values(golden: &Golden, prefix: &str, layer: usize) -> Vec<f64> {
    let part = |part: &&str| {
        let values = golden.values(&format!("{prefix}w{layer}_{part}"));
        live(layer, part).into_iter().map(|i| values[i]).collect::<Vec<f64>>()
    };
    PARTS.iter().flat_map(part).collect()
}

fn check_masks(golden: &Golden) {
    for layer in 0..LAYERS {
        let (keep, _) = mask(layer).split(DIM);
        let expected: Vec<f64> = (0..DIM).map(|j| f64::from(u8::from(keep.contains(&j)))).collect();
        assert_eq!(golden.values(&format!("in_mask{layer}")), expected);
    }
}

fn check_flow(case: &Case) {
    let model = case.fixed();
    for (suffix, x) in [("l", &case.x_l), ("u", &case.x_u)] {
        let Mapped { value, log_det } = model.flow().forward(x.clone());
        case.check(&format!("z_{suffix}"), &to_vec(&value));
        case.check(&format!("logdet_{suffix}"), &to_vec(&log_det));
        let back = to_vec(&model.flow().inverse(value));
        assert_close("inverse", &back, &to_vec(x), case.tolerance);
    }
}

fn check_densities(case: &Case) {
    for gaussians in [Gaussians::Unit, Gaussians::General] {
        let (model, tag) = (case.model(gaussians, Trainable::default()), gaussians.prefix());
        for (suffix, x) in [("l", &case.x_l), ("u", &case.x_u)] {
            let densities = model.densities(x.clone());
            case.check(&format!("{tag}logpx_k_{suffix}"), &to_vec(&densities.log_conditional));
            case.check(&format!("{tag}logpx_{suffix}"), &to_vec(&densities.log_marginal()));
            case.check(&format!("{tag}post_{suffix}"), &to_vec(&densities.log_posterior().exp()));
            case.check(
                &format!("{tag}logpx_k_{suffix}"),
                &(model.log_joint(to_array(x).view()) - &to_array(&model.mixture().log_prior()))
                    .into_raw_vec_and_offset()
                    .0,
            );
        }
    }
    let y2 = predictions(&case.fixed().densities(case.x_u2.clone()));
    assert_eq!(y2, case.golden.indices(&case.key("y2")));
}

const LOSSES: [&str; 8] = ["paper_sum", "semiflow", "cons", "total", "ce", "image", "em", "em_joint_ref"];
const DIFFERENTIATED: [&str; 6] = ["paper_sum", "semiflow", "cons", "image", "total", "em"];

/// A loss written with the functions of `objective`, `[1]`; `model` carries the gradient, `fixed` does not.
fn loss(case: &Case, name: &str, model: &FlowGmm, fixed: &FlowGmm) -> Tensor<1> {
    let golden = case.golden;
    let q_l = one_hot(&case.y_l, CLASSES, &case.place);
    let labelled = || model.densities(case.x_l.clone());
    let unlabelled = || model.densities(case.x_u.clone());
    match name {
        "paper_sum" => {
            let labelled = labelled();
            let log_prior = (labelled.log_prior.clone() * q_l.clone()).sum();
            expected_nll(&labelled, q_l).sum() - log_prior + marginal_nll(&unlabelled()).sum()
        }
        "semiflow" => {
            let weight = golden.scalar("in_unlab_weight");
            expected_nll(&labelled(), q_l).mean() + marginal_nll(&unlabelled()).mean() * weight
        }
        "cons" => {
            let y2 = predictions(&fixed.densities(case.x_u2.clone()));
            let view = model.densities(case.x_u1.clone());
            expected_nll(&view, one_hot(&y2, CLASSES, &case.place)).mean()
        }
        "total" => {
            let weight = golden.scalar("in_cons_weight");
            loss(case, "semiflow", model, fixed) + loss(case, "cons", model, fixed) * weight
        }
        "ce" => cross_entropy(&labelled(), q_l).mean(),
        "image" => {
            let (lambda, weight) = (golden.scalar("in_label_weight"), golden.scalar("in_cons_weight"));
            let all = model.densities(Tensor::cat(vec![case.x_l.clone(), case.x_u.clone()], 0));
            loss(case, "ce", model, fixed) * lambda
                + marginal_nll(&all).mean()
                + loss(case, "cons", model, fixed) * weight
        }
        "em" => {
            let q = fixed.densities(case.x_u.clone()).log_posterior().exp();
            expected_nll(&labelled(), q_l).sum() + expected_nll(&unlabelled(), q).sum()
        }
        "em_joint_ref" => expected_nll(&labelled(), q_l).sum() + marginal_nll(&unlabelled()).sum(),
        other => unreachable!("{other}"),
    }
}

fn check_losses(case: &Case) {
    for gaussians in [Gaussians::Unit, Gaussians::General] {
        let model = case.model(gaussians, Trainable::default());
        for name in LOSSES {
            let value = to_scalar(&loss(case, name, &model, &model));
            case.check(&format!("{}loss_{name}", gaussians.prefix()), &[value]);
        }
    }
}

/// The same losses as training composes them, from [`Objective::terms`] of batches.
fn check_objective(case: &Case) {
    let (n_l, n_u) = (case.y_l.len() as f64, case.x_u.dims()[0] as f64);
    let nothing = Objective { labelled: 0.0, unlabelled: 0.0, ..Objective::likelihood() };
    let agreeing = |weight| Some(Consistency { agreement: Agreement::Likelihood, weight, ramp: 0.0 });
    let rows = |x: &Tensor<2>| UnlabelledBatch {
        x: x.clone(),
        other_view: Some(case.x_u2.clone()),
        soft: None,
        responsibilities: None,
    };
    let all = Tensor::cat(vec![case.x_l.clone(), case.x_u.clone()], 0);
    let (lambda, weight) = (case.golden.scalar("in_label_weight"), case.golden.scalar("in_unlab_weight"));
    for gaussians in [Gaussians::Unit, Gaussians::General] {
        let model = case.model(gaussians, Trainable::default());
        let q = model.densities(case.x_u.clone()).log_posterior().exp();
        let value = |objective: &Objective, unlabelled: UnlabelledBatch| {
            let batch = Batch { x_l: case.x_l.clone(), y_l: case.y_l.clone(), unlabelled: Some(unlabelled) };
            let prior = model.mixture().log_prior().exp();
            to_scalar(&total(&objective.terms(&model, &model, &batch, &prior, 1.0)))
        };
        let check = |name: &str, got: f64| case.check(&format!("{}loss_{name}", gaussians.prefix()), &[got]);

        // Terms are means over rows; the paper's sums are these times the numbers of rows.
        let joint = Objective { labelled: n_l, unlabelled: n_u, ..nothing.clone() };
        check("paper_sum", value(&joint, rows(&case.x_u)));
        let conditional = Objective { labelled_term: Labelled::Conditional, ..joint };
        check("em_joint_ref", value(&conditional, rows(&case.x_u)));
        let em = Objective { unlabelled_term: Unlabelled::Em, ..conditional };
        check("em", value(&em, UnlabelledBatch { responsibilities: Some(q), ..rows(&case.x_u) }));

        let semiflow = Objective {
            labelled: 1.0,
            labelled_term: Labelled::Conditional,
            unlabelled: weight,
            ..nothing.clone()
        };
        let semiflow = value(&semiflow, rows(&case.x_u));
        check("semiflow", semiflow);
        let cons = value(&Objective { consistency: agreeing(1.0), ..nothing.clone() }, rows(&case.x_u1));
        check("cons", cons);
        // The golden consistency looks at x', the golden likelihood at x: two batches here.
        let halved = Objective { consistency: agreeing(0.5), ..nothing.clone() };
        let half_cons = value(&halved, rows(&case.x_u1));
        check("total", semiflow + half_cons);

        let ce = Objective { cross_entropy: 1.0, ..nothing.clone() };
        check("ce", value(&ce, rows(&case.x_u)));
        // The image loss takes the marginal over labelled and unlabelled rows alike.
        let image = Objective { cross_entropy: lambda, unlabelled: 1.0, ..nothing.clone() };
        check("image", value(&image, rows(&all)) + half_cons);
    }
}

fn check_gradients(case: &Case) {
    let fixed = case.fixed();
    for name in DIFFERENTIATED {
        let tracked = fixed.tracked();
        let found = gradients(&tracked, &loss(case, name, &tracked, &fixed));
        for (layer, gradient) in found.iter().enumerate() {
            let prefix = case.key(&format!("grad_{name}_"));
            let want = live_values(case.golden, &prefix, layer);
            assert_close(&format!("{prefix}w{layer}"), &to_vec(gradient), &want, case.tolerance);
            check_dead_gradients(case, &prefix, layer);
        }
    }
    // The law of appendix A: EM's gradient at the moment of the E-step is the marginal's.
    let tracked = fixed.tracked();
    let found = gradients(&tracked, &loss(case, "em_joint_ref", &tracked, &fixed));
    for (layer, gradient) in found.iter().enumerate() {
        let want = live_values(case.golden, &case.key("grad_em_"), layer);
        assert_close("em_joint_ref", &to_vec(gradient), &want, case.tolerance);
    }
}

/// Weights that our nets do not have do nothing in the golden nets either.
fn check_dead_gradients(case: &Case, prefix: &str, layer: usize) {
    for part in PARTS {
        let key = format!("{prefix}w{layer}_{part}");
        let alive: BTreeSet<usize> = live(layer, part).into_iter().collect();
        for (i, value) in case.golden.values(&key).into_iter().enumerate() {
            assert!(alive.contains(&i) || value == 0.0, "{key}[{i}] = {value} has no counterpart here");
        }
    }
}

fn check_mean_gradient(case: &Case) {
    let fixed = case.model(Gaussians::Unit, Trainable { means: true, ..Trainable::default() });
    let tracked = fixed.tracked();
    let found = gradients(&tracked, &loss(case, "total", &tracked, &fixed));
    assert_eq!(found.len(), LAYERS + 1, "three couplings and the means");
    case.check("grad_total_mu", &to_vec(&found[LAYERS]));
}

/// Three steps of every optimiser. Under `adamw` and `adaml2` the golden's dead weights decay, and here they do not
/// exist; nothing else depends on them, so the live weights, the losses and the norms must agree all the same.
fn check_optimisers(case: &Case) {
    let plain = AdamConfig::default();
    let optimisers = [
        ("adam", plain),
        ("adamw", AdamConfig { decay: Decay::Decoupled(1e-2), ..plain }),
        ("adaml2", AdamConfig { decay: Decay::L2(1e-2), ..plain }),
        ("clipadam", AdamConfig { clip: Some(1.0), ..plain }),
    ];
    for (name, config) in optimisers {
        let mut model = case.fixed();
        let mut adam = Adam::new(config, &trained_values(&model));
        let (mut losses, mut norms) = (Vec::new(), Vec::new());
        for step in 1..=3 {
            let tracked = model.tracked();
            let loss = loss(case, "total", &tracked, &model);
            let found = gradients(&tracked, &loss);
            let norm = Adam::norm(&found);
            losses.push(to_scalar(&loss));
            norms.push(norm);
            let mut moved = trained_values(&model);
            adam.step(&mut moved, None, &found, norm, 1e-2);
            set_trained(&mut model, moved);
            for (layer, theta) in model.flow().thetas().into_iter().enumerate() {
                let prefix = case.key(&format!("{name}_step{step}_"));
                let want = live_values(case.golden, &prefix, layer);
                assert_close(&format!("{prefix}w{layer}"), &to_vec(theta.value()), &want, case.tolerance);
            }
        }
        losses.push(to_scalar(&loss(case, "total", &model, &model)));
        case.check(&format!("{name}_losses"), &losses);
        case.check(&format!("{name}_gradnorms"), &norms);
    }
}

fn check_boundary(case: &Case) {
    let found = analysis::boundary(&case.fixed(), to_array(&case.x_u).view());
    let distances: Vec<f64> = found.iter().map(|b| b.distance).collect();
    case.check("dist_boundary_u", &distances);
    let closest: Vec<usize> = found.iter().flat_map(|b| [b.nearest, b.second]).collect();
    assert_eq!(closest, case.golden.indices(&case.key("two_closest_u")));
}

fn check_generation(case: &Case) {
    let (model, mu) = (case.fixed(), case.golden.matrix("in_mu"));
    let flat = |x: Array2<f64>| x.iter().copied().collect::<Vec<f64>>();
    case.check("inv_means", &flat(model.decode(mu.view())));
    // At temperature 0 samples are these means.
    for k in 0..CLASSES {
        let (x, _) = model.sample(1, Some(k), 0.0, &mut semisup::rng(1));
        assert_close(
            "coldest sample",
            &flat(x),
            &flat(model.decode(mu.select(ndarray::Axis(0), &[k]).view())),
            DOUBLE,
        );
    }
    let noisy = &mu + &(case.golden.matrix("in_eps_sample") * 0.25);
    case.check("samples_T0.25", &flat(model.decode(noisy.view())));
    let x_u = to_array(&case.x_u);
    let path = analysis::interpolate(&model, x_u.row(0), x_u.row(1), &[0.0, 0.25, 0.5, 0.75, 1.0]);
    case.check("interp_u0_u1", &flat(path));
}

fn check_features(case: &Case) {
    const LAYER: usize = 2;
    const CHANNEL: usize = 4;
    let (model, x_u) = (case.fixed(), to_array(&case.x_u));
    let sigma = analysis::activation_spread(&model, LAYER, x_u.view())[CHANNEL];
    case.check("featvis_sigma_c", &[sigma]);
    let moved = analysis::visualise_feature(&model, LAYER, CHANNEL, 2.0 * sigma, x_u.view());
    case.check("featvis_alpha2", &moved.iter().copied().collect::<Vec<f64>>());
}

fn check_calibration(golden: &Golden) {
    let check = |name: &str, got: f64| assert_close(name, &[got], &[golden.scalar(name)], DOUBLE);
    let (logits, y) = (golden.matrix("cal_logits"), golden.indices("cal_labels"));
    let log_probs = metrics::log_softmax(logits.view());
    let probs: Vec<f64> = log_probs.iter().map(|l| l.exp()).collect();
    assert_close("cal_prob", &probs, &golden.values("cal_prob"), DOUBLE);
    let temperature = semisup::fit_temperature(logits.view(), &y);
    check("cal_T", temperature);
    let tempered = metrics::log_softmax((&logits / temperature).view());
    check("cal_nll", metrics::nll(log_probs.view(), &y));
    check("cal_nll_T", metrics::nll(tempered.view(), &y));
    for bins in [10, 15, 20] {
        check(&format!("cal_ece{bins}"), metrics::ece(log_probs.mapv(f64::exp).view(), &y, bins));
        check(&format!("cal_ece{bins}_T"), metrics::ece(tempered.mapv(f64::exp).view(), &y, bins));
    }
}

fn check_coverage(golden: &Golden) {
    let seen = golden.seen.borrow();
    let names = golden.names();
    assert!(names.len() > 500, "only {} arrays", names.len());
    for name in &names {
        let left_out = LEFT_OUT.iter().any(|(left, _)| left == name);
        assert!(left_out || seen.contains(name), "{name} is neither checked nor left out with a reason");
    }
    for (name, reason) in LEFT_OUT {
        assert!(names.iter().any(|n| n == name), "{name} is left out ({reason}) but not in the file");
    }
}
