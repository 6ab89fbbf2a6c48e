//! What predictions of tables rest on: the flow, and three kinds of experts beside it.
//!
//! ```text
//! m(k | x) = sum_j w_j p_j(k | x)^(1 / T_j) / sum_k' p_j(k' | x)^(1 / T_j)      j: flow, trees, regression, naive Bayes
//! p(k | x) = m(k | x)^(1 / T) / sum_k' m(k' | x)^(1 / T)
//! ```
//!
//! The flow sees the shape of all rows, the experts what learners that a user would try make of few labels: on some tables the
//! one is right, on some the other. Weights and temperatures are learnt from labels that were held out, under a prior, so
//! that nothing ever switches. Density, samples, latent points and boundary are the flow's alone.

use flowgmm_core::Container;
use flowgmm_learners::{FOREST_ARRAYS, Forest, Logistic, SCORECARD_ARRAYS, Scorecard};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;
use semisup::metrics::log_softmax;
use serde::{Deserialize, Serialize};

/// Rows of a chunk of parallel work.
const CHUNK: usize = 1024;

/// The experts beside the flow, and what each part counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    pub(crate) weights: BlendWeights,
    pub(crate) experts: BlendExperts,
}

/// What stands beside the flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlendExperts {
    /// Trees on the user's columns, every one with the same vote.
    pub forest: Forest,
    /// Logistic regression on the flow's columns; old files have none.
    pub regression: Option<Logistic>,
    /// Naive Bayes over levels of the user's columns; old files have none.
    pub naive_bayes: Option<Scorecard>,
}

/// How much a part counts, and the temperature of its probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub weight: f64,
    pub temperature: f64,
}

/// How much each part counts, and how sure the blend is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredWeights")]
pub(crate) struct BlendWeights {
    pub flow: Part,
    pub trees: Part,
    pub regression: Part,
    pub naive_bayes: Part,
    /// T of the blend.
    pub temperature: f64,
}

/// What files hold of the weights: up to version 5 those of flow and trees alone.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum StoredWeights {
    Two { flow: f64, temperature: f64 },
    Four { flow: Part, trees: Part, regression: Part, naive_bayes: Part, temperature: f64 },
}

impl From<StoredWeights> for BlendWeights {
    fn from(stored: StoredWeights) -> Self {
        match stored {
            StoredWeights::Two { flow, temperature } => {
                let part = |weight| Part { weight, temperature: 1.0 };
                let (regression, naive_bayes) = (part(0.0), part(0.0));
                Self { flow: part(flow), trees: part(1.0 - flow), regression, naive_bayes, temperature }
            }
            StoredWeights::Four { flow, trees, regression, naive_bayes, temperature } => {
                Self { flow, trees, regression, naive_bayes, temperature }
            }
        }
    }
}

impl BlendWeights {
    /// The parts in their order: flow, trees, regression, naive Bayes.
    pub fn parts(&self) -> [Part; 4] {
        [self.flow, self.trees, self.regression, self.naive_bayes]
    }

    fn are_possible(&self) -> bool {
        let is_temperature = |t: f64| t.is_finite() && t > 0.0;
        let is_part = |part: &Part| (0.0..=1.0).contains(&part.weight) && is_temperature(part.temperature);
        let sum: f64 = self.parts().iter().map(|part| part.weight).sum();
        self.parts().iter().all(is_part) && (sum - 1.0).abs() < 1e-6 && is_temperature(self.temperature)
    }
}

impl Blend {
    /// The share of the flow's posterior, in 0..=1.
    pub fn flow_weight(&self) -> f64 {
        self.weights.flow.weight
    }

    /// The trees.
    pub fn forest(&self) -> &Forest {
        &self.experts.forest
    }

    /// What each part counts, in whole percent that sum to 100.
    pub fn percentages(&self) -> Vec<(&'static str, f64)> {
        let names = ["flow", "trees", "logistic regression", "naive Bayes"];
        let mut shares: Vec<(&str, f64)> =
            names.into_iter().zip(self.weights.parts().map(|part| (100.0 * part.weight).round())).collect();
        let rest = 100.0 - shares.iter().map(|(_, percent)| percent).sum::<f64>();
        let most =
            (0..shares.len()).fold(0, |most, at| if shares[at].1 > shares[most].1 { at } else { most });
        shares[most].1 += rest;
        shares.retain(|&(name, percent)| percent > 0.0 || name == "flow");
        shares
    }

