//! Embedding with a cache: only texts that are not in it are computed.

use crate::cache::{Cache, CacheWarning, Key};
use crate::distinct::Distinct;
use crate::encoder::{Encoder, place};
use crate::error::Result;
use crate::options::Progress;
use std::collections::HashMap;

/// Embeddings, and how many of them came from the cache.
#[derive(Debug)]
pub struct Cached {
    /// One row for every text, [n, dim].
    pub embeddings: Vec<f32>,
    /// Distinct texts found in the cache.
    pub found: usize,
    /// Distinct texts computed, and added to the cache.
    pub computed: usize,
    /// What went wrong with the cache.
    pub warnings: Vec<CacheWarning>,
}

impl Encoder {
    /// Embeds texts like [`Encoder::embed`], bit for bit, but takes embeddings from `cache` where it has them. Finished
    /// batches are added to the cache at once, so a call that is stopped loses nothing.
    pub fn embed_cached(&self, texts: &[&str], cache: &Cache, progress: &mut Progress<'_>) -> Result<Cached> {
        let dim = self.dim();
        let distinct = Distinct::of(texts);
        let mut cache = cache.of_model(self.fingerprint(), dim);
        let keys: Vec<Key> = (0..distinct.len()).map(|i| cache.key(distinct.text(i))).collect();
        let wanted: HashMap<Key, usize> = keys.iter().enumerate().map(|(i, key)| (*key, i)).collect();

        let mut rows = vec![0.0; distinct.len() * dim];
        let mut known = vec![false; distinct.len()];
        let mut warnings: Vec<CacheWarning> = cache
            .find(&wanted, &mut |i, row| {
                place(&mut rows, &[i], row, dim);
                known[i] = true;
            })
            .into_iter()
            .collect();

        let missing: Vec<usize> = (0..distinct.len()).filter(|&i| !known[i]).collect();
        let mut writing = true;
        let mut finished = |which: &[usize], batch: &[f32]| {
            place(&mut rows, which, batch, dim);
            if writing {
                let keys: Vec<Key> = which.iter().map(|&i| keys[i]).collect();
                if let Err(warning) = cache.append(&keys, batch) {
                    writing = false;
                    warnings.push(warning);
                }
            }
        };
        self.compute(&distinct, &missing, &mut finished, progress)?;
        Ok(Cached {
            embeddings: distinct.spread(rows, dim),
            found: distinct.len() - missing.len(),
            computed: missing.len(),
            warnings,
        })
    }
}
