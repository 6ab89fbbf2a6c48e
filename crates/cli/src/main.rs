//! The `flowgmm` program: learn from many rows and few labels, then predict, evaluate, generate and inspect.
//!
//! ```text
//! arguments -> one module per command -> one call of the library `flowgmm` -> stdout / files
//! ```
//!
//! The program only arranges: arguments, settings, exit codes, progress, interrupts, output. It knows no mathematics.
//! Results go to stdout, everything else to stderr.

mod bench;
mod calibrate;
mod columns;
mod config;
mod data;
mod demo;
mod evaluate;
mod exit;
mod explain;
mod fit;
mod inspect;
mod interrupt;
mod latent;
mod learner;
mod output;
mod predict;
mod progress;
mod reading;
mod sample;
mod text;

use std::{num::NonZeroUsize, path::Path, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use flowgmm::{DeviceName, Model, tensor::Place};

use exit::{Failure, Result};

/// Semi-supervised learning with normalizing flows: one model that classifies, gives probabilities, scores how
/// typical a row is, and generates new rows.
#[derive(Parser)]
#[command(name = "flowgmm", version, arg_required_else_help = true, after_help = exit::HELP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(clap::Args)]
struct Global {
    /// Threads to use [default: all cores]
    #[arg(long, global = true, value_name = "N", env = "FLOWGMM_THREADS")]
    threads: Option<NonZeroUsize>,
    /// One JSON object on standard output instead of text
    #[arg(long, global = true)]
    json: bool,
    /// No progress on stderr
    #[arg(long, global = true)]
    quiet: bool,
    /// Log what happens inside to stderr: error, warn, info, debug or trace [default: off]
    #[arg(long, global = true, value_name = "LEVEL", env = "FLOWGMM_LOG")]
    log: Option<String>,
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
    /// Map rows to the model's latent space: z = f(x)
    Encode(latent::EncodeArgs),
    /// Map latent points back to rows: x = f^-1(z)
    Decode(latent::DecodeArgs),
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
        start_log(cli.global.log.as_deref())?;
        run(cli, &matches)
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

fn run(cli: Cli, matches: &ArgMatches) -> Result<()> {
    let (_, matches) = matches.subcommand().expect("clap requires a command");
    let Cli { global, command } = cli;
    global.start_threads(match &command {
        Command::Fit(args) => args.config.as_deref(),
        _ => None,
    })?;
    match command {
        Command::Demo(args) => demo::run(&args, &global),
        Command::Fit(args) => fit::run(&args, &global, matches),
        Command::Predict(args) => predict::run(&args, &global),
        Command::Evaluate(args) => evaluate::run(&args, &global),
        Command::Calibrate(args) => calibrate::run(&args, &global),
        Command::Explain(args) => explain::run(&args, &global),
        Command::Sample(args) => sample::run(&args, &global),
        Command::Encode(args) => latent::encode(&args, &global),
        Command::Decode(args) => latent::decode(&args),
        Command::Bench(args) => bench::run(&args, &global),
        Command::Data(args) => data::run(&args, &global),
        Command::Inspect(args) => inspect::run(&args, &global),
    }
}

impl Global {
    /// The number of threads asked for here, or in a config file, or one for each core.
    fn threads(&self, config: Option<&Path>) -> usize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        // A file that cannot be read is reported where its settings are.
        let asked = || config.and_then(config::threads);
        self.threads.or_else(asked).unwrap_or_else(cores).get()
    }

    /// Gives every computation that follows this many threads. Results do not depend on it.
    fn start_threads(&self, config: Option<&Path>) -> Result<()> {
        let threads = self.threads(config);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|error| Failure::Internal(format!("cannot start {threads} threads: {error}")))
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
    /// A model from its file, on the device asked for.
    fn load(&self, path: &Path) -> Result<Model> {
        let place = Place::on(&self.device.unwrap_or_default()).map_err(flowgmm::Error::from)?;
        Ok(Model::load(path, &place)?)
    }
}
