//! Runs what a plan asks for and is not done yet.
//!
//! One cell after the other, learners have all threads to themselves, so that seconds can be compared. Several at once
//! share them: `jobs` cells run on a thread pool each, of threads / jobs threads. Draws come before learners, so that an
//! interrupted run has whole comparisons. A cell that fails or panics is recorded as failed, and the next one runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use flowgmm::Control;
use flowgmm_learners::AnyError;
use rand::seq::SliceRandom;
use semisup::{Labelled, rng};

use crate::events::{Absent, FailedCells, RunEvent, RunObserver, RunOptions, RunReport, Skipped};
use crate::jobs::{DatasetCells, Work};
use crate::load::{LoadError, Loaded, Loader};
use crate::record::data_fingerprint;
use crate::registry::Chosen;
use crate::{CellKey, Error, Plan, PlanDataset, Record, Registry, Result, ResultsFile};

/// Seed of the validation rows: no draw has it.
const VALIDATION_SEED: u64 = u64::MAX;

/// Runs all cells of the plan that `results` does not hold yet. `observer` may stop the run at any event; a cell that was
/// being fitted then leaves no record.
///
/// With more than one job, records are in the order in which cells finished, and say nothing of memory, which is that of
/// the whole process. Draws that begin before an earlier one is found to be over the budget are finished.
pub fn run(
    plan: &Plan,
    registry: &Registry,
    results: &Path,
    loader: &mut dyn Loader,
    options: &RunOptions,
    observer: &mut RunObserver<'_>,
) -> Result<RunReport> {
    plan.check(registry)?;
    let results = ResultsFile::open(results)?;
    let progress = Mutex::new(Progress { results, observer, report: RunReport::default() });
    let runner = Runner { plan, registry, options, progress, stopped: AtomicBool::new(false) };
    let cells = plan.datasets.iter().flat_map(|dataset| cells(plan, registry, dataset));
    let before = cells.filter(|cell| runner.is_done(cell)).count();
    runner.locked().report.before = before;
    let work = Work::new(options.jobs)?;
    for dataset in runner.present(loader)? {
        runner.dataset(dataset, loader, &work)?;
        if runner.is_stopped() {
            break;
        }
    }
    let stopped = runner.is_stopped();
    let nothing = {
        let report = &runner.locked().report;
        // A dataset may turn out to be incomplete only when it is read: a plan of nothing else has no table either.
        (report.before + report.ran == 0 && !report.skipped.is_empty()).then(|| report.skipped.clone())
    };
    if let Some(absent) = nothing.filter(|_| !stopped) {
        return Err(Error::Absent(absent));
    }
    let report = runner.progress.into_inner().expect("no job panicked").report;
    Ok(RunReport { cancelled: stopped, ..report })
}

/// All cells of a dataset, in the order they run.
fn cells<'a>(
    plan: &'a Plan,
    registry: &'a Registry,
    dataset: &'a PlanDataset,
) -> impl Iterator<Item = CellKey> + 'a {
    dataset.label_sources().into_iter().flat_map(move |labels| {
        let split = plan.split_name(dataset, &labels);
        let learners: Vec<(String, String)> = plan
            .learners_at(&labels)
            .map(|name| (name.clone(), chosen(plan, registry, dataset, name).settings()))
            .collect();
        plan.draw_numbers().flat_map(move |draw| {
            let cell = |(learner, settings): &(String, String)| CellKey {
                dataset: dataset.name.clone(),
                labels: labels.clone(),
                learner: learner.clone(),
                draw,
                settings: settings.clone(),
                split: split.clone(),
            };
            learners.iter().map(cell).collect::<Vec<_>>()
        })
    })
}

/// A learner as the plan wants it on a dataset.
pub(crate) fn chosen<'a>(
    plan: &Plan,
    registry: &'a Registry,
    dataset: &PlanDataset,
    learner: &str,
) -> Chosen<'a> {
    registry.learner(learner, plan.steps(dataset, learner)).expect("a checked plan")
}

/// A run, shared by its jobs.
pub(crate) struct Runner<'a> {
    pub plan: &'a Plan,
    pub registry: &'a Registry,
    pub options: &'a RunOptions,
    pub progress: Mutex<Progress<'a>>,
    /// Whether the observer wants no more cells.
    pub stopped: AtomicBool,
}

/// What is known so far, and who is told.
pub(crate) struct Progress<'a> {
    pub results: ResultsFile,
    pub observer: &'a mut RunObserver<'a>,
    pub report: RunReport,
}

