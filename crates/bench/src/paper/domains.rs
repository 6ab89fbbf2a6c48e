//! Appendix F: log-likelihoods of images of three sets under a supervised model of one of them, the classes that other images are
//! taken for, and the image that is zero everywhere.

use std::path::Path;

use flowgmm::{Model, Predictions, bits_per_dim};
use flowgmm_datasets::{ImageSet, Subset};
use flowgmm_report::Histogram;
use ndarray::Array2;
use semisup::metrics::Detection;
use serde_json::{Map, Value, json};

use super::{
    files::{write_figure, write_json},
    models::{Labels, Models, pixels, truth},
};
use crate::Result;

/// Test images of each set.
const IMAGES: usize = 10_000;

/// Scores test images of `set` and of `others` under a model of all labels of `set`, writes `appendix-f-SET.json` and
/// `appendix-f-SET.svg` into `directory`, and returns what the JSON says.
pub fn run_domains(set: &str, others: &[&str], models: &mut Models, directory: &Path) -> Result<Value> {
    let model = models.get(set, Labels::All)?;
    let own = first(&models.images(set, Subset::Test)?);
    let scored = model.score(pixels(&own).view());
    let right = scored.classes().iter().zip(truth(&own)).filter(|(a, b)| *a == b).count();
    let mut found = Map::new();
    let mut samples = vec![(set.to_string(), scored.log_marginal.clone())];
    for other in others {
        let images = first(&models.images(other, Subset::Test)?);
        let strange = model.score(pixels(&images).view());
        found.insert(other.to_string(), of_domain(&model, &scored, &strange));
        samples.push((other.to_string(), strange.log_marginal));
    }
    let histogram = Histogram {
        title: format!("log p(x) under the model of {set}"),
        caption: "Test images of three sets, 10,000 of each (appendix F).".into(),
        x_label: "nats".into(),
        n_bins: 50,
        samples,
        first_colour: 0,
    };
    write_figure(&directory.join(format!("appendix-f-{set}.svg")), &histogram)?;
    let json = json!({
        "set": set, "steps": models.steps, "accuracy": right as f64 / own.n as f64,
        "bits_per_dim": bits_per_dim(&scored.log_marginal, own.dim()),
        "others": found, "zero": zero(&model, &scored, own.dim()),
    });
    write_json(&directory.join(format!("appendix-f-{set}.json")), &json)?;
    Ok(json)
}

fn first(set: &ImageSet) -> ImageSet {
    set.select(&(0..set.n.min(IMAGES)).collect::<Vec<usize>>())
}

/// How well raw likelihood tells them apart, and the share of images taken for each class.
fn of_domain(model: &Model, own: &Predictions, strange: &Predictions) -> Value {
    let surprise = |of: &Predictions| of.log_marginal.iter().map(|v| -v).collect::<Vec<f64>>();
    let mut counts = vec![0usize; model.gmm().n_classes()];
    strange.classes().into_iter().for_each(|k| counts[k] += 1);
    let n = strange.log_marginal.len().max(1) as f64;
    let shares = counts.iter().map(|count| 100.0 * *count as f64 / n);
    let median = |of: &Predictions| {
        let mut values = of.log_marginal.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    json!({
        "auroc": Detection::of(&surprise(own), &surprise(strange)).auroc,
        "median_log_p": median(strange), "median_log_p_of_own": median(own),
        "percent_by_class": model_classes(model).into_iter().zip(shares).map(|(k, s)| (k, json!(s))).collect::<Map<_, _>>(),
    })
}

/// The class of the image that is zero everywhere, and the share of the set's own images that are less likely.
fn zero(model: &Model, own: &Predictions, dim: usize) -> Value {
    let scored = model.score(Array2::zeros((1, dim)).view());
    let log_p = scored.log_marginal[0];
    let below = own.log_marginal.iter().filter(|v| **v < log_p).count();
    json!({
        "class_number": scored.classes()[0], "class": model_classes(model)[scored.classes()[0]], "log_p": log_p,
        "percent_less_likely": 100.0 * below as f64 / own.log_marginal.len().max(1) as f64,
    })
}

fn model_classes(model: &Model) -> Vec<String> {
    use semisup::Classifier as _;
    model.classes().to_vec()
}
