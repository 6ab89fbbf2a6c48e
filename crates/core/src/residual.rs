//! A tower of pre-activation residual blocks on images: the body of the paper's image conditioners (appendix D).
//!
//!   block:  h <- h + conv(relu(bn(conv(relu(bn(h))))))          3x3, zero padding, no bias
//!   bn:     gamma (h - mean) / sqrt(variance + 1e-5) + beta      mean and biased variance of the batch, per channel
//!
//! Images are `[n, channels, height, width]`. On a CPU in single precision the whole tower is one fused operation
//! (`crate::fused`); the composed one below is its oracle and the path of other devices.

use burn::tensor::{Tensor, activation::relu, module::conv2d, ops::ConvOptions};
use flowgmm_kernels::conv::EPSILON;
use rand::Rng as _;
use semisup::Rng;

use crate::{
    Error, Result,
    flow::Engine,
    fused::{self, Tower},
    tensor::Place,
    theta::Theta,
};

/// Pre-activation residual blocks in training mode, all of one width.
#[derive(Clone, Debug)]
pub struct ResidualTower {
    channels: usize,
    /// Two for each block: gamma, beta and the kernel of one convolution.
    layers: Vec<Theta>,
    kernel: Tower,
    engine: Engine,
}

const GAMMA: usize = 0;
const BETA: usize = 1;
const KERNEL: usize = 2;

impl ResidualTower {
    /// A tower of `blocks` blocks with fresh kernels, uniform in +-1/sqrt(fan in).
    pub fn new(channels: usize, blocks: usize, rng: &mut Rng, place: &Place) -> Result<Self> {
        if channels == 0 || blocks == 0 || 2 * blocks > fused::MAX_THETAS {
            return Err(Error::Config(format!(
                "a residual tower has at least one channel and 1 to {} blocks, got {channels} and {blocks}",
                fused::MAX_THETAS / 2
            )));
        }
        let limit = 1.0 / (9.0 * channels as f64).sqrt();
        let mut layer = || {
            let kernel = (0..9 * channels * channels).map(|_| limit * rng.random_range(-1.0..1.0)).collect();
            let pieces = vec![
                ("gamma".into(), [1, channels], vec![1.0; channels]),
                ("beta".into(), [1, channels], vec![0.0; channels]),
                ("W".into(), [channels, 9 * channels], kernel),
            ];
            Theta::new(pieces, place)
        };
        let layers = (0..2 * blocks).map(|_| layer()).collect();
        Ok(Self { channels, layers, kernel: Tower::new(channels), engine: Engine::default() })
    }

    /// The same tower on another engine.
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The parameters, layer by layer.
    pub fn thetas(&self) -> Vec<&Theta> {
        self.layers.iter().collect()
    }

    /// The same, to be updated.
    pub fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        self.layers.iter_mut().collect()
    }

    /// A copy whose parameters are leaves of a fresh gradient graph.
    pub fn tracked(&self) -> Self {
        let mut tower = self.clone();
        for theta in &mut tower.layers {
            let leaf = theta.value().clone().autodiff().require_grad();
            theta.set(leaf);
        }
        tower
    }

    /// The tower's output for images `[n, channels, height, width]`, with statistics of this batch.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        if self.engine != Engine::Composed
            && let Some(y) = fused::residual_tower(&self.kernel, &self.thetas(), &x)
        {
            return y;
        }
        self.layers.chunks_exact(2).fold(x, |h, block| {
            let inner = self.layer(&block[0], h.clone());
            h + self.layer(&block[1], inner)
        })
    }

    /// conv(relu(bn(h))) by composed operations.
    fn layer(&self, theta: &Theta, h: Tensor<4>) -> Tensor<4> {
        let c = self.channels;
        let mean = h.clone().mean_dims(&[0, 2, 3]);
        let centred = h - mean;
        let variance = centred.clone().square().mean_dims(&[0, 2, 3]);
        let per_channel = |part: usize| theta.part(part).reshape([1, c, 1, 1]);
        let root = variance.add_scalar(EPSILON).sqrt();
        let normal = centred / root * per_channel(GAMMA) + per_channel(BETA);
        let weights = theta.part(KERNEL).reshape([c, c, 3, 3]);
        conv2d(relu(normal), weights, None, ConvOptions::new([1, 1], [1, 1], [1, 1], 1))
    }
}
