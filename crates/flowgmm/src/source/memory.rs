//! Images in memory.

use std::ops::Range;

use flowgmm_data::{Image, ImageLayout};
use ndarray::Array2;
use semisup::ImageShape;

use crate::{Error, Result};

/// Images of one shape in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArray {
    shape: ImageShape,
    pixels: Vec<u8>,
}

impl ImageArray {
    /// Images as bytes in the order [image, channel, row, column].
    pub fn new(shape: ImageShape, pixels: Vec<u8>) -> Result<Self> {
        if shape.dim() == 0 || pixels.is_empty() || !pixels.len().is_multiple_of(shape.dim()) {
            let ImageShape { channels, height, width } = shape;
            return Err(Error::Content(format!(
                "images of {channels} x {height} x {width} need a multiple of {} bytes, got {}",
                shape.dim(),
                pixels.len()
            )));
        }
        Ok(Self { shape, pixels })
    }

    /// How many there are.
    pub fn n(&self) -> usize {
        self.pixels.len() / self.shape.dim()
    }

    /// Their shape.
    pub fn shape(&self) -> ImageShape {
        self.shape
    }

    /// Size and colour in which a model sees them.
    pub(super) fn layout(&self, size: Option<(usize, usize)>) -> Result<ImageLayout> {
        let (height, width) = size.unwrap_or((self.shape.height, self.shape.width));
        Ok(ImageLayout::new(self.shape.channels, height, width)?)
    }

    /// Pixels of some images as a model sees them, `[n, dim]`.
    pub(super) fn rows(&self, layout: &ImageLayout, range: Range<usize>) -> Array2<f64> {
        let ImageShape { channels, height, width } = self.shape;
        let mut x = Array2::zeros((range.len(), layout.dim()));
        for (mut row, at) in x.rows_mut().into_iter().zip(range) {
            let pixels = &self.pixels[at * self.shape.dim()..(at + 1) * self.shape.dim()];
            let image = Image::new(channels, height, width, pixels.to_vec());
            row.iter_mut().zip(layout.row(image)).for_each(|(to, pixel)| *to = f64::from(pixel));
        }
        x
    }
}
