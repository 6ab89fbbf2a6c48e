//! How a batch is split into units of work, by shapes alone: so thread counts change no bit.
//!
//! A *chunk* is a run of whole images: the unit of parallel work and of weight gradients. It is worked on in
//! *groups*: a few whole images, or a band of rows of one, so many that the transformed group stays close to the
//! second-level cache.

use super::Conv;
use super::activations::{Activations, Shape};
use super::product::pieces;
use crate::simd::Lane;
use crate::threads;
use std::ops::Range;

/// 4x4 tiles of a group at most, unless one row of an image has more.
const GROUP_TILES: usize = 64;
/// Chunks at most, so that as many threads can work.
pub(crate) const CHUNKS: usize = 8;
/// Multiply-adds below which waking other threads costs more than they save.
const PARALLEL_WORK: usize = 2_000_000;

/// Runs of images that different threads may work on: at most `most`, and at most [`CHUNKS`].
pub(crate) fn chunks(n: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    pieces(n, n.div_ceil(most.min(CHUNKS))).map(|(first, count)| first..first + count)
}

/// Some whole images, or a band of rows of one image.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub images: Range<usize>,
    pub rows: Range<usize>, // of pixels; starts at a multiple of 4
}

/// The groups of some images.
pub(crate) fn groups(shape: Shape, images: Range<usize>) -> Vec<Group> {
    let (rows, columns) = (shape.height.div_ceil(4), shape.width.div_ceil(4));
    if rows * columns <= GROUP_TILES {
        let whole = |(first, count)| Group {
            images: images.start + first..images.start + first + count,
            rows: 0..shape.height,
        };
        return pieces(images.len(), GROUP_TILES / (rows * columns)).map(whole).collect();
    }
    let bands = |image| {
        pieces(rows, (GROUP_TILES / columns).max(1)).map(move |(first, count)| Group {
            images: image..image + 1,
            rows: 4 * first..(4 * (first + count)).min(shape.height),
        })
    };
    images.flat_map(bands).collect()
}

/// Every group with its part of a batch of `shape`: `[images, blocks]` of `[rows, width]`.
pub(crate) fn hand_out(
    groups: Vec<Group>,
    shape: Shape,
    lanes: &mut [Lane],
) -> Vec<(Group, Vec<&mut [Lane]>)> {
    let mut tasks: Vec<(Group, Vec<&mut [Lane]>)> = groups.into_iter().map(|g| (g, Vec::new())).collect();
    for (i, mut plane) in lanes.chunks_exact_mut(shape.plane()).enumerate() {
        let image = i / shape.blocks();
        let first = tasks.partition_point(|(group, _)| group.images.end <= image);
        for (group, bands) in tasks[first..].iter_mut().take_while(|(group, _)| group.images.start <= image) {
            let (band, rest) = plane.split_at_mut(group.rows.len() * shape.width);
            plane = rest;
            bands.push(band);
        }
    }
    tasks
}

impl Group {
    /// How many 4x4 tiles it has.
    pub(crate) fn tiles(&self, shape: Shape) -> usize {
        self.images.len() * self.rows.len().div_ceil(4) * shape.width.div_ceil(4)
    }

    /// The lanes of this group's images, if it is whole images.
    pub(crate) fn of<'a>(&self, x: &'a Activations) -> &'a [Lane] {
        x.images(if self.rows.len() == x.shape().height { self.images.clone() } else { 0..0 })
    }

    /// The lanes of as many images after it, if it is whole images.
    pub(crate) fn after<'a>(&self, x: &'a Activations) -> &'a [Lane] {
        let end = (self.images.end + self.images.len()).min(x.shape().n);
        x.images(if self.rows.len() == x.shape().height { self.images.end..end } else { 0..0 })
    }

    /// Calls `run` with every row of tiles: image, row of tiles in the image, index of its first tile.
    pub(crate) fn for_each_row(&self, shape: Shape, mut run: impl FnMut(usize, usize, usize)) {
        let columns = shape.width.div_ceil(4);
        let rows = self.rows.start / 4..self.rows.end.div_ceil(4);
        for (i, image) in self.images.clone().enumerate() {
            for ty in rows.clone() {
                run(image, ty, (i * rows.len() + ty - rows.start) * columns);
            }
        }
    }
}

/// Lanes between one frequency and the next. Odd: powers of two would all map to one set of a cache.
pub(crate) fn stride(tiles: usize, blocks: usize) -> usize {
    (tiles * blocks) | 1
}

/// Runs the tasks, on several threads if that pays; results in the tasks' order.
pub(crate) fn for_each<T: Send, R: Send>(
    conv: &Conv,
    shape: Shape,
    tasks: Vec<T>,
    run: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    let work = shape.n * shape.plane() * conv.in_channels * conv.out_channels * conv.kernel.taps();
    if work < PARALLEL_WORK { tasks.into_iter().map(run).collect() } else { threads::map(tasks, run) }
}
