//! Transposes a block of a row-major array into another, 16 x 16 numbers at a time.
//!
//! Panels are the transposes of row-major data, and the two gradients of a linear layer each need one
//! operand transposed.

use crate::simd::{Kernel, Lane, Lanes, dispatch, flat_mut};

/// `from` `[rows, cols]` with `from_stride` between rows -> `to` `[cols, rows]` with `to_stride`.
pub(crate) fn transpose(
    from: &[f32],
    from_stride: usize,
    rows: usize,
    cols: usize,
    to: &mut [Lane],
    to_stride: usize,
) {
    dispatch(Transpose { from, from_stride, rows, cols, to: flat_mut(to), to_stride });
}

/// As [`transpose`], into plain numbers.
pub(crate) fn transpose_flat(
    from: &[f32],
    from_stride: usize,
    rows: usize,
    cols: usize,
    to: &mut [f32],
    to_stride: usize,
) {
    dispatch(Transpose { from, from_stride, rows, cols, to, to_stride });
}

struct Transpose<'a> {
    from: &'a [f32],
    from_stride: usize,
    rows: usize,
    cols: usize,
    to: &'a mut [f32],
    to_stride: usize,
}

impl Kernel for Transpose<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (whole_rows, whole_cols) = (self.rows / 16 * 16, self.cols / 16 * 16);
        // Along rows inside: sixteen streams the hardware can read ahead.
        for r in (0..whole_rows).step_by(16) {
            for c in (0..whole_cols).step_by(16) {
                let from = &self.from[r * self.from_stride + c..];
                let to = &mut self.to[c * self.to_stride + r..];
                L::transpose_16x16(from, self.from_stride, to, self.to_stride);
            }
        }
        for r in 0..self.rows {
            let done = if r < whole_rows { whole_cols } else { 0 };
            for c in done..self.cols {
                self.to[c * self.to_stride + r] = self.from[r * self.from_stride + c];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch_on, levels};

    #[test]
    fn every_level_transposes() {
        for (rows, cols) in [(0, 3), (1, 1), (16, 16), (17, 33), (48, 5), (64, 70)] {
            let (from_stride, to_stride) = (cols + 3, rows + 2);
            let from: Vec<f32> = (0..rows * from_stride).map(|i| i as f32).collect();
            for level in levels() {
                let mut to = vec![-1.0; cols * to_stride];
                dispatch_on(
                    level,
                    Transpose { from: &from, from_stride, rows, cols, to: &mut to, to_stride },
                );
                for (i, x) in to.iter().enumerate() {
                    let (c, r) = (i / to_stride, i % to_stride);
                    let want = if r < rows { from[r * from_stride + c] } else { -1.0 };
                    assert_eq!(*x, want, "{level:?} {rows} {cols}");
                }
            }
        }
    }
}
