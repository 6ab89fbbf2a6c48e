//! Appendix G: draws of Gaussians in growing dimensions.

use std::path::Path;

use flowgmm::analysis::{GaussianDistances, gaussian_distances};
use flowgmm_report::{Grid, GridWidth, LineChart, Page, Plot as _, Section, Series};
use serde_json::{Value, json};

use super::files::{write_json, write_page};
use crate::Result;

/// Dimensions of the draws; 784 are the pixels of MNIST.
const DIMENSIONS: [usize; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 784];
/// Draws in each.
const DRAWS: usize = 4000;

/// Appendix G: draws Gaussians in growing dimensions, writes `NAME.json` and `NAME.html` into `directory`, and returns what the JSON
/// says.
pub fn run_distances(name: &str, directory: &Path) -> Result<Value> {
    let found: Vec<GaussianDistances> =
        DIMENSIONS.iter().map(|&dim| gaussian_distances(dim, DRAWS, &mut semisup::rng(dim as u64))).collect();
    let entry = |at: &GaussianDistances| {
        let d = at.dim as f64;
        let numbers = json!({
            "own": at.own, "own_per_dim": at.own / d, "own_error": at.own_error,
            "other": at.other, "other_per_dim": at.other / d, "other_error": at.other_error,
            "posterior": at.posterior, "saturated": at.saturated, "draws": DRAWS,
        });
        (at.dim.to_string(), numbers)
    };
    let json = Value::Object(found.iter().map(entry).collect());
    write_json(&directory.join(format!("{name}.json")), &json)?;
    write_page(&directory.join(format!("{name}.html")), &distances_page(&found))?;
    Ok(json)
}

/// Distances and posteriors over the dimension, as a page.
pub fn distances_page(found: &[GaussianDistances]) -> Page {
    let curve = |name: &str, of: fn(&GaussianDistances) -> f64| Series {
        name: name.into(),
        points: found.iter().map(|at| [(at.dim as f64).log2(), of(at)]).collect(),
        ..Series::default()
    };
    let distances = LineChart {
        title: "Squared distance over D".into(),
        caption: "To its own mean D, to the other mean 3 D.".into(),
        x_label: "log2 D".into(),
        y_label: "squared distance / D".into(),
        series: vec![
            curve("to its own mean", |at| at.own / at.dim as f64),
            curve("to the other mean", |at| at.other / at.dim as f64),
        ],
        ..LineChart::default()
    };
    let posteriors = LineChart {
        title: "Posterior of its own component".into(),
        caption: "The mean over draws, and the share of draws above 0.99.".into(),
        x_label: "log2 D".into(),
        y_label: "probability".into(),
        series: vec![curve("mean", |at| at.posterior), curve("above 0.99", |at| at.saturated)],
        ..LineChart::default()
    };
    Page {
        title: "Distances between Gaussian samples".into(),
        lead: "Two means drawn from N(0, I) in D dimensions, and a sample of the first Gaussian (appendix G).".into(),
        sections: vec![Section {
            heading: "Distances and posteriors by dimension".into(),
            text: "Posteriors saturate as D grows: a mixture with random means assigns rows to classes as good as hard, \
                   which is why its temperature is learnt afterwards."
                .into(),
            grids: vec![Grid::of(GridWidth::Two, vec![distances.figure(), posteriors.figure()])],
            ..Section::default()
        }],
        ..Page::default()
    }
}
