//! Runs what a plan asks for and is not done yet, one cell after the other: learners have all threads to themselves,
//! so that seconds can be compared.
//!
//! A draw is made once and given to all learners; draws come before learners, so that an interrupted run has whole
//! comparisons. A cell that fails or panics is recorded as failed, and the next one runs.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flowgmm::Control;
use flowgmm_learners::AnyError;
use semisup::{Problem, Stopped, Watch};

use crate::draw::{DrawRule, DrawnLabels, draw_labels};
use crate::load::{LoadError, Loaded, Loader};
use crate::measure::{Measured, measure};
use crate::record::{data_fingerprint, now};
use crate::registry::Chosen;
use crate::{CellKey, Error, LabelSource, Plan, PlanDataset, Record, Registry, Result, ResultsFile};

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What happens to cells that failed before.
    pub failed: FailedCells,
    /// What happens if a dataset is not there.
    pub absent: Absent,
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
    /// Nothing runs: [`Error::Absent`] says what to do.
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

/// Runs all cells of the plan that `results` does not hold yet. `observer` may stop the run at any event; a cell that was
/// being fitted then leaves no record.
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
    let mut runner = Runner { plan, registry, results, options, observer, report: RunReport::default() };
    let cells = plan.datasets.iter().flat_map(|dataset| cells(plan, registry, dataset));
    runner.report.before = cells.filter(|cell| runner.is_done(cell)).count();
    for dataset in runner.present(loader)? {
        runner.dataset(dataset, loader)?;
        if runner.report.cancelled {
            break;
        }
    }
    Ok(runner.report)
}

/// All cells of a dataset, in the order they run.
fn cells<'a>(
    plan: &'a Plan,
    registry: &'a Registry,
    dataset: &'a PlanDataset,
) -> impl Iterator<Item = CellKey> + 'a {
    let draws = dataset
        .label_sources()
        .into_iter()
        .flat_map(|labels| plan.draw_numbers().map(move |draw| (labels.clone(), draw)));
    draws.flat_map(move |(labels, draw)| cells_of_draw(plan, registry, dataset, &labels, draw))
}

fn cells_of_draw(
    plan: &Plan,
    registry: &Registry,
    dataset: &PlanDataset,
    labels: &LabelSource,
    draw: u64,
) -> Vec<CellKey> {
    let cell = |learner: &String| CellKey {
        dataset: dataset.name.clone(),
        labels: labels.clone(),
        learner: learner.clone(),
        draw,
        settings: chosen(plan, registry, dataset, learner).settings(),
        split: plan.split_name(dataset, labels),
    };
    plan.learners.iter().map(cell).collect()
}

fn chosen<'a>(plan: &Plan, registry: &'a Registry, dataset: &PlanDataset, learner: &str) -> Chosen<'a> {
    registry.learner(learner, plan.steps(dataset, learner)).expect("a checked plan")
}

struct Runner<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    results: ResultsFile,
    options: &'a RunOptions,
    observer: &'a mut RunObserver<'a>,
    report: RunReport,
}

impl<'a> Runner<'a> {
    fn is_done(&self, cell: &CellKey) -> bool {
        let counts = |record: &&Record| self.options.failed == FailedCells::Keep || record.scores().is_some();
        self.results.records().iter().filter(counts).any(|record| record.cell == *cell)
    }

