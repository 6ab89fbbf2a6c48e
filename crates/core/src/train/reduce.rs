//! Sums over workers, exact: the same bits for any number of workers, in any order, by any engine.
//!
//! Sums of floating-point numbers depend on their order. Here every worker first rounds its numbers to multiples of one power of
//! two, the same for all, and integers are summed:
//!
//! ```text
//! m = max over workers and shards of |g|           one max-reduce
//! e = 61 - ceil(log2 S) - (exponent of m + 1)      so that S numbers of at most m 2^e add up to less than 2^62
//! sum = 2^-e sum_s round(g_s 2^e)                  one integer sum-reduce
//! ```
//!
//! A number of single precision has 24 binary digits: with eight shards, what is larger than m / 2^34 is not rounded at all.

use std::fmt::Debug;

/// What a reduction returns: nothing, or why it could not be done.
pub type Reduced = std::result::Result<(), String>;

/// How numbers of workers become one number that all of them have.
pub trait Reduce: Debug + Send {
    /// Replaces each value by the largest that a worker has at its place.
    fn max(&mut self, values: &mut [f64]) -> Reduced;

    /// Replaces each value by the sum over the workers; it does not overflow.
    fn sum(&mut self, values: &mut [i64]) -> Reduced;
}

/// One worker: its numbers are everybody's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Reduce for Local {
    fn max(&mut self, _values: &mut [f64]) -> Reduced {
        Ok(())
    }

    fn sum(&mut self, _values: &mut [i64]) -> Reduced {
        Ok(())
    }
}

/// Numbers as multiples of 2^-e.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FixedPoint {
    e: i32,
}

impl FixedPoint {
    /// For up to `terms` numbers of magnitude at most `most`, which is finite.
    pub(super) fn new(most: f64, terms: usize) -> Self {
        let digits = usize::BITS - terms.max(1).saturating_sub(1).leading_zeros(); // ceil(log2 terms)
        // 2^exponent <= most < 2^(exponent + 1); of 0 and of the smallest numbers it hardly matters.
        let exponent = if most > 0.0 { most.log2().floor() as i32 } else { 0 };
        Self { e: (61 - digits as i32 - (exponent + 1)).clamp(-900, 900) }
    }

    /// The nearest multiple.
    pub(super) fn round(self, value: f64) -> i64 {
        (value * 2f64.powi(self.e)).round_ties_even() as i64
    }

    /// The number that a multiple stands for.
    pub(super) fn value(self, multiple: i64) -> f64 {
        multiple as f64 * 2f64.powi(-self.e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_single_precision_survive_and_sums_do_not_overflow() {
        for most in [1e-30f32, 0.7, 1.0, 3.5e4, 2e38] {
            let point = FixedPoint::new(f64::from(most), 8);
            for value in [most, -most, most / 1e6, most / 1e9] {
                assert_eq!(point.value(point.round(f64::from(value))) as f32, value, "{most} {value}");
            }
            let sum = (0..8).fold(0i64, |sum, _| sum.checked_add(point.round(f64::from(most))).unwrap());
            assert!((point.value(sum) / (8.0 * f64::from(most)) - 1.0).abs() < 1e-12);
            assert_eq!(point.round(0.0), 0);
        }
        assert_eq!(FixedPoint::new(0.0, 1).value(0), 0.0);
    }
}
