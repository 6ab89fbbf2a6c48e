//! The gradient of a linear layer's parameters, summed over the rows of many panels:
//!
//! ```text
//! gW [out, in] = sum_rows gy [out, rows] x [in, rows]      gb [out] = sum_rows gy
//! ```

use crate::dense::{Finish, Linear, Scalars, Start};
use crate::dots::{self, Dots};
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch, flat, multiply_rows};
use crate::transpose::{transpose, transpose_flat};

/// One panel's pair of operands for a gradient of weights.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub gy: &'a [Lane], // [out, lanes], the block of outputs wanted
    pub x: &'a [Lane],  // [in, lanes]
    pub lanes: usize,
}

/// `gw[o, i] = sum over panels and rows of gy[o] x[i]`, `gb[o] = sum of gy[o]`.
///
/// A narrow layer's gradients are dot products over the rows. Otherwise one operand gives the scalars, the other,
/// transposed, the vectors: `x`, unless it has so few features that most of a vector would be empty.
pub(crate) fn weight_gradient(panels: &[Operands], gw: &mut [f32], gb: &mut [f32], scratch: &mut [Lane]) {
    let n_out = gb.len();
    let n_in = gw.len() / n_out;
    if dots::pay(panels, n_in, n_out) {
        dispatch(Dots { panels, n_in, gw });
        return dispatch(RowSums { panels, gb });
    }
    // Multiply-adds of vectors per row, and about 2/5 of one for each transposed number.
    let cost = |scalars: usize, vectors: usize| 5 * scalars * vectors.div_ceil(16) + 2 * vectors;
    if cost(n_out, n_in) <= cost(n_in, n_out) {
        row_products(
            panels,
            n_out,
            n_in,
            |p| (p.gy, p.x),
            scratch,
            |first, width, sums| {
                for (gw, y) in gw.chunks_exact_mut(n_in).zip(sums.chunks_exact(width.next_multiple_of(16))) {
                    gw[first..][..width].copy_from_slice(&y[..width]);
                }
            },
        );
    } else {
        row_products(
            panels,
            n_in,
            n_out,
            |p| (p.x, p.gy),
            scratch,
            |first, width, sums| {
                let gw = &mut gw[first * n_in..][..width * n_in];
                transpose_flat(sums, width.next_multiple_of(16), n_in, width, gw, n_in);
            },
        );
    }
    dispatch(RowSums { panels, gb });
}

/// `sum over panels and rows of a[i] b[j]` for all `i < n_a`, `j < n_b`, 64 of `j` at a time: gives
/// `done` the first `j`, how many, and their sums `[n_a, 16 ceil(how many / 16)]`.
fn row_products<'a>(
    panels: &[Operands<'a>],
    n_a: usize,
    n_b: usize,
    operands: impl Fn(&Operands<'a>) -> (&'a [Lane], &'a [Lane]),
    scratch: &mut [Lane],
    mut done: impl FnMut(usize, usize, &[f32]),
) {
    let (b_t, sums) = scratch.split_at_mut(PANEL_ROWS * 4); // [rows, 4], [n_a, 4]
    for first in (0..n_b).step_by(64) {
        let width = 64.min(n_b - first);
        let lanes = width.div_ceil(16);
        let y = &mut sums[..n_a * lanes];
        for (i, panel) in panels.iter().enumerate() {
            let (a, b) = operands(panel);
            let rows = 16 * panel.lanes;
            let b_t = &mut b_t[..rows * lanes];
            if width % 16 != 0 {
                b_t.fill(ZERO); // columns past the last feature
            }
            transpose(&flat(b)[first * rows..], rows, width, rows, b_t, 16 * lanes);
            // The rows of many panels do not fit a cache: the next transpose would wait for memory.
            let ahead = match panels.get(i + 1) {
                Some(next) => block(operands(next).1, next.lanes, first, n_b),
                None => block(operands(&panels[0]).1, panels[0].lanes, first + 64, n_b),
            };
            let start = if i == 0 { Start::Zero } else { Start::Add };
            dispatch(Linear {
                lanes,
                start,
                w: Scalars::Rows(flat(a)),
                x: b_t,
                y,
                finish: Finish::Nothing,
                ahead,
            });
        }
        done(first, width, flat(y));
    }
}

/// Features `first .. first + 64` of a panel, as far as there are.
fn block(panel: &[Lane], lanes: usize, first: usize, features: usize) -> &[Lane] {
    &panel[first.min(features) * lanes..(first + 64).min(features) * lanes]
}

/// `gb[o] = sum over panels and rows of gy[o]`.
struct RowSums<'a> {
    panels: &'a [Operands<'a>],
    gb: &'a mut [f32], // [out]
}

impl Kernel for RowSums<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (i, gb) in self.gb.chunks_mut(4).enumerate() {
            // Four features at a time: one alone would wait for each of its additions.
            let mut sums = [[L::zeros()]; 4];
            for panel in self.panels {
                let gy = &panel.gy[4 * i * panel.lanes..][..gb.len() * panel.lanes];
                match gb.len() {
                    4 => multiply_rows::<L, 4, 1>(&mut sums, gy, &ONES, panel.lanes),
                    n => (gy.chunks_exact(panel.lanes).zip(&mut sums[..n])).for_each(|(gy, sum)| {
                        multiply_rows::<L, 1, 1>(std::array::from_mut(sum), gy, &ONES, panel.lanes);
                    }),
                }
            }
            let sums = sums.map(|[sum]| sum);
            gb.copy_from_slice(&L::sum_registers(sums)[..gb.len()]);
        }
    }
}

/// A factor for every row of a full panel.
const ONES: [Lane; 4] = [Lane([1.0; 16]); 4];

/// Rows of a full panel.
const PANEL_ROWS: usize = 64;

/// Lanes of scratch [`weight_gradient`] needs.
pub(crate) fn weight_scratch_len(n_in: usize, n_out: usize) -> usize {
    PANEL_ROWS * 4 + n_in.max(n_out) * 4
}
