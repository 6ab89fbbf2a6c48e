//! Adam (Kingma and Ba 2015) with decoupled weight decay (Loshchilov and Hutter 2019).
//!
//! ```text
//! m <- .9 m + .1 g     v <- .999 v + .001 g^2     w <- w - rate (m^ / (sqrt v^ + 1e-8) + decay w)
//! ```
//!
//! with m^ = m / (1 - .9^t), v^ = v / (1 - .999^t). Offsets b do not decay.

use ndarray::{Array, Dimension, NdFloat, Zip};
use rayon::prelude::*;

use crate::net::{Net, number};

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The state of the optimiser of one net.
pub(crate) struct Adam<F> {
    rate: f64,
    decay: f64,
    t: i32,
    m: Net<F>,
    v: Net<F>,
}

impl<F: NdFloat> Adam<F> {
    pub fn new(net: &Net<F>, rate: f64, decay: f64) -> Self {
        Self { rate, decay, t: 0, m: net.zeros_like(), v: net.zeros_like() }
    }

    /// Another learning rate from now on.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// One step down the gradient. Each weight is on its own, so threads cannot change the result.
    pub fn step(&mut self, net: &mut Net<F>, gradient: &Net<F>) {
        self.t += 1;
        let size = self.rate / (1. - BETA_1.powi(self.t));
        let spread = 1. / (1. - BETA_2.powi(self.t));
        let keep = 1. - self.rate * self.decay;
        let moments = self.m.layers.par_iter_mut().zip(&mut self.v.layers);
        net.layers.par_iter_mut().zip(&gradient.layers).zip(moments).for_each(|((layer, g), (m, v))| {
            update(&mut layer.w, &g.w, &mut m.w, &mut v.w, [size, spread, keep]);
            update(&mut layer.b, &g.b, &mut m.b, &mut v.b, [size, spread, 1.]);
        });
    }
}

fn update<F: NdFloat, D: Dimension>(
    w: &mut Array<F, D>,
    g: &Array<F, D>,
    m: &mut Array<F, D>,
    v: &mut Array<F, D>,
    factors: [f64; 3],
) {
    let [size, spread, keep] = factors.map(number::<F>);
    let [beta_1, rest_1, beta_2, rest_2] = [BETA_1, 1. - BETA_1, BETA_2, 1. - BETA_2].map(number::<F>);
    let epsilon = number::<F>(EPSILON);
    Zip::from(w).and(g).and(m).and(v).for_each(|w, &g, m, v| {
        *m = beta_1 * *m + rest_1 * g;
        *v = beta_2 * *v + rest_2 * g * g;
        *w = keep * *w - size * *m / ((*v * spread).sqrt() + epsilon);
    });
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;
    use crate::net::Layer;

    #[test]
    fn two_steps_by_hand() {
        let at = |w: f64| Net { layers: vec![Layer { w: array![[w]], b: Array1::zeros(1) }] };
        let mut net = at(2.);
        let mut adam = Adam::new(&net, 0.1, 0.5);
        adam.step(&mut net, &at(3.)); // both moments are unbiased at once: a step of the full rate
        assert!((net.layers[0].w[[0, 0]] - (2. * 0.95 - 0.1)).abs() < 1e-8);
        adam.step(&mut net, &at(-1.));
        let m = (0.9 * 0.1 * 3. - 0.1) / (1. - 0.81);
        let v: f64 = (0.999 * 0.001 * 9. + 0.001) / (1. - 0.999f64.powi(2));
        assert!((net.layers[0].w[[0, 0]] - (1.8 * 0.95 - 0.1 * m / v.sqrt())).abs() < 1e-8);
        assert_eq!(net.layers[0].b[0], 0., "no gradient, no decay of offsets");
    }
}
