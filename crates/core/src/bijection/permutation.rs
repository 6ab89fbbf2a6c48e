//! Columns in a fixed other order: `z[:, j] = x[:, order[j]]`, log_det = 0.

use burn_tensor::Tensor;

use super::{Bijection, Mapped, conditioner::select_columns};
use crate::tensor::Place;

#[derive(Clone, Debug)]
pub(super) struct Permutation {
    order: Vec<usize>,
    back: Vec<usize>,
}

/// Whether `order` names each of 0..dim once.
pub(super) fn is_permutation(order: &[usize], dim: usize) -> bool {
    let mut seen = vec![false; dim];
    order.len() == dim && order.iter().all(|&j| j < dim && !std::mem::replace(&mut seen[j], true))
}

/// The order that undoes `order`.
pub(super) fn inverse_order(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    for (to, &from) in order.iter().enumerate() {
        back[from] = to;
    }
    back
}

impl Permutation {
    pub(super) fn new(order: &[usize]) -> Self {
        Self { order: order.to_vec(), back: inverse_order(order) }
    }
}

impl Bijection for Permutation {
    fn dim(&self) -> usize {
        self.order.len()
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let place = Place::of(&x);
        let log_det = place.matrix(vec![0.0; x.dims()[0]], [x.dims()[0], 1]);
        Mapped { value: select_columns(x, &self.order), log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        select_columns(z, &self.back)
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
