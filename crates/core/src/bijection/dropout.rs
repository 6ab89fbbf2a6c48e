//! Dropout in the networks of couplings, in training alone: h m / (1 - p) with m ~ Bernoulli(1 - p) for every unit h of
//! the first hidden layer and every row, as in the authors' code for tables.
//!
//! A coupling whose network drops units is still a bijection, and its log-det is still exact: s and t may depend on
//! the kept columns, and on chance, in any way.

use burn_tensor::Tensor;
use rand::Rng as _;
use semisup::Rng;

use crate::tensor::Place;

/// Dropout of hidden units.
#[derive(Debug)]
pub struct Dropout {
    share: f64,
    rng: Rng,
}

impl Dropout {
    /// Drops each unit with probability `share`, below 1.
    pub fn new(share: f64, rng: Rng) -> Self {
        Self { share, rng }
    }

    /// h with some of its units at 0 and the others scaled up, so that its mean stays.
    pub(super) fn apply(&mut self, h: Tensor<2>) -> Tensor<2> {
        let shape = h.dims();
        let kept = 1.0 / (1.0 - self.share) as f32;
        // One random byte for each unit: 1/256 is a fine enough step of p, and cheap.
        let limit = (256.0 * self.share).round() as u16;
        let mut bytes = vec![0; shape[0] * shape[1]];
        self.rng.fill(bytes.as_mut_slice());
        let mask =
            bytes.into_iter().map(|byte: u8| if u16::from(byte) < limit { 0.0 } else { kept }).collect();
        let mask = Place::of(&h).rows_f32(mask, shape);
        h * mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::to_vec;

    #[test]
    fn units_are_dropped_by_chance_and_the_mean_stays() {
        let place = Place::cpu();
        let ones = || place.matrix(vec![1.0; 200 * 50], [200, 50]);
        let drawn = |seed| to_vec(&Dropout::new(0.25, semisup::rng(seed)).apply(ones()));
        let first = drawn(1);
        assert!(first == drawn(1) && first != drawn(2), "a function of the seed");
        let dropped = first.iter().filter(|v| **v == 0.0).count() as f64 / 1e4;
        assert!((dropped - 0.25).abs() < 4.0 * (0.25f64 * 0.75 / 1e4).sqrt(), "{dropped}");
        assert!(first.iter().all(|v| *v == 0.0 || (*v - 4.0 / 3.0).abs() < 1e-6));
    }
}
