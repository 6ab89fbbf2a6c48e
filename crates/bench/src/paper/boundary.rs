//! Figure 4(c): distances of unlabelled images to the decision boundary, of a model with and of one without unlabelled images.

use std::path::Path;

use flowgmm::{Model, analysis::boundary};
use flowgmm_datasets::Subset;
use flowgmm_report::Histogram;
use ndarray::ArrayView2;
use serde_json::{Value, json};

use super::{
    files::{write_figure, write_json},
    models::{Labels, Models, pixels},
};
use crate::Result;

/// Distances below this are counted, as in the paper.
const NEAR: f64 = 5.0;
/// Labels of both models.
const LABELS: usize = 1000;

/// Measures the first `rows` unlabelled training images of a set, writes `figure4c.json` and `figure4c.svg` into `directory`, and
/// returns what the JSON says.
pub fn run_boundary(set: &str, rows: usize, models: &mut Models, directory: &Path) -> Result<Value> {
    let train = models.images(set, Subset::Train)?;
    let shown = models.split(set, LABELS, train.n)?;
    let others: Vec<usize> = (0..train.n).filter(|row| !shown.contains(row)).take(rows).collect();
    let x = pixels(&train.select(&others));
    let (supervised, semi) =
        (models.get(set, Labels::Only(LABELS))?, models.get(set, Labels::AndUnlabelled(LABELS))?);
    let found =
        [("FlowGMM Sup", distances(&supervised, x.view())), ("FlowGMM-cons", distances(&semi, x.view()))];
    write_figure(&directory.join("figure4c.svg"), &histogram(&found))?;
    let near = |distances: &[f64]| distances.iter().filter(|distance| **distance < NEAR).count();
    let entry = |distances: &[f64]| {
        let count = near(distances);
        json!({ "nearer_than_5": count, "percent": 100.0 * count as f64 / distances.len().max(1) as f64 })
    };
    let json = json!({
        "set": set, "steps": models.steps, "images": x.nrows(),
        "supervised": entry(&found[0].1), "semi_supervised": entry(&found[1].1),
    });
    write_json(&directory.join("figure4c.json"), &json)?;
    Ok(json)
}

fn distances(model: &Model, x: ArrayView2<f64>) -> Vec<f64> {
    let found = boundary(model.gmm(), model.preprocess().apply(x).view());
    found.into_iter().map(|row| row.distance).collect()
}

fn histogram(found: &[(&str, Vec<f64>)]) -> Histogram {
    Histogram {
        title: "Distance of unlabelled images to the decision boundary".into(),
        caption: "In standard deviations of a class (figure 4c).".into(),
        x_label: "distance".into(),
        n_bins: 40,
        samples: found.iter().map(|(name, values)| (name.to_string(), values.clone())).collect(),
        first_colour: 0,
    }
}
