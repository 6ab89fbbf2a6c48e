//! The most this CPU can do: multiply-adds on registers alone. What the benches measure everything else by.

use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch};
use std::hint::black_box;

/// Runs `iterations` rounds of independent multiply-adds on this thread, at the widest level of this CPU; gives
/// the number of floating point operations (a multiply-add is two).
#[doc(hidden)]
pub fn fma_peak(iterations: usize) -> f64 {
    let (mut sum, mut flops) = (ZERO, 0.0);
    let [factor, term] = black_box([0.5, 1.0]); // x <- x / 2 + 1 stays near 2: no overflow, no denormals
    dispatch(Peak { iterations, factor, term, sum: &mut sum, flops: &mut flops });
    black_box(sum);
    flops
}

struct Peak<'a> {
    iterations: usize,
    factor: f32,
    term: f32,
    sum: &'a mut Lane,
    flops: &'a mut f64,
}

impl Kernel for Peak<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        // As many chains as registers hold: more than the eight that hide a multiply-add's latency.
        if L::WIDE { self.chains::<L, 24>() } else { self.chains::<L, 6>() }
    }
}

impl Peak<'_> {
    #[inline(always)]
    fn chains<L: Lanes, const N: usize>(self) {
        let (factor, term) = (L::splat(self.factor), L::splat(self.term));
        let mut x = [term; N];
        for _ in 0..self.iterations {
            for x in &mut x {
                *x = L::fma(*x, factor, term);
            }
        }
        // Every chain must be used, or it is not computed.
        let mut sum = x[0];
        for x in &x[1..] {
            sum = L::fma(*x, factor, sum);
        }
        L::store(sum, self.sum);
        *self.flops = (2 * 16 * N * self.iterations) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two per multiply-add, sixteen lanes, at least six chains.
    #[test]
    fn counts_what_it_ran() {
        assert!(fma_peak(1000) >= 1000.0 * 6.0 * 32.0);
        assert_eq!(fma_peak(0), 0.0);
    }
}
