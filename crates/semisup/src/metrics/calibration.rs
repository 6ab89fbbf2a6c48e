//! Calibration errors: how far probabilities are from the frequencies they predict.
//!
//! Over bins B of the confidence max_k p_k: ECE = sum_B |B|/n |accuracy(B) - confidence(B)| and MCE = max_B |accuracy(B) -
//! confidence(B)|. Equal-width bins hold nearly all rows of a confident model in one of them, equal-mass bins hold n /
//! bins rows each. Both look at the predicted class alone; the classwise ECE (Nixon et al. 2019) averages over classes k
//! the ECE of p_k as the probability of [y = k].

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::Serialize;

use super::{Bin, arg_max, brier, nll};

/// Numbers of bins of [`CalibrationErrors`]: the ECE depends on them, so that several are reported.
pub const BIN_COUNTS: [usize; 3] = [10, 15, 20];

/// How bins of confidence are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binning {
    /// (0, 1/b], (1/b, 2/b], ...
    EqualWidth,
    /// The same number of rows in each, up to one.
    EqualMass,
}

/// ECE over one number of bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BinnedEce {
    /// Number of bins.
    pub bins: usize,
    /// Over bins of equal width.
    pub equal_width: f64,
    /// Over bins of equal mass.
    pub equal_mass: f64,
}

/// All calibration errors of one set of predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationErrors {
    /// Number of rows.
    pub n: usize,
    /// Mean negative log probability of the true class.
    pub nll: f64,
    /// Brier score, from 0 to 2.
    pub brier: f64,
    /// ECE over each of [`BIN_COUNTS`].
    pub ece: Vec<BinnedEce>,
    /// Mean ECE of the classes' own probabilities, 15 equal-width bins.
    pub classwise_ece: f64,
    /// MCE over 15 equal-mass bins: with equal-width bins it would be that of a bin with a row or two.
    pub mce: f64,
}

impl CalibrationErrors {
    /// Measures log p(y = k | x), `[n, n_classes]`, against the true classes.
    pub fn of(log_probs: ArrayView2<f64>, y: &[usize]) -> Self {
        let probs = log_probs.exp();
        let (confidence, right) = confidences(probs.view(), y);
        let gap = |binning, bins| expected_gap(&binned(&confidence, &right, binning, bins));
        let ece = BIN_COUNTS.map(|bins| BinnedEce {
            bins,
            equal_width: gap(Binning::EqualWidth, bins),
            equal_mass: gap(Binning::EqualMass, bins),
        });
        Self {
            n: y.len(),
            nll: nll(log_probs, y),
            brier: brier(probs.view(), y),
            ece: ece.to_vec(),
            classwise_ece: classwise_ece(probs.view(), y, super::ECE_BINS),
            mce: largest_gap(&binned(&confidence, &right, Binning::EqualMass, super::ECE_BINS)),
        }
    }
}

/// The confidence max_k p_k of each row, and whether its prediction is correct.
pub fn confidences(probs: ArrayView2<f64>, y: &[usize]) -> (Vec<f64>, Vec<bool>) {
    assert_eq!(probs.nrows(), y.len(), "one row per label");
    let predicted = arg_max(probs);
    let confidence = predicted.iter().enumerate().map(|(row, &k)| probs[[row, k]]).collect();
    (confidence, predicted.iter().zip(y).map(|(k, y)| k == y).collect())
}

/// A reliability diagram of any probabilities against their outcomes. There are fewer bins of equal mass than `bins` if
/// there are fewer rows.
pub fn binned(confidence: &[f64], right: &[bool], binning: Binning, bins: usize) -> Vec<Bin> {
    assert_eq!(confidence.len(), right.len(), "one outcome for each probability");
    assert!(bins > 0, "at least one bin");
    match binning {
        Binning::EqualWidth => equal_width(confidence, right, bins),
        Binning::EqualMass => equal_mass(confidence, right, bins),
    }
}

fn equal_width(confidence: &[f64], right: &[bool], bins: usize) -> Vec<Bin> {
    let edge = |i: usize| i as f64 / bins as f64;
    let mut diagram: Vec<Bin> =
        (0..bins).map(|i| Bin { lo: edge(i), hi: edge(i + 1), n: 0, confidence: 0., accuracy: 0. }).collect();
    for (&confidence, &right) in confidence.iter().zip(right) {
        // A confidence of 1 plus rounding belongs to the last bin.
        let place = diagram.partition_point(|bin| bin.hi < confidence).min(bins - 1);
        let bin = &mut diagram[place];
        bin.n += 1;
        bin.confidence += confidence;
        bin.accuracy += f64::from(u8::from(right));
    }
    for bin in diagram.iter_mut().filter(|bin| bin.n > 0) {
        bin.confidence /= bin.n as f64;
        bin.accuracy /= bin.n as f64;
    }
    diagram
}

fn equal_mass(confidence: &[f64], right: &[bool], bins: usize) -> Vec<Bin> {
    let n = confidence.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| confidence[a].total_cmp(&confidence[b]).then(a.cmp(&b)));
    let mut lo = 0.;
    let mut diagram = Vec::with_capacity(bins);
    for i in 0..bins {
        let rows = &order[i * n / bins..(i + 1) * n / bins];
        let Some(&last) = rows.last() else { continue };
        let mean =
            |of: &dyn Fn(usize) -> f64| rows.iter().map(|&row| of(row)).sum::<f64>() / rows.len() as f64;
        let hi = confidence[last];
        diagram.push(Bin {
            lo,
            hi,
            n: rows.len(),
            confidence: mean(&|row| confidence[row]),
            accuracy: mean(&|row| f64::from(u8::from(right[row]))),
        });
        lo = hi;
    }
    diagram
}

