//! `flowgmm inspect`: the model card, and certificates of how exactly the flow inverts.

use std::path::PathBuf;

use flowgmm::{Certificate, Model, certify};
use semisup::{
    Classifier,
    ndarray::{Array2, Axis},
};
use serde_json::{Value, json};

use crate::{
    OnDevice, Threads,
    exit::Result,
    images::{self, RoundTrip},
    input::{self, Coder, Reading},
    output, text,
};

/// Rows that certificates are measured on.
const SAMPLES: usize = 256;
const DATA_ROWS: usize = 4096;
const IMAGES: usize = 256;

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Measure the certificate on the rows of this table too (4096 of them, evenly spaced, if there are more), or on these
    /// images (256), with their bits per pixel value
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
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
    let (x, _) = model.gmm().sample(SAMPLES, None, 1.0, &mut semisup::rng(0));
    let (data, images) = match &args.data {
        None => (None, None),
        Some(path) => on_data(&model, args, path).map(|(data, images)| (Some(data), images))?,
    };
    let certificates = Certificates {
        training: model.provenance().certificate,
        samples: certify(model.gmm(), x.view()),
        data,
        images,
    };
    if args.json {
        return output::print_json(&card(&model, &certificates));
    }
    output::print(&describe(&model, &certificates))
}

struct Certificates {
    training: Option<Certificate>,
    samples: Certificate,
    data: Option<Certificate>,
    images: Option<RoundTrip>,
}

/// How rows survive x -> z -> x, and of images also how many of their pixels do.
fn on_data(model: &Model, args: &Args, path: &std::path::Path) -> Result<(Certificate, Option<RoundTrip>)> {
    let sought = images::Sought { suffix: args.reading.suffix(), ..Default::default() };
    if let Some(images) = images::for_model(model, &args.model, path, &sought)? {
        let x = images.spread(IMAGES)?;
        let certificate = certify(model.gmm(), model.preprocess().apply(x.view()).view());
        return Ok((certificate, Some(images.round_trip(model, &x)?)));
    }
    let mut coder = Coder::new(model, &args.model, &args.reading)?;
    let x: Array2<f64> = coder.encode(&args.reading.all(path, &[])?)?.x;
    let n = x.nrows().min(DATA_ROWS);
    let rows: Vec<usize> = (0..n).map(|i| i * x.nrows() / n).collect();
    Ok((certify(model.gmm(), model.preprocess().apply(x.select(Axis(0), &rows).view()).view()), None))
}

fn card(model: &Model, certificates: &Certificates) -> Value {
    let provenance = model.provenance();
    json!({
        "classes": model.classes(),
        "columns": model.columns(),
        "texts": model.texts(),
        "encoding": model.encoding(),
        "images": model.layout(),
        "likelihood": likelihood(model),
        "temperature": model.temperature(),
        "decisions": model.decisions(),
        "preprocessing": model.preprocess().describe(),
        "likelihood_is_projected": model.likelihood_is_projected(),
        "architecture": model.gmm().spec(),
        "parameters": parameters(model),
        "version": provenance.version,
        "format": flowgmm::FORMAT,
        "seed": provenance.seed,
        "data_hash": provenance.data_hash,
        "n_labelled": provenance.n_labelled,
        "n_unlabelled": provenance.n_unlabelled,
        "config": provenance.config,
        "training": { "rollbacks": provenance.rollbacks, "last": model.history().epochs.last() },
        "certificates": {
            "training": certificates.training,
            "samples": certificates.samples,
            "data": certificates.data,
            "images": certificates.images,
        },
    })
}

fn describe(model: &Model, certificates: &Certificates) -> String {
    let provenance = model.provenance();
    let mut facts = vec![
        ("classes", format!("{}: {}", model.classes().len(), text::list(model.classes()))),
        match model.layout() {
            Some(layout) => ("images", images::describe(layout)),
            None => ("columns", format!("{}: {}", model.columns().len(), text::list(model.columns()))),
        },
        ("preprocessing", model.preprocess().describe()),
        ("architecture", architecture(model)),
        ("parameters", parameters(model).to_string()),
        (
            "trained on",
            format!("{} labelled, {} unlabelled rows", provenance.n_labelled, provenance.n_unlabelled),
        ),
        ("training", training(model)),
        ("data hash", provenance.data_hash.clone()),
        ("seed", provenance.seed.to_string()),
        ("version", format!("flowgmm {}, file format {}", provenance.version, flowgmm::FORMAT)),
    ];
    facts.push(("log p", likelihood(model)));
    facts.push(("temperature", model.temperature().to_string()));
    let mut certified = vec![("new samples", text::certificate(&certificates.samples))];
    if let Some(certificate) = &certificates.training {
        certified.insert(0, ("training rows", text::certificate(certificate)));
    }
    if let Some(certificate) = &certificates.data {
        certified.push(("rows of --data", text::certificate(certificate)));
    }
    if let Some(images) = &certificates.images {
        certified.push(("pixels of --data", images.describe()));
        certified.push(("bits per pixel value", format!("{:.3}", images.bits_per_dim)));
    }
    let reasons: Vec<(&str, String)> =
        model.decisions().iter().map(|d| (d.what.as_str(), format!("{} ({})", d.choice, d.why))).collect();
    let chosen =
        if reasons.is_empty() { String::new() } else { format!("\nchosen\n{}", text::facts(&reasons)) };
    format!("{}{chosen}\ninvertibility\n{}", text::facts(&facts), text::facts(&certified))
}

/// What log p(x) is the density of.
fn likelihood(model: &Model) -> String {
    use semisup::Likelihood;
    if model.layout().is_some() {
        return "of pixel values spread over their cells, padding included".into();
    }
    match model.encoding().map(semisup::Encoding::likelihood) {
        _ if model.likelihood_is_projected() => {
            "of the projected row, since what preprocessing drops has no variance".into()
        }
        Some(Likelihood::Bound { why }) => format!("a bound in the table's units: {why}"),
        Some(Likelihood::Exact) | None => "exact, in the table's units".into(),
    }
}

/// Layers and Gaussians.
pub fn architecture(model: &Model) -> String {
    let spec = model.gmm().spec();
    let kind = |layer: &flowgmm::bijection::BijectionSpec| {
        let value = serde_json::to_value(layer).expect("plain data");
        match &value {
            Value::String(kind) => kind.clone(),
            value => value["kind"].as_str().unwrap_or("layer").to_string(),
        }
    };
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for layer in &spec.flow.layers {
        match kinds.last_mut() {
            Some((last, n)) if *last == kind(layer) => *n += 1,
            _ => kinds.push((kind(layer), 1)),
        }
    }
    let layers = kinds.iter().map(|(kind, n)| format!("{n} x {kind}")).collect::<Vec<_>>().join(", ");
    format!(
        "flow of {layers} on {} dimensions; {} Gaussians for {} classes",
        spec.flow.dim,
        spec.mixture.n_components(),
        spec.mixture.n_classes()
    )
}

/// How training ended.
pub fn training(model: &Model) -> String {
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

/// Numbers the model consists of.
pub fn parameters(model: &Model) -> usize {
    model.gmm().thetas().iter().map(|theta| theta.len()).sum()
}
