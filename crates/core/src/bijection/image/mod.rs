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

use burn_tensor::Tensor;

pub(super) use coupling::ConvAffine;
pub use coupling::ImageMask;
pub(super) use factor::FactorOut;
pub(super) use mix::ChannelMix;
pub use nets::ConvNet;
pub(super) use squeeze::Squeeze;

use super::spec::MAX_WIDTH;
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
