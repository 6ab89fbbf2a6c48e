//! Figure 4(d): an activation of a middle layer is moved by alpha standard deviations of its channel, and the image is decoded
//! (eq. 8); beside it, where that is among the activations of the channel.

use std::path::Path;

use flowgmm::{
    Model, contact_sheet,
    insight::{ChannelHistogram, ChannelStatistics, Feature},
};
use flowgmm_datasets::Subset;
use flowgmm_report::{LineChart, Series};
use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde_json::{Value, json};

use super::{
    files::{write, write_figure, write_json},
    models::{Labels, Models, layout, pixels},
};
use crate::{Error, Result};

/// Training images that statistics are collected from.
const COLLECTED: usize = 1000;
/// Bars of the histogram.
const BARS: usize = 50;

/// What is moved, in which images.
#[derive(Clone, Debug)]
pub struct Moves {
    /// Layer, channel and place.
    pub feature: Feature,
    /// Standard deviations of the channel.
    pub alphas: Vec<f64>,
    /// Test images.
    pub images: Vec<usize>,
}

/// Moves a feature of the supervised model of a set, writes `figure4d.json`, `figure4d.png` (a row for each image, the image itself
/// first) and `figure4d.svg` into `directory`, as `figure4d-SET` for sets other than MNIST, and returns what the JSON says.
pub fn run_features(set: &str, moves: &Moves, models: &mut Models, directory: &Path) -> Result<Value> {
    let test = models.images(set, Subset::Test)?;
    if let Some(row) = moves.images.iter().find(|row| **row >= test.n) {
        return Err(Error::Plan(format!("image {row} of {}: images count from 0", test.n)));
    }
    let model = models.get(set, Labels::All)?;
    let train = models.images(set, Subset::Train)?;
    let seen = pixels(&train.select(&(0..COLLECTED.min(train.n)).collect::<Vec<usize>>()));
    let statistics = ChannelStatistics::collect(&model, seen.view());
    let histogram = statistics.histogram(&model, seen.view(), moves.feature, BARS)?;
    let x = pixels(&test.select(&moves.images));
    let rows = x.rows().into_iter().map(|row| {
        let moved = statistics.visualise(&model, moves.feature, &moves.alphas, row);
        let own = row.insert_axis(Axis(0));
        (String::new(), concatenate(Axis(0), &[own, moved.view()]).expect("images of one size"))
    });
    let rows: Vec<(String, Array2<f64>)> = rows.collect();
    let name = if set == "mnist" { "figure4d".to_string() } else { format!("figure4d-{set}") };
    let file = |kind: &str| directory.join(format!("{name}.{kind}"));
    write(&file("png"), &contact_sheet(&rows, &layout(&test)?))?;
    let before = activations(&model, &statistics, moves.feature, x.view())?;
    write_figure(&file("svg"), &chart(&histogram, &before, &moves.alphas))?;
    let Feature { layer, channel, place } = moves.feature;
    let json = json!({
        "set": set, "steps": models.steps, "layer": layer, "channel": channel, "place": place, "alphas": moves.alphas,
        "images": moves.images, "activations": before, "mean": histogram.mean, "sigma": histogram.sigma,
    });
    write_json(&file("json"), &json)?;
    Ok(json)
}

/// The activation of each image at the place, or its mean over places.
fn activations(
    model: &Model,
    statistics: &ChannelStatistics,
    feature: Feature,
    x: ArrayView2<f64>,
) -> Result<Vec<f64>> {
    let shape = statistics.layers[feature.layer - 1].shape;
    let area = shape.height * shape.width;
    let h = model.encode_to(feature.layer, x)?;
    let of = |h: ndarray::ArrayView1<f64>| match feature.place {
        Some((row, column)) => h[feature.channel * area + row * shape.width + column],
        None => h.iter().skip(feature.channel * area).take(area).sum::<f64>() / area as f64,
    };
    Ok(h.rows().into_iter().map(of).collect())
}

/// The activations of the channel as a staircase, and where the first image's is moved to.
fn chart(histogram: &ChannelHistogram, before: &[f64], alphas: &[f64]) -> LineChart {
    let tallest = histogram.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let steps = histogram.counts.iter().zip(histogram.edges.windows(2));
    let points = steps.flat_map(|(count, edges)| [0, 1].map(|end| [edges[end], *count as f64 / tallest]));
    let activations = Series { name: "activations".into(), points: points.collect(), ..Series::default() };
    let at = |alpha: &f64| before.first().map(|value| value + alpha * histogram.sigma);
    let marks = alphas.iter().filter_map(|alpha| {
        let x = at(alpha)?;
        Some(
            Series {
                name: format!("\u{3b1} = {alpha}"),
                points: vec![[x, 0.0], [x, 1.0]],
                ..Series::default()
            }
            .dashed(),
        )
    });
    LineChart {
        title: "Activations of the channel".into(),
        caption: "Over images and places; dashed, to where that of the first image is moved (figure 4d)."
            .into(),
        x_label: "activation".into(),
        y_label: "relative frequency".into(),
        series: std::iter::once(activations).chain(marks).collect(),
        ..LineChart::default()
    }
}
