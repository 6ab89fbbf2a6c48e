//! The optimiser's one pass over all parameter vectors.

use burn_flex::Flex;
use burn_tensor::{DType, Tensor};
use flowgmm_kernels::{AdamState, AdamStep};

use super::{Plain, applies, plain, slices, values};

/// ||g||^2 of each gradient by the kernel.
pub(crate) fn sums_of_squares(gradients: &[Tensor<1>]) -> Option<Vec<f64>> {
    gradients.iter().all(applies).then(|| {
        let gradients: Vec<Plain> = gradients.iter().map(|gradient| plain(gradient.clone())).collect();
        flowgmm_kernels::sums_of_squares(&slices(&gradients))
    })
}

/// One vector of parameters with what the optimiser knows of it; `ema` may be absent.
pub(crate) struct Vector<'a> {
    pub theta: &'a mut Tensor<1>,
    pub m: &'a mut Tensor<1>,
    pub v: &'a mut Tensor<1>,
    pub ema: Option<&'a mut Tensor<1>>,
    pub gradient: &'a Tensor<1>,
}

/// One pass of Adam by the kernel, in place wherever the vectors are held only once; the vectors themselves where only
/// composed operations work.
pub(crate) fn adam<'a>(mut vectors: Vec<Vector<'a>>, step: &AdamStep) -> Result<(), Vec<Vector<'a>>> {
    if !vectors.iter().all(|vector| applies(vector.theta)) {
        return Err(vectors);
    }
    let mut taken: Vec<Taken> = vectors.iter_mut().map(Taken::from).collect();
    flowgmm_kernels::adam(taken.iter_mut().map(Taken::state).collect(), step);
    for (vector, Taken { theta, m, v, ema, .. }) in vectors.into_iter().zip(taken) {
        let [theta, m, v] = [theta, m, v].map(Tensor::from_primitive::<Flex>);
        (*vector.theta, *vector.m, *vector.v) = (theta, m, v);
        if let (Some(to), Some(ema)) = (vector.ema, ema) {
            *to = Tensor::from_primitive::<Flex>(ema);
        }
    }
    Ok(())
}

/// The storages of a [`Vector`].
struct Taken {
    theta: Plain,
    m: Plain,
    v: Plain,
    ema: Option<Plain>,
    gradient: Plain,
}

impl Taken {
    fn from(vector: &mut Vector) -> Self {
        Self {
            theta: take(vector.theta),
            m: take(vector.m),
            v: take(vector.v),
            ema: vector.ema.as_deref_mut().map(take),
            gradient: plain(vector.gradient.clone()),
        }
    }

    fn state(&mut self) -> AdamState<'_> {
        AdamState {
            theta: self.theta.storage_mut::<f32>(),
            m: self.m.storage_mut::<f32>(),
            v: self.v.storage_mut::<f32>(),
            ema: self.ema.as_mut().map_or(&mut [], |ema| ema.storage_mut::<f32>()),
            gradient: values(&self.gradient),
        }
    }
}

/// A vector's storage, leaving a placeholder, so that it can be written in place.
fn take(tensor: &mut Tensor<1>) -> Plain {
    let device = tensor.device();
    plain(std::mem::replace(tensor, Tensor::zeros([1], (&device, DType::F32))))
}
