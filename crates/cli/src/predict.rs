//! `flowgmm predict`: for each row a class, its probabilities, densities, distance to the boundary and typicality.
//!
//! Rows stream through in batches, so memory does not depend on their number.

use std::path::{Path, PathBuf};

use flowgmm::{Model, Scores, analysis};
use flowgmm_data::{Cells, Column, Frame};
use flowgmm_tables::ColumnType;
use semisup::{Classifier, metrics::arg_max, ndarray::ArrayView2};

use crate::{
    OnDevice, Threads,
    exit::Result,
    images::{self, Images},
    input::{self, Coder, Guesses, Reading},
    output::TableOutput,
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
    reading: Reading,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let sought = images::Sought { suffix: args.reading.suffix(), ..Default::default() };
    if let Some(images) = images::for_model(&model, &args.model, &args.file, &sought)? {
        return of_images(&model, &images, &args.out);
    }
    let mut coder = Coder::new(&model, &args.model, &args.reading)?;
    let reader = args.reading.open(&args.file, &[])?;
    let name = reader.name().to_string();
    let mut guesses = Guesses::default();
    let mut out: Option<TableOutput> = None;
    for batch in reader {
        let batch = batch?;
        let encoded = coder.encode(&batch)?;
        let scores = input::score(&model, encoded.x.view(), &batch)?;
        guesses.add(&encoded);
        let columns = predictions(&model, encoded.x.view(), scores);
        let rows = Frame::new(batch.name(), columns, batch.lines().to_vec())?;
        let out = match &mut out {
            Some(out) => out,
            None => out.insert(TableOutput::create(&args.out, &types(&rows))?),
        };
        out.write(&rows)?;
    }
    guesses.warn(&name);
    out.map_or(Ok(()), TableOutput::finish)
}

/// The same for images, whose names come first.
fn of_images(model: &Model, images: &Images, out: &Path) -> Result<()> {
    let mut table: Option<TableOutput> = None;
    for stretch in images.stretches() {
        let x = images.rows(stretch.clone())?;
        let scores = images.score(model, &x, stretch.start)?;
        let names = images.names(stretch.clone()).iter().map(|name| Some(name.as_str())).collect();
        let mut columns = vec![Column { name: "image".into(), cells: Cells::Texts(names) }];
        columns.extend(predictions(model, x.view(), scores));
        let lines = stretch.map(|at| at as u64 + 1).collect();
        let rows = Frame::new(&images.name(), columns, lines)?;
        let table = match &mut table {
            Some(table) => table,
            None => table.insert(TableOutput::create(out, &types(&rows))?),
        };
        table.write(&rows)?;
    }
    table.map_or(Ok(()), TableOutput::finish)
}

/// What the model says about rows, as columns.
fn predictions(model: &Model, x: ArrayView2<f64>, scores: Scores) -> Vec<Column> {
    let classes = model.classes();
    let names = arg_max(scores.log_probs.view()).into_iter().map(|k| Some(classes[k].as_str()));
    let number = |name: String, values: Vec<f64>| Column { name, cells: Cells::Numbers(values) };
    let boundary = analysis::boundary(model.gmm(), model.preprocess().apply(x).view());
    let mut columns = vec![Column { name: "class".into(), cells: Cells::Texts(names.collect()) }];
    for (k, class) in classes.iter().enumerate() {
        columns.push(number(format!("p_{class}"), scores.log_probs.column(k).mapv(f64::exp).to_vec()));
    }
    for (k, class) in classes.iter().enumerate() {
        columns.push(number(format!("log_p_{class}"), scores.log_conditional.column(k).to_vec()));
    }
    let typicality = model.typicality(&scores.log_marginal);
    columns.push(number("log_p".into(), scores.log_marginal));
    columns.push(number("boundary".into(), boundary.iter().map(|b| b.distance).collect()));
    columns.push(number("typicality".into(), typicality));
    columns
}

/// The columns of a table and what they hold.
pub fn types(rows: &Frame) -> Vec<(String, ColumnType)> {
    let kind = |cells: &Cells| match cells {
        Cells::Numbers(_) => ColumnType::Number,
        Cells::Texts(_) => ColumnType::Text,
    };
    rows.columns().iter().map(|column| (column.name.clone(), kind(&column.cells))).collect()
}
