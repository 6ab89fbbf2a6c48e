//! How flow and forest are blended: weight and temperature by held-out labels, both as means of a posterior.
//!
//! ```text
//! p(log T | labels) ~ Normal(log T; MEAN, SPREAD^2) prod_i m(y_i | x_i)^(1/T) / sum_k m(k | x_i)^(1/T)
//! ```

use flowgmm_learners::Forest;
use ndarray::{Array2, ArrayView2};
use semisup::{SemiSupervised, metrics::arg_max};

use super::{
    held_out::{HeldOut, flow_weight, mean_under, prior_weight},
    some_rows,
};
use crate::model::{
    Evidence, Model,
    blend::{Blend, BlendWeights, blended, tempered},
};

/// Rows that tell how sure the blend is, at most.
const ROWS: usize = 2048;
/// How many held-out labels the blend's own confidence counts as.
const OWN: f64 = 40.0;
/// The normal prior of log T. Few labels cannot tell how sure a blend may be, and a little doubt costs least where it is
/// wrong most often.
const MEAN: f64 = 0.2;
const SPREAD: f64 = 0.4;
/// Temperatures that are integrated over, and the range of log T in spreads about the mean.
const GRID: usize = 81;
const SPREADS: f64 = 4.0;

/// The blend of a flow that has its temperature with a forest.
pub(super) fn blend(
    flow: &Model,
    forest: Forest,
    held: Option<&HeldOut>,
    data: &SemiSupervised,
) -> (Blend, Option<Evidence>) {
    let held = held.map(|held| (tempered_joint(held, flow), held));
    let w = held
        .as_ref()
        .map_or(prior_weight(), |(log_p, held)| flow_weight(log_p.view(), held.forest.view(), &held.y));
    let x = some_rows(data.x(), ROWS);
    let log_m = blended(flow.score(x.view()).log_probs.view(), forest.smoothed(x.view()).view(), w);
    let own = confidence(log_m.view());
    let together =
        held.as_ref().map(|(log_p, held)| arg_max(blended(log_p.view(), held.forest.view(), w).view()));
    let expected = held.as_ref().zip(together.as_ref()).map_or(own, |((_, held), together)| {
        let hits = together.iter().zip(&held.y).filter(|(a, b)| a == b).count();
        (hits as f64 + OWN * own) / (held.y.len() as f64 + OWN)
    });
    let temperature = held.as_ref().map_or(MEAN.exp(), |(log_p, held)| {
        temperature(blended(log_p.view(), held.forest.view(), w).view(), &held.y)
    });
    let evidence = held.zip(together).map(|((log_p, held), together)| {
        let (flow, forest) = (arg_max(log_p.view()), arg_max(held.forest.view()));
        let parts = [flow.as_slice(), &forest, &together];
        Evidence::of_blend(parts, &held.y, data.n_classes(), expected, (w, temperature))
    });
    (Blend { weights: BlendWeights { flow: w, temperature }, forest }, evidence)
}

/// log p(k | x) of held-out rows at the flow's temperature, `[n, K]`.
fn tempered_joint(held: &HeldOut, flow: &Model) -> Array2<f64> {
    tempered(held.log_joint.view(), flow.flow_temperature())
}

/// The mean temperature given what a blend says of held-out labels: log m `[n, K]`, classes `[n]`.
fn temperature(log_m: ArrayView2<f64>, y: &[usize]) -> f64 {
    let log_t = (0..GRID).map(|i| MEAN + SPREAD * SPREADS * (2.0 * i as f64 / (GRID - 1) as f64 - 1.0));
    let log_posterior = |log_t: f64| {
        let log_p = tempered(log_m, log_t.exp());
        let own = y.iter().enumerate().map(|(i, &k)| log_p[[i, k]]).sum::<f64>();
        own - 0.5 * ((log_t - MEAN) / SPREAD).powi(2)
    };
    mean_under(log_t, log_posterior).exp()
}

/// The mean probability of the predicted class.
fn confidence(log_m: ArrayView2<f64>) -> f64 {
    let most = log_m.rows().into_iter().map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)).exp());
    most.sum::<f64>() / log_m.nrows().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The temperature of a blend that gives one class the same probability in n rows, and is wrong in some.
    fn found(n: usize, confidence: f64, wrong: usize) -> f64 {
        let y: Vec<usize> = (0..n).map(|i| usize::from(i < wrong)).collect();
        let log_m =
            Array2::from_shape_fn((n, 2), |(_, k)| if k == 0 { confidence } else { 1.0 - confidence }.ln());
        temperature(log_m.view(), &y)
    }

    #[test]
    fn the_temperature_follows_many_labels_and_stays_near_the_prior_with_few() {
        assert!((found(0, 0.9, 0) - MEAN.exp()).abs() < 1e-9);
        // Right in 75% of rows where it says 95%: log-odds ln 19 should be ln 3, which is T = 2.68.
        let many = found(400, 0.95, 100);
        assert!((many - 19f64.ln() / 3f64.ln()).abs() < 0.15, "{many}");
        let calibrated = found(2000, 0.8, 400);
        assert!((calibrated - 1.0).abs() < 0.06, "{calibrated}");
        let few = found(5, 0.95, 0);
        assert!(
            few < MEAN.exp() && few > 0.9,
            "{few}: five rows without an error are no reason to be certain"
        );
    }
}
