//! The forward pass of a convolution over a batch.

use super::activations::Activations;
use super::groups::{CHUNKS, Group, chunks, for_each, groups, hand_out, stride};
use super::product::{Rows, Scalars, Strides, share};
use super::taps::forward_weights;
use super::tiles::{OutputRow, Place, SpreadRow, row_scratch};
use super::winograd::{FREQUENCIES, Input};
use super::{Conv, KernelSize};
use crate::batch_norm::{Moments, Norm, NormRelu, Part, lane, part};
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch, flat};
use std::marker::PhantomData;

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
    pub activation: Activation,
}

/// What becomes of a sum.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Activation {
    #[default]
    Identity,
    Relu,
}

impl Activation {
    #[inline(always)]
    pub(crate) fn of<L: Lanes>(self, v: L::V) -> L::V {
        match self {
            Self::Identity => v,
            Self::Relu => L::relu(v),
        }
    }
}

/// What a forward pass computes besides the output.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extra {
    Nothing,
    /// The moments of the output, while it is still in cache.
    Moments,
}

/// `y = activation(conv(source) + bias + residual)`.
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
    let groups = chunks(shape.n, CHUNKS).flat_map(|images| groups(shape, images)).collect();
    let tasks = hand_out(groups, out, y.lanes_mut());
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

/// A group of a 3x3 convolution; `bands` are its part of the output, `[images, blocks]` of `[rows, width]`.
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
        group.for_each_row(shape, |image, ty, tile| {
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
                activation: epilogue.activation,
            });
        });
    }
}

/// `B^T D B` of all tiles of a group.
pub(crate) fn spread_source(
    source: Source,
    group: &Group,
    v: &mut [Lane],
    stride: usize,
    scratch: &mut [Lane],
) {
    let shape = source.x.shape();
    for block in 0..shape.blocks() {
        group.for_each_row(shape, |image, ty, tile| {
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

/// Row `y` of a plane, if it is there.
pub(crate) fn row(plane: &[Lane], width: usize, y: Option<usize>) -> Option<&[Lane]> {
    plane.get(y? * width..)?.get(..width)
}

/// A group of a 1x1 convolution, as [`forward_three`].
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
            dispatch(Conclude { sums, bias, residual, activation: epilogue.activation, to: band });
        }
    }
}

/// `x` or `relu(norm(x))` of one image's part of a group: `[blocks, pixels]`.
pub(crate) fn read_pixels(source: Source, image: usize, group: &Group, a: &mut [Lane]) {
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
pub(crate) fn planes(lanes: &[Lane], pixels: usize) -> Scalars<'_> {
    Scalars { data: flat(lanes), row: 16, block: 16, block_stride: 16 * pixels }
}

/// The epilogue of a 1x1 convolution.
struct Conclude<'a> {
    sums: &'a [Lane],
    bias: Lane,
    residual: Option<&'a [Lane]>,
    activation: Activation,
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
            L::store(self.activation.of::<L>(y), to);
        }
    }
}
