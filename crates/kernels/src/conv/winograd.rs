//! Winograd's minimal filtering F(4x4, 3x3) and its adjoints: the one-dimensional transforms.
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

use crate::simd::Lanes;

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
pub(crate) struct Taps;

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
pub(crate) fn output<L: Lanes>(m: [L::V; 6]) -> [L::V; 4] {
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
pub(crate) fn input_adjoint<L: Lanes>(m: [L::V; 6]) -> [L::V; 6] {
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
pub(crate) fn taps_adjoint<L: Lanes>(u: [L::V; 6]) -> [L::V; 3] {
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
pub(crate) fn add<L: Lanes>(a: L::V, b: L::V) -> L::V {
    L::fma(L::splat(1.0), a, b)
}
