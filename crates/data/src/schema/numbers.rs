//! Statistics of the numbers in a column: resolution, discreteness, skewness, tails.
//!
//! skewness = m3 / m2^(3/2) with central moments m_k. Tails are heavy if the middle 99% is more than six times as wide
//! as the middle half: 3.8 for a Gaussian, 6.6 for a Laplace, 7.6 for a Student t with three degrees of freedom.

use serde::{Deserialize, Serialize};

use super::{grid, snap::snap};

/// Statistics of the finite numbers of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberFacts {
    /// Number of distinct values.
    pub distinct: usize,
    /// Whether all are whole numbers.
    pub integer: bool,
    /// Whether there are at most two values, or few that repeat.
    pub discrete: bool,
    /// The largest s whose multiples, written as decimals or fractions, are exactly these values.
    pub grid: Option<f64>,
    /// The smallest difference of distinct values, if it is so coarse that values repeat and a density has to account for
    /// it: the largest s of which all are multiples up to rounding and an offset, or the smallest gap between few values.
    pub step: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The median.
    pub median: f64,
    /// The most frequent value.
    pub common: f64,
    /// The share of the most frequent value among the cells that are not missing.
    pub common_share: f64,
    /// The third standardised moment.
    pub skewness: f64,
    /// Whether the tails are heavy.
    pub heavy_tailed: bool,
}

/// A range of more steps than this counts as continuous.
const FINEST: f64 = 1e5;
/// The largest number of values that count as few, if each occurs in five rows on average.
const FEW: usize = 20;
/// A value in more than a tenth of all rows, among values that otherwise vary continuously, is an atom.
const ATOM: f64 = 0.1;

impl NumberFacts {
    /// The statistics of at least one finite number.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.iter_mut().for_each(|value| *value += 0.); // -0 is 0
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let (min, max) = (values[0], values[n - 1]);
        let runs: Vec<&[f64]> = values.chunk_by(|a, b| a == b).collect();
        // Of equally frequent values the smallest, so that the order of rows does not matter.
        let common = runs.iter().rev().max_by_key(|run| run.len()).expect("at least one value");
        let distinct: Vec<f64> = runs.iter().map(|run| run[0]).collect();
        let integer = distinct.iter().all(|value| value.fract() == 0.);
        let discrete = distinct.len() <= 2 || distinct.len() <= FEW && 5 * distinct.len() <= n;
        let multiples = grid::of(&distinct, FINEST);
        let exact = |step: &f64| distinct.iter().all(|&value| snap(value, Some(*step)) == value);
        // The most frequent value does not count: it may be an atom of an otherwise continuous column.
        let repeating = discrete || 2 * (distinct.len() - 1) <= n - common.len();
        let coarse = multiples.filter(|step| repeating && (max - min) / step <= FINEST);
        let coarse = coarse.map(|step| grid::between(&distinct, step));
        let gap = || discrete.then(|| grid::smallest_gap(&distinct)).flatten();
        let quantile = |q: f64| values[((n - 1) as f64 * q).round() as usize];
        let middle_half = quantile(0.75) - quantile(0.25);
        Self {
            distinct: distinct.len(),
            integer,
            discrete,
            grid: multiples.filter(exact),
            step: coarse.or_else(gap),
            min,
            max,
            median: median(&values),
            common: common[0],
            common_share: common.len() as f64 / n as f64,
            skewness: skewness(&values),
            heavy_tailed: n >= 20 && middle_half > 0. && quantile(0.995) - quantile(0.005) > 6. * middle_half,
        }
    }

    /// The value that many rows share exactly while the others vary continuously, such as 0 in amounts of rain.
    pub fn atom(&self) -> Option<f64> {
        (self.step.is_none() && self.common_share > ATOM).then_some(self.common)
    }
}

/// The middle of sorted values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let (lower, upper) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if lower == upper { lower } else { lower / 2. + upper / 2. }
}

fn skewness(values: &[f64]) -> f64 {
    // Halved before subtracting and divided by the largest, so that nothing overflows.
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value / n).sum::<f64>();
    let from_mean = |value: &f64| value / 2. - mean / 2.;
    let largest = values.iter().map(|value| from_mean(value).abs()).fold(0., f64::max);
    if largest == 0. {
        return 0.;
    }
    let moment = |k: i32| values.iter().map(|value| (from_mean(value) / largest).powi(k)).sum::<f64>() / n;
    moment(3) / moment(2).powf(1.5)
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    #[test]
    fn flags_are_discrete_and_measurements_have_steps() {
        let flags = NumberFacts::of([0., 1.].repeat(10));
        assert!(flags.integer && flags.discrete && flags.step == Some(1.) && flags.distinct == 2);
        let grades = NumberFacts::of([1., 1.5, 2., 3.5].repeat(9));
        assert_eq!((grades.step, grades.integer, grades.discrete), (Some(0.5), false, true));
        let off_grid = NumberFacts::of([0.37, 1.21].repeat(30));
        assert_eq!((off_grid.grid, off_grid.discrete), (None, true));
        assert!((off_grid.step.unwrap() - 0.84).abs() < 1e-12);
        let rounded = NumberFacts::of([0., 1.086538076, 2.173076153].repeat(30));
        assert_eq!(rounded.grid, None, "half of the last is not the second, to its last digit");
        assert!((rounded.step.unwrap() - 1.0865380765).abs() < 1e-8);
        let one = NumberFacts::of(vec![7.]);
        assert_eq!((one.distinct, one.skewness, one.median, one.common_share), (1, 0., 7., 1.));
    }

    #[test]
    fn large_whole_numbers_count_as_continuous() {
        let mut rng = semisup::rng(2);
        let salaries =
            NumberFacts::of((0..500).map(|_| rng.random_range(0..10_000_000_i64) as f64).collect());
        assert_eq!((salaries.grid, salaries.step, salaries.discrete), (Some(1.), None, false));
    }

    #[test]
    fn shapes_are_recognised() {
        let mut rng = semisup::rng(1);
        let gauss = |rng: &mut semisup::Rng| (0..12).map(|_| rng.random_range(0. ..1.)).sum::<f64>() - 6.;
        let normal = NumberFacts::of((0..3000).map(|_| gauss(&mut rng)).collect());
        assert!(normal.skewness.abs() < 0.2 && !normal.heavy_tailed && normal.step.is_none(), "{normal:?}");
        let log_normal = NumberFacts::of((0..3000).map(|_| gauss(&mut rng).exp()).collect());
        assert!(log_normal.skewness > 2. && log_normal.heavy_tailed, "{log_normal:?}");
        let rain: Vec<f64> = (0..3000).map(|i| if i % 3 == 0 { gauss(&mut rng).exp() } else { 0. }).collect();
        let rain = NumberFacts::of(rain);
        assert!((rain.common_share - 2. / 3.).abs() < 1e-3 && rain.atom() == Some(0.), "{rain:?}");
        assert_eq!(normal.atom(), None);
    }

    #[test]
    fn nothing_overflows() {
        let facts = NumberFacts::of(vec![f64::MAX, f64::MIN, 1e300, 0., -0.]);
        assert!([facts.skewness, facts.median].iter().all(|value| value.is_finite()), "{facts:?}");
        assert_eq!(facts.distinct, 4);
    }
}
