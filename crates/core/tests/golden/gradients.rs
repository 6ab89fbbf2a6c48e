//! Gradients of the losses, and steps of the optimisers.

use std::collections::BTreeSet;

use flowgmm_core::{
    Trainable,
    bijection::Bijection,
    tensor::{to_scalar, to_vec},
    train::{Adam, AdamConfig, Decay, gradients, set_trained, trained_values},
};

use crate::{
    LAYERS, PARTS,
    case::{Case, Gaussians, live, live_values},
    losses::loss,
    support::assert_close,
};

const DIFFERENTIATED: [&str; 6] = ["paper_sum", "semiflow", "cons", "image", "total", "em"];

pub fn check_gradients(case: &Case) {
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

pub fn check_mean_gradient(case: &Case) {
    let fixed = case.model(Gaussians::Unit, Trainable { means: true, ..Trainable::default() });
    let tracked = fixed.tracked();
    let found = gradients(&tracked, &loss(case, "total", &tracked, &fixed));
    assert_eq!(found.len(), LAYERS + 1, "three couplings and the means");
    case.check("grad_total_mu", &to_vec(&found[LAYERS]));
}

/// Three steps of every optimiser. Under `adamw` and `adaml2` the golden's dead weights decay, and here they do not
/// exist; nothing else depends on them, so the live weights, the losses and the norms must agree all the same.
pub fn check_optimisers(case: &Case) {
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
