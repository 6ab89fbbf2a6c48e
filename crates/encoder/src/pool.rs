//! Token vectors to text vectors.
//!
//! ```text
//! mean: e = 1/T sum_t h[t]      cls: e = h[0]      h [T, dim] of one text
//! unit length: e / |e|
//! ```

use crate::options::{Pooling, Scaling};

/// One row for every text in `h` [tokens, dim], whose tokens end at `ends`. A text without tokens (a tokenizer that
/// adds none, an empty text) is zeros.
pub(crate) fn pool(h: &[f32], dim: usize, ends: &[usize], pooling: Pooling, scaling: Scaling) -> Vec<f32> {
    let mut rows = vec![0.0; ends.len() * dim];
    let mut start = 0;
    for (row, &end) in rows.chunks_exact_mut(dim).zip(ends) {
        let tokens = &h[start * dim..end * dim];
        let kept = match pooling {
            Pooling::Mean => tokens,
            Pooling::Cls => &tokens[..dim.min(tokens.len())],
        };
        for token in kept.chunks_exact(dim) {
            row.iter_mut().zip(token).for_each(|(e, h)| *e += h);
        }
        let n = (kept.len() / dim).max(1) as f32;
        row.iter_mut().for_each(|e| *e /= n);
        if scaling == Scaling::UnitLength {
            let norm = row.iter().map(|&e| f64::from(e).powi(2)).sum::<f64>().sqrt().max(1e-12) as f32;
            row.iter_mut().for_each(|e| *e /= norm);
        }
        start = end;
    }
    rows
}
