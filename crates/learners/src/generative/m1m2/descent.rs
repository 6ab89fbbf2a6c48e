//! How both models are trained: Adam with a learning rate that falls along a cosine.

use semisup::Watch;

use super::VaeStage;
use crate::nets::{Adam, Gradient, Net};
use crate::{Error, Result};

/// The last learning rate, relative to the first.
const LAST_RATE: f64 = 0.02;

/// Trains nets with the gradient that `gradient` gives for each step.
pub(super) fn descend<const N: usize>(
    stage: &VaeStage,
    mut nets: [Net<f32>; N],
    watch: &dyn Watch,
    mut gradient: impl FnMut(&[Net<f32>; N], usize) -> Gradient<f32, N>,
) -> Result<[Net<f32>; N]> {
    let (steps, learning_rate) = (stage.steps, stage.learning_rate);
    let mut adams: Vec<Adam> = nets.iter().map(|net| Adam::new(net, learning_rate, 0.)).collect();
    for step in 0..steps {
        watch.at(step as f64 / steps as f64)?;
        let (loss, gradients) = gradient(&nets, step);
        if !loss.is_finite() {
            return Err(Error::Diverged { step: step + 1, steps, loss, learning_rate });
        }
        let rate = learning_rate * cosine(step as f64 / steps as f64);
        for ((adam, net), gradient) in adams.iter_mut().zip(&mut nets).zip(&gradients) {
            adam.set_rate(rate);
            adam.step(net, gradient);
        }
    }
    Ok(nets)
}

/// From 1 to [`LAST_RATE`] as t goes from 0 to 1.
fn cosine(t: f64) -> f64 {
    LAST_RATE + (1. - LAST_RATE) * 0.5 * (1. + (std::f64::consts::PI * t).cos())
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn the_rate_falls_to_a_fiftieth() {
        assert_eq!((cosine(0.), cosine(1.)), (1., 0.02));
        assert!((cosine(0.5) - 0.51).abs() < 1e-12);
    }
}
