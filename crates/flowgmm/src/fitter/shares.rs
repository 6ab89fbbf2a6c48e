//! How far class shares may be off: a 95% interval of each.
//!
//! ```text
//! labels drawn at random    Wilson's interval of n_k labels among n_l
//! estimated shares          pi_k -+ 2 se_k,  se_k^2 = pi_k (1 - pi_k) / (n_l + 1) + s_k^2
//! assumed or given          none
//! ```
//!
//! The first part of se_k^2 is the variance of a Dirichlet distribution with n_l pseudo-counts: shares rest on predictions, which
//! rest on n_l labels. s_k is the standard deviation between what flow, forest and teachers predict on average.

use flowgmm_core::Prior;
use ndarray::{ArrayView2, Axis};
use semisup::SemiSupervised;

use crate::model::evidence::wilson;

/// Class shares and what they rest on.
pub(super) struct Shares<'a> {
    pub prior: &'a Prior,
    /// pi_k, `[K]`.
    pub shares: Vec<f64>,
    /// What flow, forest and teachers predict on average, each `[K]`.
    pub averages: Vec<Vec<f64>>,
}

impl Shares<'_> {
    /// An interval of each share, `[K]`; empty if they were not found in data.
    pub(super) fn intervals(&self, data: &SemiSupervised) -> Vec<[f64; 2]> {
        let (counts, n) = (data.class_counts(), data.labelled().len());
        let multinomial = || counts.iter().map(|&count| wilson(count as f64 / n as f64, n)).collect();
        match self.prior {
            Prior::Empirical => multinomial(),
            Prior::Given(shares) if *shares == smoothed(&counts) => multinomial(),
            Prior::Estimated { .. } => (0..counts.len()).map(|k| self.estimated(k, n)).collect(),
            Prior::Given(_) | Prior::Uniform => Vec::new(),
        }
    }

    fn estimated(&self, k: usize, n: usize) -> [f64; 2] {
        let share = self.shares[k];
        let count = self.averages.len().max(1) as f64;
        let mean = self.averages.iter().map(|average| average[k]).sum::<f64>() / count;
        let spread = self.averages.iter().map(|average| (average[k] - mean).powi(2)).sum::<f64>() / count;
        let error = (share * (1.0 - share) / (n as f64 + 1.0) + spread).sqrt();
        [(share - 2.0 * error).max(0.0), (share + 2.0 * error).min(1.0)]
    }
}

/// Shares as among labels that were drawn at random, with one more label of each class: a class is never ruled out.
pub(crate) fn smoothed(counts: &[usize]) -> Vec<f64> {
    let all = (counts.iter().sum::<usize>() + counts.len()) as f64;
    counts.iter().map(|&count| (count as f64 + 1.0) / all).collect()
}

/// The mean of probabilities `[n, K]`.
pub(super) fn average(p: ArrayView2<f64>) -> Option<Vec<f64>> {
    p.mean_axis(Axis(0)).map(|mean| mean.to_vec())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// Four rows of the first class for one of the second, of which the first `labels[k]` of each have a label.
    fn problem(labels: [usize; 2]) -> SemiSupervised {
        let mut left = labels;
        let y = (0..100).map(|i| usize::from(i % 5 == 0)).map(|k| {
            let labelled = left[k] > 0;
            left[k] -= usize::from(labelled);
            labelled.then_some(k)
        });
        let names = |of: &[&str]| of.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let x = Array2::from_shape_fn((100, 1), |(i, _)| i as f64);
        SemiSupervised::new(x, y.collect(), names(&["a", "b"]), names(&["x"])).unwrap()
    }

    #[test]
    fn intervals_follow_the_labels_and_what_parts_disagree_on() {
        let even = problem([10, 10]);
        let prior = Prior::Estimated { pseudo_count: 0.4 };
        let width = |averages: Vec<Vec<f64>>, data: &SemiSupervised| {
            let found = Shares { prior: &prior, shares: vec![0.75, 0.25], averages }.intervals(data);
            assert!((found[0][0] + found[1][1] - 1.0).abs() < 1e-12, "two classes mirror each other");
            found[0][1] - found[0][0]
        };
        let agree = width(vec![vec![0.8, 0.2]; 3], &even);
        // 4 sqrt(0.75 * 0.25 / 21)
        assert!((agree - 0.378).abs() < 1e-3, "{agree}");
        assert!(width(vec![vec![0.8, 0.2], vec![0.6, 0.4], vec![0.7, 0.3]], &even) > agree);
        assert!(width(vec![vec![0.8, 0.2]; 3], &problem([20, 20])) < agree);
    }

    #[test]
    fn labels_at_random_have_the_multinomial_interval_and_assumptions_none() {
        let data = problem([40, 10]);
        let of = |prior: &Prior| Shares { prior, shares: vec![0.5; 2], averages: Vec::new() }.intervals(&data);
        let given = of(&Prior::Given(smoothed(&[40, 10])));
        assert_eq!(given, of(&Prior::Empirical));
        assert_eq!(given, [wilson(0.8, 50), wilson(0.2, 50)]);
        assert!(of(&Prior::Uniform).is_empty() && of(&Prior::Given(vec![0.3, 0.7])).is_empty());
    }
}