    /// log m(k | x) `[n, K]` of rows x `[n, dim]`, given the flow's log p(k | x) and what the regression says of them.
    pub(crate) fn logits(
        &self,
        flow: ArrayView2<f64>,
        regression: Option<Array2<f64>>,
        x: ArrayView2<f64>,
    ) -> Array2<f64> {
        let naive_bayes = self.experts.naive_bayes.as_ref().map(|card| card.log_probs(x));
        let trees = self.experts.forest.smoothed(x).ln();
        let parts = [Some(flow.to_owned()), Some(trees), regression, naive_bayes];
        let parts = self.weights.parts().into_iter().zip(parts);
        blended(parts.filter_map(|(part, p)| Some((part, p?))))
    }

    pub(crate) fn to_tensors(&self, container: &mut Container) {
        let mut put = |prefix: &str, names: &[&str], arrays: Vec<Vec<f32>>| {
            for (name, values) in names.iter().zip(arrays) {
                container.tensors.insert(format!("{prefix}{name}"), (vec![values.len()], values));
            }
        };
        put(FOREST, &FOREST_ARRAYS, self.experts.forest.to_arrays().into());
        if let Some(card) = &self.experts.naive_bayes {
            put(NAIVE_BAYES, &SCORECARD_ARRAYS, card.to_arrays().into());
        }
    }

    /// Takes the experts out of a container; trusts nothing in it. `regression` is that of the header.
    pub(crate) fn from_tensors(
        weights: BlendWeights,
        regression: Option<Logistic>,
        container: &mut Container,
        [dim, dim_out, n_classes]: [usize; 3],
    ) -> Result<Self, String> {
        if !weights.are_possible() {
            return Err("the weights of flow and experts are out of their range".into());
        }
        let damaged = |error: flowgmm_learners::Error| error.to_string();
        let forest = take(container, FOREST, &FOREST_ARRAYS)?;
        let forest = Forest::from_arrays(forest, dim, n_classes).map_err(damaged)?;
        let naive_bayes =
            match container.tensors.contains_key(&format!("{NAIVE_BAYES}{}", SCORECARD_ARRAYS[0])) {
                false => None,
                true => {
                    let arrays = take(container, NAIVE_BAYES, &SCORECARD_ARRAYS)?;
                    Some(Scorecard::from_arrays(arrays, dim, n_classes).map_err(damaged)?)
                }
            };
        if let Some(regression) = &regression {
            regression.validate(dim_out, n_classes).map_err(damaged)?;
        }
        let absent = |weight: f64, is_there: bool| weight > 0.0 && !is_there;
        if absent(weights.regression.weight, regression.is_some())
            || absent(weights.naive_bayes.weight, naive_bayes.is_some())
        {
            return Err("an expert that counts is missing".into());
        }
        Ok(Self { weights, experts: BlendExperts { forest, regression, naive_bayes } })
    }
}

/// What the names of the trees' and of naive Bayes's tensors begin with.
const FOREST: &str = "forest.";
const NAIVE_BAYES: &str = "naive_bayes.";

/// Arrays of one dimension, taken out of a container.
fn take<const N: usize>(
    container: &mut Container,
    prefix: &str,
    names: &[&str; N],
) -> Result<[Vec<f32>; N], String> {
    let mut arrays = [const { Vec::new() }; N];
    for (array, name) in arrays.iter_mut().zip(names) {
        let name = format!("{prefix}{name}");
        let (shape, values) = container.tensors.remove(&name).ok_or(format!("tensor {name} is missing"))?;
        if shape.len() != 1 {
            return Err(format!("tensor {name} has the shape {shape:?}, expected one dimension"));
        }
        *array = values;
    }
    Ok(arrays)
}

/// log m `[n, K]` of the log-probabilities `[n, K]` of some parts.
pub(crate) fn blended(parts: impl IntoIterator<Item = (Part, Array2<f64>)>) -> Array2<f64> {
    let parts: Vec<(Part, Array2<f64>)> = parts.into_iter().collect();
    let mut log_m = Array2::zeros(parts[0].1.dim());
    let chunks: Vec<_> = log_m.axis_chunks_iter_mut(Axis(0), CHUNK).enumerate().collect();
    chunks.into_par_iter().for_each(|(chunk, mut log_m)| {
        let rows = chunk * CHUNK..chunk * CHUNK + log_m.nrows();
        for (part, log_p) in &parts {
            add(*part, log_p.slice(s![rows.clone(), ..]), &mut log_m);
        }
        // A flow that is certain, alone: a probability that underflows stays a finite logarithm. `max` would make it of a NaN,
        // too, and a class of a row that cannot be scored.
        log_m.mapv_inplace(|m| if m < f64::MIN_POSITIVE { f64::MIN_POSITIVE.ln() } else { m.ln() });
    });
    log_m
}

