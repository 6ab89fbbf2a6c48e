//! Figure 4(a, b): straight lines in the latent space between two test images, of one class and of two, decoded.

use std::path::Path;

use flowgmm::{Model, contact_sheet, insight::path};
use flowgmm_datasets::{ImageSet, Subset};
use flowgmm_report::{LineChart, Series};
use ndarray::{Array2, s};
use serde_json::{Value, json};

use super::{
    files::{write, write_figure, write_json},
    models::{Labels, Models, layout, pixels, truth},
};
use crate::{Error, Result};

/// Images of a path that are shown, its ends among them.
const SHOWN: usize = 9;
/// Points between two of them at which log p(z) is computed.
const BETWEEN: usize = 4;
/// Labels of the model: the paper shows FlowGMM-cons with 1,000.
const LABELS: usize = 1000;

/// Joins pairs of test images, writes `figure4ab.json`, `figure4ab.png` and `figure4ab.svg` into `directory`, and returns what the
/// JSON says. Without pairs, the first two images of three classes and the first images of three pairs of classes are joined.
pub fn run_interpolation(
    set: &str,
    pairs: &[[usize; 2]],
    models: &mut Models,
    directory: &Path,
) -> Result<Value> {
    let test = models.images(set, Subset::Test)?;
    if let Some(row) = pairs.iter().flatten().find(|row| **row >= test.n) {
        return Err(Error::Plan(format!("image {row} of {}: images count from 0", test.n)));
    }
    let model = models.get(set, Labels::AndUnlabelled(LABELS))?;
    let pairs = if pairs.is_empty() { chosen(&test) } else { pairs.to_vec() };
    let (mut lines, mut sheet, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for pair in pairs {
        let (line, images, entry) = join(&model, &test, pair);
        lines.push(line);
        sheet.push((String::new(), images));
        entries.push(entry);
    }
    write(&directory.join("figure4ab.png"), &contact_sheet(&sheet, &layout(&test)?))?;
    write_figure(&directory.join("figure4ab.svg"), &chart(lines))?;
    let json = json!({ "set": set, "steps": models.steps, "paths": entries });
    write_json(&directory.join("figure4ab.json"), &json)?;
    Ok(json)
}

/// Pairs within the first three classes, then between one and the next.
fn chosen(test: &ImageSet) -> Vec<[usize; 2]> {
    let y = truth(test);
    let nth = |k: usize, n: usize| (0..test.n).filter(|&row| y[row] == k).nth(n);
    let within = (0..3).filter_map(|k| Some([nth(k, 0)?, nth(k, 1)?]));
    let between = (0..3).filter_map(|k| Some([nth(k, 0)?, nth(k + 1, 0)?]));
    within.chain(between).collect()
}

fn join(model: &Model, test: &ImageSet, pair: [usize; 2]) -> (Series, Array2<f64>, Value) {
    let ends = pixels(&test.select(&pair));
    let found = path(model, ends.row(0), ends.row(1), (SHOWN - 1) * BETWEEN + 1);
    let class = |at: usize| test.classes[usize::from(test.labels[pair[at]])].clone();
    let points = found.steps.iter().zip(&found.log_p_latent).map(|(step, log_p)| [*step, *log_p]).collect();
    let series = Series { name: format!("{} to {}", class(0), class(1)), points, ..Series::default() };
    let lowest = found.log_p_latent.iter().copied().fold(f64::INFINITY, f64::min);
    let ends = [found.log_p_latent[0], *found.log_p_latent.last().expect("two ends")];
    let entry = json!({
        "images": pair, "classes": [class(0), class(1)], "log_p_latent_at_ends": ends,
        // How far log p(z) falls below the lower of both ends.
        "dip": ends[0].min(ends[1]) - lowest,
    });
    let line = if class(0) == class(1) { series } else { series.dashed() };
    (line, found.x.slice(s![..;BETWEEN as isize, ..]).to_owned(), entry)
}

fn chart(series: Vec<Series>) -> LineChart {
    LineChart {
        title: "log p(z) along latent interpolations".into(),
        caption: "Dashed lines join images of two classes (figure 4a, b).".into(),
        x_label: "position along the path".into(),
        y_label: "nats".into(),
        series,
        ..LineChart::default()
    }
}
