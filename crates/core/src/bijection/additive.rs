//! Additive coupling (NICE): z_c = x_c + net(x_k), log_det = 0. Volume-preserving and never unstable.

use burn::tensor::Tensor;
use semisup::Rng;

use super::{Bijection, Dropout, Init, Mapped, Mask, conditioner::Conditioner};
use crate::{tensor::Place, theta::Theta};

#[derive(Clone, Debug)]
pub(super) struct Additive {
    net: Conditioner,
    theta: Theta,
}

impl Additive {
    pub(super) fn new(
        dim: usize,
        mask: Mask,
        hidden: &[usize],
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Self {
        let net = Conditioner::new(dim, mask, hidden, 1);
        Self { theta: Theta::new(net.draw(init, rng), place), net }
    }

    fn map(&self, x: Tensor<2>, dropout: Option<&mut Dropout>) -> Mapped {
        let (kept, changed) = self.net.split(x);
        let log_det = changed.zeros_like().sum_dim(1);
        let t = self.net.net(&self.theta, kept.clone(), dropout);
        Mapped { value: self.net.merge(kept, changed + t), log_det }
    }
}

impl Bijection for Additive {
    fn dim(&self) -> usize {
        self.net.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        self.map(x, None)
    }

    fn forward_dropping(&self, x: Tensor<2>, dropout: &mut Dropout) -> Mapped {
        self.map(x, Some(dropout))
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let (kept, changed) = self.net.split(z);
        let t = self.net.net(&self.theta, kept.clone(), None);
        self.net.merge(kept, changed - t)
    }

    fn thetas(&self) -> Vec<&Theta> {
        vec![&self.theta]
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        vec![&mut self.theta]
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
