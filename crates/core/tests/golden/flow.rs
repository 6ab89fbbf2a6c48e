//! The flow, its log-det and the densities.

use flowgmm_core::{
    Trainable,
    bijection::{Bijection, Mapped},
    objective::predictions,
    tensor::{to_array, to_vec},
};

use crate::{
    case::{Case, Gaussians},
    support::assert_close,
};

pub fn check_flow(case: &Case) {
    let model = case.fixed();
    for (suffix, x) in [("l", &case.x_l), ("u", &case.x_u)] {
        let Mapped { value, log_det } = model.flow().forward(x.clone());
        case.check(&format!("z_{suffix}"), &to_vec(&value));
        case.check(&format!("logdet_{suffix}"), &to_vec(&log_det));
        let back = to_vec(&model.flow().inverse(value));
        assert_close("inverse", &back, &to_vec(x), case.tolerance);
    }
}

pub fn check_densities(case: &Case) {
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
