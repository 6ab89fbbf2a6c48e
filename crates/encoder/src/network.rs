//! The network on a ragged batch: no padding, so no token is computed that no text has.
//!
//! ```text
//! h = norm(word[id] + position[p] + type[0])                   [tokens, dim]
//! in each layer:
//!   q, k, v = h W_qkv + b                                      [tokens, 3 dim]   all tokens at once
//!   a       = attention(q, k, v)                               [tokens, dim]     per text and head
//!   h       = norm(h + a W_o + b)
//!   h       = norm(h + act(h W_up + b) W_down + b)             up: [tokens, inner]
//! ```
//!
//! Devlin et al. 2018, section 3; Vaswani et al. 2017, section 3. The type embedding is added to the positions, and
//! `1/sqrt(head width)` multiplied into the query's weights, when the model is read.

use crate::attention::{Attention, attend};
use crate::pointwise::{Activation, Norm};
use crate::product::{Packed, product};

/// Rows that go through consecutive linear layers together: 8 register tiles, inside the second-level cache.
const BLOCK: usize = 96;

/// All weights of an encoder, ready to compute with.
pub(crate) struct Network {
    pub dim: usize,
    pub heads: usize,
    pub activation: Activation,
    pub word: Vec<f32>,     // [vocab, dim]
    pub position: Vec<f32>, // [positions, dim], the type embedding included
    pub norm: Norm,
    pub layers: Vec<Layer>,
}

/// One transformer layer.
pub(crate) struct Layer {
    pub qkv: Packed, // dim -> 3 dim
    pub out: Packed, // dim -> dim
    pub attention_norm: Norm,
    pub up: Packed,   // dim -> inner
    pub down: Packed, // inner -> dim
    pub norm: Norm,
}

/// The tokens of several texts, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Ragged {
    pub ids: Vec<u32>,       // [tokens]
    pub positions: Vec<u32>, // [tokens]
    pub ends: Vec<usize>,    // [texts]
}

/// Buffers of [`Network::forward`], reused between batches.
#[derive(Default)]
pub(crate) struct Workspace {
    h: Vec<f32>,     // [tokens, dim]
    qkv: Vec<f32>,   // [tokens, 3 dim]
    mixed: Vec<f32>, // [tokens, dim]: what attention gives
    inner: Vec<f32>, // [BLOCK, inner]
    added: Vec<f32>, // [BLOCK, dim]: what is added to h
    attention: Attention,
}

impl Network {
    /// The last layer's token vectors, [tokens, dim].
    pub(crate) fn forward<'w>(&self, batch: &Ragged, work: &'w mut Workspace) -> &'w [f32] {
        let (tokens, dim) = (batch.ids.len(), self.dim);
        work.h.resize(tokens * dim, 0.0);
        work.qkv.resize(tokens * 3 * dim, 0.0);
        work.mixed.resize(tokens * dim, 0.0);
        work.added.resize(BLOCK * dim, 0.0);

        self.embed(batch, work);
        for layer in &self.layers {
            for (h, qkv) in work.h.chunks(BLOCK * dim).zip(work.qkv.chunks_mut(BLOCK * 3 * dim)) {
                product(h.len() / dim, h, dim, &layer.qkv, qkv, 3 * dim);
            }
            let mut start = 0;
            for &end in &batch.ends {
                let qkv = &work.qkv[start * 3 * dim..end * 3 * dim];
                attend(qkv, dim, self.heads, &mut work.mixed[start * dim..end * dim], &mut work.attention);
                start = end;
            }
            self.feed_forward(layer, work);
        }
        &work.h
    }

    fn embed(&self, batch: &Ragged, work: &mut Workspace) {
        let dim = self.dim;
        let tokens = batch.ids.iter().zip(&batch.positions);
        for (at, (&id, &position)) in tokens.enumerate() {
            work.h[at * dim..][..dim].copy_from_slice(&self.word[id as usize * dim..][..dim]);
            work.mixed[at * dim..][..dim].copy_from_slice(&self.position[position as usize * dim..][..dim]);
        }
        self.norm.apply(&mut work.h, &work.mixed);
    }

    /// Everything after attention, block by block.
    fn feed_forward(&self, layer: &Layer, work: &mut Workspace) {
        let (dim, inner) = (self.dim, layer.up.n_out());
        work.inner.resize(BLOCK * inner, 0.0);
        for (h, mixed) in work.h.chunks_mut(BLOCK * dim).zip(work.mixed.chunks(BLOCK * dim)) {
            let rows = h.len() / dim;
            let added = &mut work.added[..rows * dim];
            let up = &mut work.inner[..rows * inner];
            product(rows, mixed, dim, &layer.out, added, dim);
            layer.attention_norm.apply(h, added);
            product(rows, h, dim, &layer.up, up, inner);
            self.activation.apply(up);
            product(rows, up, inner, &layer.down, added, dim);
            layer.norm.apply(h, added);
        }
    }
}
