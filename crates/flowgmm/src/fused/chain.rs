//! A run of affine couplings as one operation; rows `[n, dim + 1]`: z and, in the last column, log_det.

use std::sync::Arc;

use burn::{
    backend::{
        Autodiff, Flex, TensorMetadata,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
    },
    tensor::{Tensor, TensorData},
};
use flowgmm_kernels::{Chain, Memory, Tape};

use super::{
    Plain, Tracked, applies, contiguous, differentiable, plain, plain_weights, slices, tensor, values,
};
use crate::{bijection::Mapped, theta::Theta};

/// Longer runs are cut: Burn fixes the number of a node's parents at compile time.
pub(crate) const MAX_COUPLINGS: usize = 16;

/// Rows `[n, dim + 1]` of z and log_det, by the kernel, or `None` where only composed operations work.
pub(crate) fn forward(
    chain: &Arc<Chain>,
    memory: Memory,
    thetas: &[&Theta],
    x: &Tensor<2>,
) -> Option<Tensor<2>> {
    if !applies(x) {
        return None;
    }
    if x.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff()) {
        return Some(tracked(chain, memory, thetas, x));
    }
    let weights = plain_weights(thetas);
    let rows = plain(x.clone());
    let n = x.dims()[0];
    let out = chain.forward_only(&slices(&weights), values(&rows), n);
    Some(tensor(out, [n, chain.dim() + 1], x))
}

/// z and log_det from such rows.
pub(crate) fn cut(rows: Tensor<2>) -> Mapped {
    let dim = rows.dims()[1] - 1;
    Mapped { value: rows.clone().narrow(1, 0, dim), log_det: rows.narrow(1, dim, 1) }
}

/// x by the kernel, or `None` where only composed operations work (or a gradient is wanted).
pub(crate) fn inverse(chain: &Arc<Chain>, thetas: &[&Theta], z: &Tensor<2>) -> Option<Tensor<2>> {
    if !applies(z) || z.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff()) {
        return None;
    }
    let weights = plain_weights(thetas);
    let [n, dim] = z.dims();
    let x = chain.inverse(&slices(&weights), values(&plain(z.clone())), n);
    Some(tensor(x, [n, dim], z))
}

fn tracked(chain: &Arc<Chain>, memory: Memory, thetas: &[&Theta], x: &Tensor<2>) -> Tensor<2> {
    let mut parents: Vec<Tracked> = vec![differentiable(x.clone().autodiff())];
    parents.extend(thetas.iter().map(|theta| differentiable(theta.value().clone().autodiff())));
    macro_rules! by_count {
        ($($n:literal)*) => {
            match parents.len() {
                $($n => node::<$n>(chain, memory, parents),)*
                _ => unreachable!("runs are cut at {MAX_COUPLINGS} couplings"),
            }
        };
    }
    let out = by_count!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
    Tensor::from_primitive::<Autodiff<Flex>>(out)
}

fn node<const N: usize>(chain: &Arc<Chain>, memory: Memory, parents: Vec<Tracked>) -> Tracked {
    let parents: [Tracked; N] = parents.try_into().expect("counted by the caller");
    let guards = parents.each_ref().map(|parent| parent.node());
    let primitives: Vec<Plain> =
        parents.into_iter().map(|parent| contiguous(parent.into_parts().0)).collect();
    let (x, weights) = primitives.split_first().expect("x comes first");
    let n = x.shape()[0];
    let rows = |values: Vec<f32>| Plain::from_data(TensorData::new(values, [n, chain.dim() + 1]));
    match ChainBackward::<N>.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (out, tape) = chain.forward_keeping(memory, &slices(weights), values(x), n);
            let saved = Saved { chain: chain.clone(), weights: weights.to_vec(), tape: Arc::new(tape) };
            prepared.finish(saved, rows(out))
        }
        OpsKind::UnTracked(prepared) => {
            prepared.finish(rows(chain.forward_only(&slices(weights), values(x), n)))
        }
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Saved {
    chain: Arc<Chain>,
    weights: Vec<Plain>,
    tape: Arc<Tape>,
}

#[derive(Debug)]
struct ChainBackward<const N: usize>;

impl<const N: usize> Backward<Flex, N> for ChainBackward<N> {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let Saved { chain, weights, tape } = ops.state;
        let n = upstream.shape()[0];
        // Data rows rarely want a gradient; without it the kernel skips the last product.
        let (thetas, x) = if ops.parents[0].is_some() {
            let found = chain.backward(&slices(&weights), &tape, values(&upstream));
            (found.thetas, found.x)
        } else {
            (chain.backward_thetas(&slices(&weights), &tape, values(&upstream)), Vec::new())
        };
        let vectors = thetas.into_iter().map(|g| {
            let length = g.len();
            Plain::from_data(TensorData::new(g, [length]))
        });
        let rows = if x.is_empty() { 0 } else { n };
        let x = Plain::from_data(TensorData::new(x, [rows, chain.dim()]));
        for (parent, gradient) in ops.parents.into_iter().zip(std::iter::once(x).chain(vectors)) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}
