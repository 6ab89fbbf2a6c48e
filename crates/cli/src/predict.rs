//! `flowgmm predict`: for each row a class, its probabilities, densities, distance to the boundary and typicality.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    Global, OnDevice,
    exit::Result,
    output::{self, TableOutput},
    progress::Progress,
    reading::ReadingArgs,
};

/// Arguments of `predict`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, in any order; others are ignored. `-` reads standard input. Or images, if the model
    /// was fitted to images: of any kind that `fit` reads, or one PNG or JPEG file
    file: PathBuf,
    /// File to write (.csv, .tsv, .parquet, .arrow, .jsonl or .json); `-` writes CSV to standard output. Columns:
    /// `image` (of images), `class`, `p_<class>` and `log_p_<class>` for each class, `log_p`, `boundary`, `typicality`
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let model = args.device.load(&args.model)?;
    let source = args.reading.source(&args.file);
    let mut progress = Progress::new(global.quiet);
    let mut chunks = flowgmm::predict(&model, &source)?.observed_by(&mut progress);
    let mut out = TableOutput::new(&args.out);
    let mut rows = 0;
    for chunk in &mut chunks {
        let chunk = chunk?;
        rows += chunk.predictions.n();
        out.write(chunk.predictions.to_frame(&model, &chunk.names)?)?;
    }
    output::warn(&chunks.into_warnings());
    out.finish()?;
    match global.json {
        true => output::print_json(&json!({ "rows": rows, "predictions": args.out.display().to_string() })),
        false => Ok(()),
    }
}
