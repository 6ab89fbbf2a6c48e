//! Figures 1, 2 and 5: fits to toys by the settings of the authors' notebooks and by ours, with and without unlabelled points.
//!
//! A result is one line of `toys.jsonl`, written as soon as it is known; a fit whose line is there is not run again. A line of other
//! settings than today's does not count, and is replaced. The figures share their fits: circles and pinwheel are in both 2 and 5.

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

/// The runs of a toy by settings of this name that are still the settings of today.
pub(super) fn current_runs(directory: &Path, settings: &str, toy: &str) -> Result<Vec<ToyRun>> {
    let runs = read_toy_runs(directory)?;
    let mine = runs.into_iter().filter(|run| run.settings == settings && run.toy == toy);
    let current =
        |run: &ToyRun| Ok(today(settings, toy, run.seed)?.is_some_and(|config| config == run.config));
    mine.filter_map(|run| current(&run).map(|current| current.then_some(run)).transpose()).collect()
}

/// The fingerprint of settings as they are today; `None` for a name of a toy or of settings that there is not.
fn today(settings: &str, toy: &str, seed: u64) -> Result<Option<String>> {
    let setting = SETTINGS.into_iter().find(|(name, ..)| *name == settings);
    let (Some((_, preset, labels)), Ok(toy)) = (setting, toy.parse::<ProblemName>()) else { return Ok(None) };
    let (config, _) = demo::problem(preset, labels, toy, seed)?;
    Ok(Some(config_of(&config, labels)))
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
    let seeds = || FIRST_SEED..FIRST_SEED + seeds;
    for setting in SETTINGS {
        for (&toy, seed) in toys.iter().flat_map(|toy| seeds().map(move |seed| (toy, seed))) {
            let (name, preset, labels) = setting;
            let Some(config) = missing(&read_toy_runs(directory)?, setting, toy, seed)? else { continue };
            let run = demo::run_with(preset, labels, &[toy], seed, threads, observer)?;
            append(directory, &run, name, &config)?;
            if seed == FIRST_SEED {
                write_figures(&run, &directory.join("toys").join(name))?;
            }
            fitted += 1;
        }
    }
    Ok(fitted)
}

/// A fingerprint of what a toy is fitted with, if its result is not known.
fn missing(
    known: &[ToyRun],
    (name, ..): (&str, Preset, ToyLabels),
    toy: ProblemName,
    seed: u64,
) -> Result<Option<String>> {
    let config = today(name, toy.name(), seed)?.expect("a toy and settings of the list");
    let is_it = |run: &ToyRun| {
        run.settings == name && run.toy == toy.name() && run.seed == seed && run.config == config
    };
    // Labels of the other toys are drawn at random in any case.
    let twice = name == "paper-toy-random" && !matches!(toy, ProblemName::Moons | ProblemName::Circles);
    Ok((!twice && !known.iter().any(is_it)).then_some(config))
}

fn config_of(config: &FitConfig, labels: ToyLabels) -> String {
    let text = serde_json::to_string(config).expect("plain data") + &format!("{labels:?}");
    fingerprint(text.bytes().map(u64::from))
}

fn append(directory: &Path, run: &Demo, settings: &str, config: &str) -> Result<()> {
    let mut runs = read_toy_runs(directory)?;
    for solved in &run.problems {
        let new = ToyRun {
            settings: settings.into(),
            toy: solved.dataset.name().into(),
            seed: run.seed,
            config: config.into(),
            semi_supervised: solved.semi_supervised.scores.accuracy,
            labelled_only: solved.labelled_only.scores.accuracy,
            seconds: (10.0 * solved.seconds()).round() / 10.0,
        };
        runs.retain(|run| (&run.settings, &run.toy, run.seed) != (&new.settings, &new.toy, new.seed));
        runs.push(new);
    }
    let lines = runs.iter().map(|run| serde_json::to_string(run).expect("plain data") + "\n");
    write(&directory.join(FILE), lines.collect::<String>().as_bytes())
}

fn write_figures(run: &Demo, directory: &Path) -> Result<()> {
    for (name, svg) in &run.files {
        write(&directory.join(name), svg.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_fitted_again() {
        let [notebooks, random, auto] = SETTINGS;
        let missing = |known: &[ToyRun], setting, toy, seed| missing(known, setting, toy, seed).unwrap();
        let moons = ProblemName::Moons;
        let config = missing(&[], notebooks, moons, 3).expect("nothing is known");
        let known = [ToyRun {
            settings: notebooks.0.into(),
            toy: moons.name().into(),
            seed: 3,
            config,
            semi_supervised: 1.0,
            labelled_only: 0.5,
            seconds: 1.0,
        }];
        assert_eq!(missing(&known, notebooks, moons, 3), None);
        assert!(missing(&known, notebooks, moons, 4).is_some(), "another seed");
        assert!(missing(&known, auto, moons, 3).is_some(), "other settings");
        assert!(missing(&known, random, moons, 3).is_some(), "other labels");
        let [run] = known;
        let changed = [ToyRun { config: "0".into(), ..run }];
        assert!(missing(&changed, notebooks, moons, 3).is_some(), "settings of another day");
        let pinwheel = ProblemName::Pinwheel;
        assert!(
            missing(&[], notebooks, pinwheel, 3).is_some() && missing(&[], random, pinwheel, 3).is_none()
        );
    }

    #[test]
    fn runs_of_other_settings_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let run = |seed, config: &str| ToyRun {
            settings: "auto".into(),
            toy: "moons".into(),
            seed,
            config: config.into(),
            semi_supervised: 1.0,
            labelled_only: 0.5,
            seconds: 1.0,
        };
        let own = today("auto", "moons", 5).unwrap().unwrap();
        let lines = [run(5, &own), run(6, "0"), ToyRun { settings: "gone".into(), ..run(7, &own) }];
        let text: String = lines.iter().map(|run| serde_json::to_string(run).unwrap() + "\n").collect();
        fs::write(directory.path().join(FILE), text).unwrap();
        assert_eq!(current_runs(directory.path(), "auto", "moons").unwrap(), [run(5, &own)]);
        assert!(current_runs(directory.path(), "gone", "moons").unwrap().is_empty());
        assert!(current_runs(directory.path(), "auto", "circles").unwrap().is_empty());
    }

    #[test]
    fn a_line_that_is_no_result_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read_toy_runs(directory.path()).unwrap().is_empty());
        fs::write(directory.path().join(FILE), "{}\n").unwrap();
        let error = read_toy_runs(directory.path()).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
