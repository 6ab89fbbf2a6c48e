//! The forward and backward passes of a convolution over a batch.
//!
//! The forward pass works on *groups*: a few whole images, or a band of rows of one, so many that the
//! transformed group stays in the second-level cache. The backward pass works on *chunks* of whole images, a
//! group at a time, each chunk with its own sum of weight gradients; chunks are added up in order. Groups
//! and chunks depend on shapes alone, so thread counts change no bit.

use super::activations::{Activations, Shape};
use super::product::{Outer, Rows, Scalars, Start, Strides, pieces, share};
use super::winograd::{
    AdjointRow, FREQUENCIES, GatherTaps, Gradient, Input, OutputRow, Place, SpreadRow, SpreadTaps,
    row_scratch,
};
use super::{Conv, KernelSize};
use crate::batch_norm::{GateSums, Moments, Norm, NormRelu, Part, gate, lane, part};
use crate::pool::Buffer;
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch, flat};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// 4x4 tiles of a group at most, unless one row of an image has more.
const GROUP_TILES: usize = 64;
/// Chunks aimed at in the backward pass, so that as many threads can work.
const CHUNKS: usize = 8;
/// What the chunks' weight gradients may hold in all, unless two chunks already hold more: 64 MiB.
const CHUNK_LANES: usize = 1 << 20;
/// Multiply-adds below which waking other threads costs more than they save.
const PARALLEL_WORK: usize = 2_000_000;

/// What a convolution reads: `x`, or `relu(norm(x))`.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub x: &'a Activations,
    pub norm: Option<&'a Norm>,
}

/// What happens to a convolution's sums before they are stored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Epilogue<'a> {
    pub bias: Option<&'a [f32]>,
    pub residual: Option<&'a Activations>,
    pub relu: bool,
}

/// Some whole images, or a band of rows of one image.
#[derive(Clone, Debug)]
struct Group {
    images: Range<usize>,
    rows: Range<usize>, // of pixels; starts at a multiple of 4
}

fn groups(shape: Shape, images: Range<usize>) -> Vec<Group> {
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

impl Group {
    fn tiles(&self, shape: Shape) -> usize {
        self.images.len() * self.rows.len().div_ceil(4) * shape.width.div_ceil(4)
    }

    /// The lanes of this group's images, if it is whole images.
    fn of<'a>(&self, x: &'a Activations) -> &'a [Lane] {
        x.images(if self.rows.len() == x.shape().height { self.images.clone() } else { 0..0 })
    }

    /// The lanes of as many images after it, if it is whole images.
    fn after<'a>(&self, x: &'a Activations) -> &'a [Lane] {
        let end = (self.images.end + self.images.len()).min(x.shape().n);
        x.images(if self.rows.len() == x.shape().height { self.images.end..end } else { 0..0 })
    }

    /// Calls `run` with every row of tiles: image, row of tiles in the image, index of its first tile.
    fn for_each_row(&self, shape: Shape, block: usize, mut run: impl FnMut(usize, usize, usize, usize)) {
        let columns = shape.width.div_ceil(4);
        let rows = self.rows.start / 4..self.rows.end.div_ceil(4);
        for (i, image) in self.images.clone().enumerate() {
            for ty in rows.clone() {
                run(image, block, ty, (i * rows.len() + ty - rows.start) * columns);
            }
        }
    }
}

/// Lanes between one frequency and the next. Odd: powers of two would all map to one set of a cache.
fn stride(tiles: usize, blocks: usize) -> usize {
    (tiles * blocks) | 1
}

fn for_each<T: Send, R: Send>(
    conv: &Conv,
    shape: Shape,
    tasks: Vec<T>,
    run: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    let work = shape.n * shape.plane() * conv.in_channels * conv.out_channels * conv.kernel.taps();
    if work < PARALLEL_WORK || tasks.len() < 2 || rayon::current_num_threads() < 2 {
        tasks.into_iter().map(run).collect()
    } else {
        tasks.into_par_iter().with_max_len(1).map(run).collect()
    }
}

/// What a forward pass computes besides the output.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extra {
    Nothing,
    /// The moments of the output, while it is still in cache.
    Moments,
}

