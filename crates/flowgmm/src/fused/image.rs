//! A run of steps on images as one operation; rows `[n, dim + 1]` as those of `chain`.

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
use flowgmm_kernels::image::{self as kernels, ImageChain, ImageTape};

use super::{
    Plain, Tracked, applies, contiguous, differentiable, plain, plain_weights, slices, tensor, values,
};
use crate::{bijection::Statistics, theta::Theta};

/// Longer runs are cut: Burn fixes the number of a node's parents at compile time.
pub(crate) const MAX_STEPS: usize = 32;

/// Rows `[n, dim + 1]` of z and log_det, by the kernel, or `None` where only composed operations work: gradients are
/// there for statistics of the batch alone.
pub(crate) fn image_forward(
    chain: &Arc<ImageChain>,
    thetas: &[&Theta],
    stored: &[&Theta],
    statistics: Statistics,
    x: &Tensor<2>,
) -> Option<Tensor<2>> {
    if !applies(x) || x.dims()[0] == 0 {
        return None;
    }
    if x.is_autodiff() || thetas.iter().chain(stored).any(|theta| theta.value().is_autodiff()) {
        let batch = statistics == Statistics::Batch || stored.is_empty();
        return batch.then(|| tracked(chain, thetas, x));
    }
    let n = x.dims()[0];
    let (weights, stored, rows) = (plain_weights(thetas), plain_weights(stored), plain(x.clone()));
    let stored = slices(&stored);
    let out = chain.forward_only(&slices(&weights), of(statistics, &stored), values(&rows), n);
    Some(tensor(out, [n, chain.dim() + 1], x))
}

/// x by the kernel, or `None` where only composed operations work (or a gradient is wanted).
pub(crate) fn image_inverse(
    chain: &Arc<ImageChain>,
    thetas: &[&Theta],
    stored: &[&Theta],
    statistics: Statistics,
    z: &Tensor<2>,
) -> Option<Tensor<2>> {
    let wanted = |theta: &&Theta| theta.value().is_autodiff();
    if !applies(z) || z.dims()[0] == 0 || z.is_autodiff() || thetas.iter().chain(stored).any(wanted) {
        return None;
    }
    let [n, dim] = z.dims();
    let (weights, stored, rows) = (plain_weights(thetas), plain_weights(stored), plain(z.clone()));
    let stored = slices(&stored);
    let x = chain.inverse(&slices(&weights), of(statistics, &stored), values(&rows), n);
    Some(tensor(x, [n, dim], z))
}

fn of<'a>(statistics: Statistics, stored: &'a [&'a [f32]]) -> kernels::Statistics<'a> {
    match statistics {
        Statistics::Batch => kernels::Statistics::Batch,
        Statistics::Stored => kernels::Statistics::Stored(stored),
    }
}

fn tracked(chain: &Arc<ImageChain>, thetas: &[&Theta], x: &Tensor<2>) -> Tensor<2> {
    let mut parents: Vec<Tracked> = vec![differentiable(x.clone().autodiff())];
    parents.extend(thetas.iter().map(|theta| differentiable(theta.value().clone().autodiff())));
    macro_rules! by_count {
        ($($n:literal)*) => {
            match parents.len() {
                $($n => node::<$n>(chain, parents),)*
                _ => unreachable!("runs are cut at {MAX_STEPS} steps"),
            }
        };
    }
    let out = by_count!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
    );
    Tensor::from_primitive::<Autodiff<Flex>>(out)
}

fn node<const N: usize>(chain: &Arc<ImageChain>, parents: Vec<Tracked>) -> Tracked {
    let parents: [Tracked; N] = parents.try_into().expect("counted by the caller");
    let guards = parents.each_ref().map(|parent| parent.node());
    let primitives: Vec<Plain> =
        parents.into_iter().map(|parent| contiguous(parent.into_parts().0)).collect();
    let (x, weights) = primitives.split_first().expect("x comes first");
    let n = x.shape()[0];
    let rows = |values: Vec<f32>| Plain::from_data(TensorData::new(values, [n, chain.dim() + 1]));
    match ImageBackward::<N>.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (out, tape) = chain.forward(&slices(weights), values(x), n);
            let saved = Saved { chain: chain.clone(), weights: weights.to_vec(), tape: Arc::new(tape) };
            prepared.finish(saved, rows(out))
        }
        OpsKind::UnTracked(prepared) => {
            let batch = kernels::Statistics::Batch;
            prepared.finish(rows(chain.forward_only(&slices(weights), batch, values(x), n)))
        }
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Saved {
    chain: Arc<ImageChain>,
    weights: Vec<Plain>,
    tape: Arc<ImageTape>,
}

#[derive(Debug)]
struct ImageBackward<const N: usize>;

impl<const N: usize> Backward<Flex, N> for ImageBackward<N> {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let Saved { chain, weights, tape } = ops.state;
        let n = upstream.shape()[0];
        let found = chain.backward(&slices(&weights), &tape, values(&upstream));
        let vectors = found.thetas.into_iter().map(|g| {
            let length = g.len();
            Plain::from_data(TensorData::new(g, [length]))
        });
        let x = Plain::from_data(TensorData::new(found.x, [n, chain.dim()]));
        for (parent, gradient) in ops.parents.into_iter().zip(std::iter::once(x).chain(vectors)) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}
