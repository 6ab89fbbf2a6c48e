//! Split-conformal prediction sets (Vovk et al. 2005; Sadinle et al. 2019): sets of classes that hold the true one with
//! a probability of at least 1 - alpha, whatever the model, if calibration and new rows come from one source.
//!
//! The nonconformity of class k is s_k = log(1 - p_k) - log p_k. With q the ceil((n + 1)(1 - alpha))-th smallest s_y of n
//! calibration rows, the set of a new row is { k : s_k <= q }. The n + 1 counts the new row itself: without it small
//! samples would promise too much. If that rank is beyond n, every class is in every set.
//!
//! s orders like 1 - p but has no ties where p rounds to 1. A set may be empty: no class conforms as well as the share
//! 1 - alpha of the calibration rows do, and the prediction should not be relied on.

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::Serialize;

use super::log_sum_exp_of;

/// Split-conformal prediction sets, fitted to calibration rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Conformal {
    /// The miscoverage: the share of rows whose set may lack the true class.
    pub alpha: f64,
    /// Number of calibration rows.
    pub n: usize,
    /// The largest nonconformity of a class in a set; infinite if there are too few rows to leave any class out.
    pub threshold: f64,
}

/// Coverage and size of prediction sets on rows with a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Number of rows.
    pub n: usize,
    /// Share of rows whose set holds the true class.
    pub coverage: f64,
    /// Mean number of classes in a set.
    pub mean_size: f64,
    /// Share of sets without a class.
    pub empty: f64,
    /// Share of sets with one class.
    pub single: f64,
}

impl Conformal {
    /// Learns the threshold from log p(k | x) of rows the model was not fitted to, `[n, n_classes]`.
    pub fn fit(log_probs: ArrayView2<f64>, y: &[usize], alpha: f64) -> Self {
        assert_eq!(log_probs.nrows(), y.len(), "one row per label");
        assert!(alpha > 0. && alpha < 1., "a share between 0 and 1");
        let n = y.len();
        let mut scores: Vec<f64> =
            log_probs.rows().into_iter().zip(y).map(|(row, &y)| nonconformity(row, y)).collect();
        scores.sort_by(f64::total_cmp);
        // A hair less, so that (n + 1)(1 - alpha) = 9.000000000000002 is 9.
        let rank = ((n as f64 + 1.) * (1. - alpha) - 1e-9).ceil() as usize;
        let threshold = scores.get(rank.max(1) - 1).copied().unwrap_or(f64::INFINITY);
        Self { alpha, n, threshold }
    }

    /// Which classes are in the set of each row, `[n, n_classes]`.
    pub fn sets(&self, log_probs: ArrayView2<f64>) -> Array2<bool> {
        Array2::from_shape_fn(log_probs.dim(), |(row, k)| self.holds(log_probs.row(row), k))
    }

    /// Classes in the set of one row.
    pub fn set(&self, log_probs: ArrayView1<f64>) -> Vec<usize> {
        (0..log_probs.len()).filter(|&k| self.holds(log_probs, k)).collect()
    }

    fn holds(&self, log_probs: ArrayView1<f64>, k: usize) -> bool {
        nonconformity(log_probs, k) <= self.threshold
    }
}

/// log(1 - p_k) - log p_k, without the cancellation of 1 - p_k.
fn nonconformity(log_probs: ArrayView1<f64>, k: usize) -> f64 {
    let others = log_probs.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, l)| *l);
    match log_sum_exp_of(others) {
        f64::NEG_INFINITY => f64::NEG_INFINITY, // all others are impossible
        others => others - log_probs[k],
    }
}

/// Coverage and size of prediction sets, `[n, n_classes]`, given the true classes.
pub fn coverage(sets: &Array2<bool>, y: &[usize]) -> Coverage {
    assert_eq!(sets.nrows(), y.len(), "one set per label");
    let n = y.len() as f64;
    let sizes: Vec<usize> =
        sets.rows().into_iter().map(|set| set.iter().filter(|member| **member).count()).collect();
    let share = |wanted: usize| sizes.iter().filter(|&&size| size == wanted).count() as f64 / n;
    Coverage {
        n: y.len(),
        coverage: y.iter().enumerate().filter(|&(row, &k)| sets[[row, k]]).count() as f64 / n,
        mean_size: sizes.iter().sum::<usize>() as f64 / n,
        empty: share(0),
        single: share(1),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::Rng as _;

    use super::*;

    /// p of the true class .9 .8 .7 .6 .5 .4 .3 .2 .1; with alpha = .2 the rank is ceil(10 x .8) = 8: p = .2.
    #[test]
    fn the_finite_sample_rank_by_hand() {
        let probs = Array2::from_shape_fn((9, 2), |(row, k)| {
            let p = 0.9 - 0.1 * row as f64;
            if k == 0 { p } else { 1. - p }
        });
        let fitted = Conformal::fit(probs.ln().view(), &[0; 9], 0.2);
        assert!((fitted.threshold - (0.8_f64 / 0.2).ln()).abs() < 1e-9, "{fitted:?}");
        assert_eq!(fitted.set(array![0.21, 0.79].ln().view()), [0, 1]);
        assert_eq!(fitted.set(array![0.19, 0.81].ln().view()), [1]);
        // (9 + 1) x .95 = 9.5 is beyond 9 rows: nothing can be left out.
        let strict = Conformal::fit(probs.ln().view(), &[0; 9], 0.05);
        assert_eq!(strict.threshold, f64::INFINITY);
        assert_eq!(strict.set(array![1e-9, 1. - 1e-9].ln().view()), [0, 1]);
    }

    #[test]
    fn sure_rows_are_told_apart_where_p_rounds_to_one() {
        let scores = [-50., -60.].map(|l| nonconformity(array![0., l].view(), 0));
        assert_eq!(scores, [-50., -60.]);
        assert_eq!(nonconformity(array![0., f64::NEG_INFINITY].view(), 0), f64::NEG_INFINITY);
    }

    #[test]
    fn coverage_of_three_sets() {
        let sets = array![[true, false], [true, true], [false, false]];
        let found = coverage(&sets, &[0, 1, 1]);
        assert_eq!((found.coverage, found.mean_size), (2. / 3., 1.));
        assert_eq!((found.empty, found.single), (1. / 3., 1. / 3.));
    }

    /// Over many draws of 99 calibration rows the mean coverage is 1 - alpha to 1 / (n + 1), though the model is wrong
    /// about its probabilities. The mean of 200 draws of 200 rows has a standard error of about 0.25%.
    #[test]
    fn coverage_holds_for_a_miscalibrated_model() {
        let mut rng = crate::rng(5);
        let mut draw = |n: usize| {
            let y: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
            let logits = Array2::from_shape_fn((n, 3), |(row, k)| {
                8. * (f64::from(u8::from(y[row] == k)) + rng.random_range(-0.8..0.8))
            });
            (crate::metrics::log_softmax(logits.view()), y)
        };
        let mean = (0..200)
            .map(|_| {
                let (calibration, y) = draw(99);
                let fitted = Conformal::fit(calibration.view(), &y, 0.1);
                let (new, y) = draw(200);
                coverage(&fitted.sets(new.view()), &y).coverage
            })
            .sum::<f64>()
            / 200.;
        assert!((mean - 0.9).abs() < 0.01, "{mean}");
    }
}
