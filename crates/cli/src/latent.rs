//! `flowgmm encode` and `flowgmm decode`: rows to latent points, and latent points to rows.

use std::path::PathBuf;

use crate::{
    Global, OnDevice,
    exit::Result,
    output::{self, TableOutput},
    progress::Progress,
    reading::ReadingArgs,
};

/// Arguments of `encode`.
#[derive(clap::Args)]
pub struct EncodeArgs {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, or images
    file: PathBuf,
    /// File to write (.csv, .tsv, .parquet, .arrow, .jsonl or .json); `-` writes CSV to standard output. Columns: z1, z2, ...
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// Layers of the flow to go through; 0 is the preprocessed row [default: all]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Arguments of `decode`.
#[derive(clap::Args)]
pub struct DecodeArgs {
    /// Model file
    model: PathBuf,
    /// Table with columns z1, z2, ... as `encode` writes it
    file: PathBuf,
    /// File to write, in the columns and units of the training rows; `-` writes CSV to standard output
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// Layers of the flow that the points went through [default: all]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs `encode`.
pub fn encode(args: &EncodeArgs, global: &Global) -> Result<()> {
    let model = args.device.load(&args.model)?;
    let source = args.reading.source(&args.file);
    let mut progress = Progress::new(global.quiet);
    let mut chunks = flowgmm::encode(&model, &source, args.layer)?.observed_by(&mut progress);
    let mut out = TableOutput::new(&args.out);
    for chunk in &mut chunks {
        out.write(chunk?.to_frame()?)?;
    }
    output::warn(&chunks.into_warnings());
    out.finish()
}

/// Runs `decode`.
pub fn decode(args: &DecodeArgs) -> Result<()> {
    let model = args.device.load(&args.model)?;
    let source = args.reading.source(&args.file);
    let mut out = TableOutput::new(&args.out);
    for chunk in flowgmm::decode_table(&model, &source, args.layer)? {
        out.write(chunk?)?;
    }
    out.finish()
}
