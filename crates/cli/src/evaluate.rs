//! `flowgmm evaluate`: how good a model's predictions are where the truth is known.

use std::path::PathBuf;

use semisup::{Classifier, Scores};
use serde_json::json;

use crate::{OnDevice, Threads, exit::Result, input, output, text};

/// Arguments of `evaluate`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// CSV file with the model's columns and a label; rows without one are skipped. `-` reads standard input
    file: PathBuf,
    /// Column that holds the label
    #[arg(long, value_name = "COLUMN")]
    label: String,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let table = input::table(&args.file)?;
    let (data, skipped) = table.labelled(&args.label, model.columns(), model.classes())?;
    let log_probs = input::score(&model, data.x(), table.name(), 0)?.log_probs;
    let scores = Scores::from_log_probs(&log_probs, data.y());
    if args.json {
        let mut object = serde_json::to_value(&scores).expect("plain data");
        object["skipped_unlabelled"] = json!(skipped);
        object["classes"] = json!(model.classes());
        return output::print_json(&object);
    }
    let facts = text::facts(&[
        ("rows", format!("{} ({skipped} without a label skipped)", scores.n)),
        ("accuracy", text::percent(scores.accuracy)),
        ("balanced accuracy", text::percent(scores.balanced_accuracy)),
        ("negative log-likelihood", format!("{:.4} nats per label", scores.nll)),
        ("Brier score", format!("{:.4}", scores.brier)),
        ("calibration error (ECE)", format!("{:.4}", scores.ece)),
    ]);
    output::print(&format!("{facts}\n{}", confusion(model.classes(), &scores.confusion)))
}

/// The confusion matrix as text: a row for each true class.
fn confusion(classes: &[String], counts: &[Vec<usize>]) -> String {
    let head = ["true \\ predicted".to_string()].into_iter().chain(classes.iter().cloned()).collect();
    let rows = classes.iter().zip(counts).map(|(class, counts)| {
        [class.clone()].into_iter().chain(counts.iter().map(usize::to_string)).collect()
    });
    text::columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}
