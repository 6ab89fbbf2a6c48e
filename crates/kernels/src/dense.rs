//! Matrix products on panels, all by one kernel: `y[o] = start + sum_k W[o, k] x[k]`.
//!
//! ```text
//! forward           W [out, in]    x [in, rows]    y [out, rows]     y  = x W^T + b
//! input gradient    W by columns   gy [out, rows]  gx [in, rows]     gx = gy W
//! weight gradient   gy [out, rows] x^T [rows, in]  gW [out, in]      gW = gy^T x
//! ```
//!
//! `W` is scalars, each broadcast once; `x` and `y` are feature-major, their second index in vectors. A
//! tile of `MV` vectors x `NR` features of `y` lives in registers (24 of the 32 AVX-512 registers) while
//! `k` runs: far fewer loads than multiply-adds, and nothing to pack. Scalars may as well be read down the columns of
//! a matrix, so only the gradient of weights needs a transposed operand.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use crate::simd::{Kernel, Lane, Lanes};

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
        // AVX-512 takes the whole width of a panel, narrower sets one lane at a time.
        match self.lanes {
            4 if L::WIDE => self.features::<L, 4, 6, COLUMNS>(w, 0),
            3 if L::WIDE => self.features::<L, 3, 8, COLUMNS>(w, 0),
            2 if L::WIDE => self.features::<L, 2, 8, COLUMNS>(w, 0),
            1 if L::WIDE => self.features::<L, 1, 12, COLUMNS>(w, 0),
            lanes => {
                for v in 0..lanes {
                    self.features::<L, 1, 6, COLUMNS>(w, v);
                }
            }
        }
    }

    /// Lanes `v..v + MV` of all features, `NR` at a time, the rest in smaller tiles.
    #[inline(always)]
    fn features<L: Lanes, const MV: usize, const NR: usize, const COLUMNS: bool>(
        &mut self,
        w: &[f32],
        v: usize,
    ) {
        let features = self.y.len() / self.lanes;
        let ahead = if v == 0 { self.ahead } else { &[] };
        let mut ahead = ahead.chunks(ahead.len().div_ceil((features / NR).max(1)).max(1));
        let mut j = 0;
        while j + NR <= features {
            for lane in ahead.next().unwrap_or(&[]) {
                L::prefetch(lane.0.as_ptr());
            }
            self.tile::<L, MV, NR, COLUMNS>(w, v, j);
            j += NR;
        }
        while j + 4 <= features {
            self.tile::<L, MV, 4, COLUMNS>(w, v, j);
            j += 4;
        }
        while j < features {
            self.tile::<L, MV, 1, COLUMNS>(w, v, j);
            j += 1;
        }
    }

    #[inline(always)]
    fn tile<L: Lanes, const MV: usize, const NR: usize, const COLUMNS: bool>(
        &mut self,
        w: &[f32],
        v: usize,
        j: usize,
    ) {
        let sums = if COLUMNS {
            self.down_columns::<L, MV, NR>(w, v, j)
        } else {
            self.along_rows::<L, MV, NR>(w, v, j)
        };
        self.finish::<L, MV, NR>(sums, v, j);
    }

    #[inline(always)]
    fn along_rows<L: Lanes, const MV: usize, const NR: usize>(
        &self,
        w: &[f32],
        v: usize,
        j: usize,
    ) -> [[L::V; MV]; NR] {
        let n_in = self.x.len() / self.lanes;
        let mut rows: [&[f32]; NR] = [&[]; NR];
        for i in 0..NR {
            rows[i] = &w[(j + i) * n_in..][..n_in];
        }
        let mut sums = self.start::<L, MV, NR>(v, j);
        // The next tile's weights are the next NR rows: asking for them while this tile computes hides
        // the latency of weights that live in a far cache.
        let next = w[(j + NR) * n_in..].as_ptr();
        for (k, x) in self.x.chunks_exact(self.lanes).enumerate() {
            L::prefetch(next.wrapping_add(k * NR));
            let x = &x[v..][..MV];
            let mut xs = [L::splat(0.0); MV];
            for m in 0..MV {
                xs[m] = L::load(&x[m]);
            }
            for i in 0..NR {
                let w = L::splat(rows[i][k]);
                for m in 0..MV {
                    sums[i][m] = L::fma(w, xs[m], sums[i][m]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn down_columns<L: Lanes, const MV: usize, const NR: usize>(
        &self,
        w: &[f32],
        v: usize,
        j: usize,
    ) -> [[L::V; MV]; NR] {
        let features = self.y.len() / self.lanes;
        let mut sums = self.start::<L, MV, NR>(v, j);
        for (row, x) in w.chunks_exact(features).zip(self.x.chunks_exact(self.lanes)) {
            let row = &row[j..][..NR];
            L::prefetch(row.as_ptr().wrapping_add(16)); // the next cache line of this row, for tiles to come
            let x = &x[v..][..MV];
            let mut xs = [L::splat(0.0); MV];
            for m in 0..MV {
                xs[m] = L::load(&x[m]);
            }
            for i in 0..NR {
                let w = L::splat(row[i]);
                for m in 0..MV {
                    sums[i][m] = L::fma(w, xs[m], sums[i][m]);
                }
            }
        }
        sums
    }

    // In both functions below the choice comes first and the loops are bare: they must unroll completely,
    // or the sums live in memory instead of registers.

    #[inline(always)]
    fn start<L: Lanes, const MV: usize, const NR: usize>(&self, v: usize, j: usize) -> [[L::V; MV]; NR] {
        let mut sums = [[L::splat(0.0); MV]; NR];
        match self.start {
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
    ) {
        match self.finish {
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
