//! Fits of more rows than one machine has: rows in shards, on workers.
//!
//! A fit with `train.shards` = S is the same function of the rows wherever they are:
//!
//! ```text
//! row ─blake3 of its cells and the seed→ key ─→ shard = mix(key) mod S,  sampled if key is below sample / n
//! driver   labelled rows and sampled ones ─→ schema, recipe, teachers, fresh flow ─Job→ workers
//! workers  rows of whole shards, by ascending key ─→ gradient of each shard ─Reduce→ the same step on all
//! driver   ─trained state→ held-out labels, temperature, experts, typicality, certificate ─→ Model
//! ```
//!
//! [`fit`](crate::fit) does all of this in one process, [`fit_on`](crate::fit_on) lets [`Workers`] train. Neither the number of
//! workers nor the order of rows nor their partitions change a bit of the model. It is another model than without shards, though: the
//! batches are other ones, and what is not training sees the sample.
//!
//! | held by | what |
//! |---|---|
//! | every worker | labelled rows, sampled rows with what teachers predict of them, weights, moments |
//! | one worker | the other rows of its shards, in single precision |
//! | nobody but the driver | teachers, the rows that tell what is typical, the experts |

mod job;
mod keys;
mod wide;
mod worker;

pub use job::Job;
pub use keys::{RowKeys, Sampling, shard_of};
pub(crate) use wide::{Cut, Wide, pool_matrix, widened};
pub use worker::{Every, Worker};

use std::fmt::Debug;

use crate::Result;

/// Unlabelled rows that everything but training sees, about, unless the settings say otherwise.
pub(crate) const SAMPLE: usize = 50_000;

/// Who trains a job on rows that they hold.
pub trait Workers: Debug + Send {
    /// Trains the job ([`Job::to_bytes`]) to its end, and returns the state, as [`Worker::train`] does on every worker.
    fn train(&mut self, job: Vec<u8>) -> Result<Vec<u8>>;
}
