//! The shape of an image whose pixels are a row, in the order [channel, row, column].

use serde::{Deserialize, Serialize};

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageShape {
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

impl ImageShape {
    /// Numbers of an image.
    pub fn dim(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// The shape after a squeeze, which makes four channels of every 2 x 2 block of pixels.
    pub fn squeezed(self) -> Self {
        Self { channels: 4 * self.channels, height: self.height / 2, width: self.width / 2 }
    }

    /// The shape with another number of channels.
    pub fn with_channels(self, channels: usize) -> Self {
        Self { channels, ..self }
    }
}
