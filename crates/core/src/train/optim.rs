//! Adam and AdamW with global-norm clipping, over the model's flat parameter vectors.
//!
//!   g <- g min(1, c / (||g|| + 1e-6))                          clipping, one norm over all parameters
//!   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
//!   theta <- theta (1 - lr wd) - lr m_hat / (sqrt(v_hat) + eps)  decoupled decay (AdamW)
//!
//! with m_hat = m / (1 - b1^t), v_hat = v / (1 - b2^t). L2 decay adds wd theta to g instead (Adam).

use burn_tensor::Tensor;
use flowgmm_kernels::AdamStep;
use serde::{Deserialize, Serialize};

use crate::{
    fused::{self, Vector},
    tensor::to_vec,
};

/// Where weight decay acts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "rate")]
pub enum Decay {
    /// No decay: plain Adam.
    None,
    /// On the parameters, beside the gradient step: AdamW.
    Decoupled(f64),
    /// In the gradient: Adam with L2.
    L2(f64),
}

/// Settings of the optimiser; the learning rate comes from the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Keeps the step finite where gradients vanish.
    pub epsilon: f64,
    /// Weight decay.
    pub decay: Decay,
    /// Largest global gradient norm, if any.
    pub clip: Option<f64>,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: Decay::None, clip: None }
    }
}

/// Moments of every trained parameter vector.
#[derive(Clone, Debug)]
pub struct Adam {
    config: AdamConfig,
    /// Updates done so far, t.
    pub(crate) updates: usize,
    pub(crate) m: Vec<Tensor<1>>,
    pub(crate) v: Vec<Tensor<1>>,
}

impl Adam {
    /// Fresh moments for these parameters.
    pub fn new(config: AdamConfig, thetas: &[Tensor<1>]) -> Self {
        let zeros: Vec<Tensor<1>> = thetas.iter().map(|theta| theta.zeros_like()).collect();
        Self { config, updates: 0, m: zeros.clone(), v: zeros }
    }

    /// ||g|| over all gradients.
    pub fn norm(gradients: &[Tensor<1>]) -> f64 {
        // Elsewhere one read for all vectors: reading from a GPU is slow.
        let squares = fused::sums_of_squares(gradients).unwrap_or_else(|| {
            let squares = gradients.iter().map(|g| g.clone().square().sum_dim(0)).collect();
            to_vec(&Tensor::cat(squares, 0))
        });
        // Summed in f64 and in order: the same bits at any number of threads.
        squares.iter().sum::<f64>().sqrt()
    }

    /// One update of `thetas`, and of their moving average if there is one; `norm` is [`Adam::norm`] of `gradients`.
    pub fn step(
        &mut self,
        thetas: &mut [Tensor<1>],
        mut average: Option<Average>,
        gradients: &[Tensor<1>],
        norm: f64,
        lr: f64,
    ) {
        let AdamConfig { beta1, beta2, epsilon, decay, clip } = self.config;
        self.updates += 1;
        let t = i32::try_from(self.updates).unwrap_or(i32::MAX);
        let (correct1, correct2) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
        let shrink = clip.map_or(1.0, |c| (c / (norm + 1e-6)).min(1.0));
        let (l2, keep) = match decay {
            Decay::None => (0.0, 1.0),
            Decay::Decoupled(rate) => (0.0, 1.0 - lr * rate),
            Decay::L2(rate) => (rate, 1.0),
        };
        let slowness = average.as_ref().map_or(1.0, |a| a.decay);
        let step = AdamStep {
            shrink: shrink as f32,
            l2: l2 as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            correct2: (1.0 / correct2) as f32,
            rate: (lr / correct1) as f32,
            epsilon: epsilon as f32,
            keep: keep as f32,
            average: slowness as f32,
        };
        let mut averages = average.as_mut().map(|average| average.thetas.iter_mut());
        let moments = self.m.iter_mut().zip(&mut self.v);
        let vectors = thetas.iter_mut().zip(gradients).zip(moments).map(|((theta, gradient), (m, v))| {
            let ema = averages.as_mut().and_then(Iterator::next);
            Vector { theta, m, v, ema, gradient }
        });
        let Err(vectors) = fused::adam(vectors.collect(), &step) else { return };
        for Vector { theta, m, v, ema, gradient } in vectors {
            let g = gradient.clone() * shrink + theta.clone() * l2;
            *m = m.clone() * beta1 + g.clone() * (1.0 - beta1);
            *v = v.clone() * beta2 + g.square() * (1.0 - beta2);
            let root = (v.clone() / correct2).sqrt().add_scalar(epsilon);
            *theta = theta.clone() * keep - m.clone() / root * (lr / correct1);
            if let Some(ema) = ema {
                *ema = ema.clone() * slowness + theta.clone() * (1.0 - slowness);
            }
        }
    }
}

/// A moving average of the parameters and how slowly it moves.
#[derive(Debug)]
pub struct Average<'a> {
    /// The average, one vector for each parameter vector.
    pub thetas: &'a mut [Tensor<1>],
    /// Its decay at this step.
    pub decay: f64,
}
