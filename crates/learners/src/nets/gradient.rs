//! The gradient of a batch: chunks of rows on all threads, their gradients added in order.
//!
//! Chunks have a fixed size and each has a random stream of its own, so that sums have the same bits on any number of
//! threads.

use ndarray::NdFloat;
use rayon::prelude::*;
use semisup::{Rng, rng};

use super::net::Net;

/// Rows of a chunk.
pub(crate) const CHUNK: usize = 128;

/// A loss, and its gradient by the weights of several nets.
pub(crate) type Gradient<F, const N: usize> = (f64, [Net<F>; N]);

/// The sum over the chunks of a batch of what `gradient` gives for each.
///
/// # Panics
/// If there is no chunk.
pub(crate) fn over_chunks<C: Sync, F: NdFloat, const N: usize>(
    chunks: &[C],
    seed: u64,
    step: usize,
    gradient: impl Fn(&C, &mut Rng) -> Gradient<F, N> + Sync,
) -> Gradient<F, N> {
    let parts: Vec<Gradient<F, N>> = chunks
        .par_iter()
        .enumerate()
        .map(|(i, chunk)| {
            let mut rng = rng(seed);
            rng.set_stream(((step as u64) << 20) + i as u64 + 1); // stream 0 draws the batches
            gradient(chunk, &mut rng)
        })
        .collect();
    let sum = |(loss, mut sums): Gradient<F, N>, (part, gradients): Gradient<F, N>| {
        sums.iter_mut().zip(&gradients).for_each(|(sum, gradient)| sum.add(gradient));
        (loss + part, sums)
    };
    parts.into_iter().reduce(sum).expect("a batch has rows")
}
