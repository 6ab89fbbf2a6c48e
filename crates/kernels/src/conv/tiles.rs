//! The two-dimensional Winograd transforms, one row of tiles of one block of channels at a time.
//!
//! Each is a vertical pass over the columns of a row of tiles, then a horizontal one (or the reverse), through a
//! scratch of that row that fits the first-level cache. Neighbouring tiles share what the first pass does.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use super::forward::Activation;
use super::winograd::{Spread, add, input_adjoint, output};
use crate::batch_norm::Affine;
use crate::simd::{Kernel, Lane, Lanes, ZERO};
use std::marker::PhantomData;

/// Where the transformed tiles of a row lie: frequency `f` of tile `t` at `f * stride + first + t * step`.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub stride: usize,
    pub first: usize,
    pub step: usize,
}

/// `S D S^T` of every tile in a row of tiles: `D` is `N x N` and the tiles are 4 apart.
pub(crate) struct SpreadRow<'a, S, const N: usize> {
    /// `width` lanes each; one that is not in the image is `None`, for zeros.
    pub rows: [Option<&'a [Lane]>; N],
    pub width: usize,
    /// What happens to a pixel of the image first, if anything: `relu(scale x + shift)`.
    pub norm: Option<Affine>,
    pub scratch: &'a mut [Lane], // at least row_scratch(width)
    pub to: &'a mut [Lane],
    pub place: Place,
    /// What the next row of tiles will read; asked for while this one computes.
    pub ahead: &'a [Lane],
    pub transform: PhantomData<S>,
}

/// Lanes of scratch that a row of `width` pixels needs.
pub(crate) fn row_scratch(width: usize) -> usize {
    8 * columns(width)
}

/// Columns that the tiles of a row of `width` pixels read.
fn columns(width: usize) -> usize {
    width.next_multiple_of(4) + 2
}

impl<S: Spread<N>, const N: usize> Kernel for SpreadRow<'_, S, N> {
    // One function of more than 60 lines: its two passes share the row's scratch and must be inlined as a whole.
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { rows, width, norm, scratch, to, place, ahead, .. } = self;
        let (columns, left) = (width.next_multiple_of(4) + N - 4, (N - 4) / 2);
        let (zeros, scratch) = scratch.split_at_mut(width);
        zeros.fill(ZERO);
        let scratch = &mut scratch[..6 * columns];
        {
            let mut parts = scratch.chunks_exact_mut(columns);
            let vertical: [&mut [Lane]; 6] = std::array::from_fn(|_| {
                let part = parts.next().expect("six rows of columns");
                part[..left].fill(ZERO);
                part[left + width..].fill(ZERO);
                &mut part[left..][..width]
            });
            let mut pixels: [&[Lane]; N] = [&[]; N];
            for i in 0..N {
                pixels[i] = &rows[i].unwrap_or(zeros)[..width];
            }
            match norm {
                None => {
                    for x in 0..width {
                        fetch::<L>(ahead.as_ptr(), x);
                        let mut d = [L::splat(0.0); N];
                        for i in 0..N {
                            d[i] = L::load(&pixels[i][x]);
                        }
                        let t = S::apply::<L>(d);
                        for i in 0..6 {
                            L::store(t[i], &mut vertical[i][x]);
                        }
                    }
                }
                Some(Affine { scale, shift }) => {
                    let scale = L::load(&scale);
                    let mut shifts = [L::splat(0.0); N]; // outside, relu(scale 0 + 0) = 0
                    for i in 0..N {
                        shifts[i] = L::load(if rows[i].is_some() { &shift } else { &ZERO });
                    }
                    for x in 0..width {
                        fetch::<L>(ahead.as_ptr(), x);
                        let mut d = [L::splat(0.0); N];
                        for i in 0..N {
                            d[i] = L::relu(L::fma(scale, L::load(&pixels[i][x]), shifts[i]));
                        }
                        let t = S::apply::<L>(d);
                        for i in 0..6 {
                            L::store(t[i], &mut vertical[i][x]);
                        }
                    }
                }
            }
        }
        for (i, row) in scratch.chunks_exact(columns).enumerate() {
            let mut parts = to[6 * i * place.stride..].chunks_mut(place.stride);
            let parts: [&mut [Lane]; 6] =
                std::array::from_fn(|_| &mut parts.next().expect("six frequencies")[place.first..]);
            for tile in 0..width.div_ceil(4) {
                let from = &row[4 * tile..][..N];
                let mut d = [L::splat(0.0); N];
                for j in 0..N {
                    d[j] = L::load(&from[j]);
                }
                let t = S::apply::<L>(d);
                for j in 0..6 {
                    L::store(t[j], &mut parts[j][tile * place.step]);
                }
            }
        }
    }
}

