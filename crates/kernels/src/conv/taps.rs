//! Weights `[out, in, k, k]` as the products read them, and back.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]

use super::winograd::{Spread, Taps, taps_adjoint};
use super::{Conv, KernelSize};
use crate::batch_norm::lane;
use crate::pool::Buffer;
use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch};
use rayon::prelude::*;

/// Weights as the products of the forward pass read them: `[36 or 1, in, out blocks]`.
pub(crate) fn forward_weights(conv: &Conv, w: &[f32]) -> Buffer {
    weights(
        conv,
        w,
        (conv.kernel.taps(), conv.in_channels),
        (conv.in_channels * conv.kernel.taps(), conv.out_channels),
    )
}

/// Weights as the products of the input gradient read them: `[36 or 1, out, in blocks]`.
pub(crate) fn backward_weights(conv: &Conv, w: &[f32]) -> Buffer {
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

/// Adds up the chunks' gradients and takes them back to taps.
pub(crate) fn weight_gradient(conv: &Conv, mut gus: Vec<Buffer>) -> Vec<f32> {
    /// Lanes that one thread adds up at a time.
    const PIECE: usize = 2048;
    let (first, others) = gus.split_first_mut().expect("a chunk");
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

/// `u[f, k] = G W G^T` with one of the channel indices of `w` as `k` and the other in lanes.
struct SpreadTaps<'a> {
    w: &'a [f32], // [out, in, 3, 3]
    /// Numbers between one `k` and the next, and between one lane's channel and the next.
    k_stride: usize,
    lane_stride: usize,
    steps: usize,
    channels: usize,
    u: &'a mut [Lane], // [36, steps, ceil(channels / 16)]
}

impl Kernel for SpreadTaps<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let lanes = self.channels.div_ceil(16);
        let stride = self.steps * lanes;
        for k in 0..self.steps {
            for lane in 0..lanes {
                let mut w = [ZERO; 9];
                for l in 0..16.min(self.channels - 16 * lane) {
                    let from = &self.w[k * self.k_stride + (16 * lane + l) * self.lane_stride..][..9];
                    for tap in 0..9 {
                        w[tap].0[l] = from[tap];
                    }
                }
                let mut half = [[L::splat(0.0); 3]; 6];
                for c in 0..3 {
                    let column = Taps::apply::<L>([L::load(&w[c]), L::load(&w[3 + c]), L::load(&w[6 + c])]);
                    for i in 0..6 {
                        half[i][c] = column[i];
                    }
                }
                for i in 0..6 {
                    let row = Taps::apply::<L>(half[i]);
                    for j in 0..6 {
                        L::store(row[j], &mut self.u[(6 * i + j) * stride + k * lanes + lane]);
                    }
                }
            }
        }
    }
}

/// `gw = G^T gu G`.
struct GatherTaps<'a> {
    gu: &'a [Lane],    // [36, in, ceil(out / 16)]
    gw: &'a mut [f32], // [out, in, 3, 3]
    in_channels: usize,
    out_channels: usize,
}

impl Kernel for GatherTaps<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let lanes = self.out_channels.div_ceil(16);
        let stride = self.in_channels * lanes;
        for at in 0..stride {
            let mut half = [[L::splat(0.0); 3]; 6];
            for i in 0..6 {
                let mut u = [L::splat(0.0); 6];
                for j in 0..6 {
                    u[j] = L::load(&self.gu[(6 * i + j) * stride + at]);
                }
                half[i] = taps_adjoint::<L>(u);
            }
            let mut w = [ZERO; 9];
            for c in 0..3 {
                let mut u = [L::splat(0.0); 6];
                for i in 0..6 {
                    u[i] = half[i][c];
                }
                let column = taps_adjoint::<L>(u);
                for r in 0..3 {
                    L::store(column[r], &mut w[3 * r + c]);
                }
            }
            let (k, lane) = (at / lanes, at % lanes);
            for l in 0..16.min(self.out_channels - 16 * lane) {
                let gw = &mut self.gw[((16 * lane + l) * self.in_channels + k) * 9..][..9];
                for tap in 0..9 {
                    gw[tap] = w[tap].0[l];
                }
            }
        }
    }
}
