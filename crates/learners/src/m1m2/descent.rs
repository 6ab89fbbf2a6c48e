//! How both models are trained: Adam along half a cosine, and gradients of pieces of a batch added in their order, the
//! same bits on any number of threads.

use ndarray::NdFloat;
use rayon::prelude::*;
use semisup::{Rng, rng};

use super::VaeStage;
use crate::adam::Adam;
use crate::net::Net;
use crate::{Error, Result};

/// What is left of the learning rate at the end.
const LAST_RATE: f64 = 0.02;

/// A loss and its gradient by several nets.
pub(super) type Gradient<F, const N: usize> = (f64, [Net<F>; N]);

/// Trains nets by the gradient that `gradient` gives for each step.
pub(super) fn descend<const N: usize>(
    stage: &VaeStage,
    mut nets: [Net<f32>; N],
    mut gradient: impl FnMut(&[Net<f32>; N], usize) -> Gradient<f32, N>,
) -> Result<[Net<f32>; N]> {
    let (steps, learning_rate) = (stage.steps, stage.learning_rate);
    let mut adams: Vec<Adam<f32>> = nets.iter().map(|net| Adam::new(net, learning_rate, 0.)).collect();
    for step in 0..steps {
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

/// The sum over pieces. Each has random numbers of its own, in the streams of this step.
pub(super) fn over_pieces<P: Sync, F: NdFloat, const N: usize>(
    pieces: &[P],
    seed: u64,
    step: usize,
    gradient: impl Fn(&P, &mut Rng) -> Gradient<F, N> + Sync,
) -> Gradient<F, N> {
    let parts: Vec<Gradient<F, N>> = pieces
        .par_iter()
        .enumerate()
        .map(|(i, piece)| {
            let mut rng = rng(seed);
            rng.set_stream(((step as u64) << 20) + i as u64 + 1); // stream 0 deals the batches
            gradient(piece, &mut rng)
        })
        .collect();
    let sum = |(loss, mut sums): Gradient<F, N>, (part, gradients): Gradient<F, N>| {
        sums.iter_mut().zip(&gradients).for_each(|(sum, gradient)| sum.add(gradient));
        (loss + part, sums)
    };
    parts.into_iter().reduce(sum).expect("a batch has rows")
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
