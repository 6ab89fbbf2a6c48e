//! The `flowgmm` program: learn from many rows and few labels, then predict, evaluate, generate and inspect.
//!
//! ```text
//! arguments -> one module per command -> one call of the library `flowgmm` -> stdout / files
//! ```
//!
//! The program only arranges: arguments, settings, exit codes, progress, interrupts, output. It knows no mathematics.
//! Results go to stdout, everything else to stderr.
//!
//! ```
//! let program = flowgmm_cli::command(); // as help, manual pages and the book's reference know it
//! let fit = program.find_subcommand("fit").unwrap();
//! assert!(fit.get_arguments().any(|argument| argument.get_long() == Some("label")));
//! ```

mod bench;
mod calibrate;
mod columns;
mod config;
mod data;
mod demo;
mod evaluate;
mod exit;
mod explain;
mod export_onnx;
mod files;
mod fit;
mod inspect;
mod interrupt;
mod latent;
mod learner;
mod output;
mod paper;
mod predict;
mod progress;
mod reading;
mod reference;
mod sample;
mod serve;
mod text;
mod version;

use std::{ffi::OsString, num::NonZeroUsize, path::Path};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use flowgmm::{DeviceName, Model, tensor::Place};

use exit::{Failure, Result};

/// Learn from many rows and few labels: one model that classifies, gives probabilities, scores how typical a row is,
/// and generates new rows
#[derive(Parser)]
#[command(
    name = "flowgmm",
    version = version::SHORT,
    long_version = version::long(),
    arg_required_else_help = true,
    max_term_width = 100,
    disable_help_flag = true,
    after_help = exit::HELP
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Results on standard output as JSON: one object, or one for each row of a table
    #[arg(long, global = true)]
    json: bool,
    /// No progress on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say everything that is known
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Replace files of another kind
    #[arg(short, long, global = true)]
    force: bool,
    /// Threads to use [default: all cores]
    #[arg(short = 'j', long, global = true, value_name = "N", env = "FLOWGMM_THREADS", hide_env = true)]
    threads: Option<NonZeroUsize>,
    /// Log what happens inside to standard error: error, warn, info, debug or trace [default: off]
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        env = "FLOWGMM_LOG",
        hide_short_help = true,
        hide_long_help = true
    )]
    log: Option<String>,
    /// Print help
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort)]
    help: Option<bool>,
}

#[derive(Subcommand)]
enum Command {
    /// Fit the paper's toy problems and handwritten digits, and write a report with pictures
    #[command(after_help = "Example:\n  flowgmm demo moons digits --out demo")]
    Demo(demo::Args),
    /// Learn a model from a table in which some rows carry a label, or from images
    #[command(
        after_help = "Example:\n  flowgmm fit train.csv --label species --model iris.flow --report report.html\n\
                            All flags: flowgmm man fit"
    )]
    Fit(Box<fit::Args>),
    /// Give each row a class, probabilities, a log-likelihood and how typical it is
    #[command(after_help = "Example:\n  flowgmm predict iris.flow new.csv --keep id > predictions.csv\n\
                            All flags: flowgmm man predict\n\
                            Columns: class, p_<class>, log_p_<class>, log_p, boundary, typicality")]
    Predict(predict::Args),
    /// Compare a model's predictions with known labels
    #[command(after_help = "Example:\n  flowgmm evaluate iris.flow test.csv")]
    Evaluate(evaluate::Args),
    /// Fit a model's confidence to labelled rows that it has not seen
    #[command(after_help = "Example:\n  flowgmm calibrate iris.flow held-out.csv --out calibrated.flow")]
    Calibrate(calibrate::Args),
    /// Show on one page what a model does with rows, and how far to trust it
    #[command(after_help = "Example:\n  flowgmm explain iris.flow test.csv --out explain.html")]
    Explain(Box<explain::Args>),
    /// Generate new rows or images
    #[command(after_help = "Example:\n  flowgmm sample iris.flow -n 100 --class setosa > new.csv")]
    Sample(sample::Args),
    /// Map rows to the model's latent space: z = f(x)
    #[command(after_help = "Example:\n  flowgmm encode iris.flow rows.csv --out z.parquet")]
    Encode(latent::EncodeArgs),
    /// Map latent points back to rows: x = f^-1(z)
    #[command(after_help = "Example:\n  flowgmm decode iris.flow z.parquet > rows.csv")]
    Decode(latent::DecodeArgs),
    /// Show what a model file contains, and how exactly its flow inverts
    #[command(after_help = "Example:\n  flowgmm inspect iris.flow")]
    Inspect(inspect::Args),
    /// Write a model of numbers or of images as an ONNX file
    #[command(after_help = "Example:\n  flowgmm export-onnx iris.flow --out iris.onnx")]
    ExportOnnx(export_onnx::Args),
    /// Open a page to explore models, and serve them over HTTP
    #[command(after_help = "Example:\n  flowgmm serve iris.flow --data iris.csv\n\
                            All flags: flowgmm man serve")]
    Serve(Box<serve::Args>),
    /// Run learners against each other on equal splits, as a plan says, and write the tables
    #[command(after_help = "Example:\n  flowgmm bench experiments/table1.toml --data DIRECTORY")]
    Bench(bench::Args),
    /// Show the paper's tables and figures: ours beside theirs, and how each is made
    #[command(after_help = "Example:\n  flowgmm paper appendix-g --run")]
    Paper(paper::Args),
    /// List, fetch and check the datasets of the paper
    #[command(after_help = "Example:\n  flowgmm data get mnist")]
    Data(data::Args),
    /// Print a script that completes flowgmm's commands and flags in a shell
    #[command(
        after_help = "Example:\n  flowgmm completions bash > ~/.local/share/bash-completion/completions/flowgmm"
    )]
    Completions(reference::CompletionsArgs),
    /// Print the manual page of a command, with every flag
    #[command(
        after_help = "Example:\n  flowgmm man fit | man -l -\n  flowgmm man --out ~/.local/share/man/man1"
    )]
    Man(reference::ManArgs),
}

