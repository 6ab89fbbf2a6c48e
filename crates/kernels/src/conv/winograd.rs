//! Winograd's minimal filtering F(4x4, 3x3) and its adjoints, one row of tiles at a time.
//!
//! ```text
//! Y  = A^T [ (G W G^T) . (B^T D B) ] A      W 3x3 taps, D 6x6 inputs, Y 4x4 outputs, . elementwise
//! gD = B   [ (G W G^T) . (A gY A^T) ] B^T    the adjoint in D
//! gW = G^T [ sum (B^T D B) . (A gY A^T) ] G  the adjoint in W
//! ```
//!
//! 36 multiplications instead of 144; both adjoints share `A gY A^T`. Summed over channels, the
//! elementwise products are 36 matrix products ([`super::product`]). (Lavin and Gray, "Fast Algorithms for
//! Convolutional Neural Networks", 2016, section 4.3.)
//!
//! The matrices evaluate polynomials at 0, +-a, +-b and infinity. The customary a = 1, b = 2 loses most of
//! a digit; a = 5/8, b = 3/2 have exact squares and a four times smaller error: 1.4e-6 of the largest
//! output at 64 channels, where a direct f32 convolution has 0.7e-6.
//!
//! ```text
//! B^T row 0      a^2 b^2 d0 - (a^2 + b^2) d2 + d4          A row of y:   y(p) = y0 + p y1 + p^2 y2 + p^3 y3
//!     rows 1, 2  (d4 - b^2 d2) +- a (d3 - b^2 d1)          G row of w:   w(p) / N_p
//!     rows 3, 4  (d4 - a^2 d2) +- b (d3 - a^2 d1)          N_0 = a^2 b^2, N_a = 2 a^2 (a^2 - b^2),
//!     row 5      a^2 b^2 d1 - (a^2 + b^2) d3 + d5          N_b = 2 b^2 (b^2 - a^2)
//! ```
//!
//! Each two-dimensional transform is a vertical pass over the columns of a row of tiles, then a horizontal
//! one (or the reverse), through a scratch of that row that fits the first-level cache.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use crate::batch_norm::Affine;
use crate::simd::{Kernel, Lane, Lanes, ZERO};
use std::marker::PhantomData;

/// Frequencies: products per tile and pair of channels.
pub(crate) const FREQUENCIES: usize = 36;

const A: f32 = 0.625;
const B: f32 = 1.5;
const A2: f32 = A * A;
const B2: f32 = B * B;
const A2_B2: f32 = A2 * B2;
const SUM: f32 = A2 + B2;
/// 1 / N_p
const N_0: f32 = 1.0 / A2_B2;
const N_A: f32 = 1.0 / (2.0 * A2 * (A2 - B2));
const N_B: f32 = 1.0 / (2.0 * B2 * (B2 - A2));

/// A one-dimensional transform of `N` numbers into six.
pub(crate) trait Spread<const N: usize> {
    fn apply<L: Lanes>(from: [L::V; N]) -> [L::V; 6];
}

/// `B^T d`
pub(crate) struct Input;
/// `A gy`
pub(crate) struct Gradient;
/// `G w`
struct Taps;

impl Spread<6> for Input {
    #[inline(always)]
    fn apply<L: Lanes>(d: [L::V; 6]) -> [L::V; 6] {
        let [even_a, odd_a] = [times::<L>(-B2, d[2], d[4]), times::<L>(-B2, d[1], d[3])];
        let [even_b, odd_b] = [times::<L>(-A2, d[2], d[4]), times::<L>(-A2, d[1], d[3])];
        [
            times::<L>(A2_B2, d[0], times::<L>(-SUM, d[2], d[4])),
            times::<L>(A, odd_a, even_a),
            times::<L>(-A, odd_a, even_a),
            times::<L>(B, odd_b, even_b),
            times::<L>(-B, odd_b, even_b),
            times::<L>(A2_B2, d[1], times::<L>(-SUM, d[3], d[5])),
        ]
    }
}

