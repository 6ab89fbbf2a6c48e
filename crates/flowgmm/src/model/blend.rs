//! What predictions rest on where a forest stands beside the flow.
//!
//! ```text
//! m(k | x) = w p_flow(k | x) + (1 - w) p_forest(k | x)
//! p(k | x) = m(k | x)^(1 / T) / sum_k' m(k' | x)^(1 / T)
//! ```
//!
//! The flow sees the shape of all rows, the forest what supervised experts make of few labels: on some tables the one is
//! right, on some the other. The weight w is learnt from labels that were held out, under a prior, so that it never
//! switches. Density, samples, latent points and boundary are the flow's alone.

use flowgmm_core::Container;
use flowgmm_learners::{FOREST_ARRAYS, Forest};
use ndarray::{Array2, ArrayView2};
use semisup::metrics::log_softmax;
use serde::{Deserialize, Serialize};

/// A forest beside the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    pub(crate) weights: BlendWeights,
    pub(crate) forest: Forest,
}

/// How much the flow counts, and how sure the blend is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlendWeights {
    /// w, in 0..=1.
    pub flow: f64,
    /// T of the blend.
    pub temperature: f64,
}

impl Blend {
    /// w: the share of the flow's posterior.
    pub fn flow_weight(&self) -> f64 {
        self.weights.flow
    }

    /// The trees.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// log m(k | x) `[n, K]` of rows x, given the flow's log p(k | x).
    pub(crate) fn logits(&self, flow: ArrayView2<f64>, x: ArrayView2<f64>) -> Array2<f64> {
        blended(flow, self.forest.smoothed(x).view(), self.weights.flow)
    }

    pub(crate) fn to_tensors(&self, container: &mut Container) {
        for (name, values) in FOREST_ARRAYS.iter().zip(self.forest.to_arrays()) {
            container.tensors.insert(format!("{PREFIX}{name}"), (vec![values.len()], values));
        }
    }

    /// Takes the forest out of a container; trusts nothing in it.
    pub(crate) fn from_tensors(
        weights: BlendWeights,
        container: &mut Container,
        dim: usize,
        n_classes: usize,
    ) -> Result<Self, String> {
        let BlendWeights { flow, temperature } = weights;
        let possible = (0.0..=1.0).contains(&flow) && temperature.is_finite() && temperature > 0.0;
        if !possible {
            return Err("the weights of flow and forest are out of their range".into());
        }
        let mut arrays: [Vec<f32>; FOREST_ARRAYS.len()] = Default::default();
        for (array, name) in arrays.iter_mut().zip(FOREST_ARRAYS) {
            let name = format!("{PREFIX}{name}");
            let (shape, values) =
                container.tensors.remove(&name).ok_or(format!("tensor {name} is missing"))?;
            if shape.len() != 1 {
                return Err(format!("tensor {name} has the shape {shape:?}, expected one dimension"));
            }
            *array = values;
        }
        let forest = Forest::from_arrays(arrays, dim, n_classes).map_err(|error| error.to_string())?;
        Ok(Self { weights, forest })
    }
}

/// What the names of the forest's tensors begin with.
const PREFIX: &str = "forest.";

/// log (w p_flow + (1 - w) p_forest) `[n, K]` of the flow's log-probabilities and the forest's probabilities.
pub(crate) fn blended(flow: ArrayView2<f64>, forest: ArrayView2<f64>, w: f64) -> Array2<f64> {
    let mut log_m = flow.mapv(|log_p| w * log_p.exp());
    log_m.scaled_add(1.0 - w, &forest);
    // A flow that is certain, alone: a probability that underflows stays a finite logarithm. `max` would make it of a NaN, too,
    // and a class of a row that cannot be scored.
    log_m.mapv_into(|m| if m < f64::MIN_POSITIVE { f64::MIN_POSITIVE.ln() } else { m.ln() })
}

/// log p(k | x) of log m(k | x).
pub(crate) fn tempered(log_m: ArrayView2<f64>, temperature: f64) -> Array2<f64> {
    log_softmax((&log_m / temperature).view())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_certain_flow_stays_finite_and_a_row_without_scores_has_none() {
        let flow = array![[0.0, -2000.0], [f64::NAN, f64::NAN]];
        let log_m = blended(flow.view(), array![[1.0, 0.0], [0.5, 0.5]].view(), 0.5);
        assert!(log_m.row(0).iter().all(|v| v.is_finite()) && log_m.row(1).iter().all(|v| v.is_nan()));
        assert!(tempered(log_m.view(), 2.0).row(1).iter().all(|v| v.is_nan()));
    }
}
