//! How flow and experts are blended: weights and temperatures by held-out labels, all under a prior.
//!
//! ```text
//! p(w | labels) ~ Dirichlet(w; 1 + a) prod_i sum_j w_j p_j(y_i | x_i)                        its mode, by EM
//! p(log T | labels) ~ Normal(log T; mean, spread^2) prod_i p(y_i | x_i)^(1/T) / sum_k p(k | x_i)^(1/T)      its mean
//! ```
//!
//! Trees of three kinds come first: their weights are the numbers of trees that the blend's forest takes of each. Then flow,
//! forest, regression and naive Bayes get temperatures, then weights, and their blend a temperature. With few labels all
//! stays near the prior, with many it follows them: nothing switches.

use flowgmm_learners::Forest;
use ndarray::{Array2, ArrayView2};
use semisup::{SemiSupervised, metrics::arg_max};

use super::{experts::Experts, held_out::HeldOut, some_rows};
use crate::{
    Result,
    model::{
        Evidence, Model,
        blend::{Blend, BlendExperts, BlendWeights, Part, blended, tempered},
    },
    teachers,
};

/// a of trees: distilled, of a random forest, of extra trees. Those that saw all rows are the safe ones until labels speak
/// for those that saw the labels alone, which they do where labels are many.
const TREES: [f64; 3] = [2.4, 0.36, 0.24];
/// a of the parts: flow, trees, regression, naive Bayes.
const PARTS: [f64; 4] = [1.0, 3.25, 0.5, 0.25];
/// What the normal priors of log T are centred at: naive Bayes takes columns that say the same for independent evidence.
const MEANS: [f64; 4] = [0.0, 0.0, 0.0, std::f64::consts::LN_2];
const SPREAD: f64 = 0.4;
/// The spread of the prior of the blend's log T, which is centred at 0.
const BLEND_SPREAD: f64 = 0.3;
/// No probability of a label counts as less: one row cannot decide alone.
const LEAST: f64 = 0.02;
/// Steps of EM at most, and the change of weights at which it ends.
const STEPS: usize = 500;
const SETTLED: f64 = 1e-9;
/// Rows that tell how sure the blend is, at most.
const ROWS: usize = 2048;
/// How many held-out labels the blend's own confidence counts as.
const OWN: f64 = 40.0;
/// Temperatures that are integrated over, and the range of log T in spreads about the mean.
const GRID: usize = 81;
const SPREADS: f64 = 4.0;

/// The blend of a flow that has its temperature with experts.
pub(super) fn blend(
    flow: &Model,
    experts: Experts,
    held: Option<&HeldOut>,
    data: &SemiSupervised,
) -> Result<(Blend, Option<Evidence>)> {
    let y: &[usize] = held.map_or(&[], |held| &held.y);
    let Experts { forests, regression, naive_bayes } = experts;
    let (forest, votes) = joined(forests, weights(held.map(|held| &held.experts.forests), y, TREES))?;
    let held_parts = held.map(|held| {
        let trees = votes.iter().zip(&held.experts.forests).map(|(votes, p)| p * *votes);
        let trees = trees.reduce(|sum, p| sum + p).expect("three kinds of trees");
        let flow = tempered(held.log_joint.view(), flow.flow_temperature()).exp();
        [flow, trees, held.experts.regression.clone(), held.experts.naive_bayes.clone()]
    });
    let temperatures: [f64; 4] = match &held_parts {
        None => MEANS.map(f64::exp),
        Some(parts) => std::array::from_fn(|j| temperature(parts[j].view(), y, MEANS[j], SPREAD)),
    };
    let calibrated = held_parts.map(|parts| {
        let mut temperatures = temperatures.iter();
        parts.map(|p| teachers::tempered(p, *temperatures.next().expect("one for each part")))
    });
    let w = weights(calibrated.as_ref(), y, PARTS);
    let part = |j: usize| Part { weight: w[j], temperature: temperatures[j] };
    let together = calibrated.as_ref().map(|parts| {
        // They have their temperatures already.
        let parts = parts.iter().zip(w).map(|(p, weight)| (Part { weight, temperature: 1.0 }, p.ln()));
        blended(parts)
    });
    let own_temperature =
        together.as_ref().map_or(1.0, |log_m| temperature(log_m.mapv(f64::exp).view(), y, 0.0, BLEND_SPREAD));
    let weights = BlendWeights {
        flow: part(0),
        trees: part(1),
        regression: part(2),
        naive_bayes: part(3),
        temperature: own_temperature,
    };
    let experts = BlendExperts { forest, regression: Some(regression), naive_bayes: Some(naive_bayes) };
    let blend = Blend { weights, experts };
    let evidence = calibrated.zip(together).map(|(parts, together)| {
        let predicted = arg_max(together.view());
        let hits = predicted.iter().zip(y).filter(|(a, b)| a == b).count();
        let expected = (hits as f64 + OWN * confidence(flow, &blend, data)) / (y.len() as f64 + OWN);
        let found = [arg_max(parts[0].view()), arg_max(parts[1].view()), predicted];
        let settings = (blend.flow_weight(), own_temperature);
        Evidence::of_blend(found.each_ref().map(Vec::as_slice), y, data.n_classes(), expected, settings)
    });
    Ok((blend, evidence))
}

