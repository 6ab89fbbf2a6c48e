//! Items that are made here, and not by a plan: fits to toys, and draws of Gaussians.

use std::{fs, path::Path};

use flowgmm::{
    Observer, Preset,
    analysis::{GaussianDistances, gaussian_distances},
    demo::{self, Demo, ProblemName},
};
use flowgmm_report::{Grid, GridWidth, LineChart, Page, Plot as _, Section, Series};
use serde_json::{Map, Value, json};

use crate::{Error, MeanSd, Result};

/// The settings that toys are fitted with: the authors' notebooks, and ours.
const SETTINGS: [(&str, Preset); 2] = [("paper-toy", Preset::PaperToy), ("auto", Preset::Auto)];
/// Dimensions of appendix G's draws; 784 are the pixels of MNIST.
const DIMENSIONS: [usize; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 784];
/// Draws in each.
const DRAWS: usize = 4000;

/// Fits toys with the settings of the authors' notebooks and with ours, with their unlabelled points and without, for seeds 0 to
/// `seeds` - 1. Writes `NAME.json` into `directory`, and figures of seed 0 into `directory/NAME-SETTINGS`; returns what the JSON
/// says.
pub fn run_toys(
    name: &str,
    toys: &[ProblemName],
    seeds: u64,
    threads: usize,
    directory: &Path,
    observer: &mut dyn Observer,
) -> Result<Value> {
    let mut found = Map::new();
    for (settings, preset) in SETTINGS {
        let mut accuracies: Map<String, Value> = Map::new();
        let mut runs: Vec<Demo> = Vec::new();
        for seed in 0..seeds {
            runs.push(demo::run_with(preset, toys, seed, threads, observer)?);
        }
        if let Some(first) = runs.first() {
            write_figures(first, &directory.join(format!("{name}-{settings}")))?;
        }
        for (at, toy) in toys.iter().enumerate() {
            let of = |labelled_only: bool| {
                let accuracy = |run: &Demo| {
                    let solved = &run.problems[at];
                    let fit = if labelled_only { &solved.labelled_only } else { &solved.semi_supervised };
                    fit.scores.accuracy
                };
                several(&runs.iter().map(accuracy).collect::<Vec<f64>>())
            };
            let seconds: f64 = runs.iter().map(|run| run.problems[at].seconds()).sum();
            let entry =
                json!({ "semi_supervised": of(false), "labelled_only": of(true), "seconds": seconds });
            accuracies.insert(toy.name().into(), entry);
        }
        found.insert(settings.into(), Value::Object(accuracies));
    }
    let found = Value::Object(found);
    write_json(&directory.join(format!("{name}.json")), &found)?;
    Ok(found)
}

/// Mean, standard deviation, number and the values themselves.
fn several(values: &[f64]) -> Value {
    let over = MeanSd::of(values);
    json!({ "mean": over.map(|o| o.mean), "sd": over.map(|o| o.sd), "n": values.len(), "values": values })
}

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
    write(&directory.join(format!("{name}.html")), distances_page(&found).to_html().as_bytes())?;
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

fn write_figures(run: &Demo, directory: &Path) -> Result<()> {
    for (name, svg) in &run.files {
        write(&directory.join(name), svg.as_bytes())?;
    }
    write(&directory.join("report.html"), run.page.to_html().as_bytes())
}

fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value).expect("plain data") + "\n";
    write(path, text.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::io(directory))?;
    }
    flowgmm_core::atomic_write(path, bytes).map_err(Error::io(path))
}