/// Asks for lanes `4 x .. 4 x + 4` from `ahead`: four rows' worth after as many `x` as a row has pixels.
#[inline(always)]
fn fetch<L: Lanes>(ahead: *const Lane, x: usize) {
    for i in 0..4 {
        L::prefetch(ahead.wrapping_add(4 * x + i).cast());
    }
}

/// `A^T M A` of every tile in a row of tiles, with bias, residual and ReLU applied on the way out.
pub(crate) struct OutputRow<'a> {
    pub from: &'a [Lane],
    pub place: Place,
    pub width: usize,
    /// Whole rows of the image, up to four.
    pub to: &'a mut [Lane], // [1..=4, width]
    pub bias: Lane,
    /// Added, same shape as `to`.
    pub residual: Option<&'a [Lane]>,
    pub activation: Activation,
}

impl Kernel for OutputRow<'_> {
    // One function of more than 60 lines: its two passes share the row's scratch and must be inlined as a whole.
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { from, place, width, to, bias, residual, activation } = self;
        let rows = to.len() / width;
        let bias = L::load(&bias);
        // The next rows lie behind these.
        let ahead =
            [to.as_ptr(), residual.map_or(to.as_ptr(), <[Lane]>::as_ptr)].map(|p| p.wrapping_add(to.len()));
        for tile in 0..width.div_ceil(4) {
            for x in 4 * tile..4 * tile + 4 {
                fetch::<L>(ahead[0], x);
                fetch::<L>(ahead[1], x);
            }
            let mut half = [[L::splat(0.0); 4]; 6];
            for i in 0..6 {
                let mut m = [L::splat(0.0); 6];
                for j in 0..6 {
                    m[j] = L::load(&from[(6 * i + j) * place.stride + place.first + tile * place.step]);
                }
                half[i] = output::<L>(m);
            }
            let mut y = [[bias; 4]; 4]; // [row, column]
            for c in 0..4 {
                let mut m = [bias; 6];
                for i in 0..6 {
                    m[i] = half[i][c];
                }
                let column = output::<L>(m);
                for r in 0..4 {
                    y[r][c] = add::<L>(column[r], bias);
                }
            }
            let first = 4 * tile;
            if rows == 4 && first + 4 <= width {
                if let Some(residual) = residual {
                    for r in 0..4 {
                        let residual = &residual[r * width + first..][..4];
                        for c in 0..4 {
                            y[r][c] = add::<L>(y[r][c], L::load(&residual[c]));
                        }
                    }
                }
                if activation == Activation::Relu {
                    for r in 0..4 {
                        for c in 0..4 {
                            y[r][c] = L::relu(y[r][c]);
                        }
                    }
                }
                for r in 0..4 {
                    let to = &mut to[r * width + first..][..4];
                    for c in 0..4 {
                        L::store(y[r][c], &mut to[c]);
                    }
                }
            } else {
                let mut tile = [ZERO; 16]; // indexed by variables, which registers cannot be
                for r in 0..4 {
                    for c in 0..4 {
                        L::store(y[r][c], &mut tile[4 * r + c]);
                    }
                }
                for r in 0..rows {
                    for c in 0..4.min(width - first) {
                        let at = r * width + first + c;
                        let mut value = L::load(&tile[4 * r + c]);
                        if let Some(residual) = residual {
                            value = add::<L>(value, L::load(&residual[at]));
                        }
                        L::store(activation.of::<L>(value), &mut to[at]);
                    }
                }
            }
        }
    }
}

