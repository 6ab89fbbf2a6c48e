//! What unlabelled rows are worth, on the paper's toy problems and on handwritten digits.
//!
//! ```text
//! ProblemName ─data, settings→ Problem ─two fits, with and without unlabelled rows→ Pair ─drawn→ Demo
//! ```
//!
//! The fits are jobs of a queue, one core each, so that they use all cores and give the same bits at any number of
//! threads.

mod digits;
mod figures;
mod page;
mod problem;
mod progress;
mod queue;
mod solve;
mod toys;

use std::time::Instant;

use flowgmm_core::Certificate;
use flowgmm_data::Frame;
use flowgmm_report::Page;
use semisup::Scores;
use serde::Serialize;

use crate::{Preset, Result, observer::Observer};

pub use problem::{ProblemName, ToyLabels, problem};

use problem::Problem;
use solve::{Fitted, Pair};

/// What came of a demo: scores, a page with pictures, and the data themselves. Nothing is written.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Seed of data, labels and fits.
    pub seed: u64,
    /// From the first fit to the last figure.
    pub seconds: f64,
    /// The problems and how well they were solved.
    pub problems: Vec<Solved>,
    /// The report.
    pub page: Page,
    /// The figures of the report as files: name and SVG text.
    pub files: Vec<(String, String)>,
    /// Training and test rows of each problem as tables: name of a CSV file, rows with their labels in the column `class`.
    pub tables: Vec<(String, Frame)>,
}

/// A problem and how well it was solved, with and without its unlabelled rows.
#[derive(Clone, Debug, Serialize)]
pub struct Solved {
    /// The problem.
    pub dataset: ProblemName,
    /// Labelled training rows.
    pub labels: usize,
    /// Unlabelled training rows.
    pub unlabelled: usize,
    /// Rows it was scored on.
    pub test_rows: usize,
    /// The fit to all training rows.
    pub semi_supervised: FitScores,
    /// The fit to the labelled training rows alone.
    pub labelled_only: FitScores,
    /// Test accuracy with the unlabelled rows less that without.
    pub gain: f64,
}

/// How well a fit does.
#[derive(Clone, Debug, Serialize)]
pub struct FitScores {
    /// On the test rows.
    pub scores: Scores,
    /// Seconds of fitting.
    pub seconds: f64,
    /// How exactly the flow is inverted.
    pub certificate: Option<Certificate>,
}

/// Fits each problem twice, with its unlabelled rows and without, and draws what came of it. No names mean all problems.
/// `threads` fits run at a time.
///
/// The observer sees the steps of all fits together, and [`Phase::Fitted`](crate::Phase::Fitted) after each of them.
///
/// ```no_run
/// use flowgmm::demo::{self, ProblemName};
///
/// let demo = demo::run(&[ProblemName::Moons], 0, 2, &mut ())?;
/// assert!(demo.problems[0].gain > 0.0);
/// std::fs::write("report.html", demo.page.to_html()).unwrap();
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn run(names: &[ProblemName], seed: u64, threads: usize, observer: &mut dyn Observer) -> Result<Demo> {
    run_with(Preset::Auto, ToyLabels::Random, names, seed, threads, observer)
}

/// [`run`] with the settings of a preset: [`Preset::PaperToy`] with [`ToyLabels::Notebooks`] draws the paper's figures 1, 2 and 5
/// with the settings and labels of its authors.
pub fn run_with(
    preset: Preset,
    labels: ToyLabels,
    names: &[ProblemName],
    seed: u64,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Demo> {
    let wanted = |name: &ProblemName| names.is_empty() || names.contains(name);
    let names = ProblemName::ALL.into_iter().filter(wanted);
    let problems =
        names.map(|name| Problem::new(name, preset, labels, seed, observer)).collect::<Result<_>>()?;
    run_problems(problems, seed, threads, observer)
}

fn run_problems(
    problems: Vec<Problem>,
    seed: u64,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Demo> {
    let began = Instant::now();
    let pairs = solve::solve(problems, seed, threads, observer)?;
    let drawn = queue::in_order(threads, &pairs, |pair| match pair.problem.name.toy() {
        Some(toy) => toys::section(pair, toy, seed),
        None => digits::section(pair, seed),
    })?;
    let problems: Vec<Solved> = pairs.iter().map(Solved::of).collect();
    let mut tables = Vec::new();
    for pair in &pairs {
        tables.extend(pair.problem.tables()?);
    }
    let (sections, files): (Vec<_>, Vec<_>) =
        drawn.into_iter().map(|drawn| (drawn.section, drawn.files)).unzip();
    let seconds = began.elapsed().as_secs_f64();
    let page = page::page(&problems, sections, seed, seconds);
    Ok(Demo { seed, seconds, problems, page, files: files.concat(), tables })
}

impl Solved {
    fn of(pair: &Pair) -> Self {
        let Pair { problem, all, labelled } = pair;
        Self {
            dataset: problem.name,
            labels: problem.train.labelled().len(),
            unlabelled: problem.train.unlabelled().len(),
            test_rows: problem.test.n(),
            semi_supervised: FitScores::of(all),
            labelled_only: FitScores::of(labelled),
            gain: all.scores.accuracy - labelled.scores.accuracy,
        }
    }

    /// Seconds of both fits.
    pub fn seconds(&self) -> f64 {
        self.semi_supervised.seconds + self.labelled_only.seconds
    }
}

impl FitScores {
    fn of(fitted: &Fitted) -> Self {
        let certificate = fitted.model.provenance().certificate;
        Self { scores: fitted.scores.clone(), seconds: fitted.seconds, certificate }
    }
}

#[cfg(test)]
mod tests;
