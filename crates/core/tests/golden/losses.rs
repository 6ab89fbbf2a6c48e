//! Losses, written with the functions of `objective` and composed as training does.

use burn_tensor::Tensor;
use flowgmm_core::{
    FlowGmm, Trainable,
    objective::{
        Agreement, Batch, Consistency, LabelledTerm, Objective, UnlabelledBatch, UnlabelledTerm,
        cross_entropy, expected_nll, marginal_nll, predictions, total,
    },
    tensor::{one_hot, to_scalar},
};

use crate::{
    CLASSES,
    case::{Case, Gaussians},
};

const LOSSES: [&str; 8] = ["paper_sum", "semiflow", "cons", "total", "ce", "image", "em", "em_joint_ref"];

/// A loss written with the functions of `objective`, `[1]`; `model` carries the gradient, `fixed` does not.
pub fn loss(case: &Case, name: &str, model: &FlowGmm, fixed: &FlowGmm) -> Tensor<1> {
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

pub fn check_losses(case: &Case) {
    for gaussians in [Gaussians::Unit, Gaussians::General] {
        let model = case.model(gaussians, Trainable::default());
        for name in LOSSES {
            let value = to_scalar(&loss(case, name, &model, &model));
            case.check(&format!("{}loss_{name}", gaussians.prefix()), &[value]);
        }
    }
}

/// The losses as training composes them, from [`Objective::terms`] of batches.
pub fn check_objective(case: &Case) {
    let (n_l, n_u) = (case.y_l.len() as f64, case.x_u.dims()[0] as f64);
    let nothing = Objective { labelled: 0.0, unlabelled: 0.0, ..Objective::likelihood() };
    let agreeing = |weight| Some(Consistency { agreement: Agreement::Likelihood, weight, ramp: 0.0 });
    let rows = |x: &Tensor<2>| UnlabelledBatch {
        x: x.clone(),
        other_view: Some(case.x_u2.clone()),
        soft_targets: None,
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
        let conditional = Objective { labelled_term: LabelledTerm::Conditional, ..joint };
        check("em_joint_ref", value(&conditional, rows(&case.x_u)));
        let em = Objective { unlabelled_term: UnlabelledTerm::Em, ..conditional };
        check("em", value(&em, UnlabelledBatch { responsibilities: Some(q), ..rows(&case.x_u) }));

        let semiflow = Objective {
            labelled: 1.0,
            labelled_term: LabelledTerm::Conditional,
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
