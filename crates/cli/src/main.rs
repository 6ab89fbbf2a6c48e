//! The `flowgmm` program: learn from many rows and few labels, then predict, evaluate, generate and inspect.
//!
//! ```text
//! arguments -> one module per command -> libraries (semisup, flowgmm, flowgmm-report) -> stdout / files
//! ```
//!
//! The program only arranges; it knows no mathematics. Results go to stdout, everything else to stderr.

mod bench;
mod calibrate;
mod columns;
mod data;
mod demo;
mod evaluate;
mod exit;
mod explain;
mod fit;
mod fit_report;
mod images;
mod input;
mod inspect;
mod interrupt;
mod learners;
mod output;
mod predict;
mod progress;
mod rival;
mod sample;
mod settings;
mod text;
mod texts;

use std::{num::NonZeroUsize, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use flowgmm::{DeviceName, tensor::Place};

use exit::{Failure, Result};

/// Semi-supervised learning with normalizing flows: one model that classifies, gives probabilities, scores how
/// typical a row is, and generates new rows.
#[derive(Parser)]
#[command(name = "flowgmm", version, arg_required_else_help = true, after_help = exit::HELP)]
struct Cli {
    /// Log what happens inside to stderr: error, warn, info, debug or trace [default: off]
    #[arg(long, global = true, value_name = "LEVEL", env = "FLOWGMM_LOG")]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fit the toy problems of the paper and handwritten digits, and write a report with pictures
    Demo(demo::Args),
    /// Learn a model from a table in which some rows carry a label, or from images
    Fit(Box<fit::Args>),
    /// Give each row of a table, or each image, a class, class probabilities, a log-likelihood and how typical it is
    Predict(predict::Args),
    /// Compare a model's predictions with known labels
    Evaluate(evaluate::Args),
    /// Fit a model's confidence to labelled rows, so that its probabilities can be believed
    Calibrate(calibrate::Args),
    /// Show on one page what a model does with rows or images, and how far each prediction can be trusted
    Explain(Box<explain::Args>),
    /// Generate new rows or images
    Sample(sample::Args),
    /// Run learners against each other on equal splits, as a plan says, and write the tables
    Bench(bench::Args),
    /// List, fetch and check the datasets of the paper
    Data(data::Args),
    /// Show what a model file contains, and how exactly its flow inverts
    Inspect(inspect::Args),
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    exit::conclude(|| {
        start_log(cli.log.as_deref())?;
        run(cli.command, &matches)
    })
}

/// Sends events of this level and above to stderr.
fn start_log(level: Option<&str>) -> Result<()> {
    let Some(level) = level.filter(|level| !level.is_empty()) else { return Ok(()) };
    let level: tracing::level_filters::LevelFilter = level.parse().map_err(|_| {
        Failure::Usage(format!("unknown log level '{level}'; use off, error, warn, info, debug or trace"))
    })?;
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
    Ok(())
}

fn run(command: Command, matches: &ArgMatches) -> Result<()> {
    let (_, matches) = matches.subcommand().expect("clap requires a command");
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Fit(args) => fit::run(&args, matches),
        Command::Predict(args) => predict::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Sample(args) => sample::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Data(args) => data::run(&args),
        Command::Inspect(args) => inspect::run(&args),
    }
}

/// How many threads a command may use. Results do not depend on it.
#[derive(clap::Args)]
struct Threads {
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", env = "FLOWGMM_THREADS")]
    threads: Option<NonZeroUsize>,
}

impl Threads {
    /// The number asked for, or one for each core.
    fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(cores).get()
    }

    /// The number asked for here, or in a config file, or one for each core. A file that cannot be read is not this
    /// function's to report.
    fn among(&self, config: Option<&std::path::Path>) -> usize {
        let text = config.and_then(|path| std::fs::read_to_string(path).ok());
        let file = text.and_then(|text| text.parse::<toml::Table>().ok());
        let value = file.and_then(|file| usize::try_from(file.get("threads")?.as_integer()?).ok());
        match (self.threads, value) {
            (None, Some(threads)) if threads > 0 => threads,
            _ => self.count(),
        }
    }

    /// Gives every computation that follows this many threads.
    fn configure(&self) -> Result<()> {
        configure_threads(self.count())
    }
}

/// Where a command computes.
#[derive(clap::Args)]
struct OnDevice {
    /// Device to compute on: cpu, gpu, gpu:1 (the second GPU) or gpu-software [default: cpu]
    #[arg(long, value_name = "NAME", env = "FLOWGMM_DEVICE")]
    device: Option<DeviceName>,
}

impl OnDevice {
    /// The device asked for, ready for work.
    fn place(&self) -> Result<Place> {
        Ok(Place::on(&self.device.unwrap_or_default())?)
    }
}

/// Sets the number of threads of every computation that follows.
fn configure_threads(threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Failure::Internal(format!("cannot start {threads} threads: {error}")))
}
