//! `flowgmm predict`: for each row a class, its probabilities, densities, distance to the boundary and typicality.

use std::{num::NonZeroU8, path::PathBuf};

use crate::{
    Global, OnDevice, Posterior,
    exit::Result,
    files::{Files, Kind},
    interrupt,
    output::{self, TableArgs},
    progress::Progress,
    reading::ReadingArgs,
};

/// Arguments of `predict`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, in any order; `-` reads standard input. Or images
    file: PathBuf,
    #[command(flatten)]
    table: TableArgs,
    /// Columns of the table to carry through, such as ids: --keep id,date
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Output")]
    keep: Vec<String>,
    /// Significant digits of numbers in text formats; 17 are exact
    #[arg(long, value_name = "N", default_value = "7", help_heading = "Output")]
    digits: NonZeroU8,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    posterior: Posterior,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let files = Files::new(global.force).reads("MODEL", [&args.model]).reads("FILE", [&args.file]);
    files.writes("--out", args.table.path(), Kind::Table).check()?;
    interrupt::listen()?;
    let model = args.posterior.of(args.device.load(&args.model, Some(&args.file))?);
    let source = args.reading.source(&args.file).keep(&args.keep);
    let mut progress = Progress::new(global.quiet);
    let mut chunks = flowgmm::predict(&model, &source)?.observed_by(&mut progress);
    let mut out = args.table.open(global.json, Some(args.digits));
    let mut rows = 0;
    for chunk in &mut chunks {
        let chunk = chunk?;
        rows += chunk.predictions.n();
        out.write(chunk.to_frame(&model)?)?;
    }
    let warnings = chunks.into_warnings();
    drop(progress);
    output::warn(&warnings);
    out.finish()?;
    args.table.conclude(global.json, "predictions", rows)
}
