//! Figures 1, 2 and 5: fits to toys by the settings of the authors' notebooks and by ours, with and without unlabelled points.
//!
//! A result is one line of `toys.jsonl`, written as soon as it is known; a fit whose line is there is not run again. The figures
//! share their fits: circles and pinwheel are in both 2 and 5.

use std::{fs, path::Path};

use flowgmm::{
    FitConfig, Observer, Preset,
    demo::{self, Demo, ProblemName, ToyLabels},
};
use serde::{Deserialize, Serialize};

use super::files::write;
use crate::{Error, Result, record::fingerprint};

/// The file of results.
pub(super) const FILE: &str = "toys.jsonl";
/// The first seed that is reported: no setting was chosen on it or on a later one.
pub const FIRST_SEED: u64 = 7000;

/// The settings that toys are fitted with, and which points have labels.
const SETTINGS: [(&str, Preset, ToyLabels); 3] = [
    ("paper-toy", Preset::PaperToy, ToyLabels::Notebooks),
    ("paper-toy-random", Preset::PaperToy, ToyLabels::Random),
    ("auto", Preset::Auto, ToyLabels::Random),
];

/// Both fits to one draw of a toy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToyRun {
    /// `paper-toy`: the authors' notebooks; `paper-toy-random`: the same with labels drawn at random; `auto`: ours.
    pub settings: String,
    /// The toy.
    pub toy: String,
    /// Seed of points, labels and fits.
    pub seed: u64,
    /// A fingerprint of the settings and of which points have labels.
    pub config: String,
    /// Test accuracy of the fit to all points.
    pub semi_supervised: f64,
    /// Test accuracy of the fit to the labelled points.
    pub labelled_only: f64,
    /// Seconds of both fits, each on one core.
    pub seconds: f64,
}

/// The runs in a directory of results; none if it has no file of them.
pub fn read_toy_runs(directory: &Path) -> Result<Vec<ToyRun>> {
    let path = directory.join(FILE);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| Error::BadLine {
            path: path.clone(),
            line: at + 1,
            why: error.to_string(),
        })
    };
    text.lines().enumerate().map(parse).collect()
}

/// Fits toys for `seeds` seeds from [`FIRST_SEED`] on, as far as `directory` does not have the results, and appends each result
/// to its `toys.jsonl` when it is there. Figures of the first seed go to `toys/SETTINGS`. Returns how many were fitted.
pub fn run_toys(
    toys: &[ProblemName],
    seeds: u64,
    threads: usize,
    directory: &Path,
    observer: &mut dyn Observer,
) -> Result<usize> {
    let mut fitted = 0;
    for seed in FIRST_SEED..FIRST_SEED + seeds {
        for (settings, preset, labels) in SETTINGS {
            let known = read_toy_runs(directory)?;
            let mut missing = Vec::new();
            for &toy in toys {
                let (config, problem) = demo::problem(preset, labels, toy, seed)?;
                // Where no label is chosen, random labels are the notebooks'.
                let same = settings == "paper-toy-random"
                    && problem == demo::problem(preset, ToyLabels::Notebooks, toy, seed)?.1;
                let config = config_of(&config, labels);
                let done = known.iter().any(|run| {
                    run.settings == settings
                        && run.toy == toy.name()
                        && run.seed == seed
                        && run.config == config
                });
                if !done && !same {
                    missing.push((toy, config));
                }
            }
            if missing.is_empty() {
                continue;
            }
            let names: Vec<ProblemName> = missing.iter().map(|(toy, _)| *toy).collect();
            let run = demo::run_with(preset, labels, &names, seed, threads, observer)?;
            append(directory, &run, settings, &missing)?;
            if seed == FIRST_SEED {
                write_figures(&run, &directory.join("toys").join(settings))?;
            }
            fitted += names.len();
        }
    }
    Ok(fitted)
}

fn config_of(config: &FitConfig, labels: ToyLabels) -> String {
    let text = serde_json::to_string(config).expect("plain data") + &format!("{labels:?}");
    fingerprint(text.bytes().map(u64::from))
}

fn append(directory: &Path, run: &Demo, settings: &str, of: &[(ProblemName, String)]) -> Result<()> {
    let path = directory.join(FILE);
    let mut text = fs::read_to_string(&path).unwrap_or_default();
    for solved in &run.problems {
        let (_, config) = of.iter().find(|(toy, _)| *toy == solved.dataset).expect("it was asked for");
        let line = ToyRun {
            settings: settings.into(),
            toy: solved.dataset.name().into(),
            seed: run.seed,
            config: config.clone(),
            semi_supervised: solved.semi_supervised.scores.accuracy,
            labelled_only: solved.labelled_only.scores.accuracy,
            seconds: (10.0 * solved.seconds()).round() / 10.0,
        };
        text += &(serde_json::to_string(&line).expect("plain data") + "\n");
    }
    write(&path, text.as_bytes())
}

fn write_figures(run: &Demo, directory: &Path) -> Result<()> {
    for (name, svg) in &run.files {
        write(&directory.join(name), svg.as_bytes())?;
    }
    Ok(())
}