/// A forest that has as many trees as the largest one, of each kind by its weight as far as there are as many; and the share of
/// each kind among them.
fn joined(forests: [Forest; 3], weights: [f64; 3]) -> Result<(Forest, [f64; 3])> {
    let most = forests.iter().map(Forest::n_trees).max().expect("three") as f64;
    let enough = |(forest, weight): (&Forest, &f64)| forest.n_trees() as f64 / (weight * most);
    let scale = forests.iter().zip(&weights).map(enough).fold(1.0, f64::min);
    let mut counts = weights.map(|weight| (scale * weight * most).round() as usize);
    if counts.iter().all(|count| *count == 0) {
        counts[0] = 1;
    }
    let parts: Vec<(&Forest, usize)> =
        forests.iter().zip(counts).map(|(forest, count)| (forest, count.min(forest.n_trees()))).collect();
    let all = parts.iter().map(|(_, count)| count).sum::<usize>() as f64;
    let shares = std::array::from_fn(|kind| parts[kind].1 as f64 / all);
    Ok((Forest::joined(&parts)?, shares))
}

/// The most probable weights of parts, given their probabilities of held-out rows `[n, K]` each, and how much each part counts
/// before: a pseudo-count.
fn weights<const N: usize>(
    held: Option<&[Array2<f64>; N]>,
    y: &[usize],
    pseudo_counts: [f64; N],
) -> [f64; N] {
    let own: Vec<[f64; N]> = match held {
        None => Vec::new(),
        Some(parts) => (0..y.len()).map(|i| parts.each_ref().map(|p| p[[i, y[i]]].max(LEAST))).collect(),
    };
    let total = own.len() as f64 + pseudo_counts.iter().sum::<f64>();
    let mut w = pseudo_counts.map(|count| count / pseudo_counts.iter().sum::<f64>());
    for _ in 0..STEPS {
        let mut next = pseudo_counts;
        for p in &own {
            let m: f64 = w.iter().zip(p).map(|(w, p)| w * p).sum();
            next.iter_mut().zip(w.iter().zip(p)).for_each(|(next, (w, p))| *next += w * p / m);
        }
        let next = next.map(|count| count / total);
        let moved = next.iter().zip(&w).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        w = next;
        if moved < SETTLED {
            break;
        }
    }
    w
}

/// The mean temperature given probabilities `[n, K]` of held-out labels `[n]`, under a normal prior of its logarithm.
fn temperature(p: ArrayView2<f64>, y: &[usize], mean: f64, spread: f64) -> f64 {
    let log_p = p.mapv(|p| p.max(f64::MIN_POSITIVE).ln());
    let grid = (0..GRID).map(|i| mean + spread * SPREADS * (2.0 * i as f64 / (GRID - 1) as f64 - 1.0));
    let log_posterior = |log_t: f64| {
        let log_p = tempered(log_p.view(), log_t.exp());
        let own = y.iter().enumerate().map(|(i, &k)| log_p[[i, k]]).sum::<f64>();
        own - 0.5 * ((log_t - mean) / spread).powi(2)
    };
    mean_under(grid, log_posterior).exp()
}

