//! ActNorm (Glow): z = (x + b) e^s per column, log_det = sum s. On a first batch b and s are set so that
//! every column of z has mean 0 and variance 1; from then on they are ordinary parameters.

use burn_tensor::Tensor;
use rand::Rng as _;
use semisup::Rng;

use super::{Bijection, Init, Mapped};
use crate::{
    tensor::{Place, to_vec},
    theta::Theta,
};

#[derive(Clone, Debug)]
pub(super) struct ActNorm {
    dim: usize,
    theta: Theta,
}

const SHIFT: usize = 0;
const LOG_SCALE: usize = 1;

impl ActNorm {
    pub(super) fn new(dim: usize, init: Init, rng: &mut Rng, place: &Place) -> Self {
        let mut draw = || match init {
            Init::Identity => vec![0.0; dim],
            Init::Random | Init::Masked => (0..dim).map(|_| rng.random_range(-0.5..0.5)).collect(),
        };
        let pieces = vec![("b".into(), [1, dim], draw()), ("s".into(), [1, dim], draw())];
        Self { dim, theta: Theta::new(pieces, place) }
    }
}

impl Bijection for ActNorm {
    fn dim(&self) -> usize {
        self.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        let rows = x.dims()[0];
        let s = self.theta.part(LOG_SCALE);
        let log_det = s.clone().sum_dim(1).repeat_dim(0, rows);
        Mapped { value: (x + self.theta.part(SHIFT)) * s.exp(), log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        z * self.theta.part(LOG_SCALE).neg().exp() - self.theta.part(SHIFT)
    }

    fn adapts(&self) -> bool {
        true
    }

    fn adapt(&mut self, x: &Tensor<2>) {
        let [rows, dim] = x.dims();
        let (x, n) = (to_vec(x), rows as f64);
        let (mut shift, mut log_scale) = (Vec::with_capacity(dim), Vec::with_capacity(dim));
        for j in 0..dim {
            let column = || x.iter().skip(j).step_by(dim);
            let mean = column().sum::<f64>() / n;
            let variance = column().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            shift.push(-mean);
            // A constant column keeps its scale: there is nothing to standardise.
            log_scale.push(if variance > 1e-12 { -0.5 * variance.ln() } else { 0.0 });
        }
        shift.extend(log_scale);
        self.theta.set(self.theta.place().vector(shift));
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
