//! Self-attention of one text: `a = softmax(q k^T) v` in every head.
//!
//! ```text
//! qkv [tokens, 3 dim]: q | k | v, each its heads side by side, head width dim / heads
//! scores = q k^T       [tokens, tokens]     q comes divided by sqrt(head width)
//! a      = softmax(scores) v                [tokens, head width]
//! ```
//!
//! A text attends to all its own tokens and to nothing else, so there is no mask.

use crate::pointwise::softmax;
use crate::product::{Layout, Packed, product};

/// Buffers, reused between texts.
#[derive(Default)]
pub(crate) struct Attention {
    scores: Vec<f32>, // [tokens, tokens]
    packed: Packed,
}

/// Writes `to` [tokens, dim] from `qkv` [tokens, 3 dim].
pub(crate) fn attend(qkv: &[f32], dim: usize, heads: usize, to: &mut [f32], buffers: &mut Attention) {
    let (tokens, width) = (to.len() / dim, dim / heads);
    if tokens == 0 {
        return;
    }
    let Attention { scores, packed } = buffers;
    scores.resize(tokens * tokens, 0.0);
    for head in 0..heads {
        let (q, k, v) = (head * width, dim + head * width, 2 * dim + head * width);
        packed.pack(Layout::RowPerOutput, &qkv[k..], 3 * dim, tokens, width);
        product(tokens, &qkv[q..], 3 * dim, packed, scores, tokens);
        softmax(scores, tokens);
        packed.pack(Layout::RowPerInput, &qkv[v..], 3 * dim, width, tokens);
        product(tokens, scores, tokens, packed, &mut to[q..], dim);
    }
}
