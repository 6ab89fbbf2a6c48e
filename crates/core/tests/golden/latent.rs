//! The analyses of the latent space, and the calibration metrics.

use flowgmm_core::{analysis, tensor::to_array};
use ndarray::Array2;
use semisup::metrics;

use crate::{
    CLASSES, DOUBLE,
    case::{Case, Golden},
    support::assert_close,
};

pub fn check_boundary(case: &Case) {
    let found = analysis::boundary(&case.fixed(), to_array(&case.x_u).view());
    let distances: Vec<f64> = found.iter().map(|b| b.distance).collect();
    case.check("dist_boundary_u", &distances);
    let closest: Vec<usize> = found.iter().flat_map(|b| [b.nearest, b.second]).collect();
    assert_eq!(closest, case.golden.indices(&case.key("two_closest_u")));
}

pub fn check_generation(case: &Case) {
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

pub fn check_features(case: &Case) {
    const LAYER: usize = 2;
    const CHANNEL: usize = 4;
    let (model, x_u) = (case.fixed(), to_array(&case.x_u));
    let sigma = analysis::activation_std(&model, LAYER, x_u.view())[CHANNEL];
    case.check("featvis_sigma_c", &[sigma]);
    let moved = analysis::visualise_feature(&model, LAYER, CHANNEL, 2.0 * sigma, x_u.view());
    case.check("featvis_alpha2", &moved.iter().copied().collect::<Vec<f64>>());
}

pub fn check_calibration(golden: &Golden) {
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
