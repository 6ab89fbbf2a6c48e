//! Batch normalisation of channels followed by a ReLU, fused into the convolution behind it.
//!
//! Over the m = n height width numbers of a channel, with `rstd = 1 / sqrt(variance + 1e-5)`:
//!
//! ```text
//! mean = sum x / m        variance = sum (x - mean)^2 / m              (biased)
//! b = gamma (x - mean) rstd + beta = scale x + shift                   a = relu(b)
//! gb      = ga where b > 0, else 0
//! g_beta  = sum gb        g_gamma = rstd sum gb (x - mean)
//! gx      = scale (gb - g_beta / m - (x - mean) rstd g_gamma / m)
//! ```
//!
//! (Ioffe and Szegedy, "Batch Normalization", 2015, section 3.) Neither `b` nor `a` nor the ReLU's mask is
//! stored: each is one multiply-add from `x`.

use crate::conv::{Activations, Shape};
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch};
use rayon::prelude::*;

/// Added to the variance.
pub const EPSILON: f64 = 1e-5;

/// Mean and biased variance of every channel over images and pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// `[channels]`
    pub mean: Vec<f32>,
    /// `[channels]`, divided by m, not by m - 1.
    pub variance: Vec<f32>,
}

impl Moments {
    pub(crate) fn of(x: &Activations) -> Self {
        let planes = x.lanes().par_chunks(x.shape().plane());
        let parts: Vec<Part> = planes.map(part).collect();
        Self::combine(x.shape(), parts.iter().enumerate().map(|(i, part)| (i % x.shape().blocks(), part)))
    }

    /// The moments of the union of `parts`, each with its block of channels (Chan, Golub and LeVeque, 1979).
    pub(crate) fn combine<'a>(shape: Shape, parts: impl Iterator<Item = (usize, &'a Part)>) -> Self {
        let mut count = vec![0.0; shape.blocks()];
        let (mut mean, mut m2) = (vec![0.0; 16 * shape.blocks()], vec![0.0; 16 * shape.blocks()]);
        for (block, part) in parts {
            let (before, n) = (count[block], part.count as f64);
            count[block] += n;
            for l in 0..16 {
                let c = 16 * block + l;
                let delta = part.mean.0[l] as f64 - mean[c];
                mean[c] += delta * n / count[block];
                m2[c] += part.m2.0[l] as f64 + delta * delta * before * n / count[block];
            }
        }
        let channels = 0..shape.channels;
        Self {
            mean: channels.clone().map(|c| mean[c] as f32).collect(),
            variance: channels.map(|c| (m2[c] / count[c / 16]) as f32).collect(),
        }
    }
}

/// Moments of a piece of one plane: `m2 = sum (x - mean)^2`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    count: usize,
    mean: Lane,
    m2: Lane,
}

/// Two passes, so that a mean far from zero costs no digits; cheap when `lanes` have just been written.
pub(crate) fn part(lanes: &[Lane]) -> Part {
    let mut to = Part { count: lanes.len(), mean: ZERO, m2: ZERO };
    dispatch(Measure { lanes, to: &mut to });
    to
}

struct Measure<'a> {
    lanes: &'a [Lane],
    to: &'a mut Part,
}

impl Kernel for Measure<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let one = L::splat(1.0);
        // Four sums at a time: an addition takes four cycles.
        let mut sums = [L::splat(0.0); 4];
        let fours = self.lanes.chunks_exact(4);
        for x in fours.clone() {
            for i in 0..4 {
                sums[i] = L::fma(one, L::load(&x[i]), sums[i]);
            }
        }
        for x in fours.remainder() {
            sums[0] = L::fma(one, L::load(x), sums[0]);
        }
        let nth = L::splat(1.0 / self.lanes.len() as f32);
        let mean = L::fma(nth, total::<L>(sums), L::splat(0.0));
        L::store(mean, &mut self.to.mean);
        let minus = L::fma(L::splat(-1.0), mean, L::splat(0.0));
        sums = [L::splat(0.0); 4];
        for x in fours.clone() {
            for i in 0..4 {
                let d = L::fma(one, L::load(&x[i]), minus);
                sums[i] = L::fma(d, d, sums[i]);
            }
        }
        for x in fours.remainder() {
            let d = L::fma(one, L::load(x), minus);
            sums[0] = L::fma(d, d, sums[0]);
        }
        L::store(total::<L>(sums), &mut self.to.m2);
    }
}

