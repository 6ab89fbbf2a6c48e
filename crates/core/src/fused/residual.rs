//! A tower of residual blocks as one operation: images are re-laid once on the way in and once on the way out.

use burn::{backend::TensorMetadata, tensor::Tensor};
use flowgmm_kernels::conv::{Activations, KernelSize, PreActConv, PreActParams, Shape, Workspace};

use super::{
    MAX_THETAS, Plain, applies,
    node::{Fused, Gradient, shaped, tracked},
    values,
};
use crate::theta::Theta;

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
    if !applies(x) || thetas.len() > MAX_THETAS {
        return None;
    }
    let out = tracked(tower, thetas, x);
    let wanted = x.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff());
    Some(if wanted { out } else { out.without_autodiff() })
}

impl Fused for Tower {
    /// The input of every layer, and last the output.
    type Tape = Vec<Activations>;

    fn keeping(&self, thetas: &[Plain], x: &Plain) -> (Plain, Vec<Activations>) {
        let dims = x.shape();
        let shape = Shape { n: dims[0], channels: dims[1], height: dims[2], width: dims[3] };
        let inputs = self.forward(thetas, Activations::from_nchw(&self.workspace, shape, values(x)));
        (images(inputs.last().expect("the output is last")), inputs)
    }

    fn alone(&self, thetas: &[Plain], x: &Plain) -> Plain {
        self.keeping(thetas, x).0
    }

    fn backward(
        &self,
        thetas: &[Plain],
        inputs: &Vec<Activations>,
        upstream: &Plain,
        of_x: bool,
    ) -> Gradient {
        let mut gradient = Activations::from_nchw(&self.workspace, inputs[0].shape(), values(upstream));
        let mut found: Vec<Vec<f32>> = vec![Vec::new(); thetas.len()];
        for block in (0..thetas.len() / 2).rev() {
            let (first, second) = (2 * block, 2 * block + 1);
            let params = |i: usize| self.params(values(&thetas[i]));
            let outer = self.layer.backward(params(second), &inputs[second], &gradient, None);
            let inner = self.layer.backward(params(first), &inputs[first], &outer.x, Some(&gradient));
            found[second] = [outer.gamma, outer.beta, outer.weights].concat();
            found[first] = [inner.gamma, inner.beta, inner.weights].concat();
            gradient = inner.x;
        }
        Gradient { thetas: found, x: of_x.then(|| images(&gradient)) }
    }
}

/// As rows of images.
fn images(activations: &Activations) -> Plain {
    let Shape { n, channels, height, width } = activations.shape();
    shaped(activations.to_nchw(), [n, channels, height, width])
}