/// Mean gap between accuracy and confidence, bins weighted by their rows: the ECE. NaN without rows.
pub fn expected_gap(bins: &[Bin]) -> f64 {
    let n: usize = bins.iter().map(|bin| bin.n).sum();
    bins.iter().map(|bin| bin.n as f64 * (bin.accuracy - bin.confidence).abs()).sum::<f64>() / n as f64
}

/// Largest gap of a bin with rows: the MCE. 0 without rows.
pub fn largest_gap(bins: &[Bin]) -> f64 {
    let gaps = bins.iter().filter(|bin| bin.n > 0).map(|bin| (bin.accuracy - bin.confidence).abs());
    gaps.fold(0., f64::max)
}

/// Mean over classes k of the ECE of p_k as the probability of [y = k], over equal-width bins.
pub fn classwise_ece(probs: ArrayView2<f64>, y: &[usize], bins: usize) -> f64 {
    assert_eq!(probs.nrows(), y.len(), "one row per label");
    let of_class = |k: usize| {
        let is_k: Vec<bool> = y.iter().map(|&y| y == k).collect();
        expected_gap(&binned(&probs.column(k).to_vec(), &is_k, Binning::EqualWidth, bins))
    };
    (0..probs.ncols()).map(of_class).sum::<f64>() / probs.ncols() as f64
}

/// log softmax(logits / t + bias), `[n, n_classes]`: predictions that are more (t < 1) or less (t > 1) confident. The biases,
/// logarithms of class priors, are not scaled by the temperature.
pub fn at_temperature(logits: ArrayView2<f64>, bias: &[f64], t: f64) -> Array2<f64> {
    assert_eq!(logits.ncols(), bias.len(), "one bias per class");
    super::log_softmax((&logits / t + ArrayView1::from(bias)).view())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::metrics::{ece, reliability};

    fn probs() -> Array2<f64> {
        array![[0.9, 0.1], [0.8, 0.2], [0.35, 0.65], [0.45, 0.55], [0.7, 0.3], [0.05, 0.95]]
    }
    const Y: [usize; 6] = [0, 1, 1, 0, 0, 1];

    /// Sorted confidences .55 .65 .7 | .8 .9 .95 with outcomes 0 1 1 | 0 1 1: gaps |2/3 - 1.9/3| and |2/3 - 2.65/3|.
    #[test]
    fn equal_mass_by_hand() {
        let (confidence, right) = confidences(probs().view(), &Y);
        let bins = binned(&confidence, &right, Binning::EqualMass, 2);
        assert_eq!(bins.iter().map(|bin| bin.n).collect::<Vec<_>>(), [3, 3]);
        assert_eq!((bins[0].lo, bins[0].hi, bins[1].lo, bins[1].hi), (0., 0.7, 0.7, 0.95));
        let (first, second) = ((2. / 3. - 1.9_f64 / 3.).abs(), (2. / 3. - 2.65_f64 / 3.).abs());
        assert!((expected_gap(&bins) - (first + second) / 2.).abs() < 1e-15);
        assert!((largest_gap(&bins) - second).abs() < 1e-15);
    }

    #[test]
    fn more_bins_of_equal_mass_than_rows_are_left_out() {
        let bins = binned(&[0.5, 0.9], &[true, false], Binning::EqualMass, 5);
        assert_eq!(bins.iter().map(|bin| bin.n).sum::<usize>(), 2);
        assert!(bins.iter().all(|bin| bin.n == 1));
        assert!(expected_gap(&binned(&[], &[], Binning::EqualMass, 5)).is_nan());
    }

    #[test]
    fn equal_width_is_the_reliability_diagram() {
        let (confidence, right) = confidences(probs().view(), &Y);
        let bins = binned(&confidence, &right, Binning::EqualWidth, 7);
        assert_eq!(bins, reliability(probs().view(), &Y, 7));
        assert_eq!(expected_gap(&bins), ece(probs().view(), &Y, 7));
    }

    /// Two equal-width bins; class 0: p in (0, .5] are .35 .45 .05 with one true, in (.5, 1] are .9 .8 .7 with two
    /// true: (|1/3 - .85/3| + |2/3 - 2.4/3|) / 2. Class 1 mirrors it with the same gaps.
    #[test]
    fn classwise_by_hand() {
        let gap = ((1. - 0.85_f64).abs() / 3. + (2. - 2.4_f64).abs() / 3.) / 2.;
        assert!((classwise_ece(probs().view(), &Y, 2) - gap).abs() < 1e-15);
    }

    #[test]
    fn all_measures_of_one_set() {
        let log_probs = probs().ln();
        let all = CalibrationErrors::of(log_probs.view(), &Y);
        assert_eq!((all.n, all.ece.len()), (6, 3));
        assert_eq!(all.nll, nll(log_probs.view(), &Y));
        for found in &all.ece {
            let by_width = ece(log_probs.exp().view(), &Y, found.bins);
            assert!((found.equal_width - by_width).abs() < 1e-12);
            assert!(found.equal_mass >= 0. && found.equal_mass <= all.mce + 0.5);
        }
    }

    /// T divides differences of logits, and not those of priors.
    #[test]
    fn temperature_divides_differences() {
        let (logits, bias) = (probs().ln(), [0.25_f64.ln(), 0.75_f64.ln()]);
        let warm = at_temperature(logits.view(), &bias, 2.);
        for (warm, cold) in warm.rows().into_iter().zip(logits.rows()) {
            let odds = (cold[0] - cold[1]) / 2. - 3_f64.ln();
            assert!((warm[0] - warm[1] - odds).abs() < 1e-12);
            assert!((warm.exp().sum() - 1.).abs() < 1e-12);
        }
    }
}
