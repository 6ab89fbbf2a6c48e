//! Convolutions of images: forward, and hand-derived gradients of the input and the weights.
//!
//! ```text
//! y[n, o, p] = b[o] + sum_{i, d} W[o, i, d] x[n, i, p + d]     d over 1x1 or 3x3 offsets, zeros outside
//! gx[n, i, p] = sum_{o, d} W[o, i, d] gy[n, o, p - d]
//! gW[o, i, d] = sum_{n, p} gy[n, o, p] x[n, i, p + d]          gb[o] = sum_{n, p} gy[n, o, p]
//! ```
//!
//! [`Conv`] is this map; [`PreActConv`] puts a batch normalisation and a ReLU before it and can add a
//! residual after it, without storing what lies between:
//!
//! ```text
//! y = conv(relu(gamma (x - mean) / sqrt(variance + 1e-5) + beta)) + residual
//! ```
//!
//! 3x3 convolutions are computed by Winograd's F(4x4, 3x3), all three passes; 1x1 by matrix products on the
//! same layout ([`Activations`]). Results have the same bits whatever the number of threads.
//!
//! | module        | holds                                                            |
//! |---------------|------------------------------------------------------------------|
//! | `activations` | images in blocks of sixteen channels                             |
//! | `preact`      | batch norm, ReLU, convolution, residual                          |
//! | `forward`, `backward` | the two passes over a batch                              |
//! | `groups`      | how a batch is split into units of work                          |
//! | `product`     | the matrix products                                              |
//! | `winograd`    | the transforms of F(4x4, 3x3) and their adjoints, in one dimension |
//! | `tiles`       | the same in two dimensions, on rows of tiles                     |
//! | `taps`        | the weights' side of it                                          |
//! | `reference`   | the same mathematics as plain f64 loops, for tests               |
//!
//! ```
//! use flowgmm_kernels::conv::{Activations, Conv, KernelSize, Shape, Workspace};
//! let workspace = Workspace::default();
//! let conv = Conv::new(1, 1, KernelSize::Three, &workspace);
//! let shape = Shape { n: 1, channels: 1, height: 2, width: 2 };
//! let x = Activations::from_nchw(&workspace, shape, &[1.0, 2.0, 3.0, 4.0]);
//! let y = conv.forward(&[1.0; 9], None, &x).to_nchw(); // every 3x3 window holds the whole image
//! assert!(y.iter().all(|y| (y - 10.0).abs() < 1e-4));
//! ```

mod activations;
mod backward;
mod forward;
mod groups;
mod preact;
mod product;
pub mod reference;
mod taps;
mod tiles;
mod winograd;

pub use crate::batch_norm::{EPSILON, Moments};
pub use activations::{Activations, Shape, Workspace};
pub use preact::{PreActConv, PreActGradients, PreActParams};

use crate::batch_norm::channel_sums;
use crate::simd::{Kernel, Lane, Lanes, dispatch};
use forward::{Activation, Epilogue, Extra, Source};
use rayon::prelude::*;

/// The extent of a convolution's kernel. A 3x3 kernel pads with one row and column of zeros: images keep
/// their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSize {
    /// 1x1
    One,
    /// 3x3
    Three,
}

impl KernelSize {
    /// Weights per pair of channels.
    pub fn taps(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 9,
        }
    }
}

/// A convolution's shape, and the buffers it works in.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Channels of `x`.
    pub in_channels: usize,
    /// Channels of `y`.
    pub out_channels: usize,
    /// Extent of the kernel.
    pub kernel: KernelSize,
    pub(crate) workspace: Workspace,
}

/// Gradients of a convolution.
#[derive(Debug)]
pub struct ConvGradients {
    /// Shape of `x`.
    pub x: Activations,
    /// `[out, in, k, k]`
    pub weights: Vec<f32>,
}

impl Conv {
    /// # Panics
    /// Unless there is at least one channel on both sides.
    pub fn new(in_channels: usize, out_channels: usize, kernel: KernelSize, workspace: &Workspace) -> Self {
        assert!(
            in_channels > 0 && out_channels > 0,
            "a convolution needs channels: {in_channels} -> {out_channels}"
        );
        Self { in_channels, out_channels, kernel, workspace: workspace.clone() }
    }

    /// Length of the weights `[out, in, k, k]`.
    pub fn n_weights(&self) -> usize {
        self.out_channels * self.in_channels * self.kernel.taps()
    }

