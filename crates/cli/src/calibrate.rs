//! `flowgmm calibrate`: the temperature (sigma^2 of the paper's section 6.1) that suits labelled rows best.

use std::path::PathBuf;

use semisup::Scores;
use serde_json::json;

use crate::{
    OnDevice, Threads,
    evaluate::{LabelledRows, labelled},
    exit::Result,
    input::{self, Reading, Truth},
    output::{self, check_writable},
    text,
};

/// Arguments of `calibrate`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns and a label, or images with labels: rows that the model was not fitted to
    file: PathBuf,
    #[command(flatten)]
    truth: Truth,
    /// Model file to write [default: the same]
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// One JSON object instead of text
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
    let out = args.out.as_ref().unwrap_or(&args.model);
    check_writable(out)?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let (label, labels) = (args.truth.label.as_deref(), args.truth.labels.as_deref());
    let LabelledRows { x, y, .. } = labelled(&model, &args.model, &args.file, label, &args.reading, labels)?;
    let before = Scores::from_log_probs(&model.score(x.view()).log_probs, &y);
    let model = model.calibrated(x.view(), &y);
    let after = Scores::from_log_probs(&model.score(x.view()).log_probs, &y);
    model.save(out)?;
    if args.json {
        return output::print_json(&json!({
            "rows": y.len(),
            "temperature": model.temperature(),
            "before": { "nll": before.nll, "ece": before.ece, "brier": before.brier },
            "after": { "nll": after.nll, "ece": after.ece, "brier": after.brier },
            "model": out.display().to_string(),
        }));
    }
    let change = |before: f64, after: f64| format!("{before:.4} -> {after:.4}");
    output::print(&text::facts(&[
        ("rows", y.len().to_string()),
        ("temperature", format!("{:.4}", model.temperature())),
        ("negative log-likelihood", change(before.nll, after.nll)),
        ("calibration error (ECE)", change(before.ece, after.ece)),
        ("Brier score", change(before.brier, after.brier)),
        ("model", out.display().to_string()),
    ]))
}
