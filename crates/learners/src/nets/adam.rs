//! Adam (Kingma and Ba 2015) with decoupled weight decay (Loshchilov and Hutter 2019) for the weights of a net.
//!
//! The update itself is the one of [`flowgmm_kernels`], which the flow trains with too:
//!
//! ```text
//! m <- .9 m + .1 g     v <- .999 v + .001 g^2     w <- w - rate (m^ / (sqrt v^ + 1e-8) + decay w)
//! ```
//!
//! with m^ = m / (1 - .9^t), v^ = v / (1 - .999^t). Biases do not decay.

use flowgmm_kernels::{AdamState, AdamStep, adam};
use ndarray::{Array, Dimension};
use rayon::prelude::*;

use super::net::Net;

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f32 = 1e-8;

/// The state of the optimiser of one net.
pub(crate) struct Adam {
    rate: f64,
    decay: f64,
    t: i32,
    m: Net<f32>,
    v: Net<f32>,
}

impl Adam {
    pub fn new(net: &Net<f32>, rate: f64, decay: f64) -> Self {
        Self { rate, decay, t: 0, m: net.zeros_like(), v: net.zeros_like() }
    }

    /// Another learning rate from now on.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// One step down the gradient. The update is elementwise, so threads cannot change the result.
    pub fn step(&mut self, net: &mut Net<f32>, gradient: &Net<f32>) {
        self.t += 1;
        let biases = AdamStep {
            shrink: 1.,
            l2: 0.,
            beta1: BETA_1 as f32,
            beta2: BETA_2 as f32,
            correct2: (1. / (1. - BETA_2.powi(self.t))) as f32,
            rate: (self.rate / (1. - BETA_1.powi(self.t))) as f32,
            epsilon: EPSILON,
            keep: 1.,
            average: 0.,
        };
        let weights = AdamStep { keep: (1. - self.rate * self.decay) as f32, ..biases };
        let moments = self.m.layers.par_iter_mut().zip(&mut self.v.layers);
        net.layers.par_iter_mut().zip(&gradient.layers).zip(moments).for_each(|((layer, g), (m, v))| {
            update(&mut layer.w, &g.w, &mut m.w, &mut v.w, &weights);
            update(&mut layer.b, &g.b, &mut m.b, &mut v.b, &biases);
        });
    }
}

fn update<D: Dimension>(
    theta: &mut Array<f32, D>,
    gradient: &Array<f32, D>,
    m: &mut Array<f32, D>,
    v: &mut Array<f32, D>,
    step: &AdamStep,
) {
    const STANDARD: &str = "parameters are made in standard layout";
    let gradient = gradient.as_standard_layout(); // matrix products may be column by column
    let state = AdamState {
        theta: theta.as_slice_mut().expect(STANDARD),
        m: m.as_slice_mut().expect(STANDARD),
        v: v.as_slice_mut().expect(STANDARD),
        ema: &mut [],
        gradient: gradient.as_slice().expect("just made so"),
    };
    adam(vec![state], step);
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;
    use crate::nets::net::Layer;

    #[test]
    fn two_steps_by_hand() {
        let at = |w: f32| Net { layers: vec![Layer { w: array![[w]], b: Array1::zeros(1) }] };
        let mut net = at(2.);
        let mut adam = Adam::new(&net, 0.1, 0.5);
        adam.step(&mut net, &at(3.)); // both moments are unbiased at once: a step of the full rate
        assert!((net.layers[0].w[[0, 0]] - (2. * 0.95 - 0.1)).abs() < 1e-6);
        adam.step(&mut net, &at(-1.));
        let m = (0.9 * 0.1 * 3. - 0.1) / (1. - 0.81);
        let v: f32 = (0.999 * 0.001 * 9. + 0.001) / (1. - 0.999f32.powi(2));
        assert!((net.layers[0].w[[0, 0]] - (1.8 * 0.95 - 0.1 * m / v.sqrt())).abs() < 1e-5);
        assert_eq!(net.layers[0].b[0], 0., "no gradient, no decay of biases");
    }
}
