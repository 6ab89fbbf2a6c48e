//! The rows of a sharded run: which rows each shard has, which of them a step sees, and with which noise.
//!
//! Rows are cut into S shards that are fixed before training; a worker holds whole shards. Every shard draws its own part of a
//! step's batch from its own rows, by its own random streams, so that a step is a function of (seed, step) and the shards, whoever
//! holds them. Labelled rows are few: all workers hold all of them, and the i-th of a step goes to shard i mod S.

use semisup::Rng;

use super::{
    Noise, Purpose, Reduce, TrainingRows,
    batches::{Order, compose, shard_stream},
};
use crate::{Error, Result, objective::Batch, tensor::Place};

/// The shards that this worker holds, and the sizes of all.
#[derive(Clone, Debug)]
pub struct Shards {
    /// Those of this worker, by ascending number.
    own: Vec<Shard>,
    /// Unlabelled rows of every shard, on whichever worker, `[S]`.
    sizes: Vec<usize>,
    /// Taught rows of every shard, `[S]`.
    taught_sizes: Vec<usize>,
}

/// The rows of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shard {
    /// Its number, below S.
    pub number: usize,
    /// Its rows, as positions among the worker's unlabelled rows, in an order that does not depend on the worker.
    pub rows: Vec<usize>,
    /// Its taught rows, as positions among all taught rows; all workers know all of them.
    pub taught: Vec<usize>,
}

impl Shards {
    /// The shards of this worker among `count`; the workers tell each other how large theirs are.
    ///
    /// # Panics
    /// If the number of a shard is not below `count`.
    pub fn new(count: usize, mut own: Vec<Shard>, reduce: &mut dyn Reduce) -> Result<Self> {
        own.sort_by_key(|shard| shard.number);
        let mut sizes = vec![0_i64; 2 * count];
        for shard in &own {
            sizes[shard.number] += shard.rows.len() as i64;
            sizes[count + shard.number] += shard.taught.len() as i64;
        }
        reduce.sum(&mut sizes).map_err(Error::Workers)?;
        let sizes: Vec<usize> = sizes.into_iter().map(|n| usize::try_from(n).unwrap_or(0)).collect();
        Ok(Self { own, sizes: sizes[..count].to_vec(), taught_sizes: sizes[count..].to_vec() })
    }

    /// S, the number of shards.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Unlabelled rows of all shards.
    pub fn n_unlabelled(&self) -> usize {
        self.sizes.iter().sum()
    }
}

/// The part of a step's batch that a shard has, and how much of the whole it is.
pub(super) struct ShardBatch {
    /// The rows.
    pub batch: Batch,
    /// Its labelled rows as a share of the step's.
    pub labelled: f64,
    /// Its unlabelled rows as a share of the step's.
    pub unlabelled: f64,
}

/// Composes the batches of this worker's shards.
#[derive(Debug)]
pub(super) struct ShardedBatches<'a> {
    rows: &'a TrainingRows,
    shards: &'a Shards,
    labelled: Order,
    /// For each own shard: its order, and that of its taught rows if these are a sample.
    orders: Vec<(Order, Option<Order>)>,
    /// Unlabelled rows of a step, and of one that sees taught rows only.
    totals: (usize, usize),
    taught_steps: usize,
    seed: u64,
    noise: Noise<'a>,
}

impl<'a> ShardedBatches<'a> {
    /// Batches of `sizes` labelled and unlabelled rows over all shards; the first `taught_steps` see taught rows only.
    pub(super) fn new(
        rows: &'a TrainingRows,
        shards: &'a Shards,
        sizes: (usize, usize),
        taught_steps: usize,
        seed: u64,
        noise: Noise<'a>,
    ) -> Self {
        let count = shards.count();
        let part = |number: usize| sizes.1 / count + usize::from(number < sizes.1 % count);
        let total = |sizes: &[usize]| sizes.iter().enumerate().map(|(s, &n)| part(s).min(n)).sum();
        // Whether there are rows that the teachers did not predict is asked of all shards, not of this worker's.
        let is_sample = shards.taught_sizes.iter().sum::<usize>() < shards.n_unlabelled();
        let is_sample = is_sample && rows.soft_targets.is_some();
        let order = |number: usize, n: usize| {
            Order::of_shard(seed, Purpose::UnlabelledOrder, number, n, part(number))
        };
        let orders = shards.own.iter().map(|shard| {
            let taught = is_sample.then(|| order(shard.number, shard.taught.len()));
            (order(shard.number, shard.rows.len()), taught)
        });
        Self {
            labelled: Order::new(seed, Purpose::LabelledOrder, rows.labelled.len(), sizes.0),
            orders: orders.collect(),
            totals: (total(&shards.sizes), total(&shards.taught_sizes)),
            taught_steps: if is_sample { taught_steps } else { 0 },
            rows,
            shards,
            seed,
            noise,
        }
    }

    /// The batches of a step, one for each own shard that has rows in it.
    pub(super) fn batches(&mut self, step: usize, place: &Place) -> Result<Vec<(usize, ShardBatch)>> {
        let all_labelled = self.labelled.rows(step);
        let count = self.shards.count();
        let mut found = Vec::with_capacity(self.orders.len());
        for (shard, (order, taught)) in self.shards.own.iter().zip(&mut self.orders) {
            let chosen: Vec<usize> = all_labelled.iter().copied().skip(shard.number).step_by(count).collect();
            let (total, unlabelled) = match (taught, &self.rows.soft_targets) {
                (Some(order), Some(taught)) if step < self.taught_steps => {
                    let at: Vec<usize> = order.rows(step).into_iter().map(|at| shard.taught[at]).collect();
                    (self.totals.1, (at.iter().map(|&at| taught.rows[at]).collect(), Some(at)))
                }
                (None, Some(taught)) => {
                    // All rows are taught: where they are among the taught ones.
                    let rows: Vec<usize> = order.rows(step).into_iter().map(|at| shard.rows[at]).collect();
                    let at = rows.iter().map(|row| taught.rows.binary_search(row).expect("taught")).collect();
                    (self.totals.0, (rows, Some(at)))
                }
                (Some(_), _) | (None, None) => {
                    (self.totals.0, (order.rows(step).into_iter().map(|at| shard.rows[at]).collect(), None))
                }
            };
            let n_unlabelled = unlabelled.0.len();
            if chosen.is_empty() && n_unlabelled == 0 {
                continue;
            }
            let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
            let (l, u) = (share(chosen.len(), all_labelled.len()), share(n_unlabelled, total));
            let rng: &mut Rng = &mut shard_stream(self.seed, Purpose::Noise, shard.number, step as u64);
            let unlabelled = (n_unlabelled > 0).then_some(unlabelled);
            let batch = compose(self.rows, &self.noise, chosen, unlabelled, rng, None, place)?;
            found.push((shard.number, ShardBatch { batch, labelled: l, unlabelled: u }));
        }
        Ok(found)
    }

    /// All unlabelled rows of a step.
    pub(super) fn total(&self, step: usize) -> usize {
        if step < self.taught_steps { self.totals.1 } else { self.totals.0 }
    }
}
