//! `flowgmm demo`: what unlabelled rows are worth, on the paper's toy problems and on handwritten digits.
//!
//! Each problem is fitted twice, with its unlabelled rows and without. The fits are jobs of a queue, one core
//! each, so that they use all cores and give the same bits at any number of threads.

mod digits;
mod figures;
mod page;
mod progress;
mod queue;
mod toys;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::ValueEnum;
use flowgmm::{FitConfig, Fitter, Model, Recipe};
use flowgmm_data::{Cells, Column, Frame};
use ndarray::ArrayView2;
use semisup::{Classifier, Labelled, Scores, SemiSupervised, Toy};
use serde_json::{Value, json};

use crate::{
    Threads,
    exit::{Failure, Result},
    interrupt, output,
    predict::types,
    text,
};

pub use figures::losses;

use progress::{Progress, Watcher};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Problems to fit [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<Name>,
    /// Directory for the report and its figures
    #[arg(long, value_name = "DIR", default_value = "flowgmm-demo")]
    out: PathBuf,
    /// Seed of data, labels and fits
    #[arg(long, value_name = "N", default_value_t = 0, env = "FLOWGMM_SEED")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,
}

/// A problem of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Two half circles, 10 labels
    Moons,
    /// A circle within a circle, 11 labels
    Circles,
    /// Three arcs of a ring of eight Gaussians, 19 labels
    EightGaussians,
    /// Five bent arms, 13 labels
    Pinwheel,
    /// Handwritten digits, 8 x 8 pixels, 50 labels
    Digits,
}

/// Labels of each digit.
const DIGIT_LABELS: usize = 5;

/// Data to learn from, data to be scored on, and how to learn.
struct Problem {
    name: Name,
    train: SemiSupervised,
    test: Labelled,
    config: FitConfig,
}

/// Which rows a fit sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    All,
    Labelled,
}

/// A model and how well it does on test rows.
struct Fitted {
    model: Model,
    scores: Scores,
    seconds: f64,
}

/// A problem with both its fits.
struct Solved {
    problem: Problem,
    all: Fitted,
    labelled: Fitted,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    fs::create_dir_all(&args.out).map_err(Failure::io(&args.out))?;
    output::check_writable(&args.out.join("report.html"))?;
    interrupt::listen()?;
    let threads = args.threads.count();
    let solved = solve(problems(args), args.seed, threads, Progress::new(args.quiet))?;
    let drawn = queue::in_order(threads, &solved, |solved| match solved.problem.name.toy() {
        Some(toy) => toys::section(solved, toy, args.seed),
        None => digits::section(solved, args.seed),
    })?;
    let about = page::About { seed: args.seed, seconds: began.elapsed().as_secs_f64() };
    page::write(&args.out, &solved, drawn, &about)?;
    for solved in &solved {
        solved.problem.write_tables(&args.out)?;
    }
    let report = args.out.join("report.html").display().to_string();
    if args.json {
        return output::print_json(&json!({
            "seed": args.seed,
            "seconds": began.elapsed().as_secs_f64(),
            "report": report,
            "problems": solved.iter().map(Solved::to_json).collect::<Vec<_>>(),
        }));
    }
    let head = ["dataset", "labels", "unlabelled", "semi-supervised", "labelled only", "gain", "seconds"];
    let head = head.map(String::from).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(solved.iter().map(Solved::row)).collect();
    let table = text::columns(&rows);
    output::print(&format!("Test accuracy\n\n{table}\n{report} shows the pictures.\n"))
}

fn problems(args: &Args) -> Vec<Problem> {
    let wanted = |name: &Name| args.names.is_empty() || args.names.contains(name);
    Name::value_variants()
        .iter()
        .filter(|name| wanted(name))
        .map(|&name| Problem::new(name, args.seed))
        .collect()
}

/// Fits every problem twice; the largest first, so that no long fit is left over at the end.
fn solve(problems: Vec<Problem>, seed: u64, threads: usize, progress: Progress) -> Result<Vec<Solved>> {
    let mut jobs: Vec<(usize, Rows)> =
        (0..problems.len()).flat_map(|p| [(p, Rows::All), (p, Rows::Labelled)]).collect();
    jobs.sort_by_key(|&(p, rows)| (std::cmp::Reverse(problems[p].train.dim()), rows == Rows::Labelled));
    progress.expect(jobs.iter().map(|&(p, _)| problems[p].config.train.steps).sum());
    let fitted = queue::in_order(threads, &jobs, |&(p, rows)| {
        let fitted = problems[p].fit(rows, seed, &progress);
        if let Ok(fitted) = &fitted {
            progress.note(&format!("{} fitted with {rows} in {:.1} s", problems[p].name, fitted.seconds));
        }
        fitted
    })?;
    progress.finish();
    let mut by_job: Vec<_> = jobs.into_iter().zip(fitted).collect();
    by_job.sort_by_key(|&((p, rows), _)| (p, rows == Rows::Labelled));
    let mut fitted = by_job.into_iter().map(|(_, fitted)| fitted);
    let mut next = || fitted.next().expect("two fits of each problem");
    problems.into_iter().map(|problem| Ok(Solved { problem, all: next()?, labelled: next()? })).collect()
}

