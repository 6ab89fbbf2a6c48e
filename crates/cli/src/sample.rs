//! `flowgmm sample`: new rows from the model, of one class or of all.

use std::path::{Path, PathBuf};

use flowgmm::Model;
use flowgmm_data::{Cells, Column, Frame, Layout};
use semisup::{Classifier, ndarray::ArrayView2};

use crate::{
    OnDevice, Threads,
    exit::{Failure, Result},
    images::sheet,
    input,
    output::{self, TableOutput, check_writable, write_whole},
    predict::types,
};

/// Rows in memory at a time.
const BATCH: usize = 8192;

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
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let class = args.class.as_deref().map(|name| find_class(model.classes(), name)).transpose()?;
    if let Some(layout) = model.layout() {
        return of_images(args, &model, layout, class);
    }
    if args.means || is_sheet(&args.out) {
        return Err(Failure::Usage(format!(
            "{} was fitted to a table: contact sheets and --means are for models of images",
            args.model.display()
        )));
    }
    let encoding = input::encoding(&model, &args.model)?;
    write_table(args, &model, class, |x| Ok(encoding.decode(x)))
}

/// Draws rows and writes them batch by batch, as `decode` shows them.
fn write_table(
    args: &Args,
    model: &Model,
    class: Option<usize>,
    decode: impl Fn(ArrayView2<f64>) -> Result<Frame>,
) -> Result<()> {
    let mut rng = semisup::rng(args.seed);
    let mut out: Option<TableOutput> = None;
    let (mut done, wanted) = (0, args.n.unwrap_or(1));
    while done < wanted || out.is_none() {
        let n = (wanted - done).min(BATCH);
        let (x, classes) = model.sample(n, class, args.temperature, &mut rng);
        let rows = with_class(decode(x.view())?, &classes, model.classes())?;
        let out = match &mut out {
            Some(out) => out,
            None => out.insert(TableOutput::create(&args.out, &types(&rows))?),
        };
        out.write(&rows)?;
        done += n;
    }
    out.map_or(Ok(()), TableOutput::finish)
}

/// Images: a sheet, or a table of pixels.
fn of_images(args: &Args, model: &Model, layout: &Layout, class: Option<usize>) -> Result<()> {
    if is_sheet(&args.out) {
        if args.n == Some(0) && !args.means {
            return Err(Failure::Usage(
                "--n 0 leaves a contact sheet without images: ask for at least 1".into(),
            ));
        }
        check_writable(&args.out)?;
        let rows = match args.means {
            true => sheet::means(model, class),
            false => sheet::drawn(model, class, args.n.unwrap_or(1), args.temperature, args.seed),
        };
        write_whole(&args.out, &sheet::png(&rows, layout))?;
        let names: Vec<String> = rows.iter().map(|row| row.class.clone()).collect();
        let named = names.iter().enumerate().map(|(at, name)| format!("row {}: {name}\n", at + 1));
        return output::print(&named.collect::<String>());
    }
    if args.means {
        let what = "--means writes a picture: name the file .png".to_string();
        return Err(Failure::Usage(what));
    }
    write_table(args, model, class, |x| sheet::pixel_rows(x, layout))
}

fn is_sheet(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
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
