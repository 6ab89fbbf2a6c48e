//! A worker: it takes the rows of its shards, and trains them together with the others.

use std::sync::Arc;

use flowgmm_core::{
    Dequantiser,
    checkpoint::{self, Progress, Saved},
    tensor::Place,
    train::{
        Control, EpochRecord, Observer as TrainObserver, Reduce, Shards, TrainState, Trainer, TrainingMatrix,
    },
};
use flowgmm_data::Frame;
use ndarray::Array2;

use super::{Job, RowKeys, pool_matrix, widened};
use crate::{
    Error, Result, Rows,
    observer::{Observer, Phase},
    source::matrix_of,
};

/// A worker of a job.
#[derive(Debug)]
pub struct Worker {
    job: Job,
    /// The state to begin from, as a checkpoint.
    start: Vec<u8>,
    spread: Option<Arc<Dequantiser>>,
    /// Rows as training sees them, by the order in which they came.
    pool: TrainingMatrix,
    keys: Vec<u64>,
}

/// What is done with the state of a run, every so many steps.
pub struct Every<'a> {
    /// So many.
    pub steps: usize,
    /// Keeps a checkpoint's bytes.
    pub keep: &'a mut (dyn FnMut(Vec<u8>) -> Result<()> + Send),
}

impl Worker {
    /// A worker for the job of these bytes.
    pub fn new(job: &[u8]) -> Result<Self> {
        let (job, start) = Job::from_bytes(job)?;
        let spread = job.spread();
        let none = Array2::zeros((0, job.preprocess.dim_in()));
        let pool = pool_matrix(none.view(), &job.preprocess, spread.as_ref());
        Ok(Self { job, start, spread, pool, keys: Vec::new() })
    }

    /// Takes rows of its shards, in the user's columns and without labels.
    pub fn add(&mut self, frame: &Frame) -> Result<()> {
        let label = self.job.rows.label().map(String::from);
        self.keys.extend(RowKeys::new(self.job.row_seed).of(frame, label.as_deref()));
        let x = match &self.job.rows {
            Rows::Table { encoding, .. } => encoding.apply(frame)?.x,
            Rows::Matrix { columns } => matrix_of(frame, columns)?,
            Rows::Images { .. } => {
                return Err(Error::Content("rows of a table are trained in shards".into()));
            }
        };
        self.pool.append(pool_matrix(x.view(), &self.job.preprocess, self.spread.as_ref()));
        Ok(())
    }

    /// Number of rows that it took.
    pub fn n(&self) -> usize {
        self.keys.len()
    }

    /// Trains the shards `own`, whose rows it took, together with the workers that `reduce` reaches, from the beginning or from a
    /// checkpoint of the same job. Returns the trained state as a checkpoint; it is the same on every worker.
    pub fn train(
        self,
        own: &[usize],
        resume: Option<&[u8]>,
        reduce: &mut dyn Reduce,
        every: Option<Every>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<u8>> {
        let job = self.job;
        let count = job.config.shards.unwrap_or(1);
        let (rows, shards) = widened(job.shared_rows(), &job.keys, self.pool, &self.keys, own, count)?;
        let shards = Shards::new(count, shards, reduce)?;
        let bytes = resume.unwrap_or(&self.start);
        let state =
            Saved::from_bytes(bytes, &job.fingerprint, &Place::cpu())?.into_state(&job.config, job.engine)?;
        observer.phase(&Phase::Training, Some(job.config.steps));
        let mut trainer = Trainer::new(&job.config, &rows, job.seed, state).sharded(&shards, reduce);
        let mut watching = Watching { observer, every, job: &job, failed: None };
        let ended = trainer.run(&mut watching);
        if let Some(error) = watching.failed {
            return Err(error);
        }
        ended?;
        Ok(checkpoint::to_bytes(&job.fingerprint, &Progress::default(), &trainer.state))
    }
}

/// Passes a trainer's events on, and keeps checkpoints.
struct Watching<'a, 'b> {
    observer: &'a mut dyn Observer,
    every: Option<Every<'b>>,
    job: &'a Job,
    failed: Option<Error>,
}

impl TrainObserver for Watching<'_, '_> {
    fn step(&mut self, state: &TrainState) -> Control {
        if let Some(Every { steps, keep }) = &mut self.every
            && state.step.is_multiple_of((*steps).max(1))
            && let Err(error) = keep(checkpoint::to_bytes(&self.job.fingerprint, &Progress::default(), state))
        {
            self.failed = Some(error);
            return Control::Stop;
        }
        self.observer.progress(state.step)
    }

    fn loss(&mut self, loss: f64) {
        self.observer.loss(loss);
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.observer.epoch(record);
    }
}
