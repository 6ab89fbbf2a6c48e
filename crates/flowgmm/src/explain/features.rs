//! What the model looks at: channels of images (paper, section 6.3), columns of tables.

use std::time::Instant;

use flowgmm::insight::{ChannelStatistics, Feature};
use flowgmm_report::{Bar, Bars, Columns, Grid, Plot, Section};
use rand::seq::SliceRandom;
use semisup::{
    metrics::arg_max,
    ndarray::{Array2, Axis},
};
use serde_json::{Value, json};

use super::{Part, Subject};
use crate::fit_report::{percent, short, spread};

/// Images that tell the spread of channels.
const IMAGES: usize = 512;
/// Layers and channels shown.
const LAYERS: usize = 8;
const CHANNELS: usize = 10;
/// How far channels are moved, in standard deviations.
const ALPHAS: [f64; 9] = [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0];
const ALPHA: f64 = 3.0;
/// Rows whose columns are shuffled, columns that are, and columns shown.
const ROWS: usize = 1000;
const MOST: usize = 80;
const SHOWN: usize = 15;

/// The section.
pub fn part(subject: &Subject) -> Part {
    match subject.show.layout() {
        Some(_) => of_images(subject),
        None => of_columns(subject),
    }
}

fn of_images(subject: &Subject) -> Part {
    let (seen, model) = (&subject.seen, subject.model);
    let rows = spread(seen.rows.n(), IMAGES);
    let statistics = ChannelStatistics::collect(model, seen.rows.x.select(Axis(0), &rows).view());
    // A clear image: the one of middling distance from the boundary.
    let mut order: Vec<usize> = (0..seen.rows.n()).collect();
    order.sort_by(|&a, &b| seen.boundary[a].total_cmp(&seen.boundary[b]));
    let x = seen.rows.x.row(order[order.len() / 2]);
    let layers: Vec<usize> = spread(statistics.layers.len(), LAYERS).into_iter().map(|at| at + 1).collect();
    let feature = |layer: usize, channel: usize| Feature { layer, channel, place: None };
    let began = Instant::now();
    statistics.visualise(model, feature(statistics.layers.len(), 0), &[ALPHA], x);
    let milliseconds = 1e3 * began.elapsed().as_secs_f64();
    let widest = |layer: usize| {
        let spread = &statistics.layers[layer - 1].spread;
        let mut channels: Vec<usize> = (0..spread.len()).collect();
        channels.sort_by(|&a, &b| spread[b].total_cmp(&spread[a]).then(a.cmp(&b)));
        channels
    };
    let sheet = layers.iter().map(|&layer| {
        let mut images = Array2::zeros((0, x.len()));
        for &channel in widest(layer).iter().take(CHANNELS) {
            let image = statistics.visualise(model, feature(layer, channel), &[ALPHA], x);
            images.append(Axis(0), image.view()).expect("as many pixels");
        }
        (format!("layer {layer}"), images)
    });
    let sheet = subject.show.sheet(
        "Channels",
        "Each image has one channel of one layer raised by three standard deviations everywhere: the ten that vary most, \
         layer by layer.",
        sheet.collect(),
    );
    let ways = layers.iter().map(|&layer| {
        let channel = widest(layer)[0];
        (
            format!("layer {layer}, {channel}"),
            statistics.visualise(model, feature(layer, channel), &ALPHAS, x),
        )
    });
    let ways = subject.show.sheet(
        "One channel of each layer",
        "The channel that varies most, from four standard deviations below its value to four above; in the middle the image \
         as it is.",
        ways.collect(),
    );
    let section = Section {
        heading: "What features do".into(),
        text: format!(
            "x(\u{3b1}) = f\u{207b}\u{b9}(f(x) + \u{3b1} \u{3c3} \u{3b4}): a channel in the middle of the flow is moved and the \
             result decoded exactly. Early layers change pixels and edges, late ones the whole image. Statistics of all \
             channels come from one pass over {} images; one such image takes {milliseconds:.1} ms.",
            rows.len()
        ),
        grids: vec![Grid::of(Columns::One, vec![sheet.figure(), ways.figure()])],
        ..Section::default()
    };
    Part { section, json: Some(("channels", json!(statistics))) }
}

/// How many predictions change when a column is shuffled among the rows.
fn of_columns(subject: &Subject) -> Part {
    let heading = "Which columns matter".to_string();
    let (seen, model) = (&subject.seen, subject.model);
    let Some(encoding) = model.encoding().filter(|_| !subject.show.is_text()) else {
        let text = "The model reads embeddings of texts, whose numbers mean nothing by themselves.".into();
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    };
    let rows = spread(seen.rows.n(), ROWS);
    let x = seen.rows.x.select(Axis(0), &rows);
    let before: Vec<usize> = rows.iter().map(|&row| seen.predicted[row]).collect();
    let mut shuffled: Vec<usize> = (0..rows.len()).collect();
    shuffled.shuffle(&mut semisup::rng(subject.seed));
    let mut effects: Vec<(&String, f64)> = Vec::new();
    for name in subject.show.telling().iter().take(MOST) {
        let mut moved = x.clone();
        for (j, _) in encoding.features().iter().enumerate().filter(|(_, feature)| feature.column == *name) {
            shuffled.iter().enumerate().for_each(|(to, &from)| moved[[to, j]] = x[[from, j]]);
        }
        let after = arg_max(model.score(moved.view()).log_probs.view());
        let changed = before.iter().zip(after).filter(|(before, after)| *before != after).count();
        effects.push((name, changed as f64 / rows.len() as f64));
    }
    effects.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bar = |(name, share): &(&String, f64)| Bar {
        name: short(name, 22),
        value: *share,
        shown: percent(*share),
        colour: 0,
    };
    let bars = Bars {
        title: "Predictions that change when a column is shuffled".into(),
        caption: "Columns that say the same as others can be shuffled without effect though they tell much."
            .into(),
        bars: effects.iter().take(SHOWN).map(bar).collect(),
    };
    let section = Section {
        heading,
        text: format!(
            "The values of one column are dealt out anew among {} rows, everything else stays: how many predictions change? \
             {}",
            rows.len(),
            match subject.show.telling().len() {
                n if n > MOST =>
                    format!("Tried for the {MOST} of {n} columns that separate the classes most."),
                _ => String::new(),
            }
        ),
        grids: vec![Grid::of(Columns::Two, vec![bars.figure()])],
        ..Section::default()
    };
    let value: Vec<Value> =
        effects.iter().map(|(name, share)| json!({ "column": name, "changed": share })).collect();
    Part { section, json: Some(("columns", json!(value))) }
}
