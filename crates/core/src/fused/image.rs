//! A run of steps on images as one operation; rows `[n, dim + 1]` as those of `chain`.

use std::sync::Arc;

use burn_backend::TensorMetadata;
use burn_tensor::Tensor;
use flowgmm_kernels::image::{self as kernels, ImageChain, ImageTape};

use super::{
    Plain, applies,
    node::{Fused, Gradient, shaped, tracked, vector},
    plain, plain_weights, slices, tensor, values,
};
use crate::{bijection::NormStatistics, theta::Theta};

/// Rows `[n, dim + 1]` of z and log_det, by the kernel, or `None` where only composed operations work: the kernel
/// has gradients only for statistics of the batch.
pub(crate) fn image_forward(
    chain: &Arc<ImageChain>,
    thetas: &[&Theta],
    running: &[&Theta],
    statistics: NormStatistics,
    x: &Tensor<2>,
) -> Option<Tensor<2>> {
    if !applies(x) || x.dims()[0] == 0 {
        return None;
    }
    if x.is_autodiff() || thetas.iter().chain(running).any(|theta| theta.value().is_autodiff()) {
        let batch = statistics == NormStatistics::Batch || running.is_empty();
        return batch.then(|| tracked(chain, thetas, x));
    }
    let n = x.dims()[0];
    let (weights, running, rows) = (plain_weights(thetas), plain_weights(running), plain(x.clone()));
    let running = slices(&running);
    let out = chain.forward_only(&slices(&weights), of(statistics, &running), values(&rows), n);
    Some(tensor(out, [n, chain.dim() + 1], x))
}

/// x by the kernel, or `None` where only composed operations work (or a gradient is wanted).
pub(crate) fn image_inverse(
    chain: &Arc<ImageChain>,
    thetas: &[&Theta],
    running: &[&Theta],
    statistics: NormStatistics,
    z: &Tensor<2>,
) -> Option<Tensor<2>> {
    let wanted = |theta: &&Theta| theta.value().is_autodiff();
    if !applies(z) || z.dims()[0] == 0 || z.is_autodiff() || thetas.iter().chain(running).any(wanted) {
        return None;
    }
    let [n, dim] = z.dims();
    let (weights, running, rows) = (plain_weights(thetas), plain_weights(running), plain(z.clone()));
    let running = slices(&running);
    let x = chain.inverse(&slices(&weights), of(statistics, &running), values(&rows), n);
    Some(tensor(x, [n, dim], z))
}

fn of<'a>(statistics: NormStatistics, running: &'a [&'a [f32]]) -> kernels::NormStatistics<'a> {
    match statistics {
        NormStatistics::Batch => kernels::NormStatistics::Batch,
        NormStatistics::Running => kernels::NormStatistics::Running(running),
    }
}

impl Fused for Arc<ImageChain> {
    type Tape = ImageTape;

    fn forward_taped(&self, thetas: &[Plain], x: &Plain) -> (Plain, ImageTape) {
        let n = x.shape()[0];
        let (out, tape) = self.forward(&slices(thetas), values(x), n);
        (shaped(out, [n, self.dim() + 1]), tape)
    }

    fn forward_untaped(&self, thetas: &[Plain], x: &Plain) -> Plain {
        let n = x.shape()[0];
        let out = self.forward_only(&slices(thetas), kernels::NormStatistics::Batch, values(x), n);
        shaped(out, [n, self.dim() + 1])
    }

    fn backward(&self, thetas: &[Plain], tape: &ImageTape, upstream: &Plain, _of_x: bool) -> Gradient {
        let found = ImageChain::backward(self, &slices(thetas), tape, values(upstream));
        Gradient {
            thetas: found.thetas.into_iter().map(vector).collect(),
            x: Some(shaped(found.x, [upstream.shape()[0], self.dim()])),
        }
    }
}
