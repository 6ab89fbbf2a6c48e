//! A tower of residual blocks as one operation: images are re-laid once on the way in and once on the way out.

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
use flowgmm_kernels::conv::{Activations, KernelSize, PreActConv, PreActParams, Shape, Workspace};

use super::{Plain, Tracked, applies, differentiable, values};
use crate::theta::Theta;

/// Layers of a tower: Burn fixes the number of a node's parents at compile time.
pub(crate) const MAX_LAYERS: usize = 16;

/// The kernel of one tower, with its stock of buffers.
#[derive(Clone, Debug)]
pub(crate) struct Tower {
    channels: usize,
    layer: PreActConv,
    workspace: Workspace,
}

impl Tower {
    pub(crate) fn new(channels: usize) -> Self {
        let workspace = Workspace::default();
        let layer = PreActConv::new(channels, channels, KernelSize::Three, &workspace);
        Self { channels, layer, workspace }
    }

    /// gamma, beta and W of a flat parameter vector.
    fn params<'a>(&self, theta: &'a [f32]) -> PreActParams<'a> {
        let (gamma, rest) = theta.split_at(self.channels);
        let (beta, weights) = rest.split_at(self.channels);
        PreActParams { gamma, beta, weights }
    }

    /// The input of every layer, and last the output.
    fn forward(&self, thetas: &[Plain], x: Activations) -> Vec<Activations> {
        let mut inputs = vec![x];
        for (i, theta) in thetas.iter().enumerate() {
            let residual = (i % 2 == 1).then(|| &inputs[i - 1]);
            let y = self.layer.forward(self.params(values(theta)), &inputs[i], residual);
            inputs.push(y);
        }
        inputs
    }
}

/// The tower by the kernel, or `None` where only composed operations work.
pub(crate) fn residual_tower(tower: &Tower, thetas: &[&Theta], x: &Tensor<4>) -> Option<Tensor<4>> {
    if !applies(x) || thetas.len() > MAX_LAYERS {
        return None;
    }
    let mut parents: Vec<Tracked> = vec![differentiable(x.clone().autodiff())];
    parents.extend(thetas.iter().map(|theta| differentiable(theta.value().clone().autodiff())));
    macro_rules! by_count {
        ($($n:literal)*) => {
            match parents.len() {
                $($n => node::<$n>(tower, parents),)*
                _ => unreachable!("a tower has an even number of layers, at most {MAX_LAYERS}"),
            }
        };
    }
    let out = Tensor::from_primitive::<Autodiff<Flex>>(by_count!(3 5 7 9 11 13 15 17));
    let tracked = x.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff());
    Some(if tracked { out } else { out.without_autodiff() })
}

fn node<const N: usize>(tower: &Tower, parents: Vec<Tracked>) -> Tracked {
    let parents: [Tracked; N] = parents.try_into().expect("counted by the caller");
    let guards = parents.each_ref().map(|parent| parent.node());
    let primitives: Vec<Plain> =
        parents.into_iter().map(|parent| parent.into_parts().0.to_contiguous()).collect();
    let (x, weights) = primitives.split_first().expect("x comes first");
    let dims = x.shape();
    let shape = Shape { n: dims[0], channels: dims[1], height: dims[2], width: dims[3] };
    let inputs = tower.forward(weights, Activations::from_nchw(&tower.workspace, shape, values(x)));
    let out = inputs.last().expect("the output is last").to_nchw();
    let out = Plain::from_data(TensorData::new(out, [shape.n, shape.channels, shape.height, shape.width]));
    match TowerBackward::<N>.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let saved = Saved { tower: tower.clone(), weights: weights.to_vec(), inputs: Arc::new(inputs) };
            prepared.finish(saved, out)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Saved {
    tower: Tower,
    weights: Vec<Plain>,
    inputs: Arc<Vec<Activations>>,
}

#[derive(Debug)]
struct TowerBackward<const N: usize>;

impl<const N: usize> Backward<Flex, N> for TowerBackward<N> {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node).to_contiguous();
        let Saved { tower, weights, inputs } = ops.state;
        let shape = inputs[0].shape();
        let mut gradient = Activations::from_nchw(&tower.workspace, shape, values(&upstream));
        let mut found: Vec<Vec<f32>> = vec![Vec::new(); weights.len()];
        for block in (0..weights.len() / 2).rev() {
            let (first, second) = (2 * block, 2 * block + 1);
            let params = |i: usize| tower.params(values(&weights[i]));
            let outer = tower.layer.backward(params(second), &inputs[second], &gradient, None);
            let inner = tower.layer.backward(params(first), &inputs[first], &outer.x, Some(&gradient));
            found[second] = [outer.gamma, outer.beta, outer.weights].concat();
            found[first] = [inner.gamma, inner.beta, inner.weights].concat();
            gradient = inner.x;
        }
        let mut parents = ops.parents.into_iter();
        if let Some(parent) = parents.next().flatten() {
            let dims = [shape.n, shape.channels, shape.height, shape.width];
            let rows = Plain::from_data(TensorData::new(gradient.to_nchw(), dims));
            grads.register::<Flex>(parent.id, rows);
        }
        for (parent, gradient) in parents.zip(found) {
            if let Some(parent) = parent {
                let length = gradient.len();
                grads.register::<Flex>(parent.id, Plain::from_data(TensorData::new(gradient, [length])));
            }
        }
    }
}
