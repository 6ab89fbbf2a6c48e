//! `flowgmm calibrate`: the temperature (sigma^2 of the paper's section 6.1) that suits labelled rows best.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    Global, OnDevice,
    exit::Result,
    files::{Files, Kind},
    interrupt, output,
    progress::Progress,
    reading::{ReadingArgs, Truth},
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
    /// Model file to write
    #[arg(short, long, value_name = "OUT", required_unless_present = "in_place", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace the model file by the calibrated one
    #[arg(long, conflicts_with = "out", help_heading = "Output")]
    in_place: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let out = args.out.as_ref().unwrap_or(&args.model);
    // In place, the model is what is to be replaced; the rows never are.
    let read = [("MODEL", Some(&args.model).filter(|_| !args.in_place)), ("FILE", Some(&args.file))];
    let files = Files::new(global.force);
    let files = read.into_iter().fold(files, |files, (argument, path)| files.reads(argument, path));
    files.writes(if args.in_place { "MODEL" } else { "--out" }, Some(out), Kind::Model).check()?;
    interrupt::listen()?;
    let model = args.device.load(&args.model, Some(&args.file))?;
    let source = args.truth.of(args.reading.source(&args.file));
    let found = flowgmm::calibrate(&model, &source, &mut Progress::new(global.quiet))?;
    output::warn(&found.warnings);
    found.model.save(out)?;
    let (before, after) = (&found.before, &found.after);
    if global.json {
        return output::print_json(&json!({
            "rows": after.n,
            "temperature": found.model.temperature(),
            "before": { "nll": before.nll, "ece": before.ece, "brier": before.brier },
            "after": { "nll": after.nll, "ece": after.ece, "brier": after.brier },
            "model": out.display().to_string(),
        }));
    }
    let change = |before: f64, after: f64| format!("{before:.4} -> {after:.4}");
    output::print(&text::facts(&[
        ("rows", after.n.to_string()),
        ("temperature", format!("{:.4}", found.model.temperature())),
        ("negative log-likelihood", change(before.nll, after.nll)),
        ("calibration error (ECE)", change(before.ece, after.ece)),
        ("Brier score", change(before.brier, after.brier)),
        ("model", text::path(out)),
    ]))
}
