//! The run on rows in shards: all of them here, or on workers elsewhere.

use flowgmm_core::{
    FlowGmm,
    checkpoint::{Progress, Saved},
    train::{Local, Shards, TrainState, TrainingRows},
};

use super::Fitter;
use crate::{
    Error, Result,
    observer::Observer,
    prepared::Prepared,
    sharded::{Job, Wide, Workers, pool_matrix, widened},
};

impl Fitter<'_> {
    /// Trains on the rows of all shards in this process.
    #[allow(clippy::too_many_arguments)] // a run and who watches it
    pub(super) fn train_in_shards(
        &self,
        wide: &Wide,
        problem: &Prepared,
        rows: &TrainingRows,
        seed: u64,
        state: TrainState,
        progress: &Progress,
        observer: &mut dyn Observer,
    ) -> Result<(TrainState, FlowGmm)> {
        let count = self.n_shards();
        let pool = pool_matrix(wide.pool.view(), &problem.preprocess, problem.spread());
        let own: Vec<usize> = (0..count).collect();
        let (rows, shards) =
            widened(rows.clone(), &self.keys(wide, problem), pool, &wide.pool_keys, &own, count)?;
        let shards = Shards::new(count, shards, &mut Local)?;
        self.train(&self.config.train, problem, &rows, Some(&shards), seed, state, progress, observer)
    }

    /// Lets workers train.
    pub(super) fn train_elsewhere(
        &self,
        wide: &Wide,
        workers: &mut dyn Workers,
        problem: &Prepared,
        rows: &TrainingRows,
        seed: u64,
        state: &TrainState,
    ) -> Result<(TrainState, FlowGmm)> {
        let fingerprint = self.fingerprint();
        let job = Job {
            config: self.config.train.clone(),
            seed,
            engine: self.engine,
            n_classes: self.data.n_classes(),
            rows: self.rows.clone(),
            row_seed: self.seed,
            preprocess: problem.preprocess.clone(),
            half_widths: problem.spread().map(|by| by.half_widths().to_vec()),
            fingerprint: fingerprint.clone(),
            y: rows.y.clone(),
            labelled: problem.user_rows(problem.labelled_rows()),
            unlabelled: problem.user_rows(&problem.trained_on()),
            keys: self.keys(wide, problem),
            soft_targets: rows.soft_targets.clone(),
        };
        let trained = workers.train(job.to_bytes(state))?;
        let saved = Saved::from_bytes(&trained, &fingerprint, &self.place)?;
        let state = saved.into_state(&self.config.train, self.engine)?;
        if state.step < self.config.train.steps {
            return Err(Error::Workers(format!(
                "they took {} steps of {}",
                state.step, self.config.train.steps
            )));
        }
        let gmm = state.averaged();
        Ok((state, gmm))
    }

    fn n_shards(&self) -> usize {
        self.config.train.shards.unwrap_or(1)
    }

    /// The keys of the unlabelled rows that are trained on.
    fn keys(&self, wide: &Wide, problem: &Prepared) -> Vec<u64> {
        problem.trained_on().into_iter().map(|row| wide.keys[row]).collect()
    }
}
