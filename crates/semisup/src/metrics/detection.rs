//! Out-of-distribution detection: how well a score separates out-of-distribution rows from in-distribution rows.
//!
//! The score is high for out-of-distribution rows, which are the positives. AUROC is the probability that an
//! out-of-distribution row scores higher than an in-distribution row, ties counting half; AUPR is the average precision;
//! FPR at 95% TPR is the share of in-distribution rows rejected when 95% of out-of-distribution rows are detected.

use serde::Serialize;

/// How well a score detects out-of-distribution rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// Area under the ROC curve.
    pub auroc: f64,
    /// Average precision.
    pub aupr: f64,
    /// FPR at 95% TPR: the share of in-distribution rows rejected when 95% of out-of-distribution rows are detected.
    pub fpr95: f64,
}

/// The TPR of `fpr95`.
const TPR: f64 = 0.95;

impl Detection {
    /// Compares the scores of in-distribution and out-of-distribution rows. NaN if there are none of a kind. A row that
    /// could not be scored, whose score is NaN, counts as scored highest.
    pub fn of(in_distribution: &[f64], out_of_distribution: &[f64]) -> Self {
        let (n, m) = (in_distribution.len() as f64, out_of_distribution.len() as f64);
        if in_distribution.is_empty() || out_of_distribution.is_empty() {
            return Self { auroc: f64::NAN, aupr: f64::NAN, fpr95: f64::NAN };
        }
        let highest = |score: &f64| if score.is_nan() { f64::INFINITY } else { *score };
        let mut all: Vec<(f64, bool)> = in_distribution.iter().map(|score| (highest(score), false)).collect();
        all.extend(out_of_distribution.iter().map(|score| (highest(score), true)));
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found = Self { auroc: 0., aupr: 0., fpr95: 1. };
        let (mut detected, mut rejected) = (0., 0.); // true and false positives so far
        for tied in all.chunk_by(|a, b| a.0 == b.0) {
            let out = tied.iter().filter(|row| row.1).count() as f64;
            let within = tied.len() as f64 - out;
            // Out-of-distribution rows above these rows count in full, those tied with them half.
            found.auroc += within * (detected + 0.5 * out);
            (detected, rejected) = (detected + out, rejected + within);
            found.aupr += out / m * detected / (detected + rejected);
            if detected >= TPR * m {
                found.fpr95 = found.fpr95.min(rejected / n);
            }
        }
        found.auroc /= n * m;
        found.aupr = found.aupr.min(1.); // rounding of the sum
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with scikit-learn 1.9.1: `roc_auc_score`, `average_precision_score`, and from `roc_curve` the first fpr whose
    /// tpr >= 0.95, for these scores.
    #[test]
    fn as_scikit_learn_says() {
        let within = [0.1, 0.4, 0.35, 0.8, 0.2, 0.4];
        let out = [0.9, 0.4, 0.75, 0.3];
        let found = Detection::of(&within, &out);
        assert!((found.auroc - SKLEARN[0]).abs() < 1e-12, "{found:?}");
        assert!((found.aupr - SKLEARN[1]).abs() < 1e-12, "{found:?}");
        assert!((found.fpr95 - SKLEARN[2]).abs() < 1e-12, "{found:?}");
    }
    const SKLEARN: [f64; 3] = [0.7083333333333334, 0.6666666666666666, 0.6666666666666666];

    #[test]
    fn perfect_reversed_and_blind_scores() {
        let found = Detection::of(&[1., 2.], &[3., 4.]);
        assert_eq!(found, Detection { auroc: 1., aupr: 1., fpr95: 0. });
        assert_eq!(Detection::of(&[3., 4.], &[1., 2.]).auroc, 0.);
        assert_eq!(Detection::of(&[3., 4.], &[1., 2.]).fpr95, 1.);
        assert_eq!(Detection::of(&[1.; 3], &[1.; 3]), Detection { auroc: 0.5, aupr: 0.5, fpr95: 1. });
    }

    #[test]
    fn what_cannot_be_scored_counts_as_out_of_distribution() {
        assert_eq!(Detection::of(&[1., 2.], &[f64::NAN, 4.]).auroc, 1.);
        assert!(Detection::of(&[], &[1.]).auroc.is_nan());
    }
}
