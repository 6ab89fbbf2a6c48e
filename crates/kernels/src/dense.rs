//! Matrix products on panels, all by one kernel: `y[o] = start + sum_k W[o, k] x[k]`.
//!
//! ```text
//! forward           W [out, in]    x [in, rows]    y [out, rows]     y  = x W^T + b
//! input gradient    W by columns   gy [out, rows]  gx [in, rows]     gx = gy W
//! weight gradient   gy [out, rows] x^T [rows, in]  gW [out, in]      gW = gy^T x
//! ```
//!
//! `W` is scalars, each broadcast once; `x` and `y` are feature-major, their second index in vectors. A
//! tile of `MV` vectors x `NR` features of `y` lives in registers (24 of the 32 of AVX-512, 12 of the 16 of AVX2) while
//! `k` runs: far fewer loads than multiply-adds, and nothing to pack. Scalars may as well be read down the columns of
//! a matrix, so only the gradient of weights needs a transposed operand.
//!
//! AVX-512 takes the four lanes of a panel at once and all of `k`. Narrower sets take one lane at a time, and [`DEPTH`] of
//! `k`: the lanes share weights and `x` from the nearest cache. Sums run in one order on all of them.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use crate::simd::{Grid, Kernel, Lane, Lanes, multiply_add};
use std::ops::Range;

/// How many terms of every sum a narrow instruction set takes at a time: with four lanes of rows, 24 KiB of `x`, which
/// stay in the nearest cache while all weights pass by.
const DEPTH: usize = 96;

/// What the sum starts from.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    Zero,
    /// One number per feature of `y`.
    Bias(&'a [f32]),
    /// What `y` holds.
    Add,
}

/// What happens to a result before it is stored.
#[derive(Clone, Copy)]
pub(crate) enum Finish<'a> {
    Nothing,
    Relu,
    /// Zero where this buffer, of `y`'s shape, is not positive.
    MaskedBy(&'a [Lane]),
}

/// Where the scalars of a product lie.
#[derive(Clone, Copy)]
pub(crate) enum Scalars<'a> {
    /// `w[o, k]` of a matrix `[out, in]`.
    Rows(&'a [f32]),
    /// `w[k, o]` of a matrix `[in, out]`.
    Columns(&'a [f32]),
}

/// `y[o] = start[o] + sum_k w(o, k) x[k]`, then `finish`.
pub(crate) struct Linear<'a> {
    pub lanes: usize,
    pub start: Start<'a>,
    pub w: Scalars<'a>,
    pub x: &'a [Lane],     // [in, lanes]
    pub y: &'a mut [Lane], // [out, lanes]
    pub finish: Finish<'a>,
    /// What will be read after this product, which needs little of memory: asked for, a share before each tile.
    pub ahead: &'a [Lane],
}

impl Kernel for Linear<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        match self.w {
            Scalars::Rows(w) => self.with::<L, false>(w),
            Scalars::Columns(w) => self.with::<L, true>(w),
        }
    }
}

