//! The mixture's log-densities as one operation: log N(z; mu_c, diag(sigma_c^2)) for every row and Gaussian.

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
use flowgmm_kernels::Gaussians;

use super::{Plain, Tracked, applies, differentiable, plain, tensor, values};

/// `[n, C]` from z `[n, dim]`, flat means `[C * dim]` and flat log sigmas `[C]` or `[C * dim]`.
pub(crate) fn log_densities(z: &Tensor<2>, means: &Tensor<1>, log_sigma: &Tensor<1>) -> Option<Tensor<2>> {
    if !applies(z) {
        return None;
    }
    if z.is_autodiff() || means.is_autodiff() || log_sigma.is_autodiff() {
        let parents = [
            differentiable(z.clone().autodiff()),
            differentiable(means.clone().autodiff()),
            differentiable(log_sigma.clone().autodiff()),
        ];
        return Some(Tensor::from_primitive::<Autodiff<Flex>>(node(parents)));
    }
    let [n, dim] = z.dims();
    let rows = plain(z.clone());
    let parameters = Parameters::new(dim, plain(means.clone()), &plain(log_sigma.clone()));
    let out = parameters.gaussians().log_densities(values(&rows));
    Some(tensor(out, [n, parameters.constants.len()], z))
}

fn node(parents: [Tracked; 3]) -> Tracked {
    let guards = parents.each_ref().map(|parent| parent.node());
    let [z, means, log_sigma] = parents.map(|parent| parent.into_parts().0.to_contiguous());
    let (n, dim) = (z.shape()[0], z.shape()[1]);
    let parameters = Parameters::new(dim, means, &log_sigma);
    let out = parameters.gaussians().log_densities(values(&z));
    let out = Plain::from_data(TensorData::new(out, [n, parameters.constants.len()]));
    match GaussiansBackward.prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(Saved { z, parameters }, out),
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    }
}

/// The mixture's parameters as the kernel wants them.
#[derive(Clone, Debug)]
struct Parameters {
    dim: usize,
    means: Plain,
    precisions: Vec<f32>,
    constants: Vec<f32>,
    /// 1 for spherical covariances, dim for diagonal ones.
    sigmas_each: usize,
}

const LOG_2PI: f64 = 1.837_877_066_409_345_3;

impl Parameters {
    fn new(dim: usize, means: Plain, log_sigma: &Plain) -> Self {
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
        Self { dim, means, precisions, constants, sigmas_each }
    }

    fn gaussians(&self) -> Gaussians<'_> {
        Gaussians {
            dim: self.dim,
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
        let upstream = grads.consume::<Flex>(&ops.node).to_contiguous();
        let Saved { z, parameters } = ops.state;
        let gaussians = parameters.gaussians();
        let [rows, means, log_sigma] = ops.parents;
        if let Some(parent) = rows {
            let gradient = gaussians.row_gradients(values(&z), values(&upstream));
            let shape = [z.shape()[0], parameters.dim];
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
            // One sigma for all columns of a Gaussian gathers what each of them says.
            let shared = parameters.dim / parameters.sigmas_each;
            let summed = found.log_sigmas.chunks_exact(shared).map(|own| own.iter().sum()).collect();
            grads.register::<Flex>(parent.id, vector(summed));
        }
    }
}
