//! What runs of couplings and of image steps share: one node of the autodiff graph with parents (x, theta_1, ..., theta_m).

use std::{fmt::Debug, sync::Arc};

use burn_autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};

use super::{Plain, Tracked, contiguous, differentiable};
use crate::theta::Theta;

/// The most theta_m: Burn fixes the number of a node's parents at compile time.
pub(crate) const MAX_THETAS: usize = 32;

/// A kernel with a hand-derived backward.
pub(super) trait Fused: Clone + Debug + Send + Sync + 'static {
    /// What the forward pass keeps for the backward pass.
    type Tape: Debug + Send + Sync;

    /// The output, and what the backward pass needs.
    fn forward_taped(&self, thetas: &[Plain], x: &Plain) -> (Plain, Self::Tape);

    /// The output without a tape.
    fn forward_untaped(&self, thetas: &[Plain], x: &Plain) -> Plain;

    /// Gradients of every theta and, if it is wanted, of x.
    fn backward(&self, thetas: &[Plain], tape: &Self::Tape, upstream: &Plain, of_x: bool) -> Gradient;
}

/// The result of a backward pass.
pub(super) struct Gradient {
    pub thetas: Vec<Plain>,
    pub x: Option<Plain>,
}

/// The kernel's output as a node of the graph.
pub(super) fn tracked<K: Fused, const D: usize>(kernel: &K, thetas: &[&Theta], x: &Tensor<D>) -> Tensor<D> {
    let mut parents: Vec<Tracked> = vec![differentiable(x.clone().autodiff())];
    parents.extend(thetas.iter().map(|theta| differentiable(theta.value().clone().autodiff())));
    macro_rules! by_count {
        ($($n:literal)*) => {
            match parents.len() {
                $($n => node::<K, $n>(kernel, parents),)*
                _ => unreachable!("runs are cut at {MAX_THETAS}"),
            }
        };
    }
    let out = by_count!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
    );
    Tensor::from_primitive::<Autodiff<Flex>>(out)
}

fn node<K: Fused, const N: usize>(kernel: &K, parents: Vec<Tracked>) -> Tracked {
    let parents: [Tracked; N] = parents.try_into().expect("counted by the caller");
    let guards = parents.each_ref().map(|parent| parent.node());
    let primitives: Vec<Plain> =
        parents.into_iter().map(|parent| contiguous(parent.into_parts().0)).collect();
    let (x, thetas) = primitives.split_first().expect("x comes first");
    match NodeBackward::<K, N>(kernel.clone()).prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (out, tape) = kernel.forward_taped(thetas, x);
            prepared.finish(Saved::<K> { thetas: thetas.to_vec(), tape: Arc::new(tape) }, out)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(kernel.forward_untaped(thetas, x)),
    }
}

#[derive(Debug)]
struct Saved<K: Fused> {
    thetas: Vec<Plain>,
    tape: Arc<K::Tape>,
}

impl<K: Fused> Clone for Saved<K> {
    fn clone(&self) -> Self {
        Self { thetas: self.thetas.clone(), tape: self.tape.clone() }
    }
}

#[derive(Debug)]
struct NodeBackward<K, const N: usize>(K);

impl<K: Fused, const N: usize> Backward<Flex, N> for NodeBackward<K, N> {
    type State = Saved<K>;

    fn backward(self, ops: Ops<Saved<K>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let Saved { thetas, tape } = ops.state;
        let of_x = ops.parents[0].is_some();
        let found = self.0.backward(&thetas, &tape, &upstream, of_x);
        let vectors = found.thetas.into_iter().map(Some);
        for (parent, gradient) in ops.parents.into_iter().zip(std::iter::once(found.x).chain(vectors)) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

/// Kernel output of this shape.
pub(super) fn shaped<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Plain {
    Plain::from_data(TensorData::new(values, shape))
}

/// Kernel output of one dimension.
pub(super) fn vector(values: Vec<f32>) -> Plain {
    let length = values.len();
    shaped(values, [length])
}
