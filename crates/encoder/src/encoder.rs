//! An encoder: a model directory opened, and texts embedded with it.

use crate::batch::pack;
use crate::config::Config;
use crate::directory::{Directory, read};
use crate::distinct::Distinct;
use crate::error::{Error, Result};
use crate::load::load;
use crate::network::{Network, Ragged, Workspace};
use crate::options::{Options, Pooling, Progress, Scaling};
use crate::pool::pool;
use crate::tokens::{Lengths, Tokens};
use crate::weights::Weights;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Texts tokenized between two looks at the progress callback.
const TOKENIZED_AT_ONCE: usize = 4096;
/// Part of every fingerprint: to be changed when the numbers change.
const VERSION: &str = "flowgmm-encoder 1";

/// A sentence encoder in memory.
pub struct Encoder {
    network: Network,
    tokens: Tokens,
    pooling: Pooling,
    scaling: Scaling,
    fingerprint: [u8; 32],
}

impl Encoder {
    /// Reads and checks the model in `dir`: `config.json`, `tokenizer.json`, `model.safetensors`, and what
    /// sentence-transformers lays beside them.
    pub fn open(dir: &Path, options: Options) -> Result<Encoder> {
        let files = Directory::open(dir, options.pooling)?;
        let (config_json, tokenizer_json) = (read(&files.config)?, read(&files.tokenizer)?);
        let config = Config::parse(&files.config, &config_json)?;
        let lengths = Lengths { asked: options.max_length, suggested: files.max_length };
        let tokens = Tokens::new(&files.tokenizer, &tokenizer_json, &config, files.letters, lengths)?;
        let mut weights = Weights::open(&files.weights)?;
        let network = load(&config, &mut weights)?;

        let choices = format!("{:?}", (files.pooling, options.scaling, tokens.max_length(), files.letters));
        let mut fingerprint = blake3::Hasher::new();
        for part in [
            VERSION.as_bytes(),
            weights.digest().as_bytes(),
            &config_json,
            &tokenizer_json,
            choices.as_bytes(),
        ] {
            fingerprint.update(blake3::hash(part).as_bytes());
        }
        Ok(Encoder {
            network,
            tokens,
            pooling: files.pooling,
            scaling: options.scaling,
            fingerprint: *fingerprint.finalize().as_bytes(),
        })
    }

    /// Numbers in an embedding.
    pub fn dim(&self) -> usize {
        self.network.dim
    }

    /// Tokens of a text that are read, special tokens included.
    pub fn max_length(&self) -> usize {
        self.tokens.max_length()
    }

    /// How token vectors become one.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// A digest of everything that decides an embedding besides the text.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// One row for every text, [n, dim]. The embedding of a text does not depend, bit for bit, on the other texts
    /// or on the number of threads.
    pub fn embed(&self, texts: &[&str], progress: &mut Progress<'_>) -> Result<Vec<f32>> {
        let dim = self.dim();
        let distinct = Distinct::of(texts);
        let all: Vec<usize> = (0..distinct.len()).collect();
        let mut rows = vec![0.0; distinct.len() * dim];
        self.compute(&distinct, &all, &mut |which, batch| place(&mut rows, which, batch, dim), progress)?;
        Ok(distinct.spread(rows, dim))
    }

    /// Computes the distinct texts `which`, and gives every finished batch, (indices among the distinct texts, rows),
    /// to `finished`.
    pub(crate) fn compute(
        &self,
        texts: &Distinct<'_>,
        which: &[usize],
        finished: &mut (dyn FnMut(&[usize], &[f32]) + Send),
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let total = which.len();
        let mut tokens: Vec<Vec<u32>> = Vec::with_capacity(total);
        for part in which.chunks(TOKENIZED_AT_ONCE) {
            goes_on(progress(0, total), 0, total)?;
            let encoded = part.par_iter().map(|&i| self.tokens.encode(texts.place(i), texts.text(i)));
            tokens.par_extend(encoded.collect::<Result<Vec<_>>>()?);
        }

        let lengths: Vec<usize> = tokens.iter().map(Vec::len).collect();
        let shared = Mutex::new((0, finished, progress));
        pack(&lengths).par_iter().try_for_each_init(Default::default, |work, batch| {
            let rows = self.batch(batch.iter().map(|&i| &tokens[i]), work);
            let which: Vec<usize> = batch.iter().map(|&i| which[i]).collect();
            if let Some(bad) = rows.iter().position(|e| !e.is_finite()) {
                return Err(Error::NotFinite { text: texts.place(which[bad / self.dim()]) });
            }
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (done, finished, progress) = &mut *shared;
            finished(&which, &rows);
            *done += batch.len();
            goes_on(progress(*done, total), *done, total)
        })
    }

    /// The rows of one batch.
    fn batch<'t>(
        &self,
        texts: impl Iterator<Item = &'t Vec<u32>>,
        (ragged, work): &mut (Ragged, Workspace),
    ) -> Vec<f32> {
        ragged.ids.clear();
        ragged.positions.clear();
        ragged.ends.clear();
        for ids in texts {
            ragged.ids.extend(ids);
            self.tokens.positions(ids, &mut ragged.positions);
            ragged.ends.push(ragged.ids.len());
        }
        let h = self.network.forward(ragged, work);
        pool(h, self.dim(), &ragged.ends, self.pooling, self.scaling)
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("dim", &self.dim())
            .field("max_length", &self.max_length())
            .field("pooling", &self.pooling)
            .field("scaling", &self.scaling)
            .finish_non_exhaustive()
    }
}

/// Copies the rows of a batch to where they belong.
pub(crate) fn place(rows: &mut [f32], which: &[usize], batch: &[f32], dim: usize) {
    for (&i, row) in which.iter().zip(batch.chunks_exact(dim)) {
        rows[i * dim..][..dim].copy_from_slice(row);
    }
}

fn goes_on(answer: ControlFlow<()>, done: usize, total: usize) -> Result<()> {
    match answer {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped { done, total }),
    }
}