impl Linear<'_> {
    #[inline(always)]
    fn with<L: Lanes, const COLUMNS: bool>(&mut self, w: &[f32]) {
        let n_in = self.x.len() / self.lanes;
        // AVX-512 takes the whole width of a panel.
        match self.lanes {
            4 if L::WIDE => self.features::<L, 4, 6, COLUMNS>(w),
            3 if L::WIDE => self.features::<L, 3, 8, COLUMNS>(w),
            2 if L::WIDE => self.features::<L, 2, 8, COLUMNS>(w),
            1 if L::WIDE => self.features::<L, 1, 12, COLUMNS>(w),
            _ => {
                let blocks = n_in.div_ceil(DEPTH).max(1);
                for b in 0..blocks {
                    let depth = b * n_in / blocks..(b + 1) * n_in / blocks;
                    self.block::<L, COLUMNS>(w, depth);
                }
            }
        }
    }

    /// All lanes of all features, `NR` at a time, the rest in smaller tiles.
    #[inline(always)]
    fn features<L: Lanes, const MV: usize, const NR: usize, const COLUMNS: bool>(&mut self, w: &[f32]) {
        let features = self.y.len() / self.lanes;
        let depth = 0..self.x.len() / self.lanes;
        let mut ahead = shares(self.ahead, features / NR);
        let mut j = 0;
        while j + NR <= features {
            ask_for::<L>(ahead.next().unwrap_or(&[]));
            ask_for::<L>(self.gate(j + NR..(j + 2 * NR).min(features)));
            self.tile::<L, MV, NR, COLUMNS>(w, 0, j, depth.clone());
            j += NR;
        }
        while j + 4 <= features {
            self.tile::<L, MV, 4, COLUMNS>(w, 0, j, depth.clone());
            j += 4;
        }
        while j < features {
            self.tile::<L, MV, 1, COLUMNS>(w, 0, j, depth.clone());
            j += 1;
        }
    }

    /// The share of `depth` in all sums: tiles of up to six features and one lane, all lanes before the next features,
    /// so that weights are read once and `x` stays in the nearest cache.
    #[inline(always)]
    fn block<L: Lanes, const COLUMNS: bool>(&mut self, w: &[f32], depth: Range<usize>) {
        let (features, lanes) = (self.y.len() / self.lanes, self.lanes);
        let tiles = features.div_ceil(6);
        let mut ahead = shares(if depth.start == 0 { self.ahead } else { &[] }, tiles);
        for t in 0..tiles {
            // Sizes that differ by at most one: a tile of one feature would wait for each of its own sums.
            let (j, end) = (t * features / tiles, (t + 1) * features / tiles);
            let next = end..(end + 6).min(features);
            ask_for::<L>(ahead.next().unwrap_or(&[]));
            self.ask_for_weights::<L, COLUMNS>(w, next.clone(), &depth);
            if depth.end == self.x.len() / lanes {
                ask_for::<L>(self.gate(next));
            }
            let mut v = 0;
            while v < lanes {
                v += match end - j {
                    6 => self.tile::<L, 1, 6, COLUMNS>(w, v, j, depth.clone()),
                    5 => self.tile::<L, 1, 5, COLUMNS>(w, v, j, depth.clone()),
                    4 => self.tile::<L, 1, 4, COLUMNS>(w, v, j, depth.clone()),
                    3 if v + 2 <= lanes => self.tile::<L, 2, 3, COLUMNS>(w, v, j, depth.clone()),
                    3 => self.tile::<L, 1, 3, COLUMNS>(w, v, j, depth.clone()),
                    2 if v + 2 <= lanes => self.tile::<L, 2, 2, COLUMNS>(w, v, j, depth.clone()),
                    2 => self.tile::<L, 1, 2, COLUMNS>(w, v, j, depth.clone()),
                    _ if v + 4 <= lanes => self.tile::<L, 4, 1, COLUMNS>(w, v, j, depth.clone()),
                    _ => self.tile::<L, 1, 1, COLUMNS>(w, v, j, depth.clone()),
                };
            }
        }
    }

    /// Asks for the weights of the next tile, which may live in a far cache.
    #[inline(always)]
    fn ask_for_weights<L: Lanes, const COLUMNS: bool>(
        &self,
        w: &[f32],
        next: Range<usize>,
        depth: &Range<usize>,
    ) {
        let (n_in, features) = (self.x.len() / self.lanes, self.y.len() / self.lanes);
        if COLUMNS {
            for k in depth.clone() {
                L::prefetch(w[k * features..].as_ptr().wrapping_add(next.end));
            }
        } else {
            for row in next {
                for line in w[row * n_in..][depth.clone()].chunks(16) {
                    L::prefetch(line.as_ptr());
                }
            }
        }
    }

    /// What masks the results of some features.
    #[inline(always)]
    fn gate(&self, features: Range<usize>) -> &[Lane] {
        match self.finish {
            Finish::MaskedBy(gate) => &gate[features.start * self.lanes..features.end * self.lanes],
            _ => &[],
        }
    }

    /// The share of `depth` in the sums of lanes `v..v + MV` and features `j..j + NR`. Returns `MV`.
    #[inline(always)]
    fn tile<L: Lanes, const MV: usize, const NR: usize, const COLUMNS: bool>(
        &mut self,
        w: &[f32],
        v: usize,
        j: usize,
        depth: Range<usize>,
    ) -> usize {
        let (n_in, features) = (self.x.len() / self.lanes, self.y.len() / self.lanes);
        let mut sums = self.start::<L, MV, NR>(v, j, depth.start > 0);
        if !depth.is_empty() {
            // The next tile's weights are the next NR rows, or the next cache line of each row: asking for them while
            // this tile computes hides the latency of weights that live in a far cache.
            let (from, row, step, next, next_step) = if COLUMNS {
                let from = depth.start * features + j;
                (from, 1, features, from + 16, features)
            } else {
                (j * n_in + depth.start, n_in, 1, (j + NR) * n_in, NR)
            };
            let ahead = L::WIDE.then_some((w.as_ptr().wrapping_add(next), next_step));
            let x = &self.x[depth.start * self.lanes + v..];
            let grid = Grid { values: &w[from..], row, step };
            multiply_add::<L, MV, NR>(&mut sums, grid, x, self.lanes, depth.len(), ahead);
        }
        self.finish::<L, MV, NR>(sums, v, j, depth.end == n_in);
        MV
    }

    // In both functions below the choice comes first and the loops are bare: they must unroll completely,
    // or the sums live in memory instead of registers.

    #[inline(always)]
    fn start<L: Lanes, const MV: usize, const NR: usize>(
        &self,
        v: usize,
        j: usize,
        begun: bool,
    ) -> [[L::V; MV]; NR] {
        let mut sums = [[L::splat(0.0); MV]; NR];
        match if begun { Start::Add } else { self.start } {
            Start::Zero => {}
            Start::Bias(b) => {
                let b = &b[j..][..NR];
                for i in 0..NR {
                    sums[i] = [L::splat(b[i]); MV];
                }
            }
            Start::Add => {
                for i in 0..NR {
                    let y = &self.y[(j + i) * self.lanes + v..][..MV];
                    for m in 0..MV {
                        sums[i][m] = L::load(&y[m]);
                    }
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn finish<L: Lanes, const MV: usize, const NR: usize>(
        &mut self,
        sums: [[L::V; MV]; NR],
        v: usize,
        j: usize,
        whole: bool,
    ) {
        match if whole { self.finish } else { Finish::Nothing } {
            Finish::Nothing => {
                for i in 0..NR {
                    let y = &mut self.y[(j + i) * self.lanes + v..][..MV];
                    for m in 0..MV {
                        L::store(sums[i][m], &mut y[m]);
                    }
                }
            }
            Finish::Relu => {
                for i in 0..NR {
                    let y = &mut self.y[(j + i) * self.lanes + v..][..MV];
                    for m in 0..MV {
                        L::store(L::relu(sums[i][m]), &mut y[m]);
                    }
                }
            }
            Finish::MaskedBy(gate) => {
                for i in 0..NR {
                    let y = &mut self.y[(j + i) * self.lanes + v..][..MV];
                    let gate = &gate[(j + i) * self.lanes + v..][..MV];
                    for m in 0..MV {
                        L::store(L::where_positive(L::load(&gate[m]), sums[i][m]), &mut y[m]);
                    }
                }
            }
        }
    }
}

/// `lanes` in about as many equal shares as there are tiles to ask for them.
#[inline(always)]
fn shares(lanes: &[Lane], tiles: usize) -> std::slice::Chunks<'_, Lane> {
    lanes.chunks(lanes.len().div_ceil(tiles.max(1)).max(1))
}

/// Asks for these lanes, to be read by the next tile.
#[inline(always)]
fn ask_for<L: Lanes>(lanes: &[Lane]) {
    for lane in lanes {
        L::prefetch(lane.0.as_ptr());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch_on, flat, levels};

    /// Every tile shape on every level against three loops. Sums of 20 numbers below 1: 1e-5 is generous.
    #[test]
    fn linear_agrees_with_loops_on_every_level() {
        let number = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0;
        for (lanes, n_in, n_out) in (1..=4)
            .flat_map(|l| [0, 1, 20].map(|i| (l, i, 1)))
            .flat_map(|(l, i, _)| [1, 3, 4, 6, 8, 11, 12, 25].map(|o| (l, i, o)))
        {
            let w: Vec<f32> = (0..n_in * n_out).map(number).collect();
            let w_t: Vec<f32> = (0..n_in * n_out).map(|i| w[i % n_out * n_in + i / n_out]).collect();
            let b: Vec<f32> = (0..n_out).map(|i| number(i + 7)).collect();
            let lane = |i: usize| Lane(std::array::from_fn(|l| number(16 * i + l + 3)));
            let x: Vec<Lane> = (0..n_in * lanes).map(lane).collect();
            let y: Vec<Lane> = (0..n_out * lanes).map(|i| lane(i + 100)).collect();
            let dot = |o: usize, v: usize, l: usize| -> f32 {
                (0..n_in).map(|k| w[o * n_in + k] * x[k * lanes + v].0[l]).sum()
            };
            for level in levels() {
                let run = |w, start, finish| {
                    let mut out = y.clone();
                    let ahead = &y;
                    dispatch_on(level, Linear { lanes, start, w, x: &x, y: &mut out, finish, ahead });
                    out
                };
                let biased = run(Scalars::Rows(&w), Start::Bias(&b), Finish::Relu);
                let added = run(Scalars::Rows(&w), Start::Add, Finish::MaskedBy(&y));
                let down = run(Scalars::Columns(&w_t), Start::Bias(&b), Finish::Relu);
                assert_eq!(flat(&down), flat(&biased), "one order of sums, whichever way the scalars lie");
                for (o, v, l) in
                    (0..n_out).flat_map(|o| (0..lanes).flat_map(move |v| (0..16).map(move |l| (o, v, l))))
                {
                    let (at, sum) = (o * lanes + v, dot(o, v, l));
                    let want = (sum + b[o]).max(0.0);
                    assert!((biased[at].0[l] - want).abs() < 1e-5, "{level:?} {lanes} {n_in} {n_out}");
                    let want = if y[at].0[l] > 0.0 { sum + y[at].0[l] } else { 0.0 };
                    assert!((added[at].0[l] - want).abs() < 1e-5, "{level:?} {lanes} {n_in} {n_out}");
                }
            }
        }
    }
}
