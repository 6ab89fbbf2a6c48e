//! The backward pass of a convolution over a batch: each chunk of images has its own sum of weight gradients,
//! and these are added up in order.

use super::activations::{Activations, Shape};
use super::forward::{Source, planes, read_pixels, row, spread_source};
use super::groups::{Group, chunks, for_each, groups, stride};
use super::product::{Outer, Rows, Scalars, Start, Strides, share};
use super::taps::{backward_weights, weight_gradient};
use super::tiles::{AdjointRow, Place, SpreadRow, row_scratch};
use super::winograd::{FREQUENCIES, Gradient};
use super::{Conv, KernelSize};
use crate::batch_norm::{GateSums, gate};
use crate::pool::Buffer;
use crate::simd::{Lane, dispatch, flat};
use std::marker::PhantomData;
use std::ops::Range;

/// What the chunks' weight gradients may hold in all, unless two chunks already hold more: 64 MiB.
const CHUNK_LANES: usize = 1 << 20;

/// What a backward pass gives.
pub(crate) struct Backward {
    /// The gradient of what the convolution read: before the norm if there is one (`gb`), else of `x`.
    pub input: Option<Activations>,
    /// `[out, in, k, k]`
    pub weights: Option<Vec<f32>>,
    /// With a norm: the sums [`crate::batch_norm::Norm::finish`] needs.
    pub sums: GateSums,
}

/// `w` asks for the input's gradient, `source` for that of the weights; a norm needs both.
pub(crate) fn backward(conv: &Conv, source: Option<Source>, w: Option<&[f32]>, gy: &Activations) -> Backward {
    let shape = gy.shape().with_channels(conv.in_channels);
    let ut = w.map(|w| backward_weights(conv, w));
    let mut gx = w.map(|_| Activations::uninitialised(&conv.workspace, shape));
    let gu_len = conv.frequencies() * conv.in_channels * conv.out_channels.div_ceil(16);
    let image = shape.blocks() * shape.plane();
    let mut rest: &mut [Lane] = gx.as_mut().map_or(&mut [], |gx| gx.lanes_mut());
    let tasks: Vec<Chunk> = chunks(shape.n, (CHUNK_LANES / gu_len).max(2))
        .map(|images| {
            let (head, tail) =
                std::mem::take(&mut rest).split_at_mut(if ut.is_some() { images.len() * image } else { 0 });
            rest = tail;
            let gu = source.map(|_| conv.workspace.0.take(gu_len));
            Chunk { images, gx: head, gu, sums: GateSums::new(shape.blocks()) }
        })
        .collect();
    let mut done = for_each(conv, shape, tasks, |mut chunk| {
        match conv.kernel {
            KernelSize::Three => backward_three(conv, source, ut.as_deref(), gy, &mut chunk),
            KernelSize::One => backward_one(conv, source, ut.as_deref(), gy, &mut chunk),
        }
        (chunk.gu, chunk.sums)
    });
    let mut sums = GateSums::new(shape.blocks());
    done.iter().for_each(|(_, chunk)| sums.add(chunk));
    let weights = source.map(|_| {
        let gus: Vec<Buffer> = done.iter_mut().filter_map(|(gu, _)| gu.take()).collect();
        weight_gradient(conv, gus)
    });
    Backward { input: gx, weights, sums }
}

/// A run of images in the backward pass.
struct Chunk<'a> {
    images: Range<usize>,
    gx: &'a mut [Lane], // [images, blocks, height, width], or empty
    gu: Option<Buffer>, // [36 or 1, in, out blocks]
    sums: GateSums,
}

impl Chunk<'_> {
    /// The part of `gx` of a group's images.
    fn group(&self, shape: Shape, group: &Group) -> &[Lane] {
        let image = shape.blocks() * shape.plane();
        &self.gx[(group.images.start - self.images.start) * image..][..group.images.len() * image]
    }

    /// The plane of `gx` of one image and block.
    fn plane(&mut self, shape: Shape, image: usize, block: usize) -> &mut [Lane] {
        let plane = shape.plane();
        &mut self.gx[((image - self.images.start) * shape.blocks() + block) * plane..][..plane]
    }
}

