//! How far class shares may be off: a 95% interval of each.
//!
//! ```text
//! labels drawn at random    Wilson's interval of n_k labels among n_l
//! estimated shares          pi_k -+ 2 se_k,  se_k^2 = pi_k (1 - pi_k) / (n_l + 1) + s_k^2
//! assumed or given          none
//! ```
//!
//! The first part of se_k^2 is the variance of a Dirichlet distribution with n_l pseudo-counts: shares rest on predictions, which
//! rest on n_l labels. s_k is the largest difference between pi_k and other estimates: the mean probability that flow, forest and
//! teachers give to class k, and how often flow and forest predict it. Where classes overlap these differ systematically, since
//! the mean of unsure probabilities is nearer to even shares than the truth: the furthest counts, not their mean.

use flowgmm_core::Prior;
use ndarray::{ArrayView2, Axis};
use semisup::{SemiSupervised, metrics::arg_max};

use crate::model::evidence::wilson;

/// Class shares and what they rest on.
pub(super) struct Shares<'a> {
    pub prior: &'a Prior,
    /// pi_k, `[K]`.
    pub shares: Vec<f64>,
    /// Other estimates of the shares, each `[K]`.
    pub others: Vec<Vec<f64>>,
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
        let spread = self.others.iter().map(|other| (other[k] - share).powi(2)).fold(0.0, f64::max);
        let error = (share * (1.0 - share) / (n as f64 + 1.0) + spread).sqrt();
        [(share - 2.0 * error).max(0.0), (share + 2.0 * error).min(1.0)]
    }
}

/// Shares as among labels that were drawn at random, with one more label of each class: a class is never ruled out.
pub(crate) fn smoothed(counts: &[usize]) -> Vec<f64> {
    let all = (counts.iter().sum::<usize>() + counts.len()) as f64;
    counts.iter().map(|&count| (count as f64 + 1.0) / all).collect()
}

/// What probabilities `[n, K]` say of class shares: their mean, and how often each class is the most probable.
pub(super) fn estimates(p: ArrayView2<f64>) -> [Vec<f64>; 2] {
    let n = p.nrows().max(1) as f64;
    let mut often = vec![0.0; p.ncols()];
    arg_max(p).into_iter().for_each(|k| often[k] += 1.0 / n);
    [(p.sum_axis(Axis(0)) / n).to_vec(), often]
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
        let width = |others: Vec<Vec<f64>>, data: &SemiSupervised| {
            let found = Shares { prior: &prior, shares: vec![0.75, 0.25], others }.intervals(data);
            assert!((found[0][0] + found[1][1] - 1.0).abs() < 1e-12, "two classes mirror each other");
            found[0][1] - found[0][0]
        };
        let agree = width(vec![vec![0.75, 0.25]; 3], &even);
        // 4 sqrt(0.75 * 0.25 / 21)
        assert!((agree - 0.378).abs() < 1e-3, "{agree}");
        assert!(width(vec![vec![0.8, 0.2], vec![0.6, 0.4], vec![0.7, 0.3]], &even) > agree);
        assert!(width(vec![vec![0.75, 0.25]; 3], &problem([20, 20])) < agree);
        let [mean, often] = estimates(ndarray::array![[0.6, 0.4], [0.9, 0.1]].view());
        assert!((mean[0] - 0.75).abs() < 1e-12 && often == [1.0, 0.0]);
    }

    #[test]
    fn labels_at_random_have_the_multinomial_interval_and_assumptions_none() {
        let data = problem([40, 10]);
        let of = |prior: &Prior| Shares { prior, shares: vec![0.5; 2], others: Vec::new() }.intervals(&data);
        let given = of(&Prior::Given(smoothed(&[40, 10])));
        assert_eq!(given, of(&Prior::Empirical));
        assert_eq!(given, [wilson(0.8, 50), wilson(0.2, 50)]);
        assert!(of(&Prior::Uniform).is_empty() && of(&Prior::Given(vec![0.3, 0.7])).is_empty());
    }
}