/// Adds the weighted probabilities of a part.
fn add(part: Part, log_p: ArrayView2<f64>, sum: &mut ArrayViewMut2<f64>) {
    for (log_p, mut sum) in log_p.rows().into_iter().zip(sum.rows_mut()) {
        if part.temperature == 1.0 {
            sum.zip_mut_with(&log_p, |sum, log_p| *sum += part.weight * log_p.exp());
            continue;
        }
        // The largest is 0 before the exponential, so that not all of them underflow.
        let most = log_p.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let p = |log_p: f64| ((log_p - most) / part.temperature).exp();
        let scale = part.weight / log_p.iter().map(|&log_p| p(log_p)).sum::<f64>();
        sum.zip_mut_with(&log_p, |sum, &log_p| *sum += scale * p(log_p));
    }
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
        for temperature in [1.0, 1.7] {
            let (flow, trees) = (flow.clone(), array![[1.0f64, 0.0], [0.5, 0.5]].ln());
            let part = Part { weight: 0.5, temperature };
            let log_m = blended([(part, flow), (part, trees)]);
            assert!(log_m.row(0).iter().all(|v| v.is_finite()) && log_m.row(1).iter().all(|v| v.is_nan()));
            assert!(tempered(log_m.view(), 2.0).row(1).iter().all(|v| v.is_nan()));
        }
    }

    #[test]
    fn weights_of_old_files_are_those_of_flow_and_trees() {
        let old: BlendWeights = serde_json::from_str(r#"{"flow": 0.25, "temperature": 1.5}"#).unwrap();
        assert_eq!(old.parts().map(|part| part.weight), [0.25, 0.75, 0.0, 0.0]);
        assert!(old.parts().iter().all(|part| part.temperature == 1.0) && old.temperature == 1.5);
        let again: BlendWeights = serde_json::from_str(&serde_json::to_string(&old).unwrap()).unwrap();
        assert!(again == old && again.are_possible());
        let impossible = BlendWeights { flow: Part { weight: 0.5, temperature: 1.0 }, ..old };
        assert!(!impossible.are_possible(), "they sum to more than 1");
    }

    /// Experts of two columns and two classes, to files and back.
    #[test]
    fn experts_from_a_file_are_checked() {
        let x = Array2::from_shape_fn((20, 2), |(i, j)| (i * (j + 2) % 7) as f64);
        let y: Vec<usize> = (0..20).map(|i| i / 10).collect();
        let settings = flowgmm_learners::TreeSettings::extra_trees(3);
        let known: Vec<Option<usize>> = y.iter().copied().map(Some).collect();
        let learner = flowgmm_learners::NaiveBayes::default();
        let classes = ["a".to_string(), "b".to_string()];
        let experts = BlendExperts {
            forest: Forest::fit(x.view(), &y, 2, None, &settings, 1).unwrap(),
            regression: Some(Logistic::fit_labels(x.view(), &y, 2, 1.0).unwrap()),
            naive_bayes: Some(learner.fit_rows(x.view(), &known, &classes, &()).unwrap().scorecard()),
        };
        let part = Part { weight: 0.25, temperature: 1.2 };
        let weights =
            BlendWeights { flow: part, trees: part, regression: part, naive_bayes: part, temperature: 1.0 };
        let blend = Blend { weights, experts };
        let read = |damage: &dyn Fn(&mut Container), regression: Option<Logistic>, sizes| {
            let mut container = Container { header: String::new(), tensors: Default::default() };
            blend.to_tensors(&mut container);
            damage(&mut container);
            Blend::from_tensors(weights, regression, &mut container, sizes)
        };
        let own = || blend.experts.regression.clone();
        assert_eq!(read(&|_| {}, own(), [2, 2, 2]).unwrap(), blend);
        assert!(read(&|_| {}, None, [2, 2, 2]).is_err(), "a regression that counts is missing");
        assert!(read(&|_| {}, own(), [2, 3, 2]).is_err(), "a regression of other columns");
        assert!(read(&|_| {}, own(), [1, 2, 2]).is_err(), "trees of other columns");
        for name in ["naive_bayes.base", "naive_bayes.points", "forest.next"] {
            let gone = |container: &mut Container| drop(container.tensors.remove(name));
            assert!(read(&gone, own(), [2, 2, 2]).is_err(), "{name} is missing");
            let flat = |container: &mut Container| {
                container.tensors.get_mut(name).expect("it is there").0 = vec![1, 1];
            };
            assert!(read(&flat, own(), [2, 2, 2]).is_err(), "{name} has another shape");
        }
    }
}
