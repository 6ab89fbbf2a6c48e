//! A linear map of the channels at every pixel, by LU factors (Glow's 1x1 convolution with its ActNorm):
//!
//! ```text
//! z_p = M (x_p + b)        M = P L U, L unit lower triangular, U upper triangular with diagonal e^s
//! log_det = pixels sum s
//! gx = M^T gz    gM = sum_p gz_p (x_p + b)^T    gb = sum_p gx_p
//! gL = gV U^T    gU = L^T gV    gs = diag(gU) e^s + pixels g_log_det        with gV = P^T gM
//! ```
//!
//! theta is b `[C]`, L `[C, C]`, U `[C, C]`, s `[C]`; of L and U only the strict triangles count.

use super::Plane;
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Images whose gradients of M are summed by one task; fixed, so that thread counts change no bit.
const IMAGES: usize = 16;

/// The map for images of one shape.
#[derive(Clone, Debug)]
pub struct Mix {
    shape: Plane,
    /// Row j of M is row `order[j]` of L U.
    order: Vec<usize>,
}

impl Mix {
    /// # Panics
    /// Unless `order` has one entry for each channel.
    pub fn new(shape: Plane, order: Vec<usize>) -> Self {
        assert_eq!(order.len(), shape.channels, "the permutation names every channel");
        Self { shape, order }
    }

    /// The shape of an image.
    pub fn shape(&self) -> Plane {
        self.shape
    }

    /// Length of theta.
    pub fn n_params(&self) -> usize {
        2 * self.shape.channels * (self.shape.channels + 1)
    }

    pub(super) fn forward(&self, theta: &[f32], x: &[f32], log_det: &mut [f32]) -> Vec<f32> {
        let factors = Factors::new(theta, &self.order);
        let pixels = self.shape.pixels() as f64;
        let own = (pixels * factors.s.iter().sum::<f64>()) as f32;
        log_det.iter_mut().for_each(|sum| *sum += own);
        let bias = product(&factors.m, &factors.b);
        self.apply(&single(&factors.m), &single(&bias), x)
    }

    pub(super) fn inverse(&self, theta: &[f32], z: &[f32]) -> Vec<f32> {
        let factors = Factors::new(theta, &self.order);
        let bias: Vec<f64> = factors.b.iter().map(|b| -b).collect();
        self.apply(&single(&factors.inverse(&self.order)), &single(&bias), z)
    }

    /// The gradients of x and of theta.
    pub(super) fn backward(
        &self,
        theta: &[f32],
        x: &[f32],
        gz: &[f32],
        grad_log_det: &[f32],
    ) -> (Vec<f32>, Vec<f32>) {
        let c = self.shape.channels;
        let factors = Factors::new(theta, &self.order);
        let transposed: Vec<f64> = (0..c * c).map(|i| factors.m[i % c * c + i / c]).collect();
        let gx = self.apply(&single(&transposed), &vec![0.0; c], gz);
        let dim = self.shape.dim();
        let parts: Vec<Vec<f32>> = x
            .par_chunks(IMAGES * dim)
            .zip(gz.par_chunks(IMAGES * dim))
            .map(|(x, gz)| {
                let mut sums = vec![0.0; c * (c + 1)];
                dispatch(Outer { channels: c, pixels: self.shape.pixels(), x, gz, sums: &mut sums });
                sums
            })
            .collect();
        let mut sums = vec![0.0f64; c * (c + 1)]; // [C, C + 1]: sum gz x^T, and sum gz last
        for part in &parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += f64::from(*part));
        }
        let own = factors.gradients(&sums, &self.order, self.shape.pixels(), grad_log_det);
        (gx, own)
    }

    /// m x_p + bias at every pixel of every image.
    fn apply(&self, m: &[f32], bias: &[f32], x: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; x.len()];
        let (dim, pixels) = (self.shape.dim(), self.shape.pixels());
        y.par_chunks_mut(dim).zip(x.par_chunks(dim)).for_each(|(y, x)| {
            dispatch(Apply { pixels, m, bias, x, y });
        });
        y
    }
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|v| *v as f32).collect()
}

