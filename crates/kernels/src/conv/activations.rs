//! Images in the layout of the kernels: channels in blocks of sixteen, one lane per pixel and block.
//!
//! ```text
//! NCHW     [n, channels, height, width]                        plain numbers, as callers have them
//! blocked  [n, ceil(channels / 16), height, width] lanes       channels past the last are zero
//! ```
//!
//! A vector is sixteen channels of one pixel, so a convolution needs no shuffles whatever the width of the
//! image, and a plane `[height, width]` is contiguous.

use crate::batch_norm::Moments;
use crate::pool::{Buffer, Pool};
use crate::simd::{Lane, ZERO, flat};
use crate::transpose::{transpose, transpose_flat};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// The stock of buffers that the layers of a network share. Clones are the same stock.
#[derive(Clone, Debug, Default)]
pub struct Workspace(pub(crate) Pool);

/// The shape of a batch of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Images.
    pub n: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

impl Shape {
    /// Numbers in a batch of this shape.
    pub fn len(&self) -> usize {
        self.n * self.channels * self.height * self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks of sixteen channels.
    pub(crate) fn blocks(&self) -> usize {
        self.channels.div_ceil(16)
    }

    /// Pixels of an image, which are the lanes of a plane.
    pub(crate) fn plane(&self) -> usize {
        self.height * self.width
    }

    /// The shape of these images with another number of channels.
    pub(crate) fn with_channels(self, channels: usize) -> Self {
        Self { channels, ..self }
    }
}

/// A batch of images, channel-blocked. The buffer returns to its [`Workspace`] when dropped.
#[derive(Debug)]
pub struct Activations {
    shape: Shape,
    lanes: Buffer, // [n, blocks, height, width]
    /// Filled in by the layer that computed these activations, or at the first use.
    moments: OnceLock<Moments>,
}

impl Activations {
    /// `values` `[n, channels, height, width]`.
    ///
    /// # Panics
    /// When `values` does not have the length of `shape`, or `shape` is empty.
    pub fn from_nchw(workspace: &Workspace, shape: Shape, values: &[f32]) -> Self {
        assert_eq!(values.len(), shape.len(), "length of {shape:?}");
        Self::from_rows(workspace, shape, values, 0, shape.channels * shape.plane())
    }

    /// Some channels of wider images: those of image i start at `rows[i * stride + first]`.
    ///
    /// # Panics
    /// When `rows` does not have `stride` numbers for every image, or `shape` is empty.
    pub fn from_rows(workspace: &Workspace, shape: Shape, rows: &[f32], first: usize, stride: usize) -> Self {
        assert_eq!(rows.len(), shape.n * stride, "length of {} rows of {stride}", shape.n);
        let mut to = Self::uninitialised(workspace, shape);
        let (plane, blocks) = (shape.plane(), shape.blocks());
        to.lanes.par_chunks_mut(blocks * plane).zip(rows.par_chunks(stride)).for_each(|(image, row)| {
            let values = &row[first..][..shape.channels * plane];
            for (block, values) in image.chunks_exact_mut(plane).zip(values.chunks(16 * plane)) {
                let channels = values.len() / plane;
                if channels < 16 {
                    block.fill(ZERO);
                }
                transpose(values, plane, channels, plane, block, 16);
            }
        });
        to
    }

    /// Every number the same: for instance the gradient of a sum, 1.
    ///
    /// # Panics
    /// When `shape` is empty.
    pub fn filled(workspace: &Workspace, shape: Shape, value: f32) -> Self {
        let mut to = Self::uninitialised(workspace, shape);
        let (plane, blocks) = (shape.plane(), shape.blocks());
        to.lanes.par_chunks_mut(plane).enumerate().for_each(|(i, lanes)| {
            let channels = 16.min(shape.channels - 16 * (i % blocks));
            lanes.fill(Lane(std::array::from_fn(|c| if c < channels { value } else { 0.0 })));
        });
        to
    }

    /// `[n, channels, height, width]`
    pub fn to_nchw(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.shape.len()];
        self.write_nchw(&mut values);
        values
    }

    /// [`Activations::to_nchw`] into `values`.
    ///
    /// # Panics
    /// When `values` does not have the length of the shape.
    pub fn write_nchw(&self, values: &mut [f32]) {
        assert_eq!(values.len(), self.shape.len(), "length of {:?}", self.shape);
        let (plane, blocks) = (self.shape.plane(), self.shape.blocks());
        values
            .par_chunks_mut(self.shape.channels * plane)
            .zip(self.lanes.par_chunks(blocks * plane))
            .for_each(|(values, image)| {
                for (values, block) in values.chunks_mut(16 * plane).zip(image.chunks_exact(plane)) {
                    transpose_flat(flat(block), 16, plane, values.len() / plane, values, plane);
                }
            });
    }

    /// The shape, channels not rounded up.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Mean and biased variance of every channel, computed once.
    pub fn moments(&self) -> &Moments {
        self.moments.get_or_init(|| Moments::of(self))
    }

    /// A batch with arbitrary contents: the caller must write every lane.
    pub(crate) fn uninitialised(workspace: &Workspace, shape: Shape) -> Self {
        assert!(!shape.is_empty(), "{shape:?} is empty: every extent must be at least 1");
        let lanes = workspace.0.take(shape.n * shape.blocks() * shape.plane());
        Self { shape, lanes, moments: OnceLock::new() }
    }

    /// These activations, known to have `moments`.
    pub(crate) fn with_moments(self, moments: Moments) -> Self {
        Self { moments: OnceLock::from(moments), ..self }
    }

    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lanes to write to; what was known about them is forgotten.
    pub(crate) fn lanes_mut(&mut self) -> &mut [Lane] {
        self.moments = OnceLock::new();
        &mut self.lanes
    }

    /// All of some images.
    pub(crate) fn images(&self, images: Range<usize>) -> &[Lane] {
        let image = self.shape.blocks() * self.shape.plane();
        &self.lanes[images.start * image..images.end * image]
    }

    /// Plane `[height, width]` of one image and block.
    pub(crate) fn plane(&self, image: usize, block: usize) -> &[Lane] {
        let plane = self.shape.plane();
        &self.lanes[(image * self.shape.blocks() + block) * plane..][..plane]
    }

    /// What lies in memory from a row of a plane on: for asking the cache for it.
    pub(crate) fn ahead(&self, image: usize, block: usize, row: usize) -> &[Lane] {
        let first = (image * self.shape.blocks() + block) * self.shape.plane() + row * self.shape.width;
        &self.lanes[first.min(self.lanes.len())..]
    }
}
