//! Bijections of images. A row is an image's pixels in the order [channel, row, column]; the architecture of each
//! layer holds the shape.
//!
//! | file | map | source |
//! |---|---|---|
//! | `squeeze` | 2x2 blocks of pixels to channels | RealNVP |
//! | `coupling` | affine coupling whose net is convolutional | RealNVP, the paper's appendix D |
//! | `nets`, `norm` | its nets, and their batch normalisation | |
//! | `mix` | linear map of the channels at every pixel | Glow |
//! | `factor` | some channels are done, the others go on | RealNVP's multi-scale architecture |

mod coupling;
mod factor;
mod mix;
mod nets;
mod norm;
mod squeeze;

use burn::tensor::Tensor;

pub(super) use coupling::ConvAffine;
pub use coupling::ImageMask;
pub(super) use factor::FactorOut;
pub(super) use mix::ChannelMix;
pub use nets::ConvNet;
pub(super) use squeeze::Squeeze;

use super::MAX_WIDTH;
use crate::{Error, Result};

pub use semisup::ImageShape;

/// What flows ask of an image's shape.
pub(super) trait ShapeExt {
    /// Checks that rows of `dim` columns are such images.
    fn check(self, dim: usize) -> Result<()>;
    /// The shape as kernels know it.
    fn plane(self) -> flowgmm_kernels::image::Plane;
}

impl ShapeExt for ImageShape {
    fn check(self, dim: usize) -> Result<()> {
        let Self { channels, height, width } = self;
        let sensible = |n: usize| (1..=MAX_WIDTH).contains(&n);
        let fits = sensible(channels) && sensible(height) && sensible(width);
        // Products of three numbers up to 2^16 cannot wrap around in 64 bits.
        if fits && channels as u64 * height as u64 * width as u64 == dim as u64 {
            return Ok(());
        }
        Err(Error::Config(format!("images of {channels} x {height} x {width} do not have {dim} columns")))
    }

    fn plane(self) -> flowgmm_kernels::image::Plane {
        let Self { channels, height, width } = self;
        flowgmm_kernels::image::Plane { channels, height, width }
    }
}

/// Rows as images.
fn images(x: Tensor<2>, shape: ImageShape) -> Tensor<4> {
    let rows = x.dims()[0];
    x.reshape([rows, shape.channels, shape.height, shape.width])
}

/// Images as rows.
fn rows(x: Tensor<4>) -> Tensor<2> {
    let [n, c, h, w] = x.dims();
    x.reshape([n, c * h * w])
}

/// One image architecture of every kind that rows of `dim` columns allow: what the laws are tested on.
pub(super) fn examples(dim: usize) -> Vec<super::BijectionSpec> {
    use super::{BijectionSpec as Spec, Form};
    let mut specs = Vec::new();
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    let nets = [
        ConvNet::Plain { hidden: 3 },
        ConvNet::Light { hidden: 3 },
        ConvNet::Residual { hidden: 2, blocks: 1 },
    ];
    let forms = [Form::ShiftThenScale, Form::ScaleThenShift];
    for channels in divisors(dim) {
        for height in divisors(dim / channels) {
            let shape = ImageShape { channels, height, width: dim / channels / height };
            if shape.height.is_multiple_of(2) && shape.width.is_multiple_of(2) {
                specs.push(Spec::Squeeze { shape });
            }
            specs.push(Spec::ChannelMix { shape, order: (0..channels).rev().collect() });
            let masks = [ImageMask::Checkerboard, ImageMask::CheckerboardReversed];
            for (i, mask) in masks.into_iter().enumerate() {
                specs.push(Spec::ConvAffine { shape, mask, net: nets[(i + channels) % 3], form: forms[i] });
            }
            if channels.is_multiple_of(2) {
                for (i, mask) in [ImageMask::Channels, ImageMask::ChannelsReversed].into_iter().enumerate() {
                    specs.push(Spec::ConvAffine {
                        shape,
                        mask,
                        net: nets[(i + height) % 3],
                        form: forms[1 - i],
                    });
                }
                let inner = shape.with_channels(channels / 2);
                let layers = vec![
                    Spec::ChannelMix { shape: inner, order: (0..channels / 2).collect() },
                    Spec::ConvAffine {
                        shape: inner,
                        mask: ImageMask::Checkerboard,
                        net: nets[1],
                        form: forms[0],
                    },
                ];
                specs.push(Spec::FactorOut { shape, keep: channels / 2, layers });
            }
        }
    }
    specs
}
