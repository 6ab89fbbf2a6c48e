//! How well a score tells rows of another domain from rows of ours.
//!
//! The score is high for strangers. AUROC is the probability that a stranger scores higher than a row of ours, ties
//! counting half; AUPR the mean precision over the strangers found (average precision, strangers positive); FPR95 the
//! share of our rows that are taken for strangers where 95% of the strangers are found.

use serde::Serialize;

/// How well a score detects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// Area under the ROC curve.
    pub auroc: f64,
    /// Average precision.
    pub aupr: f64,
    /// False positives where 95% of the strangers are found.
    pub fpr95: f64,
}

/// Share of strangers that FPR95 asks for.
const FOUND: f64 = 0.95;

impl Detection {
    /// Compares scores of our rows with those of strangers. NaN if there are none of a kind. A score of NaN is that of a
    /// row so strange that it could not be scored: the highest.
    pub fn of(ours: &[f64], strangers: &[f64]) -> Self {
        let (n, m) = (ours.len() as f64, strangers.len() as f64);
        if ours.is_empty() || strangers.is_empty() {
            return Self { auroc: f64::NAN, aupr: f64::NAN, fpr95: f64::NAN };
        }
        let highest = |score: &f64| if score.is_nan() { f64::INFINITY } else { *score };
        let mut all: Vec<(f64, bool)> = ours.iter().map(|score| (highest(score), false)).collect();
        all.extend(strangers.iter().map(|score| (highest(score), true)));
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found = Self { auroc: 0., aupr: 0., fpr95: 1. };
        let (mut hits, mut alarms) = (0., 0.);
        for tied in all.chunk_by(|a, b| a.0 == b.0) {
            let strange = tied.iter().filter(|row| row.1).count() as f64;
            let own = tied.len() as f64 - strange;
            // Strangers above these rows win against them, those beside them half.
            found.auroc += own * (hits + 0.5 * strange);
            (hits, alarms) = (hits + strange, alarms + own);
            found.aupr += strange / m * hits / (hits + alarms);
            if hits >= FOUND * m {
                found.fpr95 = found.fpr95.min(alarms / n);
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
        let ours = [0.1, 0.4, 0.35, 0.8, 0.2, 0.4];
        let strangers = [0.9, 0.4, 0.75, 0.3];
        let found = Detection::of(&ours, &strangers);
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
    fn what_cannot_be_scored_is_strange() {
        assert_eq!(Detection::of(&[1., 2.], &[f64::NAN, 4.]).auroc, 1.);
        assert!(Detection::of(&[], &[1.]).auroc.is_nan());
    }
}