/// The mean of points, each weighed by the exponential of a log density that need not be normalised.
fn mean_under(points: impl Iterator<Item = f64>, log_density: impl Fn(f64) -> f64) -> f64 {
    let points: Vec<(f64, f64)> = points.map(|point| (point, log_density(point))).collect();
    let most = points.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut total) = (0.0, 0.0);
    for (point, log) in points {
        let mass = (log - most).exp();
        sum += mass * point;
        total += mass;
    }
    sum / total
}

/// The mean probability of the predicted class, before the blend's own temperature.
fn confidence(flow: &Model, blend: &Blend, data: &SemiSupervised) -> f64 {
    let x = some_rows(data.x(), ROWS);
    let regression = blend.experts.regression.as_ref();
    let regression =
        regression.map(|regression| regression.log_probs(flow.preprocess().apply(x.view()).view()));
    let log_m = blend.logits(flow.score(x.view()).log_probs.view(), regression, x.view());
    let most = log_m.rows().into_iter().map(|row| row.fold(f64::NEG_INFINITY, |a, &b| a.max(b)).exp());
    most.sum::<f64>() / log_m.nrows().max(1) as f64
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// The temperature of a part that gives one class the same probability in n rows, and is wrong in some.
    fn found(n: usize, confidence: f64, wrong: usize) -> f64 {
        let y: Vec<usize> = (0..n).map(|i| usize::from(i < wrong)).collect();
        let p = Array2::from_shape_fn((n, 2), |(_, k)| if k == 0 { confidence } else { 1.0 - confidence });
        temperature(p.view(), &y, 0.2, SPREAD)
    }

    #[test]
    fn the_temperature_follows_many_labels_and_stays_near_the_prior_with_few() {
        assert!((found(0, 0.9, 0) - 0.2f64.exp()).abs() < 1e-9);
        // Right in 75% of rows where it says 95%: log-odds ln 19 should be ln 3, which is T = 2.68.
        let many = found(400, 0.95, 100);
        assert!((many - 19f64.ln() / 3f64.ln()).abs() < 0.15, "{many}");
        let calibrated = found(2000, 0.8, 400);
        assert!((calibrated - 1.0).abs() < 0.06, "{calibrated}");
        let few = found(5, 0.95, 0);
        assert!(
            few < 0.2f64.exp() && few > 0.9,
            "{few}: five rows without an error are no reason to be certain"
        );
    }

    #[test]
    fn weights_follow_held_out_labels_and_stay_near_the_prior_without_them() {
        let (sure, unsure) = (array![[0.95, 0.05]], array![[0.5, 0.5]]);
        let repeat = |p: &Array2<f64>, n: usize| Array2::from_shape_fn((n, 2), |(_, k)| p[[0, k]]);
        let first = |a: &Array2<f64>, b: &Array2<f64>, n: usize| {
            weights(Some(&[repeat(a, n), repeat(b, n)]), &vec![0; n], [1.0, 4.0])[0]
        };
        assert!((first(&sure, &sure, 30) - 0.2).abs() < 1e-6, "equally good: as before");
        assert!(first(&sure, &unsure, 200) > 0.9 && first(&unsure, &sure, 200) < 0.05);
        let few = first(&sure, &unsure, 2);
        assert!(few > 0.2 && few < 0.4, "{few}: two labels do not decide");
        assert_eq!(weights(None, &[], [1.0, 4.0]), [0.2, 0.8]);
    }

    #[test]
    fn a_forest_has_trees_by_weight() {
        let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f64);
        let y: Vec<usize> = (0..20).map(|i| i / 10).collect();
        let forests = || {
            [8, 4, 4].map(|n_trees| {
                let settings = flowgmm_learners::TreeSettings::extra_trees(n_trees);
                Forest::fit(x.view(), &y, 2, None, &settings, 1).unwrap()
            })
        };
        let (forest, shares) = joined(forests(), [0.75, 0.25, 0.0]).unwrap();
        assert_eq!((forest.n_trees(), shares), (8, [0.75, 0.25, 0.0]));
        let (forest, shares) = joined(forests(), [0.0, 1.0, 0.0]).unwrap();
        assert_eq!((forest.n_trees(), shares), (4, [0.0, 1.0, 0.0]), "there are no more of these");
    }
}
