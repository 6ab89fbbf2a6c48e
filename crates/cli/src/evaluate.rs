//! `flowgmm evaluate`: how good a model's predictions are where the truth is known.

use std::path::{Path, PathBuf};

use flowgmm::{Model, TextColumn};
use flowgmm_data::{Encoding, labels_of};
use semisup::{
    Classifier, Scores,
    ndarray::{Array2, Axis},
};
use serde_json::json;

use crate::{
    OnDevice, Threads,
    exit::Result,
    images,
    input::{self, Coder, Guesses, Reading, Truth, is_standard},
    output, text,
};

/// Arguments of `evaluate`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns and a label; rows without one are skipped. `-` reads standard input. Or images with
    /// labels, if the model was fitted to images
    file: PathBuf,
    #[command(flatten)]
    truth: Truth,
    #[command(flatten)]
    reading: Reading,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Rows with a label, as the model sees them.
pub struct LabelledRows {
    /// `[n, dim]`
    pub x: Array2<f64>,
    /// Their classes.
    pub y: Vec<usize>,
    /// Their lines in the file.
    pub lines: Vec<u64>,
    /// How many rows were skipped because they have no label.
    pub skipped: usize,
}

/// The labelled rows of a table, whose labels are in the column `label`, or of images, whose labels may be in the file
/// `labels`.
pub fn labelled(
    model: &Model,
    model_path: &Path,
    path: &Path,
    label: Option<&str>,
    reading: &Reading,
    labels: Option<&Path>,
) -> Result<LabelledRows> {
    let sought = images::Sought { labels, suffix: reading.suffix() };
    if let Some(images) = images::for_model(model, model_path, path, &sought)? {
        return images.labelled(model);
    }
    let label = label.ok_or_else(|| images::label_needed(path))?;
    let mut coder = Coder::new(model, model_path, reading)?;
    let mut all =
        LabelledRows { x: Array2::zeros((0, coder.dim())), y: Vec::new(), lines: Vec::new(), skipped: 0 };
    let mut guesses = Guesses::default();
    let reader = reading.open(path, &[label])?;
    let name = reader.name().to_string();
    for batch in reader {
        let batch = batch?;
        let y = labels_of(&batch, label, model.classes())?;
        let known: Vec<usize> = (0..batch.n()).filter(|&row| y[row].is_some()).collect();
        all.skipped += batch.n() - known.len();
        let batch = batch.select(&known);
        let encoded = coder.encode(&batch)?;
        input::score(model, encoded.x.view(), &batch)?;
        guesses.add(&encoded);
        all.x.append(Axis(0), encoded.x.view()).expect("as many columns");
        all.y.extend(y.into_iter().flatten());
        all.lines.extend(batch.lines());
    }
    if all.y.is_empty() {
        return Err(semisup::Error::NoLabels { name }.into());
    }
    guesses.warn(&name);
    Ok(all)
}

/// Looks at the first rows of a file that is to be evaluated on after a long fit, so that what is wrong with it is said
/// before. What can be read only once is left alone.
pub fn check_ahead(
    path: &Path,
    label: &str,
    classes: &[String],
    encoding: &Encoding,
    texts: &[TextColumn],
    reading: &Reading,
) -> Result<()> {
    if path.exists() && !path.is_file() || is_standard(path) {
        return Ok(());
    }
    if let Some(batch) = reading.open(path, &[label])?.next() {
        let batch = batch?;
        labels_of(&batch, label, classes)?;
        if texts.is_empty() {
            encoding.encode(&batch)?; // embedding texts would take its time
        }
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    args.threads.configure()?;
    let model = input::model(&args.model, &args.device.place()?)?;
    let LabelledRows { x, y, skipped, .. } = labelled(
        &model,
        &args.model,
        &args.file,
        args.truth.label.as_deref(),
        &args.reading,
        args.truth.labels.as_deref(),
    )?;
    let scores = Scores::from_log_probs(&model.score(x.view()).log_probs, &y);
    let bits = model.layout().map(|layout| images::bits(&model, layout, x.view()));
    if args.json {
        let mut object = serde_json::to_value(&scores).expect("plain data");
        object["skipped_unlabelled"] = json!(skipped);
        object["classes"] = json!(model.classes());
        if let Some(bits) = bits {
            object["bits_per_dim"] = json!(bits);
        }
        return output::print_json(&object);
    }
    let mut facts = vec![
        ("rows", format!("{} ({skipped} without a label skipped)", scores.n)),
        ("accuracy", text::percent(scores.accuracy)),
        ("balanced accuracy", text::percent(scores.balanced_accuracy)),
        ("macro F1", text::percent(scores.macro_f1)),
        ("negative log-likelihood", format!("{:.4} nats per label", scores.nll)),
        ("Brier score", format!("{:.4}", scores.brier)),
        ("calibration error (ECE)", format!("{:.4}", scores.ece)),
    ];
    facts.extend(bits.map(|bits| ("bits per pixel value", format!("{bits:.3}"))));
    output::print(&format!("{}\n{}", text::facts(&facts), confusion(model.classes(), &scores.confusion)))
}

/// The confusion matrix as text: a row for each true class.
fn confusion(classes: &[String], counts: &[Vec<usize>]) -> String {
    let head = ["true \\ predicted".to_string()].into_iter().chain(classes.iter().cloned()).collect();
    let rows = classes.iter().zip(counts).map(|(class, counts)| {
        [class.clone()].into_iter().chain(counts.iter().map(usize::to_string)).collect()
    });
    text::columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}