#[inline(always)]
fn total<L: Lanes>(v: [L::V; 4]) -> L::V {
    let one = L::splat(1.0);
    L::fma(one, L::fma(one, v[0], v[1]), L::fma(one, v[2], v[3]))
}

/// The sum over pixels and images of every channel: the gradient of a convolution's bias.
pub(crate) fn channel_sums(g: &Activations) -> Vec<f32> {
    let (blocks, plane) = (g.shape().blocks(), g.shape().plane());
    let parts: Vec<Part> = g.lanes().par_chunks(plane).map(part).collect();
    let sum = |c: usize| -> f64 {
        parts.iter().skip(c / 16).step_by(blocks).map(|p| p.mean.0[c % 16] as f64 * plane as f64).sum()
    };
    (0..g.shape().channels).map(|c| sum(c) as f32).collect()
}

/// `scale x + shift` on one block of channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub scale: Lane,
    pub shift: Lane,
}

/// Batch normalisation with given statistics, as a scale and shift of each channel.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub affine: Vec<Affine>, // [blocks]
    pub mean: Vec<Lane>,     // [blocks]
    rstd: Vec<f64>,          // [channels]
}

impl Norm {
    /// # Panics
    /// Unless all have one number per channel.
    pub(crate) fn new(gamma: &[f32], beta: &[f32], moments: &Moments) -> Self {
        let channels = gamma.len();
        assert_eq!(beta.len(), channels, "length of beta, as of gamma");
        assert_eq!(
            (moments.mean.len(), moments.variance.len()),
            (channels, channels),
            "moments, one per channel"
        );
        let rstd: Vec<f64> = moments.variance.iter().map(|&v| 1.0 / (v as f64 + EPSILON).sqrt()).collect();
        let scale = |c: usize| gamma[c] as f64 * rstd[c];
        let affine = |block| Affine {
            scale: lane(block, channels, |c| scale(c) as f32),
            shift: lane(block, channels, |c| (beta[c] as f64 - moments.mean[c] as f64 * scale(c)) as f32),
        };
        let blocks = channels.div_ceil(16);
        Self {
            affine: (0..blocks).map(affine).collect(),
            mean: (0..blocks).map(|block| lane(block, channels, |c| moments.mean[c])).collect(),
            rstd,
        }
    }

    /// From `gb` and the sums of [`gate`], gives the gradients of gamma and beta and turns `gb` into
    /// `gx`, plus `skip` if there is one.
    pub(crate) fn finish(
        &self,
        x: &Activations,
        sums: &GateSums,
        skip: Option<&Activations>,
        gb: &mut Activations,
    ) -> (Vec<f32>, Vec<f32>) {
        let (shape, channels) = (x.shape(), self.rstd.len());
        let (plane, blocks) = (shape.plane(), shape.blocks());
        let m = (shape.n * plane) as f64;
        // gx = scale gb + slope x + level
        let slope = |c: usize| {
            -(self.affine[c / 16].scale.0[c % 16] as f64) * self.rstd[c].powi(2) * sums.centred[c] / m
        };
        let level = |c: usize| {
            let scale = self.affine[c / 16].scale.0[c % 16] as f64;
            -scale * sums.plain[c] / m - slope(c) * self.mean[c / 16].0[c % 16] as f64
        };
        let lines: Vec<Affine> = (0..blocks)
            .map(|block| Affine {
                scale: lane(block, channels, |c| slope(c) as f32),
                shift: lane(block, channels, |c| level(c) as f32),
            })
            .collect();
        gb.lanes_mut().par_chunks_mut(plane).enumerate().for_each(|(i, gb)| {
            let (image, block) = (i / blocks, i % blocks);
            dispatch(Finish {
                gb,
                x: x.plane(image, block),
                skip: skip.map(|skip| skip.plane(image, block)),
                scale: self.affine[block].scale,
                line: lines[block],
            });
        });
        (
            (0..channels).map(|c| (self.rstd[c] * sums.centred[c]) as f32).collect(),
            (0..channels).map(|c| sums.plain[c] as f32).collect(),
        )
    }
}

/// One number per channel of a block, zero past the last channel.
pub(crate) fn lane(block: usize, channels: usize, number: impl Fn(usize) -> f32) -> Lane {
    Lane(std::array::from_fn(|l| if 16 * block + l < channels { number(16 * block + l) } else { 0.0 }))
}