/// The commands and their arguments, as help, manual pages and the book's reference know them.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Runs the command with these arguments, the program's name first, and returns its exit code.
///
/// It takes the process for its own: it starts the global thread pool, replaces the panic hook and the handler of Ctrl-C, and
/// ends the process for `--help` and wrong arguments. The `flowgmm` binary and the console script of the Python package are
/// such processes; other programs call the library `flowgmm`.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let matches = Cli::command().get_matches_from(arguments);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    exit::conclude(|| {
        start_log(cli.global.log.as_deref())?;
        flowgmm::check_environment().map_err(Failure::Usage)?;
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
        Command::Fit(args) => args.config(),
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
        Command::Decode(args) => latent::decode(&args, &global),
        Command::ExportOnnx(args) => export_onnx::run(&args, &global),
        Command::Serve(args) => serve::run(&args, &global),
        Command::Bench(args) => bench::run(&args, &global),
        Command::Paper(args) => paper::run(&args, &global),
        Command::Data(args) => data::run(&args, &global),
        Command::Inspect(args) => inspect::run(&args, &global),
        Command::Completions(args) => reference::completions(&args, Cli::command()),
        Command::Man(args) => reference::man(&args, Cli::command(), &global),
    }
}

/// More threads than this for each core only get in each other's way.
const THREADS_PER_CORE: usize = 4;
/// So many are allowed on the smallest machine.
const MANY_THREADS: usize = 16;

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
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let most = (THREADS_PER_CORE * cores).max(MANY_THREADS);
        if threads > most {
            let what = format!("this machine has {cores} cores; use at most {most}");
            return Err(match (self.threads, config) {
                (None, Some(path)) => config::wrong(path, &format!("threads = {threads}: {what}")),
                _ => Failure::Usage(format!("--threads {threads}: {what}")),
            });
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|error| Failure::Internal(format!("cannot start {threads} threads: {error}")))
    }
}

/// What a command's predictions rest on.
#[derive(clap::Args)]
struct Posterior {
    /// Predict by the flow's own Bayes rule, without the trees beside it
    #[arg(long, hide_short_help = true)]
    pure_flow: bool,
}

impl Posterior {
    /// The model that predicts.
    fn of(&self, model: Model) -> Model {
        if self.pure_flow { model.pure_flow() } else { model }
    }
}

/// Where a command computes.
#[derive(clap::Args)]
struct OnDevice {
    /// Device to compute on: cpu, gpu, gpu:1 (the second GPU) or gpu-software [default: cpu]
    #[arg(long, value_name = "NAME", env = "FLOWGMM_DEVICE", hide_short_help = true)]
    device: Option<DeviceName>,
}

impl OnDevice {
    /// A model from its file, on the device asked for. `data` is the other file of the command.
    fn load(&self, path: &Path, data: Option<&Path>) -> Result<Model> {
        let place = Place::on(&self.device.unwrap_or_default()).map_err(flowgmm::Error::from)?;
        Model::load(path, &place).map_err(|error| match data {
            Some(data) if !files::is_model(path) && files::is_model(data) => Failure::Usage(format!(
                "the arguments are swapped: {} is a model, {} is not. The model comes first",
                text::path(data),
                text::path(path)
            )),
            _ => error.into(),
        })
    }
}
