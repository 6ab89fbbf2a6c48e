//! The CPU kernels of `flowgmm-kernels` as differentiable Burn operations.
//!
//! Each operation is one node of the autodiff graph with the kernel's hand-derived backward, and returns `None` where
//! only composed operations work: another device, or double precision. The composed versions, in
//! `bijection::coupling`, `mixture` and `train::optim`, are the oracles (`tests/fused.rs`).
//!
//! | file | operation |
//! |---|---|
//! | `chain` | a run of affine couplings: parents (x, theta_1, ..., theta_m) |
//! | `couplings` | (what `chain` runs, and its stock of vectors) |
//! | `image` | a run of steps on images: parents (x, theta_1, ..., theta_m) |
//! | `convolution` | one convolution of images: parents (x, W) |
//! | `gaussians` | the mixture's log-densities: parents (rows of z or of z and log_det, means, log sigmas) |
//! | `adam` | the optimiser's update, in place |
//!
//! `node` is what the operations with parents (x, theta_1, ..., theta_m) share.

mod adam;
mod chain;
mod convolution;
mod couplings;
mod gaussians;
mod image;
mod node;

use burn_autodiff::Autodiff;
use burn_backend::tensor::FloatTensor;
use burn_dispatch::DispatchDevice;
use burn_flex::Flex;
use burn_tensor::{DType, Tensor, TensorData};

use crate::theta::Theta;

pub(crate) use adam::{Vector, adam, sums_of_squares};
pub(crate) use chain::{forward, inverse, separate};
pub(crate) use convolution::convolution;
pub(crate) use couplings::Couplings;
pub(crate) use flowgmm_kernels::Tail;
pub(crate) use gaussians::log_densities;
pub(crate) use image::{image_forward, image_inverse};
pub(crate) use node::MAX_THETAS;

type Plain = FloatTensor<Flex>;
type Tracked = FloatTensor<Autodiff<Flex>>;

/// Whether the kernels can take a tensor: single precision on the CPU.
fn applies<const D: usize>(x: &Tensor<D>) -> bool {
    let device = x.device().without_autodiff();
    x.dtype() == DType::F32 && matches!(device.as_dispatch(), DispatchDevice::Flex(_))
}

/// A tensor of kernel output.
fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D], like: &Tensor<2>) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), (&like.device(), DType::F32))
}

fn differentiable<const D: usize>(tensor: Tensor<D>) -> Tracked {
    tensor.try_into_primitive::<Autodiff<Flex>>().expect("checked by `applies`")
}

fn plain<const D: usize>(tensor: Tensor<D>) -> Plain {
    contiguous(tensor.try_into_primitive::<Flex>().expect("checked by `applies`"))
}

/// Copies only views that are not contiguous; a range of rows of a larger tensor is.
fn contiguous(tensor: Plain) -> Plain {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

fn plain_weights(thetas: &[&Theta]) -> Vec<Plain> {
    thetas.iter().map(|theta| plain(theta.value().clone())).collect()
}

fn values(tensor: &Plain) -> &[f32] {
    tensor.as_slice::<f32>().expect("contiguous single precision")
}

fn slices(tensors: &[Plain]) -> Vec<&[f32]> {
    tensors.iter().map(values).collect()
}
