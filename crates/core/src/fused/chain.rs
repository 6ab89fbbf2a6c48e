//! A run of affine couplings as one operation; rows `[n, dim + 1]`: z and, in the last column, log_det.

use burn_backend::TensorMetadata;
use burn_tensor::Tensor;
use flowgmm_kernels::{Memory, Tape};

use super::{
    Couplings, Plain, applies,
    node::{Fused, Gradient, shaped, tracked, vector},
    plain, plain_weights, slices, tensor, values,
};
use crate::{bijection::Mapped, theta::Theta};

/// Rows `[n, dim + 1]` of z and log_det, by the kernel, or `None` where only composed operations work.
pub(crate) fn forward(
    couplings: &Couplings,
    memory: Memory,
    thetas: &[&Theta],
    x: &Tensor<2>,
) -> Option<Tensor<2>> {
    if !applies(x) {
        return None;
    }
    if x.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff()) {
        return Some(tracked(&Run { couplings: couplings.clone(), memory }, thetas, x));
    }
    let (chain, weights) = (&couplings.chain, plain_weights(thetas));
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
pub(crate) fn inverse(couplings: &Couplings, thetas: &[&Theta], z: &Tensor<2>) -> Option<Tensor<2>> {
    if !applies(z) || z.is_autodiff() || thetas.iter().any(|theta| theta.value().is_autodiff()) {
        return None;
    }
    let (chain, weights) = (&couplings.chain, plain_weights(thetas));
    let [n, dim] = z.dims();
    let x = chain.inverse(&slices(&weights), values(&plain(z.clone())), n);
    Some(tensor(x, [n, dim], z))
}

#[derive(Clone, Debug)]
struct Run {
    couplings: Couplings,
    memory: Memory,
}

impl Fused for Run {
    type Tape = Tape;

    fn forward_taped(&self, thetas: &[Plain], x: &Plain) -> (Plain, Tape) {
        let (chain, n) = (&self.couplings.chain, x.shape()[0]);
        let (out, tape) = chain.forward_keeping(self.memory, &slices(thetas), values(x), n);
        (shaped(out, [n, chain.dim() + 1]), tape)
    }

    fn forward_untaped(&self, thetas: &[Plain], x: &Plain) -> Plain {
        let (chain, n) = (&self.couplings.chain, x.shape()[0]);
        shaped(chain.forward_only(&slices(thetas), values(x), n), [n, chain.dim() + 1])
    }

    fn backward(&self, thetas: &[Plain], tape: &Tape, upstream: &Plain, of_x: bool) -> Gradient {
        let (chain, weights) = (&self.couplings.chain, slices(thetas));
        // Data rows rarely want a gradient; without it the kernel skips the last product.
        if !of_x {
            let thetas = self.couplings.gradients(|into| {
                chain.backward_thetas_into(&weights, tape, values(upstream), into);
            });
            return Gradient { thetas, x: None };
        }
        let found = chain.backward(&weights, tape, values(upstream));
        let x = shaped(found.x, [upstream.shape()[0], chain.dim()]);
        Gradient { thetas: found.thetas.into_iter().map(vector).collect(), x: Some(x) }
    }
}
