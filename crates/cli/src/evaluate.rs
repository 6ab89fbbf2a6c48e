//! `flowgmm evaluate`: how good a model's predictions are where the truth is known.

use std::path::PathBuf;

use flowgmm::Evaluation;

use crate::{
    Global, OnDevice, Posterior,
    exit::Result,
    interrupt, output,
    progress::Progress,
    reading::{ReadingArgs, Truth},
    text,
};

/// Arguments of `evaluate`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns and a label; rows without one are skipped. Or images with labels
    file: PathBuf,
    #[command(flatten)]
    truth: Truth,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    posterior: Posterior,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    interrupt::listen()?;
    let model = args.posterior.of(args.device.load(&args.model, Some(&args.file))?);
    let source = args.truth.of(args.reading.source(&args.file));
    let found = flowgmm::evaluate(&model, &source, &mut Progress::new(global.quiet))?;
    output::warn(&found.warnings);
    match global.json {
        true => output::print_json(&found),
        false => output::print(&describe(&found)),
    }
}

fn describe(found: &Evaluation) -> String {
    let scores = &found.scores;
    let mut facts = vec![
        ("rows", format!("{} ({} without a label skipped)", scores.n, found.skipped_unlabelled)),
        ("accuracy", text::percent(scores.accuracy)),
        ("balanced accuracy", text::percent(scores.balanced_accuracy)),
        ("macro F1", text::percent(scores.macro_f1)),
        ("negative log-likelihood", format!("{:.4} nats per label", scores.nll)),
        ("Brier score", format!("{:.4}", scores.brier)),
        ("calibration error (ECE)", format!("{:.4}", scores.ece)),
    ];
    facts.extend(found.bits_per_dim.map(|bits| ("bits per pixel value", format!("{bits:.3}"))));
    format!("{}\n{}", text::facts(&facts), confusion(&found.classes, &scores.confusion))
}

/// The confusion matrix as text: a row for each true class.
fn confusion(classes: &[String], counts: &[Vec<usize>]) -> String {
    let shown = |class: &String| text::name(class).into_owned();
    let head = ["true \\ predicted".to_string()].into_iter().chain(classes.iter().map(shown)).collect();
    let rows = classes.iter().zip(counts).map(|(class, counts)| {
        [shown(class)].into_iter().chain(counts.iter().map(usize::to_string)).collect()
    });
    text::columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}
