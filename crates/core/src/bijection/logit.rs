//! Logit preprocessing (RealNVP, and the paper's image models): for x in [0, 1]
//!
//!   p = alpha + (1 - 2 alpha) x,   z = log p - log(1 - p),
//!   log_det = sum [ log(1 - 2 alpha) - log p - log(1 - p) ],
//!
//! with the exact inverse x = (sigmoid(z) - alpha) / (1 - 2 alpha); the authors' code stops at the sigmoid.

use burn_tensor::{Tensor, activation::sigmoid};

use super::{Bijection, Mapped};

#[derive(Clone, Debug)]
pub(super) struct Logit {
    dim: usize,
    alpha: f64,
}

impl Logit {
    pub(super) fn new(dim: usize, alpha: f64) -> Self {
        Self { dim, alpha }
    }
}

impl Bijection for Logit {
    fn dim(&self) -> usize {
        self.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let width = 1.0 - 2.0 * self.alpha;
        let p = x.mul_scalar(width).add_scalar(self.alpha);
        let (log_p, log_not_p) = (p.clone().log(), p.neg().add_scalar(1.0).log());
        let log_det = (log_p.clone() + log_not_p.clone()).neg().add_scalar(width.ln()).sum_dim(1);
        Mapped { value: log_p - log_not_p, log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        sigmoid(z).sub_scalar(self.alpha).div_scalar(1.0 - 2.0 * self.alpha)
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
