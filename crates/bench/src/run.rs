//! Runs what a plan asks for and is not done yet, one cell after the other: learners have all threads to themselves,
//! so that seconds can be compared.
//!
//! A draw is made once and given to all learners; draws come before learners, so that an interrupted run has whole
//! comparisons. A cell that fails or panics is recorded as failed, and the next one runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use flowgmm_learners::AnyError;
use semisup::{Labelled, Problem};

use crate::draw::{DrawRule, DrawnLabels, draw_labels};
use crate::measure::{Measured, measure};
use crate::record::{data_fingerprint, now};
use crate::registry::Chosen;
use crate::{Cell, Dataset, LabelSource, Plan, Record, Registry, Result, Store};

/// A table as the loader gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// All rows that may be drawn.
    pub all: Labelled,
    /// Test rows of its own, if it has them.
    pub test: Option<Labelled>,
    /// For a dataset with a split file: the labelled rows of the first draw, the second, .., then again the first.
    pub splits: Vec<Vec<usize>>,
}

/// What the caller gives: the rows of a dataset, nothing if it is not there, or why it cannot be read.
pub type Loader<'a> = dyn FnMut(&Dataset) -> std::result::Result<Option<Loaded>, AnyError> + 'a;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Set from elsewhere, it stops the run before the next cell.
    pub cancel: &'a AtomicBool,
    /// What happens to cells that failed before.
    pub failed: Failed,
    /// Who runs, for the record: program and version.
    pub version: String,
}

/// What happens to cells that failed in an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// They are done.
    Keep,
    /// They run again.
    Retry,
}

/// What happens during a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A dataset is about to be read.
    Loading(&'a Dataset),
    /// A cell begins; `done` of `total` are finished.
    Started {
        /// The cell.
        cell: &'a Cell,
        /// Cells finished, in earlier runs too.
        done: usize,
        /// Cells of the plan.
        total: usize,
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

/// Runs all cells of the plan that `results` does not hold yet.
pub fn run(
    plan: &Plan,
    registry: &Registry,
    results: &Path,
    load: &mut Loader,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport> {
    plan.check(registry)?;
    let store = Store::open(results)?;
    let mut runner = Runner { plan, registry, store, options, progress, report: RunReport::default() };
    let cells = plan.datasets.iter().flat_map(|dataset| cells(plan, registry, dataset));
    runner.report.before = cells.filter(|cell| runner.is_done(cell)).count();
    for dataset in &plan.datasets {
        runner.dataset(dataset, load)?;
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
    dataset: &'a Dataset,
) -> impl Iterator<Item = Cell> + 'a {
    let draws = dataset
        .label_sources()
        .into_iter()
        .flat_map(|labels| plan.draw_numbers().map(move |draw| (labels.clone(), draw)));
    draws.flat_map(move |(labels, draw)| cells_of_draw(plan, registry, dataset, &labels, draw))
}

fn cells_of_draw(
    plan: &Plan,
    registry: &Registry,
    dataset: &Dataset,
    labels: &LabelSource,
    draw: u64,
) -> Vec<Cell> {
    let cell = |learner: &String| Cell {
        dataset: dataset.name.clone(),
        labels: labels.clone(),
        learner: learner.clone(),
        draw,
        settings: chosen(plan, registry, dataset, learner).settings(),
        split: plan.split_name(dataset, labels),
    };
    plan.learners.iter().map(cell).collect()
}

fn chosen<'a>(plan: &Plan, registry: &'a Registry, dataset: &Dataset, learner: &str) -> Chosen<'a> {
    registry.learner(learner, plan.steps(dataset, learner)).expect("a checked plan")
}

struct Runner<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    store: Store,
    options: &'a Options<'a>,
    progress: &'a mut dyn FnMut(Progress),
    report: RunReport,
}

impl Runner<'_> {
    fn is_done(&self, cell: &Cell) -> bool {
        let counts = |record: &&Record| self.options.failed == Failed::Keep || record.scores().is_some();
        self.store.records().iter().filter(counts).any(|record| record.cell == *cell)
    }

    fn dataset(&mut self, dataset: &Dataset, load: &mut Loader) -> Result<()> {
        if cells(self.plan, self.registry, dataset).all(|cell| self.is_done(&cell)) {
            return Ok(());
        }
        if self.stopped() {
            return Ok(());
        }
        (self.progress)(Progress::Loading(dataset));
        let loaded = match load(dataset) {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return self.skip(dataset, None, format!("{} is not there", dataset.file)),
            Err(error) => return self.skip(dataset, None, error.to_string()),
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
        dataset: &Dataset,
        loaded: &Loaded,
        data: &str,
        labels: &LabelSource,
        draw: u64,
    ) -> Result<()> {
        let mut left = cells_of_draw(self.plan, self.registry, dataset, labels, draw);
        left.retain(|cell| !self.is_done(cell));
        if left.is_empty() || self.stopped() {
            return Ok(());
        }
        let problem = self.problem(dataset, loaded, labels, draw);
        for cell in left {
            if self.stopped() {
                return Ok(());
            }
            if let Some(seconds) = self.over_budget(&cell) {
                let why = format!("draw {draw}, {labels}: over budget, an earlier one took {seconds:.1} s");
                self.skip(dataset, Some(cell.learner), why)?;
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
        dataset: &Dataset,
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
        cell: Cell,
        learner: &Chosen,
        problem: &std::result::Result<Problem, String>,
        data: &str,
    ) -> Result<()> {
        let done = self.report.before + self.report.ran;
        (self.progress)(Progress::Started { cell: &cell, done, total: self.plan.n_cells() });
        let seed = cell.draw;
        let (measured, rows) = match problem {
            Ok(problem) => (measure(&**learner, problem, seed), sizes(problem)),
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
        self.store.append(record)?;
        (self.progress)(Progress::Finished(self.store.records().last().expect("just appended")));
        Ok(())
    }

    /// The seconds of a draw of this learner on these data that took longer than it may.
    fn over_budget(&self, cell: &Cell) -> Option<f64> {
        let budget = self.plan.budget_seconds?;
        let same = |record: &&Record| Cell { draw: cell.draw, ..record.cell.clone() } == *cell;
        self.store.records().iter().filter(same).map(Record::seconds).find(|seconds| *seconds > budget)
    }

    fn stopped(&mut self) -> bool {
        self.report.cancelled |= self.options.cancel.load(Ordering::Relaxed);
        self.report.cancelled
    }

    fn skip(&mut self, dataset: &Dataset, learner: Option<String>, why: String) -> Result<()> {
        let skipped = Skipped { dataset: dataset.name.clone(), learner, why };
        (self.progress)(Progress::Skipped(&skipped));
        self.report.skipped.push(skipped);
        Ok(())
    }
}

fn sizes(problem: &Problem) -> [usize; 3] {
    let labelled = problem.train.labelled().len();
    [labelled, problem.train.n() - labelled, problem.test.n()]
}
