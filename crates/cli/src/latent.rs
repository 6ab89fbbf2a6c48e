//! `flowgmm encode` and `flowgmm decode`: rows to latent points, and latent points to rows.

use std::path::PathBuf;

use crate::{
    Global, OnDevice,
    exit::Result,
    files::{Files, Kind},
    interrupt,
    output::{self, TableArgs},
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
    #[command(flatten)]
    latent: LatentArgs,
}

/// Arguments of `decode`.
#[derive(clap::Args)]
pub struct DecodeArgs {
    /// Model file
    model: PathBuf,
    /// Table with columns z1, z2, ... as `encode` writes it
    file: PathBuf,
    #[command(flatten)]
    latent: LatentArgs,
}

/// What both ways take. Numbers are written with every digit, so that a round trip is exact.
#[derive(clap::Args)]
struct LatentArgs {
    /// Layers of the flow between the rows and the points; 0 is the preprocessed row [default: all]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs `encode`.
pub fn encode(args: &EncodeArgs, global: &Global) -> Result<()> {
    let EncodeArgs { model, file, latent } = args;
    latent.check(model, file, global)?;
    let model = latent.device.load(model, Some(file))?;
    let source = latent.reading.source(file);
    let mut progress = Progress::new(global.quiet);
    let mut chunks = flowgmm::encode(&model, &source, latent.layer)?.observed_by(&mut progress);
    let mut out = latent.table.open(global.json, None);
    let mut rows = 0;
    for chunk in &mut chunks {
        let chunk = chunk?.to_frame()?;
        rows += chunk.n();
        out.write(chunk)?;
    }
    let warnings = chunks.into_warnings();
    drop(progress);
    output::warn(&warnings);
    out.finish()?;
    latent.table.conclude(global.json, "points", rows)
}

/// Runs `decode`.
pub fn decode(args: &DecodeArgs, global: &Global) -> Result<()> {
    let DecodeArgs { model, file, latent } = args;
    latent.check(model, file, global)?;
    let model = latent.device.load(model, Some(file))?;
    let source = latent.reading.source(file);
    let mut out = latent.table.open(global.json, None);
    let mut rows = 0;
    for chunk in flowgmm::decode_table(&model, &source, latent.layer)? {
        interrupt::stop_if_wanted()?;
        let chunk = chunk?;
        rows += chunk.n();
        out.write(chunk)?;
    }
    out.finish()?;
    latent.table.conclude(global.json, "decoded", rows)
}

impl LatentArgs {
    fn check(&self, model: &PathBuf, file: &PathBuf, global: &Global) -> Result<()> {
        let files = Files::new(global.force).reads("MODEL", [model]).reads("FILE", [file]);
        files.writes("--out", self.table.path(), Kind::Table).check()?;
        interrupt::listen()
    }
}
