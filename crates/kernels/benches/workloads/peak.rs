//! What everything is measured by: multiply-adds on registers, and a large matrix product.

#![allow(unsafe_code, reason = "the gemm crate takes pointers")]

use super::draw;
use flowgmm_kernels::fma_peak;
use rayon::prelude::*;

/// Rounds of one run of [`fma`]: about 2 ms.
const ROUNDS: usize = 300_000;
/// The extent of the matrices.
pub const GEMM: usize = 2048;

/// Multiply-adds on all threads at once; gives the number of operations.
pub fn fma() -> f64 {
    rayon::broadcast(|_| fma_peak(ROUNDS)).into_iter().sum()
}

/// Square matrices to multiply.
pub struct Gemm {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Gemm {
    pub fn new() -> Self {
        let matrix = |seed| draw(GEMM * GEMM, 1.0, seed);
        Self { a: matrix(1), b: matrix(2), c: vec![0.0; GEMM * GEMM] }
    }

    /// `c = a b` on all threads, each with its columns; gives the number of operations.
    pub fn run(&mut self) -> f64 {
        let n = GEMM;
        let columns = n.div_ceil(rayon::current_num_threads());
        let (a, b) = (&self.a, &self.b);
        self.c.par_chunks_mut(n * columns).zip(b.par_chunks(n * columns)).for_each(|(c, b)| {
            let (column, row) = (n as isize, 1);
            // SAFETY: `a` is [n, n], `b` and `c` are [n, c.len() / n], columns n apart; `c` is borrowed alone.
            unsafe {
                gemm::gemm(
                    n,
                    c.len() / n,
                    n,
                    c.as_mut_ptr(),
                    column,
                    row,
                    false,
                    a.as_ptr(),
                    column,
                    row,
                    b.as_ptr(),
                    column,
                    row,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
        });
        2.0 * (n * n * n) as f64
    }

    /// The largest error of some entries, to know that the product was computed.
    pub fn error(&self) -> f32 {
        let at = |m: &[f32], i: usize, j: usize| m[i + j * GEMM];
        let entry = |(i, j)| (0..GEMM).map(|k| at(&self.a, i, k) * at(&self.b, k, j)).sum::<f32>();
        let places = [(0, 0), (1, GEMM - 1), (GEMM - 1, 2), (GEMM / 2, GEMM / 3)];
        places.into_iter().map(|p| (entry(p) - at(&self.c, p.0, p.1)).abs()).fold(0.0, f32::max)
    }
}
