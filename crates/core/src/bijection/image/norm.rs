//! Batch normalisation of channels (Ioffe and Szegedy, 2015): gamma (h - mean) / sqrt(variance + 1e-5) + beta.
//!
//! With statistics of the batch, mean and biased variance are those of the batch; with running statistics every row is
//! mapped by itself. Running statistics are parameters that no gradient trains: [`update`] moves them by
//! m <- (1 - momentum) m + momentum m_batch, the variance unbiased.

use burn_tensor::Tensor;
use flowgmm_kernels::conv::EPSILON;
use rand::Rng as _;
use semisup::Rng;

use crate::{
    bijection::{Init, NormStatistics},
    tensor::{Place, to_vec},
    theta::Theta,
};

/// Mean and unbiased variance of every channel of a batch.
pub(super) type Moments = [Vec<f64>; 2];

/// The normalisations of one pass through a net, in order.
pub(super) struct Norms<'a> {
    statistics: NormStatistics,
    running: Option<&'a Theta>,
    next: usize,
    /// Moments of the batch, if they are to be collected.
    observed: Option<Vec<Moments>>,
}

impl<'a> Norms<'a> {
    pub(super) fn new(statistics: NormStatistics, running: Option<&'a Theta>) -> Self {
        Self { statistics, running, next: 0, observed: None }
    }

    /// Batch normalisation by statistics of the batch, which are collected.
    pub(super) fn observing() -> Self {
        Self { statistics: NormStatistics::Batch, running: None, next: 0, observed: Some(Vec::new()) }
    }

    /// The collected moments, one entry for each normalisation.
    pub(super) fn observed(self) -> Vec<Moments> {
        self.observed.unwrap_or_default()
    }

    /// The next normalisation; gamma and beta `[1, channels]`.
    pub(super) fn apply(&mut self, h: Tensor<4>, gamma: Tensor<2>, beta: Tensor<2>) -> Tensor<4> {
        let [n, c, height, width] = h.dims();
        let per_channel = |part: Tensor<2>| part.reshape([1, c, 1, 1]);
        let (centred, variance) = match (self.statistics, self.running) {
            (NormStatistics::Running, Some(running)) => {
                let mean = per_channel(running.part(2 * self.next));
                (h - mean, per_channel(running.part(2 * self.next + 1)).clamp_min(0.0))
            }
            _ => {
                let mean = h.clone().mean_dims(&[0, 2, 3]);
                let centred = h - mean.clone();
                let variance = centred.clone().square().mean_dims(&[0, 2, 3]);
                if let Some(observed) = &mut self.observed {
                    let count = (n * height * width) as f64;
                    let unbiased = count / (count - 1.0).max(1.0);
                    observed.push([to_vec(&mean), to_vec(&variance).iter().map(|v| v * unbiased).collect()]);
                }
                (centred, variance)
            }
        };
        self.next += 1;
        centred / variance.add_scalar(EPSILON).sqrt() * per_channel(gamma) + per_channel(beta)
    }
}

/// Fresh running statistics for normalisations of `channels` channels each: `None` if there are none.
pub(super) fn statistics(channels: &[usize], init: Init, rng: &mut Rng, place: &Place) -> Option<Theta> {
    if channels.is_empty() {
        return None;
    }
    let mut pieces = Vec::with_capacity(2 * channels.len());
    for (i, &c) in channels.iter().enumerate() {
        let mut draw = |usual: f64, width: f64| -> Vec<f64> {
            match init {
                Init::Identity => vec![usual; c],
                Init::Random | Init::Masked => {
                    (0..c).map(|_| usual + width * rng.random_range(-1.0..1.0)).collect()
                }
            }
        };
        pieces.push((format!("mean{}", i + 1), [1, c], draw(0.0, 0.3)));
        pieces.push((format!("variance{}", i + 1), [1, c], draw(1.0, 0.5)));
    }
    Some(Theta::new(pieces, place))
}

/// Moves running statistics towards those of a batch.
pub(super) fn update(running: &mut Theta, observed: &[Moments], momentum: f64) {
    let batch = observed.iter().flatten().flatten();
    let before = to_vec(running.value());
    let moved = before.iter().zip(batch).map(|(m, b)| (1.0 - momentum) * m + momentum * b).collect();
    let moved = running.place().vector(moved);
    running.set(moved);
}
