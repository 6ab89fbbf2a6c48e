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
    let x = drawn(&model);
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

/// New rows in the flow's space; of images only what a picture can show, since pixels have a smallest and a largest value.
fn drawn(model: &Model) -> Array2<f64> {
    let Some(layout) = model.layout() else {
        return model.gmm().sample(SAMPLES, None, 1.0, &mut semisup::rng(0)).0;
    };
    let (x, _) = model.sample(SAMPLES, None, 1.0, &mut semisup::rng(0));
    let rows = x.rows().into_iter().flat_map(|row| layout.row(layout.picture(&row.to_vec())));
    let x = Array2::from_shape_vec(x.dim(), rows.map(f64::from).collect()).expect("as many pixels");
    model.preprocess().apply(x.view())
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
        return Ok((certificate, Some(images.round_trip(model, &x))));
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
        "class_shares": model.class_shares(),
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
    facts.push(("class shares", text::shares(model)));
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
    use flowgmm_data::Likelihood;
    if model.layout().is_some() {
        return "of pixel values spread over their cells, padding included".into();
    }
    match model.encoding().map(flowgmm_data::Encoding::likelihood) {
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
    let kinds: Vec<String> = spec.flow.layers.iter().map(kind).collect();
    let layers = repeated(&kinds);
    format!(
        "flow of {layers} on {} dimensions; {} Gaussians for {} classes",
        spec.flow.dim,
        spec.mixture.n_components(),
        spec.mixture.n_classes()
    )
}

/// `2 x a, 3 x (b, c)`: names in a row, and pairs of them.
fn repeated(names: &[String]) -> String {
    let mut parts = Vec::new();
    let mut rest = names;
    while !rest.is_empty() {
        let times =
            |length: usize| rest.chunks_exact(length).take_while(|part| *part == &rest[..length]).count();
        let length = if rest.len() > 2 && times(1) == 1 && times(2) > 1 { 2 } else { 1 };
        let (count, part) = (times(length), rest[..length].join(", "));
        parts.push(if length == 1 { format!("{count} x {part}") } else { format!("{count} x ({part})") });
        rest = &rest[count * length..];
    }
    parts.join(", ")
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

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn layers_that_repeat_are_counted() {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(repeated(&names("a a a")), "3 x a");
        assert_eq!(
            repeated(&names("l s m c m c m c s m c m c a a")),
            "1 x l, 1 x s, 3 x (m, c), 1 x s, 2 x (m, c), 2 x a"
        );
        assert_eq!(repeated(&names("a b")), "1 x a, 1 x b");
    }
}
