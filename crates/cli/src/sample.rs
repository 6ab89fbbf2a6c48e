//! `flowgmm sample`: new rows from the model, of one class or of all.

use std::path::{Path, PathBuf};

use flowgmm::{Model, SampleRequest, contact_sheet, data::ImageLayout};
use serde_json::json;

use crate::{
    Global, OnDevice,
    exit::{Failure, Result},
    output::{self, TableOutput, check_writable, write_whole},
};

/// Arguments of `sample`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Number of rows; on a contact sheet, number of images of each class
    #[arg(long, value_name = "N", required_unless_present = "means")]
    n: Option<usize>,
    /// Only this class [default: classes as often as the model's prior says]
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Spread of the latent samples: 1 is the model's density, less is more typical
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = temperature, allow_negative_numbers = true)]
    temperature: f64,
    /// Of a model of images: f^-1 of the middle of every Gaussian instead of draws
    #[arg(long, conflicts_with_all = ["n", "temperature"])]
    means: bool,
    /// File to write (.csv, .tsv, .parquet, .arrow, .jsonl or .json), in the columns and units of the training table;
    /// `-` writes CSV to standard output. Of a model of images also .png: a contact sheet with a row for each class
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0, env = "FLOWGMM_SEED")]
    seed: u64,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let model = args.device.load(&args.model)?;
    let sheet = args.out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    match model.rows().layout() {
        Some(layout) if sheet => write_sheet(args, &model, layout),
        Some(_) if args.means => {
            Err(Failure::Usage("--means writes a picture: name the file .png".to_string()))
        }
        None if args.means || sheet => Err(Failure::Usage(format!(
            "{} was fitted to a table: contact sheets and --means are for models of images",
            args.model.display()
        ))),
        Some(_) | None => write_table(args, &model, global),
    }
}

fn write_table(args: &Args, model: &Model, global: &Global) -> Result<()> {
    let n = args.n.unwrap_or(1);
    let class = args.class.clone();
    let request = SampleRequest { n, class, temperature: args.temperature, seed: args.seed };
    let mut out = TableOutput::new(&args.out);
    for chunk in flowgmm::sample(model, &request)? {
        out.write(chunk.to_frame(model)?)?;
    }
    out.finish()?;
    match global.json {
        true => output::print_json(&json!({ "rows": n, "samples": args.out.display().to_string() })),
        false => Ok(()),
    }
}

fn write_sheet(args: &Args, model: &Model, layout: &ImageLayout) -> Result<()> {
    if args.n == Some(0) && !args.means {
        let what = "--n 0 leaves a contact sheet without images: ask for at least 1".to_string();
        return Err(Failure::Usage(what));
    }
    check_writable(Path::new(&args.out))?;
    let class = args.class.as_deref().map(|name| model.class(name)).transpose()?;
    let rows = match args.means {
        true => model.means_by_class(class),
        false => model.sample_by_class(class, args.n.unwrap_or(1), args.temperature, args.seed),
    };
    write_whole(&args.out, &contact_sheet(&rows, layout))?;
    let named = rows.iter().enumerate().map(|(at, (class, _))| format!("row {}: {class}\n", at + 1));
    output::print(&named.collect::<String>())
}

fn temperature(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number that is not negative".into()),
    }
}