impl<'a> Runner<'a> {
    fn is_done(&self, cell: &CellKey) -> bool {
        let counts = |record: &&Record| self.options.failed == FailedCells::Keep || record.scores().is_some();
        self.locked().results.records().iter().filter(counts).any(|record| record.cell == *cell)
    }

    /// Datasets with unfinished cells that are there, as far as can be seen before hours of work.
    fn present(&self, loader: &mut dyn Loader) -> Result<Vec<&'a PlanDataset>> {
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for dataset in &self.plan.datasets {
            if cells(self.plan, self.registry, dataset).all(|cell| self.is_done(&cell)) {
                continue;
            }
            match loader.check(dataset) {
                Ok(()) => present.push(dataset),
                Err(LoadError::Absent(why)) => absent.push(Skipped::all_of(dataset, why)),
                Err(LoadError::Unusable(error)) => return Err(unusable(dataset, &error)),
            }
        }
        let nothing = present.is_empty() && self.locked().report.before == 0;
        if !absent.is_empty() && (self.options.absent == Absent::Error || nothing) {
            return Err(Error::Absent(absent));
        }
        absent.into_iter().for_each(|skipped| self.skip(skipped));
        Ok(present)
    }

    /// All unfinished cells of a dataset.
    fn dataset(&self, dataset: &PlanDataset, loader: &mut dyn Loader, work: &Work) -> Result<()> {
        if self.tell(RunEvent::Loading(dataset)) == Control::Stop {
            return Ok(());
        }
        let loaded: Loaded = match (loader.load(dataset), self.options.absent) {
            (Ok(loaded), _) => loaded,
            (Err(LoadError::Absent(why)), Absent::Skip) => {
                self.skip(Skipped::all_of(dataset, why));
                return Ok(());
            }
            (Err(LoadError::Absent(why)), Absent::Error) => {
                return Err(Error::Absent(vec![Skipped::all_of(dataset, why)]));
            }
            (Err(LoadError::Unusable(error)), _) => return Err(unusable(dataset, &error)),
        };
        let (loaded, validation) = match self.plan.validation {
            None => (loaded, None),
            Some(n) => with_validation(loaded, n).map_err(|why| unusable(dataset, &why.into()))?,
        };
        let fingerprint = data_fingerprint(&loaded.all, loaded.test.as_ref());
        let cells = cells(self.plan, self.registry, dataset).filter(|cell| !self.is_done(cell)).collect();
        work.run(
            self,
            &DatasetCells {
                dataset,
                loaded: &loaded,
                validation: validation.as_ref(),
                fingerprint: &fingerprint,
                cells,
            },
        )
    }

    /// The seconds of a draw of this learner on these data that took longer than it may.
    pub fn over_budget(&self, cell: &CellKey) -> Option<f64> {
        let budget = self.plan.budget_seconds?;
        let same = |record: &&Record| CellKey { draw: cell.draw, ..record.cell.clone() } == *cell;
        let progress = self.locked();
        progress.results.records().iter().filter(same).map(Record::seconds).find(|seconds| *seconds > budget)
    }

    /// Tells the observer, who may stop the run.
    pub fn tell(&self, event: RunEvent) -> Control {
        let control = (self.locked().observer)(event);
        if control == Control::Stop {
            self.stop();
        }
        control
    }

    pub fn skip(&self, skipped: Skipped) {
        self.tell(RunEvent::Skipped(&skipped));
        self.locked().report.skipped.push(skipped);
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn locked(&self) -> MutexGuard<'_, Progress<'a>> {
        self.progress.lock().expect("nobody panics while it is locked")
    }
}

/// Holds `n` rows out of those that may be drawn: always the same ones.
fn with_validation(loaded: Loaded, n: usize) -> std::result::Result<(Loaded, Option<Labelled>), String> {
    let mut rows: Vec<usize> = (0..loaded.all.n()).collect();
    if n >= rows.len() {
        return Err(format!("{n} validation rows of {} rows leave none to learn from", rows.len()));
    }
    rows.shuffle(&mut rng(VALIDATION_SEED));
    let held_out = rows.split_off(rows.len() - n);
    rows.sort_unstable();
    let validation = loaded.all.select(&held_out);
    Ok((Loaded { all: loaded.all.select(&rows), ..loaded }, Some(validation)))
}

fn unusable(dataset: &PlanDataset, error: &AnyError) -> Error {
    Error::Unusable { dataset: dataset.name.clone(), why: error.to_string() }
}
