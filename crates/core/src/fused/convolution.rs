//! One convolution of images `[n, in, height, width]` with a kernel `[out, in size size]`, zero padding, no bias.

use std::sync::Arc;

use burn_autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn_backend::TensorMetadata;
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use flowgmm_kernels::conv::{Activations, Conv, KernelSize, Shape, Workspace};

use super::{Plain, Tracked, applies, contiguous, differentiable, values};

/// conv(x) by the kernel, or `None` where only composed operations work.
pub(crate) fn convolution(x: &Tensor<4>, w: &Tensor<2>, size: usize) -> Option<Tensor<4>> {
    let kernel = match size {
        1 => KernelSize::One,
        3 => KernelSize::Three,
        _ => return None,
    };
    if !applies(x) || x.dims()[0] == 0 {
        return None;
    }
    let tracked = x.is_autodiff() || w.is_autodiff();
    let parents = [differentiable(x.clone().autodiff()), differentiable(w.clone().autodiff())];
    let y = Tensor::from_primitive::<Autodiff<Flex>>(node(kernel, parents));
    Some(if tracked { y } else { y.without_autodiff() })
}

/// All convolutions share one stock of buffers. It is a pure cache of memory: contents are overwritten before they are
/// read, so no result depends on it, and buffers are handed out under a lock.
fn workspace() -> &'static Workspace {
    static SHARED: std::sync::OnceLock<Workspace> = std::sync::OnceLock::new();
    SHARED.get_or_init(Workspace::default)
}

fn node(kernel: KernelSize, parents: [Tracked; 2]) -> Tracked {
    let guards = parents.each_ref().map(|parent| parent.node());
    let [x, w] = parents.map(|parent| contiguous(parent.into_parts().0));
    let dims = x.shape();
    let shape = Shape { n: dims[0], channels: dims[1], height: dims[2], width: dims[3] };
    let out = w.shape()[0];
    let conv = Conv::new(shape.channels, out, kernel, workspace());
    let images = Activations::from_nchw(workspace(), shape, values(&x));
    let y = conv.forward(values(&w), None, &images).to_nchw();
    let y = Plain::from_data(TensorData::new(y, [shape.n, out, shape.height, shape.width]));
    match ConvolutionBackward.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(Saved { conv, x: Arc::new(images), w }, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Saved {
    conv: Conv,
    x: Arc<Activations>,
    w: Plain,
}

#[derive(Debug)]
struct ConvolutionBackward;

impl Backward<Flex, 2> for ConvolutionBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let Saved { conv, x, w } = ops.state;
        let shape = x.shape();
        let gy = Shape { channels: conv.out_channels, ..shape };
        let gy = Activations::from_nchw(workspace(), gy, values(&upstream));
        let [of_x, of_w] = ops.parents;
        if let Some(parent) = of_x {
            let gx = conv.input_gradient(values(&w), &gy).to_nchw();
            let dims = [shape.n, shape.channels, shape.height, shape.width];
            grads.register::<Flex>(parent.id, Plain::from_data(TensorData::new(gx, dims)));
        }
        if let Some(parent) = of_w {
            let gw = conv.weight_gradient(&x, &gy);
            let dims = [conv.out_channels, gw.len() / conv.out_channels];
            grads.register::<Flex>(parent.id, Plain::from_data(TensorData::new(gw, dims)));
        }
    }
}
