//! What everything is measured by: multiply-adds on registers, and a large matrix product.

#![allow(unsafe_code, reason = "the gemm crate takes pointers")]

use super::draw;
use flowgmm_kernels::fma_peak;

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

    /// `c = a b` on all threads; gives the number of operations.
    pub fn run(&mut self) -> f64 {
        let (n, threads) = (GEMM, rayon::current_num_threads());
        let (column, row) = (n as isize, 1);
        // SAFETY: three matrices [n, n] of n^2 numbers each, columns n apart, the written one borrowed alone.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                self.c.as_mut_ptr(),
                column,
                row,
                false,
                self.a.as_ptr(),
                column,
                row,
                self.b.as_ptr(),
                column,
                row,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::Rayon(threads),
            );
        }
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