/// Adds up `B M B^T` of the tiles in a row of tiles, which overlap by two rows and two columns.
///
/// Row of tiles `ty` covers rows `4 ty - 1 ..= 4 ty + 4`. The last two wait in `carry` for the next row
/// of tiles; the first two are complete with what waited there.
pub(crate) struct AdjointRow<'a> {
    pub from: &'a [Lane],
    pub place: Place,
    pub ty: usize,
    pub width: usize,
    pub plane: &'a mut [Lane],   // [height, width]
    pub carry: &'a mut [Lane],   // [2, width]
    pub scratch: &'a mut [Lane], // at least row_scratch(width) + 4 width
}

impl Kernel for AdjointRow<'_> {
    // One function of more than 60 lines: its two passes share the row's scratch and must be inlined as a whole.
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { from, place, ty, width, plane, carry, scratch } = self;
        let height = plane.len() / width;
        let columns = columns(width);
        let (scratch, outside) = scratch.split_at_mut(6 * columns);
        for (i, row) in scratch.chunks_exact_mut(columns).enumerate() {
            let mut parts = from[6 * i * place.stride..].chunks(place.stride);
            let parts: [&[Lane]; 6] =
                std::array::from_fn(|_| &parts.next().expect("six frequencies")[place.first..]);
            let mut overlap = [L::splat(0.0); 2];
            for tile in 0..width.div_ceil(4) {
                let mut m = [overlap[0]; 6];
                for j in 0..6 {
                    m[j] = L::load(&parts[j][tile * place.step]);
                }
                let d = input_adjoint::<L>(m);
                let to = &mut row[4 * tile..][..4];
                L::store(add::<L>(d[0], overlap[0]), &mut to[0]);
                L::store(add::<L>(d[1], overlap[1]), &mut to[1]);
                L::store(d[2], &mut to[2]);
                L::store(d[3], &mut to[3]);
                overlap = [d[4], d[5]];
            }
            // The column past the image is not wanted; the one before it may be its last.
            L::store(overlap[0], &mut row[columns - 2]);
        }
        if ty == 0 {
            carry.fill(ZERO);
        }
        let (carry_0, carry_1) = carry.split_at_mut(width);
        let ahead = plane.as_ptr().wrapping_add((4 * ty + 3) * width);
        {
            // Rows 4 ty - 1 .. 4 ty + 3, those outside the image into a place of no interest.
            let mut outside = outside.chunks_exact_mut(width);
            let first = (4 * ty).saturating_sub(1);
            let mut inside = plane[first * width..].chunks_exact_mut(width);
            let rows: [&mut [Lane]; 4] = std::array::from_fn(|r| {
                let dummy = outside.next().expect("four rows outside");
                if ty == 0 && r == 0 { dummy } else { inside.next().unwrap_or(dummy) }
            });
            let mut columns = scratch.chunks_exact(columns);
            let columns: [&[Lane]; 6] =
                std::array::from_fn(|_| &columns.next().expect("six rows of columns")[1..][..width]);
            for x in 0..width {
                fetch::<L>(ahead, x);
                let mut m = [L::splat(0.0); 6];
                for i in 0..6 {
                    m[i] = L::load(&columns[i][x]);
                }
                let d = input_adjoint::<L>(m);
                L::store(add::<L>(d[0], L::load(&carry_0[x])), &mut rows[0][x]);
                L::store(add::<L>(d[1], L::load(&carry_1[x])), &mut rows[1][x]);
                L::store(d[2], &mut rows[2][x]);
                L::store(d[3], &mut rows[3][x]);
                L::store(d[4], &mut carry_0[x]);
                L::store(d[5], &mut carry_1[x]);
            }
        }
        // After the last row of tiles nothing more is added to its fourth row.
        if 4 * ty + 4 == height {
            plane[(height - 1) * width..].copy_from_slice(carry_0);
        }
    }
}