/// A chunk of a 3x3 convolution. `ut` is given if the input's gradient is wanted, `source` if the weights' is.
// More than 60 lines: both products and the adjoint share the buffers of a group, and each would need most of them.
fn backward_three(
    conv: &Conv,
    source: Option<Source>,
    ut: Option<&[Lane]>,
    gy: &Activations,
    chunk: &mut Chunk,
) {
    let shape = gy.shape().with_channels(conv.in_channels);
    let (blocks, lanes, width) = (shape.blocks(), gy.shape().blocks(), shape.width);
    let groups = groups(shape, chunk.images.clone());
    let tiles = groups.iter().map(|g| g.tiles(shape)).max().unwrap_or(0);
    let (v_stride, m_stride) = (stride(tiles, blocks), stride(tiles, lanes));
    let rows_len = row_scratch(width) + 4 * width;
    let mut buffer =
        conv.workspace.0.take(FREQUENCIES * (v_stride + m_stride) + rows_len + 2 * blocks * width);
    let (v, rest) = buffer.split_at_mut(FREQUENCIES * v_stride);
    let (m, rest) = rest.split_at_mut(FREQUENCIES * m_stride);
    let (scratch, carry) = rest.split_at_mut(rows_len);
    let mut start = Start::Zero;
    for group in &groups {
        let tiles = group.tiles(shape);
        spread_gradient(gy, group, m, m_stride, scratch);
        if let Some(source) = source {
            spread_source(source, group, v, v_stride, scratch);
        }
        for f in 0..FREQUENCIES {
            let v = &mut v[f * v_stride..][..v_stride];
            let m = &m[f * m_stride..][..m_stride];
            if let Some(gu) = &mut chunk.gu {
                dispatch(Outer {
                    start,
                    rows: tiles,
                    width: conv.in_channels,
                    lanes,
                    a: Scalars { data: flat(v), row: 16 * blocks, block: conv.in_channels, block_stride: 0 },
                    b: m,
                    b_strides: Strides { row: lanes, lane: 1 },
                    c: &mut gu[f * conv.in_channels * lanes..][..conv.in_channels * lanes],
                    ahead: [
                        share(group.after(gy), f, FREQUENCIES),
                        source.map_or(&[], |source| share(group.after(source.x), f, FREQUENCIES)),
                        ut.map_or(&[], |ut| {
                            &ut[f * conv.out_channels * blocks..][..conv.out_channels * blocks]
                        }),
                    ],
                });
            }
            if let Some(ut) = ut {
                // V is no longer needed: its gradient overwrites it.
                dispatch(Rows {
                    rows: tiles,
                    steps: conv.out_channels,
                    lanes: blocks,
                    a: Scalars { data: flat(m), row: 16 * lanes, block: conv.out_channels, block_stride: 0 },
                    b: &ut[f * conv.out_channels * blocks..][..conv.out_channels * blocks],
                    c: v,
                    c_strides: Strides { row: blocks, lane: 1 },
                    ahead: [share(chunk.group(shape, group), f, FREQUENCIES), &[], &[]],
                });
            }
        }
        start = Start::Add;
        if ut.is_none() {
            continue;
        }
        for block in 0..blocks {
            group.for_each_row(shape, |image, ty, tile| {
                dispatch(AdjointRow {
                    from: v,
                    place: Place { stride: v_stride, first: tile * blocks + block, step: blocks },
                    ty,
                    width,
                    plane: chunk.plane(shape, image, block),
                    carry: &mut carry[2 * block * width..][..2 * width],
                    scratch,
                });
            });
            gate_group(source, group, block, chunk);
        }
    }
}

/// Applies the ReLU's mask to the rows that a group completed.
fn gate_group(source: Option<Source>, group: &Group, block: usize, chunk: &mut Chunk) {
    let Some(Source { x, norm: Some(norm) }) = source else { return };
    let shape = x.shape();
    // The last row of a band waits for the next band, unless it is the last of the image.
    let start = group.rows.start.saturating_sub(1);
    let end = if group.rows.end == shape.height { shape.height } else { group.rows.end - 1 };
    let pixels = start * shape.width..end * shape.width;
    for image in group.images.clone() {
        let mut sums = std::mem::replace(&mut chunk.sums, GateSums::new(0));
        let g = &mut chunk.plane(shape, image, block)[pixels.clone()];
        gate(norm, block, &x.plane(image, block)[pixels.clone()], g, &mut sums);
        chunk.sums = sums;
    }
}

/// A chunk of a 1x1 convolution, as [`backward_three`].
fn backward_one(
    conv: &Conv,
    source: Option<Source>,
    ut: Option<&[Lane]>,
    gy: &Activations,
    chunk: &mut Chunk,
) {
    let shape = gy.shape().with_channels(conv.in_channels);
    let (blocks, lanes, plane) = (shape.blocks(), gy.shape().blocks(), shape.plane());
    let mut a = conv.workspace.0.take(blocks * plane);
    let whole = |image| Group { images: image..image + 1, rows: 0..shape.height };
    let mut start = Start::Zero;
    for image in chunk.images.clone() {
        let group = whole(image);
        let gy = &gy.lanes()[image * lanes * plane..][..lanes * plane];
        if let (Some(source), Some(gu)) = (source, &mut chunk.gu) {
            read_pixels(source, image, &group, &mut a);
            dispatch(Outer {
                start,
                rows: plane,
                width: conv.in_channels,
                lanes,
                a: planes(&a, plane),
                b: gy,
                b_strides: Strides { row: 1, lane: plane },
                c: gu,
                ahead: [&[]; 3],
            });
        }
        start = Start::Add;
        let Some(ut) = ut else { continue };
        dispatch(Rows {
            rows: plane,
            steps: conv.out_channels,
            lanes: blocks,
            a: planes(gy, plane),
            b: ut,
            c: &mut chunk.gx[(image - chunk.images.start) * blocks * plane..][..blocks * plane],
            c_strides: Strides { row: 1, lane: plane },
            ahead: [&[]; 3],
        });
        for block in 0..blocks {
            gate_group(source, &group, block, chunk);
        }
    }
}

/// `A gY A^T` of all tiles of a group.
fn spread_gradient(gy: &Activations, group: &Group, m: &mut [Lane], stride: usize, scratch: &mut [Lane]) {
    let shape = gy.shape();
    for block in 0..shape.blocks() {
        group.for_each_row(shape, |image, ty, tile| {
            let plane = gy.plane(image, block);
            dispatch(SpreadRow {
                rows: std::array::from_fn(|r| row(plane, shape.width, Some(4 * ty + r))),
                width: shape.width,
                norm: None,
                scratch,
                to: m,
                place: Place { stride, first: tile * shape.blocks() + block, step: shape.blocks() },
                ahead: gy.ahead(image, block, 4 * ty + 4),
                transform: PhantomData::<Gradient>,
            });
        });
    }
}