impl Name {
    fn toy(self) -> Option<Toy> {
        match self {
            Self::Moons => Some(Toy::Moons),
            Self::Circles => Some(Toy::Circles),
            Self::EightGaussians => Some(Toy::EightGaussians),
            Self::Pinwheel => Some(Toy::Pinwheel),
            Self::Digits => None,
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.toy().map_or("digits", Toy::name))
    }
}

impl std::fmt::Display for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::All => "all rows",
            Self::Labelled => "labelled rows only",
        })
    }
}

impl Problem {
    fn new(name: Name, seed: u64) -> Self {
        if let Some(toy) = name.toy() {
            let problem = toy.problem(seed);
            return Self { name, train: problem.train, test: problem.test, config: FitConfig::toy() };
        }
        let semisup::Problem { train, test } = semisup::digits_problem(DIGIT_LABELS, seed);
        let config = Recipe::choose(&train, seed).expect("the digits are valid data").config;
        Self { name, train, test, config }
    }

    /// The rows as tables, so that they can be tried with `fit`, `predict` and `evaluate`.
    fn write_tables(&self, directory: &Path) -> Result<()> {
        let Self { name, train, test, .. } = self;
        let label = |class: Option<usize>| class.map_or("", |k| &train.classes()[k]);
        let train_labels = train.y().iter().map(|&y| label(y));
        write_table(&directory.join(format!("{name}-train.csv")), train.columns(), train.x(), train_labels)?;
        let test_labels = test.y().iter().map(|&y| label(Some(y)));
        write_table(&directory.join(format!("{name}-test.csv")), test.columns(), test.x(), test_labels)
    }

    fn fit(&self, rows: Rows, seed: u64, progress: &Progress) -> Result<Fitted> {
        let began = Instant::now();
        let labelled;
        let data = match rows {
            Rows::All => &self.train,
            Rows::Labelled => {
                labelled = self.train.labelled_only();
                &labelled
            }
        };
        let mut watcher = Watcher::new(progress);
        let fitted = Fitter::new(&self.config, data, seed).run(&mut watcher);
        let model = fitted.map_err(|error| match error {
            flowgmm::Error::Interrupted { .. } => {
                Failure::Interrupted("interrupted; no report was written".into())
            }
            other => other.into(),
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let scores = Scores::from_log_probs(&model.log_probs(self.test.x()), self.test.y());
        Ok(Fitted { model, scores, seconds })
    }
}

impl Solved {
    fn gain(&self) -> f64 {
        self.all.scores.accuracy - self.labelled.scores.accuracy
    }

    fn seconds(&self) -> f64 {
        self.all.seconds + self.labelled.seconds
    }

    fn row(&self) -> Vec<String> {
        let train = &self.problem.train;
        vec![
            self.problem.name.to_string(),
            train.labelled().len().to_string(),
            train.unlabelled().len().to_string(),
            text::percent(self.all.scores.accuracy),
            text::percent(self.labelled.scores.accuracy),
            format!("{:+.1}", 100.0 * self.gain()),
            format!("{:.1}", self.seconds()),
        ]
    }

    fn to_json(&self) -> Value {
        let train = &self.problem.train;
        let fitted = |fitted: &Fitted| {
            json!({
                "scores": fitted.scores,
                "seconds": fitted.seconds,
                "certificate": fitted.model.provenance().certificate,
            })
        };
        json!({
            "dataset": self.problem.name.to_string(),
            "labels": train.labelled().len(),
            "unlabelled": train.unlabelled().len(),
            "test_rows": self.problem.test.n(),
            "semi_supervised": fitted(&self.all),
            "labelled_only": fitted(&self.labelled),
            "gain": self.gain(),
        })
    }
}

/// A CSV of rows with their labels in a last column `class`.
fn write_table<'a>(
    path: &Path,
    columns: &[String],
    x: ArrayView2<f64>,
    labels: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let values = |j: usize| Cells::Numbers(x.column(j).to_vec());
    let mut cells: Vec<Column> =
        columns.iter().enumerate().map(|(j, name)| Column { name: name.clone(), cells: values(j) }).collect();
    let labels = labels.map(|label| Some(label).filter(|label| !label.is_empty())).collect();
    cells.push(Column { name: "class".into(), cells: Cells::Texts(labels) });
    let rows = Frame::new(&path.display().to_string(), cells, (1..=x.nrows() as u64).collect())?;
    let mut out = output::TableOutput::create(path, &types(&rows))?;
    out.write(&rows)?;
    out.finish()
}