impl Spread<4> for Gradient {
    #[inline(always)]
    fn apply<L: Lanes>(y: [L::V; 4]) -> [L::V; 6] {
        let [even_a, odd_a] = [times::<L>(A2, y[2], y[0]), times::<L>(A2, y[3], y[1])];
        let [even_b, odd_b] = [times::<L>(B2, y[2], y[0]), times::<L>(B2, y[3], y[1])];
        [
            y[0],
            times::<L>(A, odd_a, even_a),
            times::<L>(-A, odd_a, even_a),
            times::<L>(B, odd_b, even_b),
            times::<L>(-B, odd_b, even_b),
            y[3],
        ]
    }
}

impl Spread<3> for Taps {
    #[inline(always)]
    fn apply<L: Lanes>(w: [L::V; 3]) -> [L::V; 6] {
        let even_a = times::<L>(N_A * A2, w[2], scaled::<L>(N_A, w[0]));
        let even_b = times::<L>(N_B * B2, w[2], scaled::<L>(N_B, w[0]));
        [
            scaled::<L>(N_0, w[0]),
            times::<L>(N_A * A, w[1], even_a),
            times::<L>(-N_A * A, w[1], even_a),
            times::<L>(N_B * B, w[1], even_b),
            times::<L>(-N_B * B, w[1], even_b),
            w[2],
        ]
    }
}

/// `A^T m`
#[inline(always)]
fn output<L: Lanes>(m: [L::V; 6]) -> [L::V; 4] {
    let Pairs { even_a, odd_a, even_b, odd_b } = pairs::<L>(m);
    [
        add::<L>(m[0], add::<L>(even_a, even_b)),
        times::<L>(A, odd_a, scaled::<L>(B, odd_b)),
        times::<L>(A2, even_a, scaled::<L>(B2, even_b)),
        times::<L>(A2 * A, odd_a, times::<L>(B2 * B, odd_b, m[5])),
    ]
}

/// `B m`
#[inline(always)]
fn input_adjoint<L: Lanes>(m: [L::V; 6]) -> [L::V; 6] {
    let Pairs { even_a, odd_a, even_b, odd_b } = pairs::<L>(m);
    [
        scaled::<L>(A2_B2, m[0]),
        times::<L>(-A * B2, odd_a, times::<L>(-B * A2, odd_b, scaled::<L>(A2_B2, m[5]))),
        times::<L>(-B2, even_a, times::<L>(-A2, even_b, scaled::<L>(-SUM, m[0]))),
        times::<L>(A, odd_a, times::<L>(B, odd_b, scaled::<L>(-SUM, m[5]))),
        add::<L>(m[0], add::<L>(even_a, even_b)),
        m[5],
    ]
}

/// `G^T u`
#[inline(always)]
fn taps_adjoint<L: Lanes>(u: [L::V; 6]) -> [L::V; 3] {
    let Pairs { even_a, odd_a, even_b, odd_b } = pairs::<L>(u);
    [
        times::<L>(N_0, u[0], times::<L>(N_A, even_a, scaled::<L>(N_B, even_b))),
        times::<L>(N_A * A, odd_a, scaled::<L>(N_B * B, odd_b)),
        times::<L>(N_A * A2, even_a, times::<L>(N_B * B2, even_b, u[5])),
    ]
}

/// Sums and differences of the values at `+-a` and at `+-b`.
struct Pairs<V> {
    even_a: V,
    odd_a: V,
    even_b: V,
    odd_b: V,
}

#[inline(always)]
fn pairs<L: Lanes>(m: [L::V; 6]) -> Pairs<L::V> {
    Pairs {
        even_a: add::<L>(m[1], m[2]),
        odd_a: times::<L>(-1.0, m[2], m[1]),
        even_b: add::<L>(m[3], m[4]),
        odd_b: times::<L>(-1.0, m[4], m[3]),
    }
}

