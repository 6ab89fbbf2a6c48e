//! Work on many rows in chunks of fixed size, on all threads.
//!
//! Chunks depend on the number of rows alone, so that results have the same bits on any number of threads.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// What `f` gives for each chunk of `size` rows of x `[n, dim]`, stacked: `[n, width]`.
pub(crate) fn in_chunks<A: Copy + Sync, B: Copy + Default + Send + Sync>(
    x: ArrayView2<A>,
    size: usize,
    width: usize,
    f: impl Fn(ArrayView2<A>) -> Array2<B> + Sync + Send,
) -> Array2<B> {
    let mut out = Array2::from_elem((x.nrows(), width), B::default());
    let chunks = x.axis_chunks_iter(Axis(0), size).zip(out.axis_chunks_iter_mut(Axis(0), size));
    let chunks: Vec<_> = chunks.collect();
    chunks.into_par_iter().for_each(|(chunk, mut to)| to.assign(&f(chunk)));
    out
}
