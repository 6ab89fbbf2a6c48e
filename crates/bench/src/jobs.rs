//! Jobs: who works on the cells of a dataset, one or several at once.
//!
//! A job takes the next cell that nobody has taken. It keeps the last draw that it made, so that a draw is made once for
//! all learners by one job, and at most once by each of several.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flowgmm::Control;
use rayon::{ThreadPool, ThreadPoolBuilder};
use semisup::{Labelled, Problem, Stopped, Watch};

use crate::draw::{DrawRule, DrawnLabels, draw_labels};
use crate::events::{RunEvent, Skipped};
use crate::load::Loaded;
use crate::measure::{Measured, measure, shares_nll};
use crate::record::now;
use crate::run::{Runner, chosen};
use crate::{CellKey, Error, LabelSource, PlanDataset, Record, Result};

/// Where cells run.
pub(crate) enum Work {
    /// One after the other, on the threads of the caller.
    InTurn,
    /// As many at once as there are pools.
    AtOnce(Vec<ThreadPool>),
}

/// Cells of a dataset, and its rows.
pub(crate) struct DatasetCells<'a> {
    pub dataset: &'a PlanDataset,
    pub loaded: &'a Loaded,
    /// Rows that no learner sees.
    pub validation: Option<&'a Labelled>,
    pub fingerprint: &'a str,
    pub cells: Vec<CellKey>,
}

/// A draw, or why there is none.
type Drawn = std::result::Result<Problem, String>;

impl Work {
    /// Pools that share the threads of the caller's, at least one each.
    pub fn new(jobs: NonZeroUsize) -> Result<Self> {
        if jobs.get() == 1 {
            return Ok(Self::InTurn);
        }
        let threads = (rayon::current_num_threads() / jobs).max(1);
        let pool = |_| ThreadPoolBuilder::new().num_threads(threads).build();
        let pools = (0..jobs.get()).map(pool).collect::<std::result::Result<_, _>>();
        Ok(Self::AtOnce(pools.map_err(|error| Error::Threads(error.to_string()))?))
    }

    /// Runs the cells; those that are left when the observer stops the run, or results cannot be written, do not run.
    pub fn run(&self, runner: &Runner, cells: &DatasetCells) -> Result<()> {
        let next = AtomicUsize::new(0);
        match self {
            Self::InTurn => runner.job(cells, &next),
            Self::AtOnce(pools) => std::thread::scope(|scope| {
                let job = |pool: &'_ ThreadPool| pool.install(|| runner.job(cells, &next));
                let jobs: Vec<_> = pools.iter().map(|pool| scope.spawn(move || job(pool))).collect();
                jobs.into_iter().try_for_each(|job| job.join().expect("a job does not panic"))
            }),
        }
    }
}

impl Runner<'_> {
    /// Takes one cell after the other.
    fn job(&self, all: &DatasetCells, next: &AtomicUsize) -> Result<()> {
        let mut last: Option<((&LabelSource, u64), Drawn)> = None;
        while let Some(cell) = all.cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            if self.is_stopped() {
                break;
            }
            if let Some(seconds) = self.over_budget(cell) {
                let (draw, labels) = (cell.draw, &cell.labels);
                let why = format!("draw {draw}, {labels}: over budget, an earlier one took {seconds:.1} s");
                let learner = Some(cell.learner.clone());
                self.skip(Skipped { dataset: cell.dataset.clone(), learner, why });
                continue;
            }
            let place = (&cell.labels, cell.draw);
            if last.as_ref().is_none_or(|(of, _)| *of != place) {
                last = Some((place, self.draw(all, &cell.labels, cell.draw)));
            }
            let (_, drawn) = last.as_ref().expect("just drawn");
            if let Err(error) = self.cell(cell, all, drawn) {
                self.stop();
                return Err(error);
            }
        }
        Ok(())
    }

    /// The draw, or why there is none.
    fn draw(&self, all: &DatasetCells, labels: &LabelSource, draw: u64) -> Drawn {
        let loaded = all.loaded;
        let labels = match labels {
            LabelSource::PerClass(n) => DrawnLabels::PerClass(*n),
            LabelSource::RandomPerClass(n) => DrawnLabels::Random(n.saturating_mul(loaded.all.n_classes())),
            LabelSource::RandomTotal(n) => DrawnLabels::Random(*n),
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
        let test = self.plan.test_rows(all.dataset);
        let rule = DrawRule { labels, test, unlabelled_limit: self.plan.unlabelled_limit(all.dataset) };
        draw_labels(&loaded.all, loaded.test.as_ref(), &rule, draw).map_err(|error| error.to_string())
    }

    /// Runs a cell and writes its record.
    fn cell(&self, cell: &CellKey, all: &DatasetCells, drawn: &Drawn) -> Result<()> {
        let done = self.locked().report.done();
        if self.tell(RunEvent::Started { cell, done, total: self.plan.n_cells() }) == Control::Stop {
            return Ok(());
        }
        let learner = chosen(self.plan, self.registry, all.dataset, &cell.learner);
        let watch = CellWatch { runner: self, cell, was_stopped: AtomicBool::new(false) };
        let measured = match drawn {
            Ok(problem) => measure(&*learner, problem, all.validation, cell.draw, &watch),
            Err(why) => Measured::failed(why.clone()),
        };
        if watch.was_stopped.into_inner() {
            return Ok(());
        }
        let problem = drawn.as_ref().ok();
        let unknown = |p: &Problem| p.test.n_classes().saturating_sub(p.train.n_classes());
        let record = Record {
            cell: cell.clone(),
            outcome: measured.outcome,
            validation: measured.validation,
            fit_seconds: measured.fit_seconds,
            predict_seconds: measured.predict_seconds,
            peak_memory: measured.peak_memory.filter(|_| self.options.jobs.get() == 1),
            rows: problem.map_or([0; 3], sizes),
            classes_without_label: problem.map_or(0, unknown),
            shares_nll: problem.and_then(shares_nll),
            seed: cell.draw,
            data: all.fingerprint.into(),
            plan: self.plan.hash(),
            version: self.options.version.clone(),
            threads: rayon::current_num_threads(),
            date: now(),
        };
        let progress = &mut *self.locked();
        progress.report.ran += 1;
        progress.report.failed += usize::from(record.scores().is_none());
        progress.results.append(record)?;
        let finished = RunEvent::Finished(progress.results.records().last().expect("just appended"));
        if (progress.observer)(finished) == Control::Stop {
            self.stop();
        }
        Ok(())
    }
}

/// Tells the observer how far the fit of a cell is.
struct CellWatch<'a, 'r> {
    runner: &'a Runner<'r>,
    cell: &'a CellKey,
    /// Whether the fit was told to stop: what it gives is no result.
    was_stopped: AtomicBool,
}

impl Watch for CellWatch<'_, '_> {
    fn at(&self, fraction: f64) -> std::result::Result<(), Stopped> {
        // Whoever comes while another thread reports has nothing to add.
        if let Ok(mut progress) = self.runner.progress.try_lock()
            && (progress.observer)(RunEvent::Fitting { cell: self.cell, fraction }) == Control::Stop
        {
            self.runner.stop();
        }
        if !self.runner.is_stopped() {
            return Ok(());
        }
        self.was_stopped.store(true, Ordering::Relaxed);
        Err(Stopped)
    }
}

fn sizes(problem: &Problem) -> [usize; 3] {
    let labelled = problem.train.labelled().len();
    [labelled, problem.train.n() - labelled, problem.test.n()]
}
