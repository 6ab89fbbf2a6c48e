//! `flowgmm predict`: for each row a class, its probabilities, densities, distance to the boundary and typicality.

use std::{num::NonZeroU8, panic::resume_unwind, path::PathBuf, sync::mpsc::sync_channel, thread};

use flowgmm::{Model, Predicted, PredictedChunks};

use crate::{
    Global, OnDevice, Posterior,
    exit::Result,
    files::{Files, Kind},
    interrupt,
    output::{self, TableArgs, TableOutput},
    progress::Progress,
    reading::ReadingArgs,
};

/// Arguments of `predict`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, in any order; `-` reads standard input, 'part-*.csv' several files. Or images
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
    let rows = write_beside(&mut chunks, &mut out, &model)?;
    let warnings = chunks.into_warnings();
    drop(progress);
    output::warn(&warnings);
    out.finish()?;
    args.table.conclude(global.json, "predictions", rows)
}

/// Writes chunks while the next ones are read and scored. Returns the number of rows.
fn write_beside(chunks: &mut PredictedChunks, out: &mut TableOutput, model: &Model) -> Result<usize> {
    thread::scope(|scope| {
        // One chunk is being written and one waits: memory stays flat.
        let (send, receive) = sync_channel::<Predicted>(1);
        let writer =
            scope.spawn(move || receive.iter().try_for_each(|chunk| out.write(chunk.to_frame(model)?)));
        let mut rows = 0;
        let read = chunks.map_while(|chunk| {
            let sent = chunk.map(|chunk| {
                rows += chunk.predictions.n();
                send.send(chunk).ok() // none if writing failed, which is told below
            });
            sent.transpose()
        });
        let read = read.collect::<flowgmm::Result<()>>();
        drop(send);
        writer.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        read?;
        Ok(rows)
    })
}