pub(crate) fn forward(
    conv: &Conv,
    source: Source,
    w: &[f32],
    epilogue: Epilogue,
    extra: Extra,
) -> Activations {
    let shape = source.x.shape();
    let out = shape.with_channels(conv.out_channels);
    let mut y = Activations::uninitialised(&conv.workspace, out);
    let u = forward_weights(conv, w);
    let mut tasks: Vec<(Group, Vec<&mut [Lane]>)> =
        groups(shape, 0..shape.n).into_iter().map(|group| (group, Vec::new())).collect();
    {
        // Hands every group its bands of the output: [images, blocks] of [rows, width].
        let mut planes = y.lanes_mut().chunks_exact_mut(out.plane());
        let mut next = 0;
        for _ in 0..shape.n {
            let bands = tasks[next..].iter().take_while(|(g, _)| g.images == tasks[next].0.images).count();
            for mut plane in planes.by_ref().take(out.blocks()) {
                for (group, parts) in &mut tasks[next..next + bands] {
                    let (band, rest) = plane.split_at_mut(group.rows.len() * out.width);
                    plane = rest;
                    parts.push(band);
                }
            }
            let group = &tasks[next];
            if group.1.len() == group.0.images.len() * out.blocks() {
                next += bands;
            }
        }
    }
    let parts: Vec<Vec<Part>> = for_each(conv, shape, tasks, |(group, mut bands)| {
        match conv.kernel {
            KernelSize::Three => forward_three(conv, source, &u, &epilogue, &group, &mut bands),
            KernelSize::One => forward_one(conv, source, &u, &epilogue, &group, &mut bands),
        }
        match extra {
            Extra::Nothing => Vec::new(),
            Extra::Moments => bands.iter().map(|band| part(band)).collect(),
        }
    });
    match extra {
        Extra::Nothing => y,
        Extra::Moments => {
            let parts =
                parts.iter().flat_map(|p| p.iter().enumerate().map(|(i, part)| (i % out.blocks(), part)));
            y.with_moments(Moments::combine(out, parts))
        }
    }
}

impl Epilogue<'_> {
    fn bias(&self, block: usize, channels: usize) -> Lane {
        self.bias.map_or(ZERO, |bias| lane(block, channels, |c| bias[c]))
    }
}

/// Weights as the products of the forward pass read them: `[36 or 1, in, out blocks]`.
fn forward_weights(conv: &Conv, w: &[f32]) -> Buffer {
    weights(
        conv,
        w,
        (conv.kernel.taps(), conv.in_channels),
        (conv.in_channels * conv.kernel.taps(), conv.out_channels),
    )
}

/// Weights as the products of the input gradient read them: `[36 or 1, out, in blocks]`.
fn backward_weights(conv: &Conv, w: &[f32]) -> Buffer {
    weights(
        conv,
        w,
        (conv.in_channels * conv.kernel.taps(), conv.out_channels),
        (conv.kernel.taps(), conv.in_channels),
    )
}

/// `[36 or 1, steps, lanes]` from the strides and extents of the two channel indices.
fn weights(conv: &Conv, w: &[f32], steps: (usize, usize), lanes: (usize, usize)) -> Buffer {
    let ((k_stride, steps), (lane_stride, channels)) = (steps, lanes);
    let blocks = channels.div_ceil(16);
    let mut u = conv.workspace.0.take(conv.frequencies() * steps * blocks);
    match conv.kernel {
        KernelSize::Three => {
            dispatch(SpreadTaps { w, k_stride, lane_stride, steps, channels, u: &mut u });
        }
        KernelSize::One => {
            for (at, to) in u.iter_mut().enumerate() {
                let (k, block) = (at / blocks, at % blocks);
                *to = lane(block, channels, |c| w[k * k_stride + c * lane_stride]);
            }
        }
    }
    u
}