/// `sum gb` and `sum gb (x - mean)` of every channel.
#[derive(Clone, Debug)]
pub(crate) struct GateSums {
    pub plain: Vec<f64>,   // [16 blocks]
    pub centred: Vec<f64>, // [16 blocks]
}

impl GateSums {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { plain: vec![0.0; 16 * blocks], centred: vec![0.0; 16 * blocks] }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.plain.iter_mut().zip(&other.plain).for_each(|(a, b)| *a += b);
        self.centred.iter_mut().zip(&other.centred).for_each(|(a, b)| *a += b);
    }
}

/// `gb = ga where b > 0` in place on some pixels of one block, adding to the block's sums.
pub(crate) fn gate(norm: &Norm, block: usize, x: &[Lane], g: &mut [Lane], sums: &mut GateSums) {
    let mut parts = [ZERO; 2];
    dispatch(Gate { x, g, affine: norm.affine[block], mean: norm.mean[block], sums: &mut parts });
    for l in 0..16 {
        sums.plain[16 * block + l] += parts[0].0[l] as f64;
        sums.centred[16 * block + l] += parts[1].0[l] as f64;
    }
}

struct Gate<'a> {
    x: &'a [Lane],
    g: &'a mut [Lane],
    affine: Affine,
    mean: Lane,
    sums: &'a mut [Lane; 2],
}

impl Kernel for Gate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (scale, shift) = (L::load(&self.affine.scale), L::load(&self.affine.shift));
        let one = L::splat(1.0);
        let minus = L::fma(L::splat(-1.0), L::load(&self.mean), L::splat(0.0));
        let mut plain = [L::splat(0.0); 4];
        let mut centred = [L::splat(0.0); 4];
        let mut g = self.g.chunks_exact_mut(4);
        let x = self.x.chunks_exact(4);
        let rest = x.remainder();
        for (g, x) in (&mut g).zip(x) {
            for i in 0..4 {
                let x = L::load(&x[i]);
                let gb = L::where_positive(L::fma(scale, x, shift), L::load(&g[i]));
                plain[i] = L::fma(one, gb, plain[i]);
                centred[i] = L::fma(gb, L::fma(one, x, minus), centred[i]);
                L::store(gb, &mut g[i]);
            }
        }
        for (g, x) in g.into_remainder().iter_mut().zip(rest) {
            let x = L::load(x);
            let gb = L::where_positive(L::fma(scale, x, shift), L::load(g));
            plain[0] = L::fma(one, gb, plain[0]);
            centred[0] = L::fma(gb, L::fma(one, x, minus), centred[0]);
            L::store(gb, g);
        }
        L::store(total::<L>(plain), &mut self.sums[0]);
        L::store(total::<L>(centred), &mut self.sums[1]);
    }
}

/// `relu(scale x + shift)` of some pixels of one block, for the convolutions that read pixels as they are.
pub(crate) struct NormRelu<'a> {
    pub x: &'a [Lane],
    pub affine: Affine,
    pub to: &'a mut [Lane],
}

impl Kernel for NormRelu<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (scale, shift) = (L::load(&self.affine.scale), L::load(&self.affine.shift));
        for (to, x) in self.to.iter_mut().zip(self.x) {
            L::store(L::relu(L::fma(scale, L::load(x), shift)), to);
        }
    }
}

/// `gx = scale gb + (slope x + level) + skip`
struct Finish<'a> {
    gb: &'a mut [Lane],
    x: &'a [Lane],
    skip: Option<&'a [Lane]>,
    scale: Lane,
    line: Affine,
}

impl Kernel for Finish<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (slope, level) = (L::load(&self.line.scale), L::load(&self.line.shift));
        let scale = L::load(&self.scale);
        match self.skip {
            None => {
                for (gb, x) in self.gb.iter_mut().zip(self.x) {
                    L::store(L::fma(scale, L::load(gb), L::fma(slope, L::load(x), level)), gb);
                }
            }
            Some(skip) => {
                let one = L::splat(1.0);
                for ((gb, x), skip) in self.gb.iter_mut().zip(self.x).zip(skip) {
                    let gx = L::fma(scale, L::load(gb), L::fma(slope, L::load(x), level));
                    L::store(L::fma(one, L::load(skip), gx), gb);
                }
            }
        }
    }
}
