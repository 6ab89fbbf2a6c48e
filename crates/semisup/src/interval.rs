//! 95 % confidence intervals of a proportion and of the difference of two paired proportions.
//!
//! Both are score intervals, the true values that a score test does not reject: they have positive width even if all of
//! ten rows are correct, or if two classifiers agree on all of ten rows.

use serde::Serialize;

/// The normal quantile of 95 % two-sided confidence.
const Z: f64 = 1.959_963_984_540_054;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half its length.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// Wilson's interval of a share: `share` of `n` independent trials succeeded. All of 0..1 for no trials.
pub fn share_interval(share: f64, n: usize) -> Interval {
    if n == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, z2) = (n as f64, Z * Z);
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Interval { low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

/// Tango's interval (Statistics in Medicine, 1998) of the difference of two accuracies on the same `n` rows, of which
/// `first` were right by the first classifier only and `second` by the second only: difference = (first - second) / n.
/// It inverts McNemar's test. Counts may be fractions, where a row is the mean of several tries.
///
/// ```
/// let equal = semisup::difference_interval(0.0, 0.0, 10);
/// assert!(equal.low < -0.25 && equal.high > 0.25); // ten rows without a difference prove little
/// ```
pub fn difference_interval(first: f64, second: f64, n: usize) -> Interval {
    if n == 0 {
        return Interval { low: -1.0, high: 1.0 };
    }
    let seen = (first - second) / n as f64;
    // The score falls as the difference grows: it is 0 at the difference seen, Z and -Z at the ends.
    let bisect = |mut low: f64, mut high: f64, wanted: f64| {
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if score(middle, first, second, n as f64) > wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    };
    Interval { low: bisect(-1.0, seen, Z), high: bisect(seen, 1.0, -Z) }
}

/// Tango's score of a supposed difference: its distance from the one seen in standard errors under the supposition.
fn score(difference: f64, first: f64, second: f64, n: f64) -> f64 {
    let a = 2.0 * n;
    let b = -first - second + (2.0 * n - first + second) * difference;
    let c = -second * difference * (1.0 - difference);
    let q = ((b * b - 4.0 * a * c).max(0.0).sqrt() - b) / (2.0 * a); // P(second only), at its most likely
    let variance = n * (2.0 * q + difference * (1.0 - difference));
    (first - second - n * difference) / variance.max(1e-12).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    fn close(interval: Interval, low: f64, high: f64, tolerance: f64) {
        let near = |a: f64, b: f64| (a - b).abs() < tolerance;
        assert!(near(interval.low, low) && near(interval.high, high), "{interval:?}, not {low} to {high}");
    }

    /// Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81 of 263, 15 of 148, 0 of 20.
    #[test]
    fn shares_agree_with_newcombes_table() {
        close(share_interval(81.0 / 263.0, 263), 0.2553, 0.3662, 5e-5);
        close(share_interval(15.0 / 148.0, 148), 0.0624, 0.1605, 5e-5);
        close(share_interval(0.0, 20), 0.0, 0.1611, 5e-5);
        assert_eq!(share_interval(f64::NAN, 0), Interval { low: 0.0, high: 1.0 });
    }

    /// Equal and no disagreement at all: the closed form is z^2 / (n + z^2).
    #[test]
    fn no_disagreement_is_not_certainty() {
        for n in [1, 10, 100] {
            let end = Z * Z / (n as f64 + Z * Z);
            close(difference_interval(0.0, 0.0, n), -end, end, 1e-9);
        }
        assert_eq!(difference_interval(0.0, 0.0, 0), Interval { low: -1.0, high: 1.0 });
    }

    #[test]
    fn the_ends_are_where_the_score_is_the_quantile_and_it_is_antisymmetric() {
        let Interval { low, high } = difference_interval(12.0, 3.0, 80);
        assert!(
            (score(low, 12.0, 3.0, 80.0) - Z).abs() < 1e-6 && (score(high, 12.0, 3.0, 80.0) + Z).abs() < 1e-6
        );
        close(difference_interval(3.0, 12.0, 80), -high, -low, 1e-9);
        assert!(low > 0.0 && high < 1.0, "12 against 3 of 80 is a difference by McNemar's test");
        assert!(difference_interval(80.0, 0.0, 80).high > 0.999);
    }

    /// In 2,000 simulated studies of 40 rows the truth is in the interval about 95 times in a hundred.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut rng = crate::rng(5);
        let (first, second, n) = (0.25, 0.1, 40);
        let covered = (0..2000)
            .filter(|_| {
                let (mut a, mut b) = (0.0, 0.0);
                for _ in 0..n {
                    let u: f64 = rng.random();
                    a += f64::from(u < first);
                    b += f64::from(u >= first && u < first + second);
                }
                difference_interval(a, b, n).contains(first - second)
            })
            .count();
        assert!((1860..=1940).contains(&covered), "{covered} of 2000"); // 95 % is 1900, +- four standard errors
    }
}
