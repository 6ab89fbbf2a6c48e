//! How good predictions are, and how well calibrated their probabilities.
//!
//! From log p(y = k | x), `[n, n_classes]`, and the true classes y, `[n]`: nll = -mean log p(y | x); Brier =
//! mean sum_k (p_k - [y = k])^2; and over equal-width bins B of the confidence max_k p_k, ECE = sum_B |B|/n
//! |accuracy(B) - confidence(B)|. All are NaN for n = 0.

use ndarray::{Array2, ArrayView1, ArrayView2, Zip};
use serde::Serialize;

mod calibration;
mod conformal;
mod detection;
mod prior;
mod selective;
mod temperature;

pub use calibration::{
    BIN_COUNTS, BinnedEce, Binning, CalibrationErrors, at_temperature, binned, classwise_ece, confidences,
    expected_gap, largest_gap,
};
pub use conformal::{Conformal, Coverage, coverage};
pub use detection::Detection;
pub use prior::class_shares;
pub use selective::RiskCoverage;
pub use temperature::{
    PRIOR_ROWS, TEMPERATURE_RANGE, fit_temperature, fit_temperature_near, fit_temperature_with,
};

/// Number of bins of the ECE in [`Scores`], as in Guo et al. (2017).
pub const ECE_BINS: usize = 15;

/// All metrics of one set of predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Number of rows.
    pub n: usize,
    /// Share of rows whose most probable class is the true one.
    pub accuracy: f64,
    /// Mean recall of the classes that are present.
    pub balanced_accuracy: f64,
    /// Mean F1 of the classes that are present or predicted.
    pub macro_f1: f64,
    /// Mean negative log probability of the true class, in nats.
    pub nll: f64,
    /// Brier score, from 0 (perfect) to 2.
    pub brier: f64,
    /// Expected calibration error over [`ECE_BINS`] bins.
    pub ece: f64,
    /// Number of rows by true class (outer) and predicted class (inner).
    pub confusion: Vec<Vec<usize>>,
}

impl Scores {
    /// Scores log p(y = k | x), `[n, n_classes]`, against the true classes.
    pub fn from_log_probs(log_probs: &Array2<f64>, y: &[usize]) -> Self {
        let predicted = arg_max(log_probs.view());
        let probs = log_probs.exp();
        let confusion = confusion(&predicted, y, log_probs.ncols());
        Self {
            n: y.len(),
            accuracy: accuracy(&predicted, y),
            balanced_accuracy: balanced_accuracy(&confusion),
            macro_f1: macro_f1(&confusion),
            nll: nll(log_probs.view(), y),
            brier: brier(probs.view(), y),
            ece: ece(probs.view(), y, ECE_BINS),
            confusion: confusion.rows().into_iter().map(|row| row.to_vec()).collect(),
        }
    }
}

/// Mean F1 = 2 correct / (true + predicted) of the classes that are present or predicted.
pub fn macro_f1(confusion: &Array2<usize>) -> f64 {
    let scores: Vec<f64> = (0..confusion.nrows())
        .filter_map(|k| {
            let both = confusion.row(k).sum() + confusion.column(k).sum();
            (both > 0).then(|| 2.0 * confusion[[k, k]] as f64 / both as f64)
        })
        .collect();
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}

/// Share of rows predicted correctly.
pub fn accuracy(predicted: &[usize], y: &[usize]) -> f64 {
    assert_eq!(predicted.len(), y.len(), "one prediction per label");
    predicted.iter().zip(y).filter(|(p, y)| p == y).count() as f64 / y.len() as f64
}

/// Number of rows by true class (row) and predicted class (column), `[n_classes, n_classes]`.
pub fn confusion(predicted: &[usize], y: &[usize], n_classes: usize) -> Array2<usize> {
    assert_eq!(predicted.len(), y.len(), "one prediction per label");
    let mut counts = Array2::zeros((n_classes, n_classes));
    for (&predicted, &y) in predicted.iter().zip(y) {
        counts[[y, predicted]] += 1;
    }
    counts
}

/// Mean recall of the classes that are present, from a confusion matrix.
pub fn balanced_accuracy(confusion: &Array2<usize>) -> f64 {
    let present = confusion.rows().into_iter().enumerate().filter(|(_, row)| row.sum() > 0);
    let recalls: Vec<f64> = present.map(|(k, row)| row[k] as f64 / row.sum() as f64).collect();
    recalls.iter().sum::<f64>() / recalls.len() as f64
}

