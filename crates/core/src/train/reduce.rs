//! Sums over workers, exact: the same bits for any number of workers, in any order, by any engine.
//!
//! Sums of floating-point numbers depend on their order. Here every worker first rounds its numbers to multiples of one power of
//! two, the same for all, and integers are summed:
//!
//! ```text
//! m = max over workers and shards of |g|           one max-reduce
//! e = 49 - exponent of m                           so that |g| 2^e < 2^50, and 4096 of them add up to less than 2^62
//! sum = 2^-e sum_s round(g_s 2^e)                  one integer sum-reduce
//! ```
//!
//! A number of single precision has 24 binary digits: what is larger than m / 2^26 is not rounded at all.

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FixedPoint {
    scale: f64, // 2^e
}

/// 1.5 * 2^52: the sum with a number below 2^51 is rounded to a whole number, to even ones in the middle, in the last bits of its
/// significand. Ten times as fast as a rounding function where the instruction set has none.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

impl FixedPoint {
    /// For numbers of magnitude at most `most`, which is finite.
    pub(super) fn new(most: f64) -> Self {
        // 2^exponent <= most < 2^(exponent + 1); for 0 it does not matter.
        let exponent = if most > 0.0 { most.log2().floor() as i32 } else { 0 };
        Self { scale: 2f64.powi((49 - exponent).clamp(-900, 900)) }
    }

    /// The nearest multiple.
    pub(super) fn round(self, value: f64) -> i64 {
        (value * self.scale + ROUNDING).to_bits() as i64 - ROUNDING.to_bits() as i64
    }

    /// The number that a multiple stands for.
    pub(super) fn value(self, multiple: i64) -> f64 {
        multiple as f64 / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_single_precision_survive_and_sums_do_not_overflow() {
        for most in [1e-30f32, 0.7, 1.0, 3.5e4, 2e38] {
            let point = FixedPoint::new(f64::from(most));
            for value in [most, -most, most / 1e3, -most / 1e7] {
                assert_eq!(point.value(point.round(f64::from(value))) as f32, value, "{most} {value}");
            }
            let sum = (0..4096).fold(0i64, |sum, _| sum.checked_add(point.round(f64::from(most))).unwrap());
            assert!((point.value(sum) / (4096.0 * f64::from(most)) - 1.0).abs() < 1e-12);
            assert_eq!(point.round(0.0), 0);
        }
        assert_eq!(FixedPoint::new(0.0).value(0), 0.0);
    }

    #[test]
    fn the_nearest_multiple_is_found_and_the_even_one_in_the_middle() {
        let point = FixedPoint { scale: 4.0 };
        let rounded = [0.25, -0.25, 0.125, 0.375, -0.125, -0.375, 0.3, -0.3, 1e10].map(|v| point.round(v));
        assert_eq!(rounded, [1, -1, 0, 2, 0, -2, 1, -1, 40_000_000_000]);
    }
}
