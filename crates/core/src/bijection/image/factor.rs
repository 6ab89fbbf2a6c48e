//! Factor-out (RealNVP's multi-scale architecture, in the authors' order): the first channels of an image go through a
//! flow of their own, the others are done,
//!
//!   z = [x_done, f(x_kept)],   log_det = log|det df/dx_kept|.

use burn_tensor::Tensor;
use semisup::Rng;

use super::ImageShape;
use crate::{
    Result,
    bijection::{Bijection, BijectionSpec, Init, Mapped, Mode},
    flow::{Flow, FlowSpec},
    tensor::Place,
    theta::Theta,
};

#[derive(Clone, Debug)]
pub(in crate::bijection) struct FactorOut {
    dim: usize,
    inner: Flow,
}

impl FactorOut {
    /// The flow of the kept channels.
    pub(in crate::bijection) fn inner_spec(
        shape: ImageShape,
        keep: usize,
        layers: &[BijectionSpec],
    ) -> FlowSpec {
        FlowSpec { dim: shape.with_channels(keep).dim(), layers: layers.to_vec() }
    }

    pub(in crate::bijection) fn new(
        shape: ImageShape,
        keep: usize,
        layers: &[BijectionSpec],
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Result<Self> {
        let inner = Flow::new(Self::inner_spec(shape, keep, layers), init, rng, place)?;
        Ok(Self { dim: shape.dim(), inner })
    }

    fn done(&self) -> usize {
        self.dim - self.inner.dim()
    }

    fn split(&self, x: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let kept = x.clone().narrow(1, 0, self.inner.dim());
        (kept, x.narrow(1, self.inner.dim(), self.done()))
    }
}

impl Bijection for FactorOut {
    fn dim(&self) -> usize {
        self.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let (kept, done) = self.split(x);
        let Mapped { value, log_det } = self.inner.forward(kept);
        Mapped { value: Tensor::cat(vec![done, value], 1), log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let done = z.clone().narrow(1, 0, self.done());
        let kept = self.inner.inverse(z.narrow(1, self.done(), self.inner.dim()));
        Tensor::cat(vec![kept, done], 1)
    }

    fn thetas(&self) -> Vec<&Theta> {
        self.inner.thetas()
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        self.inner.thetas_mut()
    }

    fn trained(&self) -> Vec<bool> {
        self.inner.trained()
    }

    fn labels(&self) -> Vec<String> {
        self.inner.labels()
    }

    fn adapt(&mut self, x: &Tensor<2>) {
        let (kept, _) = self.split(x.clone());
        self.inner.adapt(&kept);
    }

    fn adapts(&self) -> bool {
        self.inner.adapts()
    }

    fn update_running_statistics(&mut self, x: Tensor<2>, momentum: f64) -> Tensor<2> {
        let (kept, done) = self.split(x);
        Tensor::cat(vec![done, self.inner.update_running_statistics(kept, momentum)], 1)
    }

    fn set_mode(&mut self, mode: Mode) {
        self.inner.set_mode(mode);
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
