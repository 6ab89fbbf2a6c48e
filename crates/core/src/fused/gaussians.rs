//! The mixture's log-densities as one operation: log N(z; mu_c, diag(sigma_c^2)) for every row and Gaussian, plus the
//! log-det where rows carry one. Taking rows as [`super::forward`] returns them saves separating z from log_det and joining
//! their gradients again: a twelfth of a step.

use burn_autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn_backend::TensorMetadata;
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use flowgmm_kernels::{Gaussians, Tail};

use super::{Plain, Tracked, applies, contiguous, differentiable, plain, tensor, values};

/// `[n, C]` from z `[n, dim]` (or `[n, dim + 1]`, with [`Tail::LogDet`]), flat means `[C * dim]` and flat log sigmas `[C]` or
/// `[C * dim]`.
pub(crate) fn log_densities(
    z: &Tensor<2>,
    tail: Tail,
    means: &Tensor<1>,
    log_sigma: &Tensor<1>,
) -> Option<Tensor<2>> {
    if !applies(z) {
        return None;
    }
    if z.is_autodiff() || means.is_autodiff() || log_sigma.is_autodiff() {
        let parents = [
            differentiable(z.clone().autodiff()),
            differentiable(means.clone().autodiff()),
            differentiable(log_sigma.clone().autodiff()),
        ];
        return Some(Tensor::from_primitive::<Autodiff<Flex>>(node(parents, tail)));
    }
    let [n, width] = z.dims();
    let rows = plain(z.clone());
    let parameters = Parameters::new(width, tail, plain(means.clone()), &plain(log_sigma.clone()));
    let out = parameters.gaussians().log_densities(values(&rows));
    Some(tensor(out, [n, parameters.constants.len()], z))
}

fn node(parents: [Tracked; 3], tail: Tail) -> Tracked {
    let guards = parents.each_ref().map(|parent| parent.node());
    let [z, means, log_sigma] = parents.map(|parent| contiguous(parent.into_parts().0));
    let (n, width) = (z.shape()[0], z.shape()[1]);
    let parameters = Parameters::new(width, tail, means, &log_sigma);
    let out = parameters.gaussians().log_densities(values(&z));
    let out = Plain::from_data(TensorData::new(out, [n, parameters.constants.len()]));
    match GaussiansBackward.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(Saved { z, parameters }, out),
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    }
}

/// The mixture's parameters in the form of the kernel.
#[derive(Clone, Debug)]
struct Parameters {
    dim: usize,
    tail: Tail,
    means: Plain,
    precisions: Vec<f32>,
    constants: Vec<f32>,
    /// 1 for spherical covariances, dim for diagonal ones.
    sigmas_each: usize,
}

const LOG_2PI: f64 = 1.837_877_066_409_345_3;

impl Parameters {
    fn new(width: usize, tail: Tail, means: Plain, log_sigma: &Plain) -> Self {
        let dim = width - usize::from(tail == Tail::LogDet);
        let n = values(&means).len() / dim;
        let log_sigma = values(log_sigma);
        let sigmas_each = log_sigma.len() / n;
        let (mut precisions, mut constants) = (Vec::with_capacity(n * dim), Vec::with_capacity(n));
        for own in log_sigma.chunks_exact(sigmas_each) {
            let repeat = dim / sigmas_each;
            for s in own {
                precisions.extend(std::iter::repeat_n((-2.0 * s).exp(), repeat));
            }
            let log_volume: f64 = own.iter().map(|s| f64::from(*s) * repeat as f64).sum();
            constants.push((-0.5 * dim as f64 * LOG_2PI - log_volume) as f32);
        }
        Self { dim, tail, means, precisions, constants, sigmas_each }
    }

    fn gaussians(&self) -> Gaussians<'_> {
        Gaussians {
            dim: self.dim,
            tail: self.tail,
            means: values(&self.means),
            precisions: &self.precisions,
            constants: &self.constants,
        }
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Saved {
    z: Plain,
    parameters: Parameters,
}

#[derive(Debug)]
struct GaussiansBackward;

impl Backward<Flex, 3> for GaussiansBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let Saved { z, parameters } = ops.state;
        let gaussians = parameters.gaussians();
        let [rows, means, log_sigma] = ops.parents;
        if let Some(parent) = rows {
            let gradient = gaussians.row_gradients(values(&z), values(&upstream));
            let shape = [z.shape()[0], z.shape()[1]];
            grads.register::<Flex>(parent.id, Plain::from_data(TensorData::new(gradient, shape)));
        }
        if means.is_none() && log_sigma.is_none() {
            return;
        }
        let found = gaussians.parameter_gradients(values(&z), values(&upstream));
        let vector = |values: Vec<f32>| {
            let length = values.len();
            Plain::from_data(TensorData::new(values, [length]))
        };
        if let Some(parent) = means {
            grads.register::<Flex>(parent.id, vector(found.means));
        }
        if let Some(parent) = log_sigma {
            // The gradient of a sigma that all columns share is the sum over the columns.
            let shared = parameters.dim / parameters.sigmas_each;
            let summed = found.log_sigmas.chunks_exact(shared).map(|own| own.iter().sum()).collect();
            grads.register::<Flex>(parent.id, vector(summed));
        }
    }
}