/// `factor * v + to`
#[inline(always)]
fn times<L: Lanes>(factor: f32, v: L::V, to: L::V) -> L::V {
    L::fma(L::splat(factor), v, to)
}

#[inline(always)]
fn scaled<L: Lanes>(factor: f32, v: L::V) -> L::V {
    L::fma(L::splat(factor), v, L::splat(-0.0))
}

#[inline(always)]
fn add<L: Lanes>(a: L::V, b: L::V) -> L::V {
    L::fma(L::splat(1.0), a, b)
}

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
    pub relu: bool,
}

impl Kernel for OutputRow<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { from, place, width, to, bias, residual, relu } = self;
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
                if relu {
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
                        L::store(if relu { L::relu(value) } else { value }, &mut to[at]);
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

/// `u[f, k] = G W G^T` with one of the channel indices of `w` as `k` and the other in lanes.
pub(crate) struct SpreadTaps<'a> {
    pub w: &'a [f32], // [out, in, 3, 3]
    /// Numbers between one `k` and the next, and between one lane's channel and the next.
    pub k_stride: usize,
    pub lane_stride: usize,
    pub steps: usize,
    pub channels: usize,
    pub u: &'a mut [Lane], // [36, steps, ceil(channels / 16)]
}

impl Kernel for SpreadTaps<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let lanes = self.channels.div_ceil(16);
        let stride = self.steps * lanes;
        for k in 0..self.steps {
            for lane in 0..lanes {
                let mut w = [ZERO; 9];
                for l in 0..16.min(self.channels - 16 * lane) {
                    let from = &self.w[k * self.k_stride + (16 * lane + l) * self.lane_stride..][..9];
                    for tap in 0..9 {
                        w[tap].0[l] = from[tap];
                    }
                }
                let mut half = [[L::splat(0.0); 3]; 6];
                for c in 0..3 {
                    let column = Taps::apply::<L>([L::load(&w[c]), L::load(&w[3 + c]), L::load(&w[6 + c])]);
                    for i in 0..6 {
                        half[i][c] = column[i];
                    }
                }
                for i in 0..6 {
                    let row = Taps::apply::<L>(half[i]);
                    for j in 0..6 {
                        L::store(row[j], &mut self.u[(6 * i + j) * stride + k * lanes + lane]);
                    }
                }
            }
        }
    }
}

/// `gw = G^T gu G`.
pub(crate) struct GatherTaps<'a> {
    pub gu: &'a [Lane],    // [36, in, ceil(out / 16)]
    pub gw: &'a mut [f32], // [out, in, 3, 3]
    pub in_channels: usize,
    pub out_channels: usize,
}

impl Kernel for GatherTaps<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let lanes = self.out_channels.div_ceil(16);
        let stride = self.in_channels * lanes;
        for at in 0..stride {
            let mut half = [[L::splat(0.0); 3]; 6];
            for i in 0..6 {
                let mut u = [L::splat(0.0); 6];
                for j in 0..6 {
                    u[j] = L::load(&self.gu[(6 * i + j) * stride + at]);
                }
                half[i] = taps_adjoint::<L>(u);
            }
            let mut w = [ZERO; 9];
            for c in 0..3 {
                let mut u = [L::splat(0.0); 6];
                for i in 0..6 {
                    u[i] = half[i][c];
                }
                let column = taps_adjoint::<L>(u);
                for r in 0..3 {
                    L::store(column[r], &mut w[3 * r + c]);
                }
            }
            let (k, lane) = (at / lanes, at % lanes);
            for l in 0..16.min(self.out_channels - 16 * lane) {
                let gw = &mut self.gw[((16 * lane + l) * self.in_channels + k) * 9..][..9];
                for tap in 0..9 {
                    gw[tap] = w[tap].0[l];
                }
            }
        }
    }
}