    /// Datasets with unfinished cells that are there, as far as can be seen before hours of work.
    fn present(&mut self, loader: &mut dyn Loader) -> Result<Vec<&'a PlanDataset>> {
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
        let nothing = present.is_empty() && self.report.before == 0;
        if !absent.is_empty() && (self.options.absent == Absent::Error || nothing) {
            return Err(Error::Absent(absent));
        }
        absent.into_iter().for_each(|skipped| self.skip(skipped));
        Ok(present)
    }

    fn dataset(&mut self, dataset: &PlanDataset, loader: &mut dyn Loader) -> Result<()> {
        if self.tell(RunEvent::Loading(dataset)) == Control::Stop {
            return Ok(());
        }
        let loaded = match (loader.load(dataset), self.options.absent) {
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
        let data = data_fingerprint(&loaded.all, loaded.test.as_ref());
        for labels in dataset.label_sources() {
            for draw in self.plan.draw_numbers() {
                self.draw(dataset, &loaded, &data, &labels, draw)?;
            }
        }
        Ok(())
    }

    /// All learners on one draw.
    fn draw(
        &mut self,
        dataset: &PlanDataset,
        loaded: &Loaded,
        data: &str,
        labels: &LabelSource,
        draw: u64,
    ) -> Result<()> {
        let mut left = cells_of_draw(self.plan, self.registry, dataset, labels, draw);
        left.retain(|cell| !self.is_done(cell));
        if left.is_empty() || self.report.cancelled {
            return Ok(());
        }
        let problem = self.problem(dataset, loaded, labels, draw);
        for cell in left {
            if self.report.cancelled {
                return Ok(());
            }
            if let Some(seconds) = self.over_budget(&cell) {
                let why = format!("draw {draw}, {labels}: over budget, an earlier one took {seconds:.1} s");
                self.skip(Skipped { dataset: dataset.name.clone(), learner: Some(cell.learner), why });
                continue;
            }
            let learner = chosen(self.plan, self.registry, dataset, &cell.learner);
            self.cell(cell, &learner, &problem, data)?;
        }
        Ok(())
    }

    /// The draw, or why there is none.
    fn problem(
        &self,
        dataset: &PlanDataset,
        loaded: &Loaded,
        labels: &LabelSource,
        draw: u64,
    ) -> std::result::Result<Problem, String> {
        let labels = match labels {
            LabelSource::PerClass(n) => DrawnLabels::PerClass(*n),
            LabelSource::Split(file) => {
                let place = (draw - self.plan.draws.first) as usize;
                let rows = loaded.splits.get(place % loaded.splits.len().max(1));
                let rows = rows.ok_or_else(|| format!("the loader gave no rows for {file}"))?;
                if let Some(row) = rows.iter().find(|row| **row >= loaded.all.n()) {
                    return Err(format!("{file}: row {row} of {} rows", loaded.all.n()));
                }
                DrawnLabels::Rows(rows)
            }
        };
        let test = self.plan.test_rows(dataset);
        let rule = DrawRule { labels, test, unlabelled_limit: self.plan.unlabelled_limit(dataset) };
        draw_labels(&loaded.all, loaded.test.as_ref(), &rule, draw).map_err(|error| error.to_string())
    }

    fn cell(
        &mut self,
        cell: CellKey,
        learner: &Chosen,
        problem: &std::result::Result<Problem, String>,
        data: &str,
    ) -> Result<()> {
        let done = self.report.before + self.report.ran;
        let started = RunEvent::Started { cell: &cell, done, total: self.plan.n_cells() };
        if self.tell(started) == Control::Stop {
            return Ok(());
        }
        let seed = cell.draw;
        let (measured, rows) = match problem {
            Ok(problem) => {
                let watch = CellWatch::new(&mut *self.observer, &cell);
                let measured = measure(&**learner, problem, seed, &watch);
                if watch.stopped.into_inner() {
                    self.report.cancelled = true;
                    return Ok(());
                }
                (measured, sizes(problem))
            }
            Err(why) => (Measured::failed(why.clone()), [0; 3]),
        };
        let record = Record {
            cell,
            outcome: measured.outcome,
            fit_seconds: measured.fit_seconds,
            predict_seconds: measured.predict_seconds,
            peak_memory: measured.peak_memory,
            rows,
            seed,
            data: data.into(),
            plan: self.plan.hash(),
            version: self.options.version.clone(),
            threads: rayon::current_num_threads(),
            date: now(),
        };
        self.report.ran += 1;
        self.report.failed += usize::from(record.scores().is_none());
        self.results.append(record)?;
        let finished = RunEvent::Finished(self.results.records().last().expect("just appended"));
        self.report.cancelled |= (self.observer)(finished) == Control::Stop;
        Ok(())
    }

    /// The seconds of a draw of this learner on these data that took longer than it may.
    fn over_budget(&self, cell: &CellKey) -> Option<f64> {
        let budget = self.plan.budget_seconds?;
        let same = |record: &&Record| CellKey { draw: cell.draw, ..record.cell.clone() } == *cell;
        self.results.records().iter().filter(same).map(Record::seconds).find(|seconds| *seconds > budget)
    }

    /// Tells the observer, who may stop the run.
    fn tell(&mut self, event: RunEvent) -> Control {
        let control = (self.observer)(event);
        self.report.cancelled |= control == Control::Stop;
        control
    }

    fn skip(&mut self, skipped: Skipped) {
        self.tell(RunEvent::Skipped(&skipped));
        self.report.skipped.push(skipped);
    }
}

/// Tells the observer how far the fit of a cell is.
struct CellWatch<'a> {
    observer: Mutex<&'a mut RunObserver<'a>>,
    cell: &'a CellKey,
    stopped: AtomicBool,
}

impl<'a> CellWatch<'a> {
    fn new(observer: &'a mut RunObserver<'_>, cell: &'a CellKey) -> Self {
        Self { observer: Mutex::new(observer), cell, stopped: AtomicBool::new(false) }
    }
}

impl Watch for CellWatch<'_> {
    fn at(&self, fraction: f64) -> std::result::Result<(), Stopped> {
        // Whoever comes while another thread reports has nothing to add.
        if let Ok(mut observer) = self.observer.try_lock()
            && observer(RunEvent::Fitting { cell: self.cell, fraction }) == Control::Stop
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }
}

impl Skipped {
    fn all_of(dataset: &PlanDataset, why: String) -> Self {
        Self { dataset: dataset.name.clone(), learner: None, why }
    }
}

fn unusable(dataset: &PlanDataset, error: &AnyError) -> Error {
    Error::Unusable { dataset: dataset.name.clone(), why: error.to_string() }
}

fn sizes(problem: &Problem) -> [usize; 3] {
    let labelled = problem.train.labelled().len();
    [labelled, problem.train.n() - labelled, problem.test.n()]
}