/// m v for square m.
fn product(m: &[f64], v: &[f64]) -> Vec<f64> {
    m.chunks_exact(v.len()).map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

/// theta in double precision, with L U multiplied out.
struct Factors {
    b: Vec<f64>,
    l: Vec<f64>, // [C, C], unit diagonal
    u: Vec<f64>, // [C, C], with its diagonal e^s
    s: Vec<f64>,
    m: Vec<f64>, // [C, C] = P L U
}

impl Factors {
    fn new(theta: &[f32], order: &[usize]) -> Self {
        let c = order.len();
        let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        let (b, rest) = theta.split_at(c);
        let (lower, rest) = rest.split_at(c * c);
        let (upper, s) = rest.split_at(c * c);
        let (mut l, mut u, s) = (wide(lower), wide(upper), wide(s));
        for (i, s) in s.iter().enumerate() {
            for j in 0..c {
                let at = i * c + j;
                match i.cmp(&j) {
                    Ordering::Less => l[at] = 0.0,
                    Ordering::Greater => u[at] = 0.0,
                    Ordering::Equal => (l[at], u[at]) = (1.0, s.exp()),
                }
            }
        }
        let mut m = vec![0.0; c * c];
        for (j, &from) in order.iter().enumerate() {
            for k in 0..c {
                m[j * c + k] = (0..c).map(|i| l[from * c + i] * u[i * c + k]).sum();
            }
        }
        Self { b: wide(b), l, u, s, m }
    }

    /// M^-1, by substitution.
    fn inverse(&self, order: &[usize]) -> Vec<f64> {
        let c = order.len();
        let mut inverse = vec![0.0; c * c];
        for (column, &from) in order.iter().enumerate() {
            let mut v = vec![0.0; c];
            v[from] = 1.0;
            for i in 0..c {
                let known: f64 = (0..i).map(|j| self.l[i * c + j] * v[j]).sum();
                v[i] -= known;
            }
            for i in (0..c).rev() {
                let known: f64 = (i + 1..c).map(|j| self.u[i * c + j] * v[j]).sum();
                v[i] = (v[i] - known) / self.u[i * c + i];
            }
            (0..c).for_each(|i| inverse[i * c + column] = v[i]);
        }
        inverse
    }

    /// theta's gradient from `sums` `[C, C + 1]` of gz x^T and gz.
    fn gradients(&self, sums: &[f64], order: &[usize], pixels: usize, grad_log_det: &[f32]) -> Vec<f32> {
        let c = order.len();
        let mut gv = vec![0.0; c * c];
        let mut gb = vec![0.0; c];
        for (j, &to) in order.iter().enumerate() {
            let total = sums[j * (c + 1) + c];
            for k in 0..c {
                gv[to * c + k] = sums[j * (c + 1) + k] + total * self.b[k];
                gb[k] += self.m[j * c + k] * total;
            }
        }
        let (mut gl, mut gu) = (vec![0.0; c * c], vec![0.0; c * c]);
        let volume = pixels as f64 * grad_log_det.iter().map(|g| f64::from(*g)).sum::<f64>();
        let mut gs = vec![0.0; c];
        for i in 0..c {
            for j in 0..c {
                let of_u = || (0..c).map(|k| self.l[k * c + i] * gv[k * c + j]).sum::<f64>();
                match i.cmp(&j) {
                    Ordering::Greater => {
                        gl[i * c + j] = (0..c).map(|k| gv[i * c + k] * self.u[j * c + k]).sum();
                    }
                    Ordering::Less => gu[i * c + j] = of_u(),
                    Ordering::Equal => gs[i] = of_u() * self.u[i * c + i] + volume,
                }
            }
        }
        [gb, gl, gu, gs].concat().iter().map(|g| *g as f32).collect()
    }
}

/// y_i = bias_i + sum_k m_ik x_k, where x_k is a channel of one image.
struct Apply<'a> {
    pixels: usize,
    m: &'a [f32],
    bias: &'a [f32],
    x: &'a [f32],
    y: &'a mut [f32],
}

impl Kernel for Apply<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let c = self.bias.len();
        for (i, y) in self.y.chunks_exact_mut(self.pixels).enumerate() {
            y.fill(self.bias[i]);
            for (x, m) in self.x.chunks_exact(self.pixels).zip(&self.m[i * c..][..c]) {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = L::fma1(*m, *x, *y));
            }
        }
    }
}

/// `sums[i, k] = sum gz_i x_k` and `sums[i, C] = sum gz_i` over the pixels of some images.
struct Outer<'a> {
    channels: usize,
    pixels: usize,
    x: &'a [f32],
    gz: &'a [f32],
    sums: &'a mut [f32],
}

impl Kernel for Outer<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (c, pixels) = (self.channels, self.pixels);
        let ones = vec![1.0f32; pixels];
        for i in 0..c {
            for k in 0..=c {
                let mut sum = ZERO;
                for (x, gz) in self.x.chunks_exact(c * pixels).zip(self.gz.chunks_exact(c * pixels)) {
                    let gz = &gz[i * pixels..][..pixels];
                    let x = if k < c { &x[k * pixels..][..pixels] } else { &ones };
                    dot::<L>(gz, x, &mut sum);
                }
                self.sums[i * (c + 1) + k] = sum.sum();
            }
        }
    }
}

/// Adds the products of two slices to sixteen sums.
#[inline(always)]
fn dot<L: Lanes>(a: &[f32], b: &[f32], sum: &mut Lane) {
    let (a16, b16) = (a.chunks_exact(16), b.chunks_exact(16));
    for (l, (a, b)) in a16.remainder().iter().zip(b16.remainder()).enumerate() {
        sum.0[l] = L::fma1(*a, *b, sum.0[l]);
    }
    for (a, b) in a16.zip(b16) {
        for l in 0..16 {
            sum.0[l] = L::fma1(a[l], b[l], sum.0[l]);
        }
    }
}
