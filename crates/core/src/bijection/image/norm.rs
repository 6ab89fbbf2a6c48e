//! Batch normalisation of channels (Ioffe and Szegedy, 2015): gamma (h - mean) / sqrt(variance + 1e-5) + beta.
//!
//! With statistics of the batch, mean and biased variance are those of the rows at hand; with stored ones every row is
//! mapped by itself. Stored statistics are parameters that no gradient trains: they follow batches by
//! m <- (1 - momentum) m + momentum m_batch, the variance unbiased, in [`follow`].

use burn::tensor::Tensor;
use flowgmm_kernels::conv::EPSILON;
use rand::Rng as _;
use semisup::Rng;

use crate::{
    bijection::{Init, Statistics},
    tensor::{Place, to_vec},
    theta::Theta,
};

/// Mean and unbiased variance of every channel of a batch.
pub(super) type Moments = [Vec<f64>; 2];

/// The normalisations of one pass through a net, in order.
pub(super) struct Norms<'a> {
    statistics: Statistics,
    stored: Option<&'a Theta>,
    next: usize,
    /// Moments of the batch, for those who want to know them.
    seen: Option<Vec<Moments>>,
}

impl<'a> Norms<'a> {
    pub(super) fn new(statistics: Statistics, stored: Option<&'a Theta>) -> Self {
        Self { statistics, stored, next: 0, seen: None }
    }

    /// By statistics of the batch, which are remembered.
    pub(super) fn watching() -> Self {
        Self { statistics: Statistics::Batch, stored: None, next: 0, seen: Some(Vec::new()) }
    }

    /// What was remembered.
    pub(super) fn seen(self) -> Vec<Moments> {
        self.seen.unwrap_or_default()
    }

    /// The next normalisation; gamma and beta `[1, channels]`.
    pub(super) fn apply(&mut self, h: Tensor<4>, gamma: Tensor<2>, beta: Tensor<2>) -> Tensor<4> {
        let [n, c, height, width] = h.dims();
        let per_channel = |part: Tensor<2>| part.reshape([1, c, 1, 1]);
        let (centred, variance) = match (self.statistics, self.stored) {
            (Statistics::Stored, Some(stored)) => {
                let mean = per_channel(stored.part(2 * self.next));
                (h - mean, per_channel(stored.part(2 * self.next + 1)).clamp_min(0.0))
            }
            _ => {
                let mean = h.clone().mean_dims(&[0, 2, 3]);
                let centred = h - mean.clone();
                let variance = centred.clone().square().mean_dims(&[0, 2, 3]);
                if let Some(seen) = &mut self.seen {
                    let count = (n * height * width) as f64;
                    let unbiased = count / (count - 1.0).max(1.0);
                    seen.push([to_vec(&mean), to_vec(&variance).iter().map(|v| v * unbiased).collect()]);
                }
                (centred, variance)
            }
        };
        self.next += 1;
        centred / variance.add_scalar(EPSILON).sqrt() * per_channel(gamma) + per_channel(beta)
    }
}

/// Fresh statistics for normalisations of so many channels each: `None` if there are none.
pub(super) fn statistics(channels: &[usize], init: Init, rng: &mut Rng, place: &Place) -> Option<Theta> {
    if channels.is_empty() {
        return None;
    }
    let mut pieces = Vec::with_capacity(2 * channels.len());
    for (i, &c) in channels.iter().enumerate() {
        let mut draw = |usual: f64, spread: f64| -> Vec<f64> {
            match init {
                Init::Identity => vec![usual; c],
                Init::Random => (0..c).map(|_| usual + spread * rng.random_range(-1.0..1.0)).collect(),
            }
        };
        pieces.push((format!("mean{}", i + 1), [1, c], draw(0.0, 0.3)));
        pieces.push((format!("variance{}", i + 1), [1, c], draw(1.0, 0.5)));
    }
    Some(Theta::new(pieces, place))
}

/// Moves stored statistics towards those of a batch.
pub(super) fn follow(stored: &mut Theta, seen: &[Moments], momentum: f64) {
    let batch = seen.iter().flatten().flatten();
    let before = to_vec(stored.value());
    let moved = before.iter().zip(batch).map(|(m, b)| (1.0 - momentum) * m + momentum * b).collect();
    let moved = stored.place().vector(moved);
    stored.set(moved);
}
