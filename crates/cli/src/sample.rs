//! `flowgmm sample`: new rows from the model, of one class or of all.

use std::path::PathBuf;

use semisup::Classifier;

use crate::{
    OnDevice, Threads,
    exit::{Failure, Result},
    input,
    output::{CsvOutput, number},
};

/// Rows in memory at a time.
const BATCH: usize = 8192;

/// Arguments of `sample`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Number of rows
    #[arg(long, value_name = "N")]
    n: usize,
    /// Only this class [default: classes as often as the model's prior says]
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Spread of the latent samples: 1 is the model's density, less is more typical
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = temperature, allow_negative_numbers = true)]
    temperature: f64,
    /// CSV file to write. `-` writes standard output
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0, env = "FLOWGMM_SEED")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let class = args.class.as_deref().map(|name| find_class(model.classes(), name)).transpose()?;
    let mut out = CsvOutput::create(&args.out)?;
    let class_column = free_name("class", model.columns());
    out.row(model.columns().iter().chain([&class_column]))?;
    let mut rng = semisup::rng(args.seed);
    let mut left = args.n;
    while left > 0 {
        let n = left.min(BATCH);
        let (x, classes) = model.sample(n, class, args.temperature, &mut rng);
        for (row, k) in x.rows().into_iter().zip(classes) {
            let values = row.iter().map(|&value| number(value));
            out.row(values.chain([model.classes()[k].clone()]))?;
        }
        left -= n;
    }
    out.finish()
}

fn find_class(classes: &[String], name: &str) -> Result<usize> {
    classes.iter().position(|class| class == name).ok_or_else(|| {
        let known = crate::text::list(classes);
        Failure::Usage(format!("the model has no class '{name}'. It knows {known}"))
    })
}

/// `name`, with as many underscores as it takes to differ from all columns.
fn free_name(name: &str, columns: &[String]) -> String {
    let mut name = name.to_string();
    while columns.contains(&name) {
        name.push('_');
    }
    name
}

fn temperature(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number that is not negative".into()),
    }
}
