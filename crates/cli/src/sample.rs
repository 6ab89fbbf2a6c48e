//! `flowgmm sample`: new rows from the model, of one class or of all.

use std::path::PathBuf;

use semisup::{Cells, Classifier, Column, Frame};

use crate::{
    OnDevice, Threads,
    exit::{Failure, Result},
    input,
    output::TableOutput,
    predict::types,
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
    /// File to write (.csv, .tsv, .parquet, .arrow, .jsonl or .json), in the columns and units of the training table;
    /// `-` writes CSV to standard output
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
    let encoding = input::encoding(&model, &args.model)?;
    let mut rng = semisup::rng(args.seed);
    let mut out: Option<TableOutput> = None;
    let mut done = 0;
    while done < args.n || out.is_none() {
        let n = (args.n - done).min(BATCH);
        let (x, classes) = model.sample(n, class, args.temperature, &mut rng);
        let rows = with_class(encoding.decode(x.view()), &classes, model.classes())?;
        let out = match &mut out {
            Some(out) => out,
            None => out.insert(TableOutput::create(&args.out, &types(&rows))?),
        };
        out.write(&rows)?;
        done += n;
    }
    out.map_or(Ok(()), TableOutput::finish)
}

/// The rows with their class as last column.
fn with_class(rows: Frame, classes: &[usize], names: &[String]) -> Result<Frame> {
    let name = free_name("class", &rows.column_names());
    let cells = Cells::Texts(classes.iter().map(|&k| Some(names[k].as_str())).collect());
    let mut columns = rows.columns().to_vec();
    columns.push(Column { name, cells });
    Ok(Frame::new(rows.name(), columns, rows.lines().to_vec())?)
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
