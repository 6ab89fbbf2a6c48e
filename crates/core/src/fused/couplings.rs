//! A run of affine couplings with a stock of vectors for its gradients.
//!
//! A training step frees the gradients that the next one allocates again, megabytes that the system would have to find and
//! clear each time. The stock keeps a second handle to them; those that nobody else holds any more are written over.

use std::sync::{Arc, Mutex, PoisonError};

use burn_tensor::TensorData;
use flowgmm_kernels::{Chain, Coupling};

use super::Plain;

/// Sets of gradients kept at most: a step that passes through the flow several times, for its terms, holds some at once.
const KEPT: usize = 4;

/// Couplings that one kernel computes. Clones share their stock.
#[derive(Clone, Debug)]
pub(crate) struct Couplings {
    pub(super) chain: Arc<Chain>,
    stock: Arc<Mutex<Vec<Vec<Plain>>>>,
}

impl Couplings {
    /// Couplings applied one after the other.
    pub(crate) fn new(couplings: Vec<Coupling>) -> Self {
        Self { chain: Arc::new(Chain::new(couplings)), stock: Arc::default() }
    }

    /// A vector for each coupling's gradient, as `fill` writes them; before that they hold anything.
    pub(super) fn gradients(&self, fill: impl FnOnce(&mut [&mut [f32]])) -> Vec<Plain> {
        let mut set = self.idle().unwrap_or_else(|| {
            let zeros = |n: usize| Plain::from_data(TensorData::new(vec![0.0f32; n], [n]));
            self.chain.couplings().iter().map(|coupling| zeros(coupling.n_params())).collect()
        });
        fill(&mut set.iter_mut().map(|vector| vector.storage_mut::<f32>()).collect::<Vec<_>>());
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        if stock.len() == KEPT {
            stock.remove(0);
        }
        stock.push(set.clone());
        set
    }

    /// Takes a set that nobody else holds.
    fn idle(&self) -> Option<Vec<Plain>> {
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = stock.iter().position(|set| set.iter().all(Plain::is_unique));
        idle.map(|i| stock.swap_remove(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::values;
    use flowgmm_kernels::Form;

    #[test]
    fn gradients_are_written_over_when_nobody_holds_them() {
        let coupling = || Coupling::new(2, vec![0], vec![1], vec![3], Form::ShiftThenScale);
        let couplings = Couplings::new(vec![coupling(), coupling()]);
        let filled =
            |value: f32| couplings.gradients(|into| into.iter_mut().for_each(|vector| vector.fill(value)));
        let at = |set: &[Plain]| values(&set[0]).as_ptr();
        let first = filled(1.0);
        let address = at(&first);
        let second = filled(2.0);
        assert!(values(&first[0]).iter().all(|v| *v == 1.0), "held, so left alone");
        assert_ne!(at(&second), address);
        drop(first);
        let third = filled(3.0);
        assert_eq!(at(&third), address);
        assert!(values(&second[1]).iter().all(|v| *v == 2.0) && values(&third[1]).iter().all(|v| *v == 3.0));
    }
}