/// Mean negative log probability of the true class.
pub fn nll(log_probs: ArrayView2<f64>, y: &[usize]) -> f64 {
    assert_eq!(log_probs.nrows(), y.len(), "one row per label");
    -y.iter().enumerate().map(|(row, &y)| log_probs[[row, y]]).sum::<f64>() / y.len() as f64
}

/// Mean squared distance of the probabilities to the one-hot truth.
pub fn brier(probs: ArrayView2<f64>, y: &[usize]) -> f64 {
    assert_eq!(probs.nrows(), y.len(), "one row per label");
    let row = |(p, &y): (ArrayView1<f64>, &usize)| {
        p.iter().enumerate().map(|(k, p)| (p - f64::from(u8::from(k == y))).powi(2)).sum::<f64>()
    };
    probs.rows().into_iter().zip(y).map(row).sum::<f64>() / y.len() as f64
}

/// Rows whose confidence lies in (lo, hi].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Lower end, excluded.
    pub lo: f64,
    /// Upper end, included.
    pub hi: f64,
    /// Number of rows.
    pub n: usize,
    /// Mean probability of the predicted class; 0 in an empty bin.
    pub confidence: f64,
    /// Share predicted correctly; 0 in an empty bin.
    pub accuracy: f64,
}

/// The reliability diagram: `bins` equal-width bins of the confidence max_k p_k.
pub fn reliability(probs: ArrayView2<f64>, y: &[usize], bins: usize) -> Vec<Bin> {
    let (confidence, right) = confidences(probs, y);
    binned(&confidence, &right, Binning::EqualWidth, bins)
}

/// Expected calibration error over `bins` equal-width bins.
pub fn ece(probs: ArrayView2<f64>, y: &[usize], bins: usize) -> f64 {
    expected_gap(&reliability(probs, y, bins))
}

/// The column of the largest entry of each row, the first of equals; NaN never wins.
pub fn arg_max(scores: ArrayView2<f64>) -> Vec<usize> {
    let row = |row: ArrayView1<f64>| {
        let best =
            |best: (usize, f64), (k, &score): (usize, &f64)| if score > best.1 { (k, score) } else { best };
        row.iter().enumerate().fold((0, f64::NEG_INFINITY), best).0
    };
    scores.rows().into_iter().map(row).collect()
}

/// The correlation ratio of each column, the share of its variance that lies between classes, `[dim]`: 0 if the classes
/// have the same mean, 1 if each class has one value. A constant column has 0.
pub fn separation(x: ArrayView2<f64>, y: &[usize], n_classes: usize) -> Vec<f64> {
    assert_eq!(x.nrows(), y.len(), "one class per row");
    let of_column = |column: ArrayView1<f64>| {
        let mean = column.sum() / y.len() as f64;
        let mut sums = vec![(0., 0.); n_classes];
        column.iter().zip(y).for_each(|(v, &k)| sums[k] = (sums[k].0 + v - mean, sums[k].1 + 1.));
        let between: f64 = sums.iter().filter(|(_, n)| *n > 0.).map(|(sum, n)| sum * sum / n).sum();
        let total: f64 = column.iter().map(|v| (v - mean).powi(2)).sum();
        if total > 0. { between / total } else { 0. }
    };
    x.columns().into_iter().map(of_column).collect()
}

/// log softmax of each row: the log probabilities that belong to logits, `[n, n_classes]`.
pub fn log_softmax(logits: ArrayView2<f64>) -> Array2<f64> {
    let mut log_probs = logits.to_owned();
    Zip::from(log_probs.rows_mut()).for_each(|mut row| {
        let (max, log_sum) = max_and_log_sum(row.iter().copied());
        row.mapv_inplace(|l| (l - max) - log_sum); // in this order no digit of log_sum is lost
    });
    log_probs
}

/// log sum_k e^{v_k}, shifted by the largest value so that nothing overflows. Minus infinity for an empty row and for a
/// row of minus infinities.
///
/// ```
/// use semisup::{metrics::log_sum_exp, ndarray::array};
///
/// assert_eq!(log_sum_exp(array![1000., 1000.].view()), 1000. + 2_f64.ln());
/// assert_eq!(log_sum_exp(array![f64::NEG_INFINITY, 3.].view()), 3.);
/// assert_eq!(log_sum_exp(array![f64::NEG_INFINITY].view()), f64::NEG_INFINITY);
/// ```
pub fn log_sum_exp(row: ArrayView1<f64>) -> f64 {
    log_sum_exp_of(row.iter().copied())
}

