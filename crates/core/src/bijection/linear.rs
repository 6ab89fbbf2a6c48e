//! Invertible linear map by LU factors (Glow): z = x W^T with W = P L U,
//!
//!   L unit lower triangular, U upper triangular with diagonal e^s, P a fixed permutation of rows;
//!   log_det = sum s, the same for every row.
//!
//! The inverse solves the two triangular systems in double precision.

use burn_tensor::Tensor;
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

use super::{Bijection, Init, Mapped, conditioner::select_columns, permutation::inverse_order};
use crate::{
    tensor::{Place, to_vec},
    theta::Theta,
};

#[derive(Clone, Debug)]
pub(super) struct Linear {
    dim: usize,
    order: Vec<usize>,
    back: Vec<usize>,
    theta: Theta,
}

const LOWER: usize = 0;
const UPPER: usize = 1;
const LOG_DIAGONAL: usize = 2;

impl Linear {
    pub(super) fn new(order: &[usize], init: Init, rng: &mut Rng, place: &Place) -> Self {
        let dim = order.len();
        let sigma = match init {
            Init::Identity => 0.0,
            Init::Random | Init::Masked => 0.3 / (dim as f64).sqrt(),
        };
        let mut draw = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|_| sigma * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng))
                .collect()
        };
        let pieces = vec![
            ("L".into(), [dim, dim], draw(dim * dim)),
            ("U".into(), [dim, dim], draw(dim * dim)),
            ("s".into(), [1, dim], draw(dim)),
        ];
        Self { dim, order: order.to_vec(), back: inverse_order(order), theta: Theta::new(pieces, place) }
    }
}

impl Bijection for Linear {
    fn dim(&self) -> usize {
        self.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let rows = x.dims()[0];
        let s = self.theta.part(LOG_DIAGONAL);
        // x U^T: the strict upper part as a product, the diagonal as a column scale.
        let upper = self.theta.part(UPPER).triu(1);
        let u = x.clone().matmul(upper.transpose()) + x * s.clone().exp();
        let lower = self.theta.part(LOWER).tril(-1);
        let v = u.clone().matmul(lower.transpose()) + u;
        Mapped { value: select_columns(v, &self.order), log_det: s.sum_dim(1).repeat_dim(0, rows) }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let (place, [rows, dim]) = (Place::of(&z), z.dims());
        let mut x = to_vec(&select_columns(z, &self.back));
        let parts: Vec<Vec<f64>> = (0..3).map(|i| to_vec(&self.theta.part(i))).collect();
        for row in x.chunks_exact_mut(dim) {
            for i in 0..dim {
                let known: f64 = (0..i).map(|j| parts[LOWER][i * dim + j] * row[j]).sum();
                row[i] -= known;
            }
            for i in (0..dim).rev() {
                let known: f64 = (i + 1..dim).map(|j| parts[UPPER][i * dim + j] * row[j]).sum();
                row[i] = (row[i] - known) * (-parts[LOG_DIAGONAL][i]).exp();
            }
        }
        place.matrix(x, [rows, dim])
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
