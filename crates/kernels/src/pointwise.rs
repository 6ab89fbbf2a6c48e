//! The affine half of a coupling on one panel, and the tanh and exp it needs.
//!
//! ```text
//!                 ShiftThenScale            ScaleThenShift
//! forward    p =  (x + t) e^s               x e^s
//!            y =  p                         p + t
//! inverse    x =  y e^-s - t                (y - t) e^-s
//! backward   gx = gy e^s,  gs = gy p + gl,  gg = sum_rows gs tanh(raw),  graw = gs g (1 - tanh^2)
//!            gt = gy e^s                    gt = gy
//! ```
//!
//! `p` is what both forms multiply `gy` with, so the tape keeps `tanh(raw)`, `e^s` and `p`.

#![allow(clippy::needless_range_loop, reason = "loops over sixteen lanes of several arrays at once")]

use crate::coupling::Form;
use crate::simd::{Kernel, Lane, Lanes, ZERO};

/// `e^x`: relative error below 1e-7 for -87.3 <= x <= 88.3; 0 below, infinite above; NaN stays NaN.
///
/// `x = k ln 2 + r` with `|r| <= ln 2 / 2`; `e^r` by Cephes' polynomial; `2^k` by building its bits.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(x: f32) -> f32 {
    const LOW: f32 = -87.33;
    const HIGH: f32 = 88.37;
    // ln 2 in two parts: the first has few bits, so k * LN2_HI is exact.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Adding 1.5 * 2^23 rounds to an integer, which is then the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let inside = if x < LOW { LOW } else { x };
    let inside = if inside > HIGH { HIGH } else { inside };
    let shifted = L::fma1(inside, std::f32::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = L::fma1(k, -LN2_LO, L::fma1(k, -LN2_HI, inside));
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1] {
        p = L::fma1(p, r, c);
    }
    let e_r = L::fma1(p, r * r, r) + 1.0;
    let two_k = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    let y = e_r * two_k;
    let y = if x > HIGH { f32::INFINITY } else { y };
    if x < LOW { 0.0 } else { y }
}

/// `tanh x`: relative error below 5e-7 (absolute below 3e-7), never beyond +-1; NaN stays NaN.
///
/// Eigen's odd rational of degree 13 over 6; past +-7.9 it has reached +-1 in f32.
#[inline(always)]
pub(crate) fn tanh<L: Lanes>(x: f32) -> f32 {
    const END: f32 = 7.905_311;
    let x = if x > END { END } else { x };
    let x = if x < -END { -END } else { x };
    let x2 = x * x;
    let mut p = -2.760_768_4e-16;
    for c in [2.000_188e-13, -8.604_672e-11, 5.122_297e-8, 1.485_722_4e-5, 6.372_619_4e-4, 4.893_524_6e-3] {
        p = L::fma1(p, x2, c);
    }
    let mut q = 1.198_258_4e-6;
    for c in [1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3] {
        q = L::fma1(q, x2, c);
    }
    let y = x * p / q;
    let y = if y > 1.0 { 1.0 } else { y };
    if y < -1.0 { -1.0 } else { y }
}

/// The forward map of the changed columns; adds to `log_det`.
pub(crate) struct Forward<'a> {
    pub form: Form,
    pub lanes: usize,
    pub change: &'a [usize],
    pub g: &'a [f32],            // [c]
    pub o: &'a [Lane],           // [2 c, lanes]: raw, t
    pub state: &'a mut [Lane],   // [dim, lanes]: x -> y
    pub log_det: &'a mut [Lane], // [lanes]
    pub kept: Kept<&'a mut [Lane]>,
}

/// What the backward pass needs of the affine half.
pub(crate) struct Kept<T> {
    pub tanh: T, // [c, lanes]
    pub e_s: T,  // [c, lanes]
    pub p: T,    // [c, lanes]
}

impl Kernel for Forward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.lanes;
        let (raw, t) = self.o.split_at(self.change.len() * n);
        // This coupling's own sum first: shorter sums round less.
        let mut sums = [ZERO; 4];
        for (j, &column) in self.change.iter().enumerate() {
            let g = self.g[j];
            for v in 0..n {
                let at = j * n + v;
                let x = &mut self.state[column * n + v].0;
                let (raw, t, sum) = (&raw[at].0, &t[at].0, &mut sums[v].0);
                let mut out = [[0.0f32; 16]; 4]; // tanh, e^s, p, y
                for l in 0..16 {
                    let tanh = tanh::<L>(raw[l]);
                    let s = g * tanh;
                    let e_s = exp::<L>(s);
                    let (p, y) = match self.form {
                        Form::ShiftThenScale => ((x[l] + t[l]) * e_s, (x[l] + t[l]) * e_s),
                        Form::ScaleThenShift => (x[l] * e_s, x[l] * e_s + t[l]),
                    };
                    sum[l] += s;
                    out[0][l] = tanh;
                    out[1][l] = e_s;
                    out[2][l] = p;
                    out[3][l] = y;
                }
                self.kept.tanh[at].0 = out[0];
                self.kept.e_s[at].0 = out[1];
                self.kept.p[at].0 = out[2];
                *x = out[3];
            }
        }
        for (total, sum) in self.log_det.iter_mut().zip(&sums) {
            total.0.iter_mut().zip(&sum.0).for_each(|(a, b)| *a += b);
        }
    }
}

