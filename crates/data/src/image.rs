//! Images in memory, and the size and number of channels in which a model sees them.
//!
//! ```text
//! Image [channels, height, width] -crop to the aspect ratio of the layout, resize-> -grey or colour->
//!   -pad with zeros below and to the right-> a row of pixel values 0..=255, [channels, padded height, padded width]
//! ```
//!
//! The crop is centred. Downscaling averages areas, upscaling is bilinear. Sides are padded to a multiple of 4, since flows
//! for images halve them twice.

mod resize;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Sides of padded images are multiples of this.
const MULTIPLE: usize = 4;
/// No side of a layout is longer.
const LONGEST: usize = 128;

/// An image with one byte for each pixel and channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// 1 for grey; 3 for red, green and blue.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// `[channels, height, width]`, from the top left.
    pub pixels: Vec<u8>,
}

/// The size and number of channels to which images are brought, and how they are laid out as rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageLayout {
    /// 1 for grey; 3 for red, green and blue.
    pub channels: usize,
    /// Rows of pixels, before padding.
    pub height: usize,
    /// Columns of pixels, before padding.
    pub width: usize,
}

impl Image {
    /// An image of these pixels, `[channels, height, width]`.
    ///
    /// # Panics
    /// Unless there are `channels * height * width` bytes.
    pub fn new(channels: usize, height: usize, width: usize, pixels: Vec<u8>) -> Self {
        assert_eq!(pixels.len(), channels * height * width, "{channels} x {height} x {width} pixels");
        Self { channels, height, width, pixels }
    }

    /// The image with one channel or with three: luma by the weights of ITU-R BT.601, or grey in all channels.
    fn with_channels(self, channels: usize) -> Self {
        let area = self.height * self.width;
        let pixels = match (self.channels, channels) {
            (3, 1) => {
                let (red, rest) = self.pixels.split_at(area);
                let (green, blue) = rest.split_at(area);
                let brightness = |((&r, &g), &b): ((&u8, &u8), &u8)| {
                    ((299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) + 500) / 1000) as u8
                };
                red.iter().zip(green).zip(blue).map(brightness).collect()
            }
            (1, n) if n > 1 => self.pixels.repeat(n),
            _ => return self,
        };
        Self { channels, pixels, ..self }
    }
}

impl ImageLayout {
    /// Checks that there are one or three channels and that sides are between 1 and 128 pixels.
    pub fn new(channels: usize, height: usize, width: usize) -> Result<Self> {
        let layout = Self { channels, height, width };
        layout.validate().map(|()| layout)
    }

    /// The checks of [`ImageLayout::new`], for a layout that was read from a file.
    pub fn validate(&self) -> Result<()> {
        let side = |n: usize| (1..=LONGEST).contains(&n);
        if matches!(self.channels, 1 | 3) && side(self.height) && side(self.width) {
            return Ok(());
        }
        Err(Error::BadImageLayout { layout: self.describe(), longest: LONGEST })
    }

    /// Height and width with padding.
    pub fn padded(&self) -> (usize, usize) {
        (self.height.next_multiple_of(MULTIPLE), self.width.next_multiple_of(MULTIPLE))
    }

    /// Number of values of a row.
    pub fn dim(&self) -> usize {
        let (height, width) = self.padded();
        self.channels * height * width
    }

