//! `flowgmm sample`: new rows from the model, of one class or of all.

use std::{
    num::NonZeroU8,
    path::{Path, PathBuf},
};

use flowgmm::{Model, SampleRequest, contact_sheet, data::ImageLayout};

use crate::{
    Global, OnDevice,
    exit::{Failure, Result},
    files::{Files, Kind},
    interrupt,
    output::{self, TableArgs, write_whole},
    text,
};

/// Arguments of `sample`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Number of rows; on a contact sheet, number of images of each class
    #[arg(short, long, value_name = "N", required_unless_present = "means")]
    n: Option<usize>,
    /// Only this class [default: classes as often as the model's prior says]
    #[arg(short, long, value_name = "NAME")]
    class: Option<String>,
    /// Factor of the latent standard deviation: 1 is the model's density, less is more typical (the paper's T is its square)
    #[arg(short, long, value_name = "T", default_value_t = 1.0, value_parser = temperature, allow_negative_numbers = true)]
    temperature: f64,
    /// Of a model of images: f^-1 of the mean of every Gaussian instead of draws; needs --out FILE.png
    #[arg(long, conflicts_with_all = ["n", "temperature"])]
    means: bool,
    /// Seed of the draws
    #[arg(short, long, value_name = "N", default_value_t = 0, env = "FLOWGMM_SEED", hide_env = true)]
    seed: u64,
    #[command(flatten)]
    table: TableArgs,
    /// Significant digits of numbers in text formats; 17 are exact
    #[arg(long, value_name = "N", default_value = "7", help_heading = "Output")]
    digits: NonZeroU8,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let sheet = args
        .table
        .path()
        .filter(|path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")));
    let kind = if sheet.is_some() { Kind::Picture } else { Kind::Table };
    let files = Files::new(global.force).reads("MODEL", [&args.model]);
    files.writes("--out", args.table.path(), kind).check()?;
    interrupt::listen()?;
    let model = args.device.load(&args.model, None)?;
    match (model.rows().layout(), sheet) {
        (Some(layout), Some(to)) => write_sheet(args, &model, layout, to),
        (Some(_), None) if args.means => {
            Err(Failure::Usage("--means writes a picture: name the file .png with --out".to_string()))
        }
        (None, sheet) if args.means || sheet.is_some() => Err(Failure::Usage(format!(
            "{} was fitted to a table: contact sheets and --means are for models of images",
            text::path(&args.model)
        ))),
        (_, None) => write_table(args, &model, global),
        (None, Some(_)) => unreachable!("refused above"),
    }
}

impl Args {
    /// What the library is asked for.
    fn request(&self) -> SampleRequest {
        let (n, class) = (self.n.unwrap_or(1), self.class.clone());
        SampleRequest { n, class, temperature: self.temperature, seed: self.seed }
    }
}

fn write_table(args: &Args, model: &Model, global: &Global) -> Result<()> {
    let request = args.request();
    let mut out = args.table.open(global.json, Some(args.digits));
    for chunk in flowgmm::sample(model, &request)? {
        interrupt::stop_if_wanted()?;
        out.write(chunk.to_frame(model)?)?;
    }
    out.finish()?;
    args.table.conclude(global.json, "samples", request.n)
}

fn write_sheet(args: &Args, model: &Model, layout: &ImageLayout, to: &Path) -> Result<()> {
    if args.n == Some(0) && !args.means {
        let what = "--n 0 leaves a contact sheet without images: ask for at least 1".to_string();
        return Err(Failure::Usage(what));
    }
    args.request().check()?;
    let class = args.class.as_deref().map(|name| model.class(name)).transpose()?;
    let rows = match args.means {
        true => model.means_by_class(class),
        false => model.sample_by_class(class, args.n.unwrap_or(1), args.temperature, args.seed),
    };
    write_whole(to, &contact_sheet(&rows, layout))?;
    let named =
        rows.iter().enumerate().map(|(at, (class, _))| format!("row {}: {}\n", at + 1, text::name(class)));
    output::print(&named.collect::<String>())
}

fn temperature(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number that is not negative".into()),
    }
}