/// The inverse map of the changed columns.
pub(crate) struct Inverse<'a> {
    pub form: Form,
    pub lanes: usize,
    pub change: &'a [usize],
    pub g: &'a [f32],          // [c]
    pub o: &'a [Lane],         // [2 c, lanes]: raw, t
    pub state: &'a mut [Lane], // [dim, lanes]: y -> x
}

impl Kernel for Inverse<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.lanes;
        let (raw, t) = self.o.split_at(self.change.len() * n);
        for (j, &column) in self.change.iter().enumerate() {
            let g = self.g[j];
            for v in 0..n {
                let y = &mut self.state[column * n + v].0;
                let (raw, t) = (&raw[j * n + v].0, &t[j * n + v].0);
                for l in 0..16 {
                    let e_minus_s = exp::<L>(-(g * tanh::<L>(raw[l])));
                    y[l] = match self.form {
                        Form::ShiftThenScale => y[l] * e_minus_s - t[l],
                        Form::ScaleThenShift => (y[l] - t[l]) * e_minus_s,
                    };
                }
            }
        }
    }
}

/// The gradient of the affine half.
pub(crate) struct Backward<'a> {
    pub form: Form,
    pub lanes: usize,
    pub change: &'a [usize],
    pub g: &'a [f32], // [c]
    pub kept: Kept<&'a [Lane]>,
    pub grad: &'a mut [Lane],     // [dim, lanes]: gy -> gx, changed columns only
    pub grad_log_det: &'a [Lane], // [lanes]
    pub grad_o: &'a mut [Lane],   // [2 c, lanes]: graw, gt
    pub grad_g: &'a mut [Lane],   // [c]: 16 partial sums each
}

impl Kernel for Backward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.lanes;
        let (graw, gt) = self.grad_o.split_at_mut(self.change.len() * n);
        for (j, &column) in self.change.iter().enumerate() {
            let g = self.g[j];
            let mut gg = [0.0f32; 16];
            for v in 0..n {
                let at = j * n + v;
                let (tanh, e_s, p) = (&self.kept.tanh[at].0, &self.kept.e_s[at].0, &self.kept.p[at].0);
                let gl = &self.grad_log_det[v].0;
                let gy = self.grad[column * n + v].0;
                let (mut gx, mut gr) = ([0.0f32; 16], [0.0f32; 16]);
                for l in 0..16 {
                    let gs = L::fma1(gy[l], p[l], gl[l]);
                    gg[l] = L::fma1(gs, tanh[l], gg[l]);
                    gr[l] = gs * g * (1.0 - tanh[l] * tanh[l]);
                    gx[l] = gy[l] * e_s[l];
                }
                graw[at].0 = gr;
                gt[at].0 = match self.form {
                    Form::ShiftThenScale => gx,
                    Form::ScaleThenShift => gy,
                };
                self.grad[column * n + v].0 = gx;
            }
            self.grad_g[j].0 = gg;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch_on, levels};

    struct Map<'a>(&'a mut [f32], Function);
    #[derive(Clone, Copy)]
    enum Function {
        Exp,
        Tanh,
    }
    impl Kernel for Map<'_> {
        #[inline(always)]
        fn run<L: Lanes>(self) {
            match self.1 {
                Function::Exp => self.0.iter_mut().for_each(|x| *x = exp::<L>(*x)),
                Function::Tanh => self.0.iter_mut().for_each(|x| *x = tanh::<L>(*x)),
            }
        }
    }

    /// The largest relative error of `function` over `xs`, on the worst level.
    fn worst(function: Function, xs: &[f32], truth: fn(f64) -> f64) -> f64 {
        let mut worst = 0.0f64;
        for level in levels() {
            let mut ys = xs.to_vec();
            dispatch_on(level, Map(&mut ys, function));
            for (x, y) in xs.iter().zip(&ys) {
                let exact = truth(*x as f64);
                worst = worst.max((*y as f64 - exact).abs() / exact.abs().max(f64::MIN_POSITIVE));
            }
        }
        worst
    }

    #[test]
    fn exp_is_within_1e_7() {
        let xs: Vec<f32> = (-873_000..=883_000).map(|i| i as f32 * 1e-4).collect();
        let error = worst(Function::Exp, &xs, f64::exp);
        assert!(error < 1e-7, "{error}");
    }

    #[test]
    fn tanh_is_within_5e_7() {
        let mut xs: Vec<f32> = (1..2_000_000).map(|i| i as f32 * 5e-6).collect();
        xs.extend((1..100).map(|i| 1e-30 * 2f32.powi(i)));
        xs.extend(xs.clone().iter().map(|x| -x));
        let error = worst(Function::Tanh, &xs, f64::tanh);
        assert!(error < 5e-7, "{error}");
    }

    #[test]
    fn edges_are_what_the_formulas_say() {
        for level in levels() {
            let mut ys = [0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 90.0, -90.0];
            dispatch_on(level, Map(&mut ys, Function::Exp));
            assert_eq!((ys[0], ys[1], ys[2], ys[4], ys[5]), (1.0, f32::INFINITY, 0.0, f32::INFINITY, 0.0));
            assert!(ys[3].is_nan());
            let mut ys = [0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 20.0];
            dispatch_on(level, Map(&mut ys, Function::Tanh));
            assert!(ys[0] == 0.0 && ys[3].is_nan());
            assert!((ys[1] - 1.0).abs() < 3e-7 && (ys[2] + 1.0).abs() < 3e-7 && ys[4] <= 1.0);
        }
    }
}
