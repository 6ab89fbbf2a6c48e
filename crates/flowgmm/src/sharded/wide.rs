//! Rows beyond those that a fit's data hold.

use std::sync::Arc;

use flowgmm_core::{
    Dequantiser,
    train::{Shard, TrainingMatrix, TrainingRows},
};
use ndarray::{Array2, ArrayView2, Axis, s};
use semisup::{Preprocess, SemiSupervised};

use super::{Sampling, shard_of};
use crate::{Error, Request, Result, recipe::Decision};

/// The rows of a fit in shards beside its data, which are the labelled rows and the sample.
#[derive(Debug)]
pub(crate) struct Wide {
    /// The key of each row of the data, `[n]`.
    pub(crate) keys: Vec<u64>,
    /// The other rows, in the user's columns, `[n_p, dim_in]`; none if workers hold them.
    pub(crate) pool: Array2<f64>,
    /// Their keys.
    pub(crate) pool_keys: Vec<u64>,
    /// Unlabelled rows in all.
    pub(crate) total: usize,
}

impl Wide {
    /// What was decided about the rows.
    pub(crate) fn decision(&self, shards: usize, data: &SemiSupervised) -> Decision {
        let sampled = data.unlabelled().len();
        Decision {
            what: "shards".into(),
            choice: format!(
                "training sees {} unlabelled rows in {shards} shards, everything else {sampled} of them",
                self.total
            ),
            why: "as asked for; the bits do not depend on who holds the shards".into(),
        }
    }
}

/// Rows of a table, cut into those that the fit's data hold and the others, by ascending key.
pub(crate) struct Cut {
    pub(crate) sample: Vec<usize>,
    pub(crate) rest: Vec<usize>,
    keys: Vec<u64>,
    total: usize,
}

impl Cut {
    /// Of rows with these keys and labels. All of them are the sample if workers hold the others.
    pub(crate) fn new(keys: Vec<u64>, y: &[Option<usize>], request: &Request) -> Self {
        let unlabelled = y.iter().filter(|label| label.is_none()).count();
        let total = request.elsewhere.unwrap_or(unlabelled);
        let sampling = Sampling::new(request.sample(), total);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&row| (keys[row], y[row], row));
        let held =
            |row: &usize| request.elsewhere.is_some() || y[*row].is_some() || sampling.holds(keys[*row]);
        let (sample, rest) = order.into_iter().partition(held);
        Self { sample, rest, keys, total }
    }

    /// The other rows as numbers.
    pub(crate) fn wide(self, pool: Array2<f64>) -> Wide {
        let of = |rows: &[usize]| rows.iter().map(|&row| self.keys[row]).collect();
        Wide { keys: of(&self.sample), pool_keys: of(&self.rest), pool, total: self.total }
    }
}

/// The training rows of a worker: those that all workers hold, with the keys of the unlabelled ones, and the pool of its own shards. The
/// rows of each shard are by ascending key, sampled ones first: on whichever worker, the order is the same.
pub(crate) fn widened(
    rows: TrainingRows,
    keys: &[u64],
    pool: TrainingMatrix,
    pool_keys: &[u64],
    own: &[usize],
    count: usize,
) -> Result<(TrainingRows, Vec<Shard>)> {
    let mut shards: Vec<Shard> = (0..count).map(|number| Shard { number, ..Shard::default() }).collect();
    let (mut is_own, sampled) = (vec![false; count], keys.len());
    own.iter().for_each(|&shard| is_own[shard] = true);
    for (row, &key) in keys.iter().enumerate() {
        shards[shard_of(key, count)].rows.push(row);
    }
    let mut order: Vec<usize> = (0..pool_keys.len()).collect();
    order.sort_by_key(|&row| pool_keys[row]);
    for row in order {
        let shard = shard_of(pool_keys[row], count);
        if !is_own[shard] {
            let message = format!("a row of shard {shard} came to the worker of shards {own:?}");
            return Err(Error::Workers(message));
        }
        shards[shard].rows.push(sampled + row);
    }
    if let Some(taught) = &rows.soft_targets {
        for (at, &row) in taught.rows.iter().enumerate() {
            shards[shard_of(keys[row], count)].taught.push(at);
        }
    }
    shards.retain(|shard| is_own[shard.number]);
    let mut unlabelled = Arc::unwrap_or_clone(rows.unlabelled);
    unlabelled.append(pool);
    Ok((TrainingRows { unlabelled: unlabelled.into(), ..rows }, shards))
}

/// Rows that are mapped to the flow's space together, at least: the product of very small matrices is computed in another way, with
/// other last bits, and how many rows of a partition come together is not for us to say.
const FEWEST: usize = 8;
/// Rows that are mapped at once, at most.
const PART: usize = 16_384;

/// Rows x `[n, dim_in]` of a pool as training sees them: the same bits however the pool is cut.
pub(crate) fn pool_matrix(
    x: ArrayView2<f64>,
    preprocess: &Preprocess,
    spread: Option<&Arc<Dequantiser>>,
) -> TrainingMatrix {
    let all: Vec<usize> = (0..x.nrows()).collect();
    let parts = all.chunks(PART).map(|rows| {
        let padded: Vec<usize> = (0..rows.len().max(FEWEST)).map(|at| rows[at.min(rows.len() - 1)]).collect();
        let mapped = preprocess.apply(x.select(Axis(0), &padded).view());
        mapped.slice_move(s![..rows.len(), ..])
    });
    TrainingMatrix::from_parts(preprocess.dim_out(), parts).dequantised(spread.map(|by| by.rows(x, &all)))
}
