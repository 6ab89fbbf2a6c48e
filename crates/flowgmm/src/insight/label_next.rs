//! Active learning: which rows to label next, because their labels would teach the model most.
//!
//!   gain(i) = (u_i + 1/10)  sqrt(r_i)  d_i^2
//!
//! u_i is the entropy of the model's calibrated probabilities, as a share of log K. r_i is the rank of the density around
//! the row, estimated from its nearest neighbours: a label speaks for the rows around it, and an outlier has none. d_i is
//! the distance to the nearest row that is labelled or already chosen: rows are chosen one by one, so that no two of them
//! are alike. Entropy alone did worse than random choice in our experiments with few labels.

use flowgmm_learners::graph::knn;
use ndarray::{ArrayView1, ArrayView2};

use crate::model::Model;

/// Neighbours that the density is estimated from.
const NEIGHBOURS: usize = 10;
/// Added to the entropy of every row: a model may be sure and wrong about a cluster without any label.
const DOUBT: f64 = 0.1;

/// A row worth labelling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    /// Its number among the candidates.
    pub row: usize,
    /// The criterion that it was chosen by; comparable only within one choice.
    pub gain: f64,
    /// Entropy of the model's probabilities as a share of log K.
    pub entropy: f64,
    /// Share of candidates in less dense regions.
    pub density: f64,
    /// Distance to the nearest row that is labelled or was chosen before, in the preprocessed space.
    pub distance: f64,
}

/// The `count` rows most worth labelling among the candidates `x`, `[n, dim_in]`, best first; `labelled` are the rows that
/// have labels already.
pub fn label_next(
    model: &Model,
    x: ArrayView2<f64>,
    labelled: Option<ArrayView2<f64>>,
    count: usize,
) -> Vec<Suggestion> {
    suggestions(model, x, model.score(x).log_probs.view(), labelled, count)
}

/// [`label_next`] for candidates whose log p(k | x), `[n, K]`, is known.
pub(crate) fn suggestions(
    model: &Model,
    x: ArrayView2<f64>,
    log_probs: ArrayView2<f64>,
    labelled: Option<ArrayView2<f64>>,
    count: usize,
) -> Vec<Suggestion> {
    let n = x.nrows();
    if n == 0 {
        return Vec::new();
    }
    let entropy: Vec<f64> = log_probs.rows().into_iter().map(normalised_entropy).collect();
    let x = model.preprocess().apply(x);
    let density = density_rank(x.view());
    let mut nearest = vec![f64::INFINITY; n];
    let meet = |row: ArrayView1<f64>, nearest: &mut Vec<f64>| {
        for (least, x) in nearest.iter_mut().zip(x.rows()) {
            *least = least.min(x.iter().zip(row).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt());
        }
    };
    if let Some(labelled) = labelled {
        model.preprocess().apply(labelled).rows().into_iter().for_each(|row| meet(row, &mut nearest));
    }
    let mut chosen: Vec<Suggestion> = Vec::new();
    while chosen.len() < count.min(n) {
        let suggestion = |row: usize| {
            // Before the first label all rows are equally far away.
            let distance = if nearest[row].is_finite() { nearest[row] } else { 1.0 };
            let gain = (DOUBT + entropy[row]) * density[row].sqrt() * distance * distance;
            Suggestion { row, gain, entropy: entropy[row], density: density[row], distance }
        };
        let free = (0..n).filter(|row| chosen.iter().all(|chosen| chosen.row != *row)).map(suggestion);
        let best = free.max_by(|a, b| a.gain.total_cmp(&b.gain).then(b.row.cmp(&a.row)));
        let best = best.expect("fewer rows are chosen than there are");
        chosen.push(best);
        meet(x.row(best.row), &mut nearest);
    }
    chosen
}

/// Entropy as a share of log K.
fn normalised_entropy(log_probs: ArrayView1<f64>) -> f64 {
    let nats: f64 = log_probs.iter().map(|l| if l.is_finite() { -l.exp() * l } else { 0.0 }).sum();
    nats / (log_probs.len().max(2) as f64).ln()
}

/// Share of rows whose neighbours are at least as far away as the row's own, itself included: in (0, 1].
fn density_rank(x: ArrayView2<f64>) -> Vec<f64> {
    let n = x.nrows();
    let (_, squared) = knn(x, x, NEIGHBOURS + 1); // the first is the row itself
    let width: Vec<f64> = squared.rows().into_iter().map(|row| row.iter().map(|d| d.sqrt()).sum()).collect();
    let mut sorted = width.clone();
    sorted.sort_by(f64::total_cmp);
    width.iter().map(|w| (n - sorted.partition_point(|other| other < w)) as f64 / n as f64).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ndarray::{Array2, array};
    use semisup::{Learner, Toy};

    use super::*;
    use crate::{FitConfig, FlowGmmLearner};

    #[test]
    fn dense_regions_rank_first() {
        let mut x = Array2::from_shape_fn((30, 1), |(i, _)| 0.01 * i as f64);
        x[[29, 0]] = 9.0;
        let rank = density_rank(x.view());
        assert_eq!(rank[29], 1.0 / 30.0);
        assert!(rank[15] > rank[0] && rank.iter().all(|r| *r > 0.0 && *r <= 1.0));
        assert_eq!(density_rank(array![[3.0]].view()), [1.0]);
    }

    #[test]
    fn entropy_is_one_for_a_coin_and_zero_for_certainty() {
        assert!((normalised_entropy(array![0.5_f64.ln(), 0.5_f64.ln()].view()) - 1.0).abs() < 1e-12);
        assert_eq!(normalised_entropy(array![0.0, f64::NEG_INFINITY].view()), 0.0);
    }

    /// Suggestions are different rows, not labelled ones, apart from each other, best first.
    #[test]
    fn suggestions_are_distinct_and_apart() {
        let problem = Toy::Moons.problem(5);
        let mut config = FitConfig::toy();
        config.train.steps = 150;
        let model = FlowGmmLearner { name: "FlowGMM".into(), config }.fit(&problem.train, 0).unwrap();
        let labelled = problem.train.labelled_only();
        let found = label_next(&model, problem.train.x(), Some(labelled.x()), 12);
        let rows: BTreeSet<usize> = found.iter().map(|s| s.row).collect();
        assert_eq!(rows.len(), 12);
        assert!(rows.iter().all(|&row| problem.train.y()[row].is_none()), "a labelled row is at no distance");
        assert!(found.windows(2).all(|pair| pair[0].gain >= pair[1].gain), "the best come first: {found:?}");
        let nearest = found.iter().map(|s| s.distance).fold(f64::INFINITY, f64::min);
        assert!(nearest > 0.1, "no two are neighbours: {found:?}");
        assert!(label_next(&model, Array2::zeros((0, 2)).view(), None, 3).is_empty());
    }
}
