//! `flowgmm export-onnx`: a model for programs that have a run-time of ONNX.

use std::path::PathBuf;

use flowgmm::{Model, tensor::Place};
use serde_json::json;

use crate::{
    Global, Posterior,
    exit::Result,
    files::{Files, Kind},
    output, text,
};

/// Arguments of `export-onnx`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// ONNX file to write
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    out: PathBuf,
    #[command(flatten)]
    posterior: Posterior,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let files = Files::new(global.force).reads("MODEL", Some(&args.model));
    files.writes("--out", Some(&args.out), Kind::Onnx).check()?;
    let model = args.posterior.of(Model::load(&args.model, &Place::cpu())?);
    flowgmm::export_onnx(&model, &args.out)?;
    if global.json {
        return output::print_json(&json!({ "onnx": args.out.display().to_string() }));
    }
    let input = match model.rows().layout() {
        Some(layout) => format!(
            "x, bytes [n, {}, {}, {}]: pixel values of {} images",
            layout.channels,
            layout.height,
            layout.width,
            layout.describe()
        ),
        None => format!("x, {} numbers for each row", model.input_columns().len()),
    };
    output::print(&text::facts(&[
        ("input", input),
        ("outputs", "label, probabilities, log_p".into()),
        ("ONNX file", text::path(&args.out)),
    ]))
}
