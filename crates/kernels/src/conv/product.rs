//! Matrix products on channel-blocked data: scalars broadcast from one operand, vectors from the other.
//!
//! ```text
//! Rows    c[r, m]  = sum_k a(r, k) b[k, m]     r rows (tiles or pixels), k channels in, m lanes of channels out
//! Outer   c[i, m] (+)= sum_r a(r, i) b(r, m)   i channels in, r rows: the gradient of weights
//! ```
//!
//! A tile of up to 6 x 4 vectors of `c` lives in registers while the summed index runs: 24 multiply-adds
//! per 4 loads and 6 broadcasts. Nothing is packed: both operands are read where they lie.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use crate::simd::{Kernel, Lane, Lanes};

/// Rows of a register tile at most.
const TILE_ROWS: usize = 6;

/// Scalars `(r, k)` at `block_stride * (k / block) + row * r + k % block`.
#[derive(Clone, Copy)]
pub(crate) struct Scalars<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub block: usize,
    pub block_stride: usize,
}

/// How lanes `(r, m)` lie: at `row * r + lane * m`.
#[derive(Clone, Copy)]
pub(crate) struct Strides {
    pub row: usize,
    pub lane: usize,
}

/// `c[r, m] = sum_k a(r, k) b[k, m]`.
pub(crate) struct Rows<'a> {
    pub rows: usize,
    pub steps: usize,
    pub lanes: usize,
    pub a: Scalars<'a>, // (rows, steps)
    pub b: &'a [Lane],  // [steps, lanes]
    pub c: &'a mut [Lane],
    pub c_strides: Strides,
    pub ahead: Ahead<'a>,
}

/// What a sum starts from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Start {
    Zero,
    /// What `c` holds.
    Add,
}

/// `c[i, m] = start + sum_r a(r, i) b(r, m)`.
pub(crate) struct Outer<'a> {
    pub start: Start,
    pub rows: usize,
    pub width: usize,
    pub lanes: usize,
    pub a: Scalars<'a>, // (rows, width)
    pub b: &'a [Lane],  // (rows, lanes)
    pub b_strides: Strides,
    pub c: &'a mut [Lane], // [width, lanes]
    pub ahead: Ahead<'a>,
}

/// Lanes that the passes around a product will read or write. A product needs little of memory, so it asks
/// for them, a share before each tile.
pub(crate) type Ahead<'a> = [&'a [Lane]; 3];

/// Share `part` of `parts` of a slice.
#[inline(always)]
pub(crate) fn share(lanes: &[Lane], part: usize, parts: usize) -> &[Lane] {
    let parts = parts.max(part + 1);
    &lanes[part * lanes.len() / parts..(part + 1) * lanes.len() / parts]
}

#[inline(always)]
fn fetch<L: Lanes>(ahead: &Ahead, part: usize, parts: usize) {
    for lanes in ahead {
        for lane in share(lanes, part, parts) {
            L::prefetch(lane.0.as_ptr());
        }
    }
}

/// `len` cut into as few pieces of at most `max` as possible, of sizes that differ by at most one:
/// `(start, size)` of each.
pub(crate) fn pieces(len: usize, max: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = len.div_ceil(max);
    (0..count).scan(0, move |start, i| {
        let size = len / count + usize::from(i < len % count);
        let piece = (*start, size);
        *start += size;
        Some(piece)
    })
}

/// Lanes of a register tile: AVX-512 takes four, narrower sets one.
#[inline(always)]
fn tile_lanes<L: Lanes>() -> usize {
    if L::WIDE { 4 } else { 1 }
}

/// Calls `$self.tile` with the sizes `$mv` and `$nr` as constants.
macro_rules! sized {
    ($self:ident, $l:ident, $mv:expr, $nr:expr, $args:tt) => {
        match $mv {
            4 => sized!(@rows $self, $l, 4, $nr, $args),
            3 => sized!(@rows $self, $l, 3, $nr, $args),
            2 => sized!(@rows $self, $l, 2, $nr, $args),
            _ => sized!(@rows $self, $l, 1, $nr, $args),
        }
    };
    (@rows $self:ident, $l:ident, $mv:literal, $nr:expr, ($($arg:expr),*)) => {
        match $nr {
            6 => $self.tile::<$l, $mv, 6>($($arg),*),
            5 => $self.tile::<$l, $mv, 5>($($arg),*),
            4 => $self.tile::<$l, $mv, 4>($($arg),*),
            3 => $self.tile::<$l, $mv, 3>($($arg),*),
            2 => $self.tile::<$l, $mv, 2>($($arg),*),
            _ => $self.tile::<$l, $mv, 1>($($arg),*),
        }
    };
}

impl Kernel for Rows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        for (m, mv) in pieces(self.lanes, tile_lanes::<L>()) {
            for (tile, (r, nr)) in pieces(self.rows, TILE_ROWS).enumerate() {
                if m == 0 {
                    fetch::<L>(&self.ahead, tile, self.rows.div_ceil(TILE_ROWS));
                }
                sized!(self, L, mv, nr, (m, r));
            }
        }
    }
}

