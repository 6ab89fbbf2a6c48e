//! Flows for images.
//!
//! An image is a row of pixel values 0 to 255 in the order [channel, row, column]. Rows become v = (x + 1/2) / 256,
//! which the flow's first layer takes to the logits; training replaces the half by uniform noise (dequantisation).
//! Prediction, encoding, sampling and files are those of tables, and
//! log p(x) is the density of pixel values, so that [`bits_per_dim`] needs only it.

use ndarray::{Array2, ArrayView2};
use rand::Rng as _;
use semisup::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{BijectionSpec, ConvNet, Form, ImageMask, ImageShape, MAX_WIDTH},
};

/// Dequantised pixel values, x + u - 1/2 with u uniform in [0, 1). The mean log-density of such rows is a lower bound of
/// the log-probability of the images; that of the cells' centres is not.
pub fn dequantised(x: ArrayView2<f64>, rng: &mut Rng) -> Array2<f64> {
    x.mapv(|x| x + rng.random_range(-0.5..0.5))
}

/// Mean bits per pixel value of (dequantised) rows with these log-densities.
pub fn bits_per_dim(log_marginal: &[f64], dim: usize) -> f64 {
    let nats = -log_marginal.iter().sum::<f64>() / log_marginal.len().max(1) as f64;
    nats / (dim as f64 * std::f64::consts::LN_2)
}

/// Couplings between two squeezes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageStage {
    /// How many.
    pub couplings: usize,
    /// Channels of their nets.
    pub hidden: usize,
}

/// Layers for images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum ImageFlow {
    /// Logit; then stages of a squeeze and steps of channel mixing and a light coupling.
    Light {
        /// The images.
        shape: ImageShape,
        /// The stages.
        stages: Vec<ImageStage>,
    },
    /// Logit; then stages of a squeeze and steps of channel mixing and a coupling with two plain convolutions, without
    /// batch normalisation.
    Plain {
        /// The images.
        shape: ImageShape,
        /// The stages.
        stages: Vec<ImageStage>,
    },
    /// The paper's multi-scale RealNVP (appendix D), laid out as in the authors' code.
    Paper {
        /// The images.
        shape: ImageShape,
        /// Channels of the nets before the squeeze; twice as many after it.
        hidden: usize,
        /// Residual blocks of a net.
        blocks: usize,
    },
}

/// Distance that the logit keeps from 0 and 1: p = .05 + .9 v.
const ALPHA: f64 = 0.05;
/// No architecture for images has more couplings, or more blocks of a net, than this.
const MAX_LAYERS: usize = 512;

impl ImageFlow {
    /// Whether the sizes are such that [`ImageFlow::layers`] may be asked for.
    pub(crate) fn is_possible(&self) -> bool {
        let (shape, stages) = match self {
            Self::Light { shape, stages } | Self::Plain { shape, stages } => (shape, stages.as_slice()),
            Self::Paper { shape, hidden, blocks } => {
                return is_image(*shape, 1) && (1..=MAX_WIDTH / 2).contains(hidden) && *blocks <= MAX_LAYERS;
            }
        };
        let couplings = stages.iter().fold(0, |sum: usize, stage| sum.saturating_add(stage.couplings));
        stages.len() <= 16 && couplings <= MAX_LAYERS && is_image(*shape, stages.len() as u32)
    }

    /// The layers, data side first.
    pub fn layers(&self) -> Vec<BijectionSpec> {
        let mut layers = vec![BijectionSpec::Logit { alpha: ALPHA }];
        match self {
            Self::Light { shape, stages } => {
                layers.extend(staged(*shape, stages, |hidden| ConvNet::Light { hidden }));
            }
            Self::Plain { shape, stages } => {
                layers.extend(staged(*shape, stages, |hidden| ConvNet::Plain { hidden }));
            }
            Self::Paper { shape, hidden, blocks } => {
                let couplings = |shape: ImageShape,
                                 masks: &[ImageMask],
                                 hidden: usize|
                 -> Vec<BijectionSpec> {
                    let net = ConvNet::Residual { hidden, blocks: *blocks };
                    let form = Form::ShiftThenScale;
                    masks.iter().map(|&mask| BijectionSpec::ConvAffine { shape, mask, net, form }).collect()
                };
                let boards = [ImageMask::Checkerboard, ImageMask::CheckerboardReversed].repeat(2);
                let halves = [ImageMask::Channels, ImageMask::ChannelsReversed, ImageMask::Channels];
                layers.extend(couplings(*shape, &boards[..3], *hidden));
                layers.push(BijectionSpec::Squeeze { shape: *shape });
                let squeezed = shape.squeezed();
                layers.extend(couplings(squeezed, &halves, 2 * hidden));
                let keep = squeezed.channels / 2;
                let inner = couplings(squeezed.with_channels(keep), &boards, 2 * hidden);
                layers.push(BijectionSpec::FactorOut { shape: squeezed, keep, layers: inner });
            }
        }
        layers
    }

    /// The flow for CPUs: two stages and as many squeezes.
    pub fn light(shape: ImageShape) -> Result<Self> {
        if !shape.height.is_multiple_of(4) || !shape.width.is_multiple_of(4) {
            return Err(Error::Config(format!(
                "height and width of images must be multiples of 4, got {} x {}; pad or crop them",
                shape.height, shape.width
            )));
        }
        let stages = vec![ImageStage { couplings: 6, hidden: 32 }, ImageStage { couplings: 8, hidden: 64 }];
        Ok(Self::Light { shape, stages })
    }
}

/// Whether images of this shape are no wider than a flow, and can be squeezed so many times.
fn is_image(shape: ImageShape, squeezes: u32) -> bool {
    let ImageShape { channels, height, width } = shape;
    let dim = channels.checked_mul(height).and_then(|n| n.checked_mul(width));
    let divides = |side: usize| side.is_multiple_of(1 << squeezes);
    dim.is_some_and(|dim| (1..=MAX_WIDTH).contains(&dim)) && divides(height) && divides(width)
}

/// Stages of a squeeze and steps of channel mixing and a coupling.
fn staged(
    mut shape: ImageShape,
    stages: &[ImageStage],
    net: impl Fn(usize) -> ConvNet,
) -> Vec<BijectionSpec> {
    let mut layers = Vec::new();
    for stage in stages {
        layers.push(BijectionSpec::Squeeze { shape });
        shape = shape.squeezed();
        for _ in 0..stage.couplings {
            // Reversed, so that what one coupling changed the next one keeps.
            let order = (0..shape.channels).rev().collect();
            layers.push(BijectionSpec::ChannelMix { shape, order });
            layers.push(BijectionSpec::ConvAffine {
                shape,
                mask: ImageMask::Channels,
                net: net(stage.hidden),
                form: Form::ScaleThenShift,
            });
        }
    }
    layers
}