    /// `y = conv(x)`; `w` `[out, in, k, k]`, `bias` `[out]`.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn forward(&self, w: &[f32], bias: Option<&[f32]>, x: &Activations) -> Activations {
        self.run(w, x, Epilogue { bias, ..Epilogue::default() })
    }

    /// `y = relu(conv(x))`
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn forward_relu(&self, w: &[f32], bias: Option<&[f32]>, x: &Activations) -> Activations {
        self.run(w, x, Epilogue { bias, activation: Activation::Relu, ..Epilogue::default() })
    }

    /// `y = conv(x)` without bias, its moments measured while it is in cache.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn forward_measured(&self, w: &[f32], x: &Activations) -> Activations {
        self.check(Some(w), Some(x), None);
        forward::forward(self, Source { x, norm: None }, w, Epilogue::default(), Extra::Moments)
    }

    fn run(&self, w: &[f32], x: &Activations, epilogue: Epilogue) -> Activations {
        self.check(Some(w), Some(x), None);
        assert!(epilogue.bias.is_none_or(|b| b.len() == self.out_channels), "bias: one per output channel");
        forward::forward(self, Source { x, norm: None }, w, epilogue, Extra::Nothing)
    }

    /// `gy` where `y > 0`, else 0: from the gradient of [`Conv::forward_relu`]'s output `y` to that of the sums
    /// before the ReLU, which is what the methods below take.
    ///
    /// # Panics
    /// When the shapes differ.
    pub fn relu_gradient(&self, y: &Activations, gy: &Activations) -> Activations {
        assert_eq!(y.shape(), gy.shape(), "y and its gradient");
        let mut to = Activations::uninitialised(&self.workspace, y.shape());
        let plane = y.shape().plane();
        to.lanes_mut().par_chunks_mut(plane).enumerate().for_each(|(i, to)| {
            dispatch(Mask { y: &y.lanes()[i * plane..][..plane], gy: &gy.lanes()[i * plane..][..plane], to });
        });
        to
    }

    /// The gradient of `x` from that of `y`.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn input_gradient(&self, w: &[f32], gy: &Activations) -> Activations {
        self.check(Some(w), None, Some(gy));
        backward::backward(self, None, Some(w), gy).input.expect("asked for by giving w")
    }

    /// The gradient of the weights `[out, in, k, k]`.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn weight_gradient(&self, x: &Activations, gy: &Activations) -> Vec<f32> {
        self.check(None, Some(x), Some(gy));
        backward::backward(self, Some(Source { x, norm: None }), None, gy)
            .weights
            .expect("asked for by giving x")
    }

    /// The gradient of the bias `[out]`.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn bias_gradient(&self, gy: &Activations) -> Vec<f32> {
        self.check(None, None, Some(gy));
        channel_sums(gy)
    }

    /// [`Conv::input_gradient`] and [`Conv::weight_gradient`] at once: same bits, less work.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn backward(&self, w: &[f32], x: &Activations, gy: &Activations) -> ConvGradients {
        self.check(Some(w), Some(x), Some(gy));
        let back = backward::backward(self, Some(Source { x, norm: None }), Some(w), gy);
        ConvGradients {
            x: back.input.expect("asked for by giving w"),
            weights: back.weights.expect("asked for by giving x"),
        }
    }

    /// Matrix products that the convolution is made of.
    pub(crate) fn frequencies(&self) -> usize {
        match self.kernel {
            KernelSize::One => 1,
            KernelSize::Three => winograd::FREQUENCIES,
        }
    }

    pub(crate) fn check(&self, w: Option<&[f32]>, x: Option<&Activations>, y: Option<&Activations>) {
        assert!(w.is_none_or(|w| w.len() == self.n_weights()), "weights of {self:?}");
        assert!(x.is_none_or(|x| x.shape().channels == self.in_channels), "channels of x for {self:?}");
        assert!(y.is_none_or(|y| y.shape().channels == self.out_channels), "channels of y for {self:?}");
        if let (Some(x), Some(y)) = (x, y) {
            assert_eq!(x.shape().with_channels(0), y.shape().with_channels(0), "x and y: images of one size");
        }
    }
}

/// `gy` where `y > 0`.
struct Mask<'a> {
    y: &'a [Lane],
    gy: &'a [Lane],
    to: &'a mut [Lane],
}

impl Kernel for Mask<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        for ((to, y), gy) in self.to.iter_mut().zip(self.y).zip(self.gy) {
            L::store(L::where_positive(L::load(y), L::load(gy)), to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{FORCED, levels};

    /// All levels against the widest, on shapes small enough to stay on this thread. They differ by rounding:
    /// Winograd's error is below 1e-5 of the largest number.
    #[test]
    fn every_level_computes_the_same() {
        let number = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0;
        let numbers = |len: usize, seed: usize| -> Vec<f32> { (0..len).map(|i| number(i + seed)).collect() };
        let workspace = Workspace::default();
        for (kernel, channels, out) in
            [(KernelSize::Three, 17, 33), (KernelSize::One, 17, 33), (KernelSize::Three, 3, 80)]
        {
            let layer = PreActConv::new(channels, out, kernel, &workspace);
            let shape = Shape { n: 2, channels, height: 5, width: 9 };
            let (gamma, beta, weights) =
                (numbers(channels, 1), numbers(channels, 2), numbers(layer.conv().n_weights(), 3));
            let params = PreActParams { gamma: &gamma, beta: &beta, weights: &weights };
            let x_values = numbers(shape.len(), 4);
            let gy_shape = Shape { channels: out, ..shape };
            let gy_values = numbers(gy_shape.len(), 5);
            let mut widest: Option<[Vec<f32>; 6]> = None;
            for level in levels() {
                FORCED.set(Some(level));
                let x = Activations::from_nchw(&workspace, shape, &x_values);
                let gy = Activations::from_nchw(&workspace, gy_shape, &gy_values);
                let y = layer.forward(params, &x, Some(&gy)).to_nchw();
                let g = layer.backward(params, &x, &gy, None);
                let relu = layer.conv().forward_relu(&weights, None, &x).to_nchw();
                let got = [y, relu, g.x.to_nchw(), g.gamma, g.beta, g.weights];
                for (want, got) in widest.iter().flatten().zip(&got) {
                    let scale = want.iter().fold(0.0f32, |m, x| m.max(x.abs()));
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * scale;
                    assert!(
                        want.len() == got.len() && want.iter().zip(got).all(close),
                        "{level:?} {kernel:?}"
                    );
                }
                widest.get_or_insert(got);
            }
            FORCED.set(None);
        }
    }
}
