//! Adam and AdamW with global-norm clipping, over the model's flat parameter vectors.
//!
//!   g <- g min(1, c / (||g|| + 1e-6))                          clipping, one norm over all parameters
//!   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
//!   theta <- theta (1 - lr wd) - lr m_hat / (sqrt(v_hat) + eps)  decoupled decay (AdamW)
//!
//! with m_hat = m / (1 - b1^t), v_hat = v / (1 - b2^t). L2 decay adds wd theta to g instead (Adam).

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::tensor::to_scalar;

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
        // Summed in f64 and in order: the same bits at any number of threads.
        gradients.iter().map(|g| to_scalar(&g.clone().square().sum_dim(0))).sum::<f64>().sqrt()
    }

    /// One update; `norm` is [`Adam::norm`] of `gradients`.
    pub fn step(
        &mut self,
        thetas: Vec<Tensor<1>>,
        gradients: Vec<Tensor<1>>,
        norm: f64,
        lr: f64,
    ) -> Vec<Tensor<1>> {
        let AdamConfig { beta1, beta2, epsilon, decay, clip } = self.config;
        self.updates += 1;
        let t = self.updates as i32;
        let (correct1, correct2) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
        let shrink = clip.map_or(1.0, |c| (c / (norm + 1e-6)).min(1.0));
        thetas
            .into_iter()
            .zip(gradients)
            .enumerate()
            .map(|(i, (theta, g))| {
                let mut g = if shrink < 1.0 { g * shrink } else { g };
                if let Decay::L2(rate) = decay {
                    g = g + theta.clone() * rate;
                }
                self.m[i] = self.m[i].clone() * beta1 + g.clone() * (1.0 - beta1);
                self.v[i] = self.v[i].clone() * beta2 + g.square() * (1.0 - beta2);
                let root = (self.v[i].clone() / correct2).sqrt().add_scalar(epsilon);
                let theta = match decay {
                    Decay::Decoupled(rate) => theta * (1.0 - lr * rate),
                    _ => theta,
                };
                theta - self.m[i].clone() / root * (lr / correct1)
            })
            .collect()
    }
}