    /// Number of values of an image, which is a row without its padding.
    pub fn pixels(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// The shape of a row, padding included.
    pub fn shape(&self) -> semisup::ImageShape {
        let (height, width) = self.padded();
        semisup::ImageShape { channels: self.channels, height, width }
    }

    /// `28 x 28 grey`
    pub fn describe(&self) -> String {
        let colour = if self.channels == 1 { "grey" } else { "colour" };
        format!("{} x {} {colour}", self.height, self.width)
    }

    /// Whether an image of this size and number of channels needs no change but padding.
    pub fn suits(&self, channels: usize, height: usize, width: usize) -> bool {
        (channels, height, width) == (self.channels, self.height, self.width)
    }

    /// An image as a row of pixel values.
    pub fn row(&self, image: Image) -> Vec<u8> {
        // Resized before channels are converted: images are mostly larger than the layout.
        let image = resize::resized(image, self.height, self.width).with_channels(self.channels);
        let (height, width) = self.padded();
        let mut row = vec![0; self.dim()];
        let planes = image.pixels.chunks_exact(self.height * self.width);
        for (from, to) in planes.zip(row.chunks_exact_mut(height * width)) {
            for (from, to) in from.chunks_exact(self.width).zip(to.chunks_exact_mut(width)) {
                to[..self.width].copy_from_slice(from);
            }
        }
        row
    }

    /// The image of a row of pixel values, rounded and without the padding.
    ///
    /// # Panics
    /// Unless the row has [`ImageLayout::dim`] values.
    pub fn image(&self, row: &[f64]) -> Image {
        assert_eq!(row.len(), self.dim(), "a row of this layout");
        let (height, width) = self.padded();
        let lines =
            row.chunks_exact(height * width).flat_map(|plane| plane.chunks_exact(width).take(self.height));
        // The cast saturates, and makes 0 of NaN.
        let pixels = lines.flat_map(|line| &line[..self.width]).map(|v| v.round() as u8).collect();
        Image::new(self.channels, self.height, self.width, pixels)
    }

    /// Names of the values of a row: `r3c7` in grey images, `red_r3c7` in colour.
    pub fn names(&self) -> Vec<String> {
        let (height, width) = self.padded();
        self.names_of(height, width)
    }

    /// Names of the values of an image, without padding.
    pub fn pixel_names(&self) -> Vec<String> {
        self.names_of(self.height, self.width)
    }

    fn names_of(&self, height: usize, width: usize) -> Vec<String> {
        let planes: &[&str] = if self.channels == 1 { &[""] } else { &["red_", "green_", "blue_"] };
        let of = |plane: &str| {
            let plane = plane.to_string();
            (0..height * width).map(move |at| format!("{plane}r{}c{}", at / width, at % width))
        };
        planes.iter().flat_map(|plane| of(plane)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_becomes_a_padded_row_and_comes_back() {
        let layout = ImageLayout::new(1, 3, 5).unwrap();
        assert_eq!((layout.padded(), layout.dim(), layout.pixels()), ((4, 8), 32, 15));
        let image = Image::new(1, 3, 5, (1..=15).collect());
        let row = layout.row(image.clone());
        assert_eq!(row[..8], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(row[24..], [0; 8]);
        let values: Vec<f64> = row.iter().map(|&byte| f64::from(byte) + 0.4).collect();
        assert_eq!(layout.image(&values), image);
        assert_eq!(layout.image(&[f64::NAN; 32]).pixels, [0; 15]);
        assert_eq!((layout.names()[9].as_str(), layout.pixel_names()[9].as_str()), ("r1c1", "r1c4"));
    }

    #[test]
    fn grey_and_colour_become_each_other() {
        let colour = ImageLayout::new(3, 1, 2).unwrap();
        let row = colour.row(Image::new(1, 1, 2, vec![10, 250]));
        assert_eq!(
            colour.image(&row.iter().map(|&b| b.into()).collect::<Vec<f64>>()).pixels,
            [10, 250, 10, 250, 10, 250]
        );
        assert_eq!(colour.names()[16], "green_r0c0");
        let grey = ImageLayout::new(1, 1, 2).unwrap();
        // 0.299 * 255 = 76.2; white stays white
        assert_eq!(grey.row(Image::new(3, 1, 2, vec![255, 255, 0, 255, 0, 255]))[..2], [76, 255]);
        assert!(grey.suits(1, 1, 2) && !grey.suits(3, 1, 2) && !grey.suits(1, 2, 2));
    }

    #[test]
    fn layouts_that_no_flow_can_take_are_refused() {
        for (channels, height, width) in [(2, 8, 8), (1, 0, 8), (1, 8, 129), (0, 8, 8)] {
            let message = ImageLayout::new(channels, height, width).unwrap_err().to_string();
            assert!(message.contains("128"), "{message}");
        }
    }
}
