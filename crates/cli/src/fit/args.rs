//! Arguments of `fit`.

use std::{path::PathBuf, time::Duration};

use flowgmm::{Engine, Preset};

use clap::builder::ArgPredicate;

use super::{dataset::DatasetArgs, images::ImageArgs};
use crate::{OnDevice, columns::DeclaredArgs, reading::ReadingArgs};

/// Arguments of `fit`.
#[derive(clap::Args)]
#[command(next_help_heading = "Rows")]
pub struct Args {
    /// CSV, TSV, JSONL, Parquet, Arrow, NPY, NPZ, `-`, 'part-*.csv', a folder; or images
    #[arg(
        help_heading = "Arguments",
        required_unless_present = "dataset",
        default_value_if("dataset", ArgPredicate::IsPresent, ".")
    )]
    pub file: PathBuf,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    /// Column that holds the label; an empty cell means unlabelled
    #[arg(short, long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Value of the label column that means unlabelled, too
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub unlabelled_value: Vec<String>,
    /// More unlabelled rows with the same columns, or images
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    pub unlabelled: Vec<PathBuf>,
    /// Labelled rows to evaluate on at the end, and for nothing else
    #[arg(short, long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    #[command(flatten)]
    pub images: ImageArgs,
    #[command(flatten)]
    pub declared: DeclaredArgs,
    /// Column of running text, to be embedded by --encoder
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub text: Vec<String>,
    /// Print what each column is taken for, and exit
    #[arg(long, help_heading = "Columns")]
    pub print_schema: bool,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub settings: SettingArgs,
    #[command(flatten)]
    pub device: OnDevice,
}

/// What `fit` writes.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Model file to write
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["print_config", "print_schema", "learner"])]
    pub model: Option<PathBuf>,
    /// HTML report: what was chosen and how far to trust it; takes as long again
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["print_config", "print_schema"])]
    pub report: Option<PathBuf>,
    /// Directory for checkpoints, so that an interrupted fit can go on
    #[arg(long, value_name = "DIR", env = "FLOWGMM_CHECKPOINT", hide_env = true)]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint if there is one
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Time between checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true,
        env = "FLOWGMM_CHECKPOINT_EVERY", hide_short_help = true)]
    pub checkpoint_every: Duration,
    /// With --learner: class and probabilities of every row or image, those with a label too, in their order
    #[arg(long, value_name = "OUT", hide_short_help = true)]
    pub predictions: Option<PathBuf>,
    /// Memory that a fit to a table may take, such as 2G or 500M; of more rows than fit, a random part is held, labelled ones
    /// first, and training draws others from the disk of the checkpoint or the model [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = bytes, hide_short_help = true)]
    pub memory: Option<u64>,
}

/// How `fit` learns.
#[derive(clap::Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    /// Settings: auto (from the data), paper, paper-toy or reference-code
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "auto",
        env = "FLOWGMM_PRESET",
        hide_env = true,
        hide_default_value = true
    )]
    pub preset: Preset,
    /// Seed of all randomness [default: 0]
    #[arg(short, long, value_name = "N", env = "FLOWGMM_SEED", hide_env = true)]
    pub seed: Option<u64>,
    /// Training steps [default: as the data need]
    #[arg(long, value_name = "N", env = "FLOWGMM_STEPS", hide_env = true)]
    pub steps: Option<usize>,
    /// Predict by the flow's own Bayes rule, without trees beside it
    #[arg(long)]
    pub pure_flow: bool,
    /// TOML file with settings that differ from the defaults
    #[arg(short, long, value_name = "FILE", env = "FLOWGMM_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Print every setting and whether it was chosen, given or default, and exit
    #[arg(long)]
    pub print_config: bool,
    /// Another learner in FlowGMM's place, to compare with: any that `bench` knows
    #[arg(long, value_name = "NAME", hide_short_help = true, conflicts_with_all = ["model", "report", "config", "preset", "engine",
        "pure_flow", "device", "checkpoint", "print_config", "print_schema"])]
    pub learner: Option<String>,
    /// Code that computes couplings [default: fused]
    #[arg(
        long,
        value_name = "ENGINE",
        env = "FLOWGMM_ENGINE",
        hide_short_help = true,
        hide_long_help = true
    )]
    pub engine: Option<Engine>,
}

/// The least memory that may be asked for: less would not hold the program and a flow.
const LEAST_MEMORY: f64 = 100.0 * 1024.0 * 1024.0;

/// Bytes: `500M`, `2G`, `1.5GiB`, or a plain number.
fn bytes(text: &str) -> std::result::Result<u64, String> {
    let wanted = || "expected a size such as 500M or 2G".to_string();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(wanted()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wanted())? * 1024f64.powi(unit);
    match bytes >= LEAST_MEMORY {
        true => Ok(bytes as u64),
        false => Err("a fit needs 100M at least".into()),
    }
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}
