//! A run of affine couplings as one operation; rows `[n, dim + 1]`: z and, in the last column, log_det.

use std::sync::Arc;

use burn_backend::TensorMetadata;
use burn_tensor::Tensor;
use flowgmm_kernels::{Chain, Memory, Tape};

use super::{
    Plain, applies,
    node::{Fused, Gradient, shaped, tracked},
    plain, plain_weights, slices, tensor, values,
};
use crate::{bijection::Mapped, theta::Theta};

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
        return Some(tracked(&Run { chain: chain.clone(), memory }, thetas, x));
    }
    let weights = plain_weights(thetas);
    let rows = plain(x.clone());
    let n = x.dims()[0];
    let out = chain.forward_only(&slices(&weights), values(&rows), n);
    Some(tensor(out, [n, chain.dim() + 1], x))
}

/// z and log_det from rows `[n, dim + 1]`.
pub(crate) fn separate(rows: Tensor<2>) -> Mapped {
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

#[derive(Clone, Debug)]
struct Run {
    chain: Arc<Chain>,
    memory: Memory,
}

impl Fused for Run {
    type Tape = Tape;

    fn forward_taped(&self, thetas: &[Plain], x: &Plain) -> (Plain, Tape) {
        let n = x.shape()[0];
        let (out, tape) = self.chain.forward_keeping(self.memory, &slices(thetas), values(x), n);
        (shaped(out, [n, self.chain.dim() + 1]), tape)
    }

    fn forward_untaped(&self, thetas: &[Plain], x: &Plain) -> Plain {
        let n = x.shape()[0];
        shaped(self.chain.forward_only(&slices(thetas), values(x), n), [n, self.chain.dim() + 1])
    }

    fn backward(&self, thetas: &[Plain], tape: &Tape, upstream: &Plain, of_x: bool) -> Gradient {
        let (chain, weights) = (&self.chain, slices(thetas));
        // Data rows rarely want a gradient; without it the kernel skips the last product.
        if !of_x {
            return Gradient { thetas: chain.backward_thetas(&weights, tape, values(upstream)), x: None };
        }
        let found = chain.backward(&weights, tape, values(upstream));
        Gradient { thetas: found.thetas, x: Some(shaped(found.x, [upstream.shape()[0], chain.dim()])) }
    }
}
