//! How a plan is run, what happens during a run, and how it ended.

use std::num::NonZeroUsize;

use flowgmm::Control;

use crate::{CellKey, PlanDataset, Record};

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What happens to cells that failed before.
    pub failed: FailedCells,
    /// What happens if a dataset is not there.
    pub absent: Absent,
    /// Cells that run at once, each on its share of the threads; see [`run`](crate::run).
    pub jobs: NonZeroUsize,
    /// Who runs, for the record: program and version.
    pub version: String,
}

/// What happens to cells that failed in an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedCells {
    /// They are done.
    #[default]
    Keep,
    /// They run again.
    Retry,
}

/// What happens if a dataset with unfinished cells is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// Nothing runs: [`Error::Absent`](crate::Error::Absent) says what to do.
    #[default]
    Error,
    /// Its cells are left out, and those of other datasets run. It is still an error if nothing is there.
    Skip,
}

/// What happens during a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A dataset is about to be read.
    Loading(&'a PlanDataset),
    /// A cell begins; `done` of `total` are finished.
    Started {
        /// The cell.
        cell: &'a CellKey,
        /// Cells finished, in earlier runs too.
        done: usize,
        /// Cells of the plan.
        total: usize,
    },
    /// A cell is being fitted: told several times a second.
    Fitting {
        /// The cell.
        cell: &'a CellKey,
        /// How far the fit is, from 0 to 1, as far as the learner knows.
        fraction: f64,
    },
    /// A cell is finished and on disk.
    Finished(&'a Record),
    /// Cells are left out.
    Skipped(&'a Skipped),
}

/// Cells that were left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The dataset.
    pub dataset: String,
    /// The learner, if not all are concerned.
    pub learner: Option<String>,
    /// Why.
    pub why: String,
}

/// Who is told what happens during a run, and may stop it.
pub type RunObserver<'o> = dyn FnMut(RunEvent) -> Control + Send + 'o;

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// Cells that ran now.
    pub ran: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Cells that were done before.
    pub before: usize,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// Whether it was stopped.
    pub cancelled: bool,
}

impl RunReport {
    /// Cells that are finished, now or before.
    pub(crate) fn done(&self) -> usize {
        self.before + self.ran
    }
}

impl Skipped {
    pub(crate) fn all_of(dataset: &PlanDataset, why: String) -> Self {
        Self { dataset: dataset.name.clone(), learner: None, why }
    }
}