impl Rows<'_> {
    #[inline(always)]
    fn tile<L: Lanes, const MV: usize, const NR: usize>(&mut self, m: usize, r: usize) {
        let Scalars { data, row, block, block_stride } = self.a;
        let mut sums = [[L::splat(0.0); MV]; NR];
        for first in (0..self.steps).step_by(block) {
            let width = block.min(self.steps - first);
            let from = first / block * block_stride + r * row;
            let mut a: [&[f32]; NR] = [&[]; NR];
            for i in 0..NR {
                a[i] = &data[from + i * row..][..width];
            }
            let b = &self.b[first * self.lanes..][..width * self.lanes];
            for k in 0..width {
                let b = &b[k * self.lanes + m..][..MV];
                let mut bs = [L::splat(0.0); MV];
                for v in 0..MV {
                    bs[v] = L::load(&b[v]);
                }
                for i in 0..NR {
                    let a = L::splat(a[i][k]);
                    for v in 0..MV {
                        sums[i][v] = L::fma(a, bs[v], sums[i][v]);
                    }
                }
            }
        }
        let Strides { row, lane } = self.c_strides;
        for i in 0..NR {
            for v in 0..MV {
                L::store(sums[i][v], &mut self.c[(r + i) * row + (m + v) * lane]);
            }
        }
    }
}

impl Kernel for Outer<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        for (m, mv) in pieces(self.lanes, tile_lanes::<L>()) {
            for first in (0..self.width).step_by(self.a.block) {
                let from = first / self.a.block * self.a.block_stride;
                let width = self.a.block.min(self.width - first);
                for (tile, (i, nr)) in pieces(width, TILE_ROWS).enumerate() {
                    if m == 0 && first == 0 {
                        fetch::<L>(&self.ahead, tile, width.div_ceil(TILE_ROWS));
                    }
                    sized!(self, L, mv, nr, (m, from + i, first + i));
                }
            }
        }
    }
}

impl Outer<'_> {
    /// Rows `i..i + NR` of `c`, whose scalars start at `from`.
    #[inline(always)]
    fn tile<L: Lanes, const MV: usize, const NR: usize>(&mut self, m: usize, from: usize, i: usize) {
        let mut sums = [[L::splat(0.0); MV]; NR];
        if self.start == Start::Add {
            for j in 0..NR {
                let c = &self.c[(i + j) * self.lanes + m..][..MV];
                for v in 0..MV {
                    sums[j][v] = L::load(&c[v]);
                }
            }
        }
        let Strides { row, lane } = self.b_strides;
        // The next tile's sums lie behind these, in a far cache.
        let next = self.c[(i + NR) * self.lanes..].as_ptr();
        for r in 0..self.rows {
            L::prefetch(next.wrapping_add(r).cast());
            let a = &self.a.data[from + r * self.a.row..][..NR];
            let mut bs = [L::splat(0.0); MV];
            for v in 0..MV {
                bs[v] = L::load(&self.b[r * row + (m + v) * lane]);
            }
            for j in 0..NR {
                let a = L::splat(a[j]);
                for v in 0..MV {
                    sums[j][v] = L::fma(a, bs[v], sums[j][v]);
                }
            }
        }
        for j in 0..NR {
            let c = &mut self.c[(i + j) * self.lanes + m..][..MV];
            for v in 0..MV {
                L::store(sums[j][v], &mut c[v]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{ZERO, dispatch_on, flat, levels};

    fn number(i: usize) -> f32 {
        ((i * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0
    }

    fn lanes(len: usize, seed: usize) -> Vec<Lane> {
        (0..len).map(|i| Lane(std::array::from_fn(|l| number(16 * i + l + seed)))).collect()
    }

    /// Both products, every tile shape, every level, against loops. Sums of at most 40 numbers below 1 in
    /// absolute value: 1e-5 is generous.
    #[test]
    fn products_agree_with_loops_on_every_level() {
        for (rows, width, m) in [1usize, 2, 3, 4, 5, 6, 13]
            .into_iter()
            .flat_map(|r| [1usize, 16, 17, 40].map(|w| (r, w)))
            .flat_map(|(r, w)| (1..=5).map(move |m| (r, w, m)))
        {
            let blocks = width.div_ceil(16);
            // Scalars in planes of `rows` lanes, as a 1x1 convolution reads them.
            let a_lanes = lanes(blocks * rows, 1);
            let a = Scalars { data: flat(&a_lanes), row: 16, block: 16, block_stride: 16 * rows };
            let at = |r: usize, k: usize| a_lanes[k / 16 * rows + r].0[k % 16];
            let (b, b_rows) = (lanes(width * m, 2), lanes(rows * m, 3));
            for level in levels() {
                let mut c = vec![ZERO; rows * m];
                let c_strides = Strides { row: 1, lane: rows };
                dispatch_on(
                    level,
                    Rows { rows, steps: width, lanes: m, a, b: &b, c: &mut c, c_strides, ahead: [&[]; 3] },
                );
                for (v, l, r) in indices(m, rows) {
                    let want: f32 = (0..width).map(|k| at(r, k) * b[k * m + v].0[l]).sum();
                    assert!((c[v * rows + r].0[l] - want).abs() < 1e-5, "{level:?} {rows} {width} {m}");
                }
                for start in [Start::Zero, Start::Add] {
                    let before = lanes(width * m, 4);
                    let (mut c, b_strides) = (before.clone(), Strides { row: m, lane: 1 });
                    let (b, c_mut) = (&b_rows, &mut c);
                    dispatch_on(
                        level,
                        Outer { start, rows, width, lanes: m, a, b, b_strides, c: c_mut, ahead: [&[]; 3] },
                    );
                    for (v, l, i) in indices(m, width) {
                        let sum: f32 = (0..rows).map(|r| at(r, i) * b[r * m + v].0[l]).sum();
                        let from = if start == Start::Add { before[i * m + v].0[l] } else { 0.0 };
                        let error = (c[i * m + v].0[l] - from - sum).abs();
                        assert!(error < 1e-5, "{level:?} {rows} {width} {m}");
                    }
                }
            }
        }
    }

    /// `(v, l, r)` of all `m` lanes of sixteen, for `rows` rows.
    fn indices(m: usize, rows: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..m).flat_map(move |v| (0..16).flat_map(move |l| (0..rows).map(move |r| (v, l, r))))
    }
}
