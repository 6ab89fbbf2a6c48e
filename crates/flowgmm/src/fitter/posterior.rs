//! How flow and forest are blended: the weight by held-out labels, the temperature by how often both are right together.

use flowgmm_learners::Forest;
use ndarray::{Array2, ArrayView2};
use semisup::{SemiSupervised, metrics::arg_max};

use super::{
    held_out::{HeldOut, flow_weight, prior_weight},
    some_rows,
};
use crate::model::{
    Model,
    blend::{Blend, BlendWeights, blended, tempered},
};

/// Rows that tell how sure the blend is, at most.
const ROWS: usize = 2048;
/// How many held-out labels the blend's own confidence counts as.
const OWN: f64 = 10.0;
/// The range of temperatures.
const RANGE: (f64, f64) = (0.25, 8.0);

/// The blend of a flow that has its temperature with a forest.
pub(super) fn blend(flow: &Model, forest: Forest, held: Option<&HeldOut>, data: &SemiSupervised) -> Blend {
    let held = held.map(|held| (tempered_joint(held, flow), held));
    let w = held
        .as_ref()
        .map_or(prior_weight(), |(log_p, held)| flow_weight(log_p.view(), held.forest.view(), &held.y));
    let x = some_rows(data.x(), ROWS);
    let log_m = blended(flow.score(x.view()).log_probs.view(), forest.smoothed(x.view()).view(), w);
    let own = confidence(log_m.view(), 1.0);
    let expected = held.map_or(own, |(log_p, held)| {
        let together = blended(log_p.view(), held.forest.view(), w);
        let hits = arg_max(together.view()).iter().zip(&held.y).filter(|(a, b)| a == b).count();
        (hits as f64 + OWN * own) / (held.y.len() as f64 + OWN)
    });
    let temperature = temperature_for(log_m.view(), expected);
    Blend { weights: BlendWeights { flow: w, temperature }, forest }
}

/// log p(k | x) of held-out rows at the flow's temperature, `[n, K]`.
fn tempered_joint(held: &HeldOut, flow: &Model) -> Array2<f64> {
    tempered(held.log_joint.view(), flow.flow_temperature())
}

/// The temperature at which the mean probability of the predicted class is `wanted`.
fn temperature_for(log_m: ArrayView2<f64>, wanted: f64) -> f64 {
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        // Confidence falls as the temperature rises.
        if confidence(log_m, middle.exp()) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high)).exp()
}

/// The mean probability of the predicted class.
fn confidence(log_m: ArrayView2<f64>, temperature: f64) -> f64 {
    let log_p = tempered(log_m, temperature);
    let most = log_p.rows().into_iter().map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)).exp());
    most.sum::<f64>() / log_m.nrows().max(1) as f64
}
