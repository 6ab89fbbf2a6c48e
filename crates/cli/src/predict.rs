//! `flowgmm predict`: a class, its probabilities and log p(x) for each row, in bounded memory.

use std::path::PathBuf;

use semisup::{Classifier, metrics::arg_max};

use crate::{
    OnDevice, Threads,
    exit::Result,
    input,
    output::{CsvOutput, number},
};

/// Rows in memory at a time.
const BATCH: usize = 8192;

/// Arguments of `predict`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// CSV file with the model's columns, in any order; others are ignored. `-` reads standard input
    file: PathBuf,
    /// CSV file to write: `class`, `p_<class>` for each class, `log_p`. `-` writes standard output
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let (reader, name) = input::open(&args.file)?;
    let batches = semisup::stream_features(reader, &name, model.columns(), BATCH)?;
    let mut out = CsvOutput::create(&args.out)?;
    let probabilities = model.classes().iter().map(|class| format!("p_{class}"));
    out.row(["class".to_string()].into_iter().chain(probabilities).chain(["log_p".to_string()]))?;
    let mut done = 0;
    for x in batches {
        let x = x?;
        let scores = input::score(&model, x.view(), &name, done)?;
        let classes = arg_max(scores.log_probs.view());
        for ((k, log_probs), log_p) in
            classes.into_iter().zip(scores.log_probs.rows()).zip(scores.log_marginal)
        {
            let probabilities = log_probs.iter().map(|log_p| number(log_p.exp()));
            out.row([model.classes()[k].clone()].into_iter().chain(probabilities).chain([number(log_p)]))?;
        }
        done += x.nrows();
    }
    out.finish()
}
