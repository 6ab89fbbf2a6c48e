//! The optimiser's one pass over a parameter vector.

use burn_flex::Flex;
use burn_tensor::{DType, Tensor};
use flowgmm_kernels::{AdamState, AdamStep};

use super::{Plain, applies, plain, values};

/// ||g||^2 of a gradient by the kernel.
pub(crate) fn sum_of_squares(gradient: &Tensor<1>) -> Option<f64> {
    applies(gradient).then(|| flowgmm_kernels::sum_of_squares(values(&plain(gradient.clone()))))
}

/// One pass of Adam by the kernel, in place wherever the vectors are held only once. `ema` may be absent.
pub(crate) fn adam(
    [theta, m, v]: [&mut Tensor<1>; 3],
    mut ema: Option<&mut Tensor<1>>,
    gradient: &Tensor<1>,
    step: &AdamStep,
) -> Option<()> {
    if !applies(theta) {
        return None;
    }
    let gradient = plain(gradient.clone());
    let mut owned = [take(theta), take(m), take(v)];
    let mut average = ema.as_deref_mut().map(take);
    {
        let [theta, m, v] = owned.each_mut().map(|t| t.storage_mut::<f32>());
        let ema = average.as_mut().map_or(&mut [] as &mut [f32], |t| t.storage_mut::<f32>());
        flowgmm_kernels::adam(AdamState { theta, m, v, ema, gradient: values(&gradient) }, step);
    }
    let [new_theta, new_m, new_v] = owned.map(Tensor::from_primitive::<Flex>);
    (*theta, *m, *v) = (new_theta, new_m, new_v);
    if let (Some(ema), Some(average)) = (ema, average) {
        *ema = Tensor::from_primitive::<Flex>(average);
    }
    Some(())
}

/// A vector's storage, leaving a placeholder, so that it can be written in place.
fn take(tensor: &mut Tensor<1>) -> Plain {
    let device = tensor.device();
    plain(std::mem::replace(tensor, Tensor::zeros([1], (&device, DType::F32))))
}