/// [`log_sum_exp`] of values that are not stored as a row.
fn log_sum_exp_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (max, log_sum) = max_and_log_sum(values);
    if max == f64::NEG_INFINITY { max } else { max + log_sum }
}

/// The largest value, and log sum_k e^{v_k - max}.
fn max_and_log_sum(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let max = values.clone().fold(f64::NEG_INFINITY, f64::max);
    (max, values.map(|value| (value - max).exp()).sum::<f64>().ln())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::Rng as _;

    use super::*;

    #[test]
    fn scores_of_four_rows_by_hand() {
        let probs = array![[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1]];
        let scores = Scores::from_log_probs(&probs.ln(), &[0, 1, 1, 0]);
        assert_eq!((scores.n, scores.accuracy), (4, 0.75));
        assert_eq!(scores.confusion, [[2, 0], [1, 1]]);
        assert_eq!(scores.balanced_accuracy, (1. + 0.5) / 2.);
        let f1 = |k: usize| {
            let predicted: usize = scores.confusion.iter().map(|row| row[k]).sum();
            let (right, truly) = (scores.confusion[k][k] as f64, scores.confusion[k].iter().sum::<usize>());
            2. * right / (truly + predicted) as f64
        };
        assert!((scores.macro_f1 - (f1(0) + f1(1)) / 2.).abs() < 1e-12);
        let nll = -(0.8_f64.ln() + 0.4_f64.ln() + 0.7_f64.ln() + 0.9_f64.ln()) / 4.;
        assert!((scores.nll - nll).abs() < 1e-15);
        assert!((scores.brier - 2. * (0.04 + 0.36 + 0.09 + 0.01) / 4.).abs() < 1e-15);
        assert!((scores.ece - (0.2 + 0.6 + 0.3 + 0.1) / 4.).abs() < 1e-15, "each row in a bin of its own");
    }

    #[test]
    fn a_class_without_rows_does_not_count() {
        let confusion = confusion(&[0, 0, 2], &[0, 1, 0], 3);
        assert_eq!(confusion, array![[1, 0, 1], [1, 0, 0], [0, 0, 0]]);
        assert_eq!(balanced_accuracy(&confusion), 0.25);
    }

    #[test]
    fn a_bin_contains_its_upper_end_only() {
        let probs = array![[0.5, 0.5], [0.75, 0.25], [0.0, 1.0], [0.2, 1.0 + 1e-12]];
        let bins = reliability(probs.view(), &[0, 1, 1, 1], 4);
        assert_eq!(bins.iter().map(|bin| bin.n).collect::<Vec<_>>(), [0, 1, 1, 2]);
        assert_eq!((bins[1].accuracy, bins[1].confidence), (1., 0.5));
        assert_eq!((bins[2].lo, bins[2].hi, bins[2].accuracy), (0.5, 0.75, 0.));
    }

    #[test]
    fn ties_and_nan_in_arg_max() {
        let scores = array![[1., 1., 0.], [f64::NAN, -2., -1.], [f64::NEG_INFINITY, -5., -5.]];
        assert_eq!(arg_max(scores.view()), [0, 2, 1]);
    }

    #[test]
    fn separation_is_the_correlation_ratio() {
        let x = array![[1., 1., 7.], [1., 2., 7.], [5., 1., 7.], [5., 2., 7.]];
        assert_eq!(separation(x.view(), &[0, 0, 2, 2], 3), [1., 0., 0.]);
    }

    /// The bits of the textbook idiom, sums in order; -inf - -inf would be NaN.
    #[test]
    fn log_sum_exp_is_the_shifted_sum() {
        let mut rng = crate::rng(4);
        for n in 1..20 {
            let row = ndarray::Array1::from_shape_simple_fn(n, || rng.random_range(-40. ..40.));
            let max = row.fold(f64::NEG_INFINITY, |max, &v| max.max(v));
            let expected: f64 = max + row.iter().fold(0., |sum, v| sum + (v - max).exp()).ln();
            assert_eq!(log_sum_exp(row.view()).to_bits(), expected.to_bits());
        }
        assert_eq!(log_sum_exp(array![].view()), f64::NEG_INFINITY);
        assert!(log_sum_exp(array![f64::NAN, 0.].view()).is_nan());
    }

    #[test]
    fn log_softmax_survives_huge_logits() {
        let log_probs = log_softmax(array![[1e5, 0.], [-1e5, -1e5]].view());
        assert_eq!(log_probs, array![[0., -1e5], [-(2_f64.ln()), -(2_f64.ln())]]);
    }
}