fn forward_three(
    conv: &Conv,
    source: Source,
    u: &[Lane],
    epilogue: &Epilogue,
    group: &Group,
    bands: &mut [&mut [Lane]],
) {
    let shape = source.x.shape();
    let (blocks, lanes, width) = (shape.blocks(), conv.out_channels.div_ceil(16), shape.width);
    let tiles = group.tiles(shape);
    let (v_stride, m_stride) = (stride(tiles, blocks), stride(tiles, lanes));
    let mut buffer = conv.workspace.0.take(FREQUENCIES * (v_stride + m_stride) + row_scratch(width));
    let (v, rest) = buffer.split_at_mut(FREQUENCIES * v_stride);
    let (m, scratch) = rest.split_at_mut(FREQUENCIES * m_stride);
    spread_source(source, group, v, v_stride, scratch);
    for f in 0..FREQUENCIES {
        let v = &v[f * v_stride..][..v_stride];
        dispatch(Rows {
            rows: tiles,
            steps: conv.in_channels,
            lanes,
            a: Scalars { data: flat(v), row: 16 * blocks, block: conv.in_channels, block_stride: 0 },
            b: &u[f * conv.in_channels * lanes..][..conv.in_channels * lanes],
            c: &mut m[f * m_stride..][..m_stride],
            c_strides: Strides { row: lanes, lane: 1 },
            ahead: [
                share(group.after(source.x), f, FREQUENCIES),
                epilogue.residual.map_or(&[], |residual| share(group.of(residual), f, FREQUENCIES)),
                share(bands[f % bands.len()], f / bands.len(), FREQUENCIES.div_ceil(bands.len())),
            ],
        });
    }
    for block in 0..lanes {
        let bias = epilogue.bias(block, conv.out_channels);
        group.for_each_row(shape, block, |image, block, ty, tile| {
            let rows = 4 * ty..(4 * ty + 4).min(group.rows.end);
            let band = &mut bands[(image - group.images.start) * lanes + block];
            dispatch(OutputRow {
                from: m,
                place: Place { stride: m_stride, first: tile * lanes + block, step: lanes },
                width,
                to: &mut band[(rows.start - group.rows.start) * width..][..rows.len() * width],
                bias,
                residual: epilogue
                    .residual
                    .map(|r| &r.plane(image, block)[rows.start * width..rows.end * width]),
                relu: epilogue.relu,
            });
        });
    }
}

/// `B^T D B` of all tiles of a group.
fn spread_source(source: Source, group: &Group, v: &mut [Lane], stride: usize, scratch: &mut [Lane]) {
    let shape = source.x.shape();
    for block in 0..shape.blocks() {
        group.for_each_row(shape, block, |image, block, ty, tile| {
            let plane = source.x.plane(image, block);
            dispatch(SpreadRow {
                rows: std::array::from_fn(|r| row(plane, shape.width, (4 * ty + r).checked_sub(1))),
                width: shape.width,
                norm: source.norm.map(|norm| norm.affine[block]),
                scratch,
                to: v,
                place: Place { stride, first: tile * shape.blocks() + block, step: shape.blocks() },
                ahead: source.x.ahead(image, block, 4 * ty + 5),
                transform: PhantomData::<Input>,
            });
        });
    }
}

/// `A gY A^T` of all tiles of a group.
fn spread_gradient(gy: &Activations, group: &Group, m: &mut [Lane], stride: usize, scratch: &mut [Lane]) {
    let shape = gy.shape();
    for block in 0..shape.blocks() {
        group.for_each_row(shape, block, |image, block, ty, tile| {
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

/// Row `y` of a plane, if it is there.
fn row(plane: &[Lane], width: usize, y: Option<usize>) -> Option<&[Lane]> {
    plane.get(y? * width..)?.get(..width)
}

fn forward_one(
    conv: &Conv,
    source: Source,
    u: &[Lane],
    epilogue: &Epilogue,
    group: &Group,
    bands: &mut [&mut [Lane]],
) {
    let shape = source.x.shape();
    let (lanes, pixels) = (conv.out_channels.div_ceil(16), group.rows.len() * shape.width);
    let mut scratch = conv.workspace.0.take((shape.blocks() + lanes) * pixels);
    let (a, sums) = scratch.split_at_mut(shape.blocks() * pixels);
    for (image, bands) in group.images.clone().zip(bands.chunks_exact_mut(lanes)) {
        read_pixels(source, image, group, a);
        dispatch(Rows {
            rows: pixels,
            steps: conv.in_channels,
            lanes,
            a: planes(a, pixels),
            b: u,
            c: sums,
            c_strides: Strides { row: 1, lane: pixels },
            ahead: [&[]; 3],
        });
        for (block, (band, sums)) in bands.iter_mut().zip(sums.chunks_exact(pixels)).enumerate() {
            let residual =
                epilogue.residual.map(|r| &r.plane(image, block)[group.rows.start * shape.width..][..pixels]);
            let bias = epilogue.bias(block, conv.out_channels);
            dispatch(Conclude { sums, bias, residual, relu: epilogue.relu, to: band });
        }
    }
}

/// `x` or `relu(norm(x))` of one image's part of a group: `[blocks, pixels]`.
fn read_pixels(source: Source, image: usize, group: &Group, a: &mut [Lane]) {
    let width = source.x.shape().width;
    let pixels = group.rows.len() * width;
    for (block, to) in a.chunks_exact_mut(pixels).enumerate() {
        let x = &source.x.plane(image, block)[group.rows.start * width..][..pixels];
        match source.norm {
            None => to.copy_from_slice(x),
            Some(norm) => dispatch(NormRelu { x, affine: norm.affine[block], to }),
        }
    }
}

/// Planes `[blocks, pixels]` as rows of channels.
fn planes(lanes: &[Lane], pixels: usize) -> Scalars<'_> {
    Scalars { data: flat(lanes), row: 16, block: 16, block_stride: 16 * pixels }
}

/// The epilogue of a 1x1 convolution.
struct Conclude<'a> {
    sums: &'a [Lane],
    bias: Lane,
    residual: Option<&'a [Lane]>,
    relu: bool,
    to: &'a mut [Lane],
}

impl Kernel for Conclude<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (one, bias) = (L::splat(1.0), L::load(&self.bias));
        for (i, (to, sum)) in self.to.iter_mut().zip(self.sums).enumerate() {
            let mut y = L::fma(one, L::load(sum), bias);
            if let Some(residual) = self.residual {
                y = L::fma(one, L::load(&residual[i]), y);
            }
            L::store(if self.relu { L::relu(y) } else { y }, to);
        }
    }
}

