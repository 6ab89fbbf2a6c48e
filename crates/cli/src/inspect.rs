//! `flowgmm inspect`: the model card, and certificates of how exactly the flow inverts.

use std::path::PathBuf;

use flowgmm::{Card, Model, PixelRoundTrip};

use crate::{
    Global, OnDevice, exit::Result, interrupt, output, progress::Progress, reading::ReadingArgs, text,
};

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Rows or images to measure the round trip x -> z -> x on, too
    #[arg(short, long, value_name = "FILE")]
    data: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    interrupt::listen()?;
    let model = args.device.load(&args.model, args.data.as_deref())?;
    let data = args.data.as_ref().map(|path| args.reading.source(path));
    let card = flowgmm::card(&model, data.as_ref(), &mut Progress::new(global.quiet))?;
    output::warn(&card.warnings);
    match global.json {
        true => output::print_json(&card),
        false => output::print(&describe(&model, &card)),
    }
}

fn describe(model: &Model, card: &Card) -> String {
    let named = |names: &[String]| format!("{}: {}", names.len(), text::list(names));
    let mut facts = vec![
        ("classes", named(&card.classes)),
        match card.rows.layout() {
            Some(_) => ("images", card.rows.describe()),
            None => ("columns", named(&card.columns)),
        },
        ("preprocessing", card.preprocessing.clone()),
        ("architecture", model.describe_architecture()),
        ("parameters", card.parameters.to_string()),
        ("trained on", format!("{} labelled, {} unlabelled rows", card.n_labelled, card.n_unlabelled)),
        ("training", training(model)),
        ("data hash", card.data_hash.clone()),
        ("seed", card.seed.to_string()),
        ("version", format!("flowgmm {}, file format {}", card.version, card.format)),
        ("log p", card.likelihood.clone()),
        ("temperature", card.temperature.to_string()),
        ("class shares", text::shares(model)),
        ("expect", text::expected(model)),
        ("to improve", text::improvement(model).unwrap_or_default()),
    ];
    let certificates = &card.certificates;
    let mut certified = Vec::new();
    let certificate = |found: &flowgmm::Certificate| found.describe(model.rows().noun());
    certified.extend(certificates.training.iter().map(|found| ("training rows", certificate(found))));
    certified.push(("new samples", certificate(&certificates.samples)));
    certified.extend(certificates.data.iter().map(|found| ("rows of --data", certificate(found))));
    if let Some(images) = &certificates.images {
        certified.push(("pixels of --data", pixels(images)));
        certified.push(("bits per pixel value", format!("{:.3}", images.bits_per_dim)));
    }
    let reasons: Vec<(&str, String)> =
        card.decisions.iter().map(|d| (d.what.as_str(), text::decision(d))).collect();
    let chosen =
        if reasons.is_empty() { String::new() } else { format!("\nchosen\n{}", text::facts(&reasons)) };
    facts.retain(|(_, value)| !value.is_empty());
    format!("{}{chosen}\ninvertibility\n{}", text::facts(&facts), text::facts(&certified))
}

fn pixels(found: &PixelRoundTrip) -> String {
    format!(
        "{} come back exactly after x -> z -> x (largest difference {:.1e} of 255) in {} images",
        text::percent(found.exact),
        found.largest,
        found.images
    )
}

/// How training ended.
fn training(model: &Model) -> String {
    let rollbacks = model.provenance().rollbacks;
    match model.history().epochs.last() {
        None => "no record".into(),
        Some(last) => format!(
            "{} steps; at the end loss {:.4}, labelled accuracy {}; {rollbacks} roll-backs",
            last.step,
            last.loss,
            text::percent(last.labelled_accuracy)
        ),
    }
}
