//! Every number of `golden/golden_tabular.npz`, which another program computed with another autodiff, comes out of
//! this library: the flow and its log-det, densities, losses, gradients, optimiser steps, the analyses of the
//! latent space and the calibration metrics. In double precision with composed operations to 1e-10, and the
//! core again in single precision with the fused kernel to 2e-5.

mod arrays;
mod case;
mod flow;
mod gradients;
mod latent;
mod losses;
#[path = "../support/mod.rs"]
mod support;

use flowgmm_core::{Engine, bijection::Form, tensor::Place};

use case::{Case, Golden, mask};
use flow::{check_densities, check_flow};
use gradients::{check_gradients, check_mean_gradient, check_optimisers};
use latent::{check_boundary, check_calibration, check_features, check_generation};
use losses::{check_losses, check_objective};

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

fn check_masks(golden: &Golden) {
    for layer in 0..LAYERS {
        let (keep, _) = mask(layer).split(DIM);
        let expected: Vec<f64> = (0..DIM).map(|j| f64::from(u8::from(keep.contains(&j)))).collect();
        assert_eq!(golden.values(&format!("in_mask{layer}")), expected);
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