/// What a backward pass gives.
pub(crate) struct Backward {
    /// The gradient of what the convolution read: before the norm if there is one (`gb`), else of `x`.
    pub input: Option<Activations>,
    /// `[out, in, k, k]`
    pub weights: Option<Vec<f32>>,
    /// With a norm: the sums [`Norm::finish`] needs.
    pub sums: GateSums,
}

/// `w` asks for the input's gradient, `source` for that of the weights; a norm needs both.
pub(crate) fn backward(conv: &Conv, source: Option<Source>, w: Option<&[f32]>, gy: &Activations) -> Backward {
    let shape = gy.shape().with_channels(conv.in_channels);
    let ut = w.map(|w| backward_weights(conv, w));
    let mut gx = w.map(|_| Activations::uninitialised(&conv.workspace, shape));
    let gu_len = conv.frequencies() * conv.in_channels * conv.out_channels.div_ceil(16);
    let chunks = shape.n.min((CHUNK_LANES / gu_len).clamp(2, CHUNKS));
    let chunks: Vec<(usize, usize)> = pieces(shape.n, shape.n.div_ceil(chunks)).collect();
    let image = shape.blocks() * shape.plane();
    let mut rest: &mut [Lane] = gx.as_mut().map_or(&mut [], |gx| gx.lanes_mut());
    let tasks: Vec<Chunk> = chunks
        .into_iter()
        .map(|(first, images)| {
            let (head, tail) =
                std::mem::take(&mut rest).split_at_mut(if ut.is_some() { images * image } else { 0 });
            rest = tail;
            let gu = source.map(|_| conv.workspace.0.take(gu_len));
            Chunk { images: first..first + images, gx: head, gu, sums: GateSums::new(shape.blocks()) }
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

/// Adds up the chunks' gradients and takes them back to taps.
fn weight_gradient(conv: &Conv, mut gus: Vec<Buffer>) -> Vec<f32> {
    let (first, others) = gus.split_first_mut().expect("a chunk");
    const PIECE: usize = 2048;
    first.par_chunks_mut(PIECE).enumerate().for_each(|(i, to)| {
        for other in &*others {
            dispatch(AddTo { from: &other[i * PIECE..][..to.len()], to });
        }
    });
    let mut gw = vec![0.0; conv.n_weights()];
    let Conv { in_channels, out_channels, .. } = *conv;
    match conv.kernel {
        KernelSize::Three => dispatch(GatherTaps { gu: first, gw: &mut gw, in_channels, out_channels }),
        KernelSize::One => {
            for (o, gw) in gw.chunks_exact_mut(in_channels).enumerate() {
                for (i, gw) in gw.iter_mut().enumerate() {
                    *gw = first[i * out_channels.div_ceil(16) + o / 16].0[o % 16];
                }
            }
        }
    }
    gw
}

struct AddTo<'a> {
    from: &'a [Lane],
    to: &'a mut [Lane],
}

impl Kernel for AddTo<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let one = L::splat(1.0);
        for (to, from) in self.to.iter_mut().zip(self.from) {
            L::store(L::fma(one, L::load(from), L::load(to)), to);
        }
    }
}

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
                        ut.map_or(&[], |ut| &ut[f * conv.out_channels * blocks..][..conv.out_channels * blocks]),
                    ],
                });
            }
            if let Some(ut) = ut {
                // V has served: its gradient takes its place.
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
            group.for_each_row(shape, block, |image, block, ty, tile| {
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
