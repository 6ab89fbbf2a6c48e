//! Our numbers, from committed results.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Serialize;
use serde_json::Value;

use super::{Cell, Item, Ours, ToyRun, toys::current_runs};
use crate::{MeanSd, Plan, Record, read_records};

/// A cell with both numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownCell {
    /// A method.
    pub row: &'static str,
    /// A dataset.
    pub column: &'static str,
    /// The paper's number.
    pub theirs: Option<f64>,
    /// Ours, or why there is none.
    pub ours: std::result::Result<OurNumber, String>,
    /// Digits after the point.
    #[serde(skip)]
    pub digits: usize,
}

/// One of our numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OurNumber {
    /// The mean over draws, or the only one.
    pub mean: f64,
    /// The standard deviation over draws, if there are several.
    pub sd: Option<f64>,
    /// Number of draws.
    pub draws: usize,
    /// The best of all runs by the accuracy on validation rows, as the paper reports it; absent without validation rows.
    pub best_by_validation: Option<f64>,
}

impl Item {
    /// The item's cells with our numbers, read below the directory of experiments.
    pub fn ours(&self, experiments: &Path) -> Vec<ShownCell> {
        let shown = |cell: &Cell| ShownCell {
            row: cell.row,
            column: cell.column,
            theirs: cell.theirs,
            ours: cell.ours.find(experiments),
            digits: cell.digits,
        };
        self.cells.iter().map(shown).collect()
    }
}

impl Ours {
    fn find(&self, experiments: &Path) -> std::result::Result<OurNumber, String> {
        match self {
            Self::Absent(why) => Err((*why).into()),
            Self::Json { file, pointer, factor } => {
                in_json(&experiments.join("results").join(file), pointer, *factor)
            }
            Self::Toys { settings, toy, labelled_only } => {
                of_toys(experiments, settings, toy, *labelled_only)
            }
            Self::ToyFits { toy, first } => of_toy_fits(experiments, toy, *first),
            Self::Plan { plan, dataset, learner } => in_plan(experiments, plan, dataset, learner),
        }
    }
}

fn in_json(path: &Path, pointer: &str, factor: f64) -> std::result::Result<OurNumber, String> {
    let text = fs::read_to_string(path).map_err(|_| "not run".to_string())?;
    let json: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let missing = || format!("{} has no {pointer}", path.display());
    let found = json.pointer(pointer).ok_or_else(missing)?;
    let of = |value: &Value| value.as_f64().map(|value| factor * value);
    // Several runs are an object of their mean, standard deviation and number.
    let number = match found {
        Value::Object(several) => OurNumber {
            mean: several.get("mean").and_then(of).ok_or_else(missing)?,
            sd: several.get("sd").and_then(of),
            draws: several.get("n").and_then(Value::as_u64).map_or(1, |n| n as usize),
            best_by_validation: None,
        },
        one => OurNumber { mean: of(one).ok_or_else(missing)?, sd: None, draws: 1, best_by_validation: None },
    };
    Ok(number)
}

fn of_toys(
    experiments: &Path,
    settings: &str,
    toy: &str,
    labelled_only: bool,
) -> std::result::Result<OurNumber, String> {
    let directory = experiments.join("results").join("paper");
    let runs = current_runs(&directory, settings, toy).map_err(|error| error.to_string())?;
    let accuracy = |run: &ToyRun| 100.0 * if labelled_only { run.labelled_only } else { run.semi_supervised };
    over_draws(&runs.iter().map(accuracy).collect::<Vec<f64>>())
}

/// Of the lines that `paper_toys.py` writes, those of five seeds.
fn of_toy_fits(experiments: &Path, toy: &str, first: u64) -> std::result::Result<OurNumber, String> {
    let path = experiments.join("results/paper/toys-fit.jsonl");
    let text = fs::read_to_string(&path).map_err(|_| "not run".to_string())?;
    let mut accuracies = Vec::new();
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()))?;
        let of = line["seed"].as_u64().is_some_and(|seed| (first..first + 5).contains(&seed));
        if line["toy"] == toy && of {
            let accuracy =
                line["accuracy"].as_f64().ok_or_else(|| format!("{}: no accuracy", path.display()))?;
            accuracies.push(100.0 * accuracy);
        }
    }
    over_draws(&accuracies)
}

fn over_draws(accuracies: &[f64]) -> std::result::Result<OurNumber, String> {
    let over = MeanSd::of(accuracies).ok_or("not run")?;
    let sd = (accuracies.len() > 1).then_some(over.sd);
    Ok(OurNumber { mean: over.mean, sd, draws: accuracies.len(), best_by_validation: None })
}

fn in_plan(
    experiments: &Path,
    name: &str,
    dataset: &str,
    learner: &str,
) -> std::result::Result<OurNumber, String> {
    let plan = Plan::read(&experiments.join(format!("{name}.toml"))).map_err(|error| error.to_string())?;
    let results = experiments.join("results").join(name).join("results.jsonl");
    let records = read_records(&results).unwrap_or_default();
    let of = plan.datasets.iter().find(|of| of.name == dataset);
    let of = of.ok_or_else(|| format!("the plan {name} has no dataset '{dataset}'"))?;
    let splits: Vec<String> = of.label_sources().iter().map(|labels| plan.split_name(of, labels)).collect();
    let family = format!("{learner}/");
    let mine = records.iter().filter(|record| {
        let cell = &record.cell;
        cell.dataset == dataset
            && splits.contains(&cell.split)
            && (cell.learner == learner || cell.learner.starts_with(&family))
    });
    summarise(mine, &plan.draw_numbers().collect::<Vec<u64>>()).ok_or_else(|| "not run".to_string())
}

/// Of each of these draws the setting that is best on validation rows, or the only one; over draws their mean, and the best by
/// validation. Of several records of a learner on a draw, say with other steps, the last one counts, as in the tables of plans.
fn summarise<'a>(records: impl Iterator<Item = &'a Record>, of: &[u64]) -> Option<OurNumber> {
    let mine = records.filter(|record| of.contains(&record.cell.draw));
    let latest: BTreeMap<(u64, &str), &Record> =
        mine.map(|record| ((record.cell.draw, record.cell.learner.as_str()), record)).collect();
    let mut draws: BTreeMap<u64, (Option<f64>, f64)> = BTreeMap::new();
    for record in latest.values() {
        let Some(scores) = record.scores() else { continue };
        let found = (record.validation, 100.0 * scores.accuracy);
        let best = draws.entry(record.cell.draw).or_insert(found);
        if found.0 > best.0 {
            *best = found;
        }
    }
    let accuracies: Vec<f64> = draws.values().map(|(_, accuracy)| *accuracy).collect();
    let over = MeanSd::of(&accuracies)?;
    let best = draws.values().filter_map(|(validation, accuracy)| Some((validation.as_ref()?, accuracy)));
    let best = best.max_by(|a, b| a.0.total_cmp(b.0)).map(|(_, accuracy)| *accuracy);
    Some(OurNumber {
        mean: over.mean,
        sd: (accuracies.len() > 1).then_some(over.sd),
        draws: accuracies.len(),
        best_by_validation: best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan left behind: learner, steps, draw, accuracy on validation and on test rows.
    fn record(learner: &str, steps: usize, draw: u64, validation: Option<f64>, accuracy: f64) -> Record {
        serde_json::from_value(serde_json::json!({
            "dataset": "MNIST", "labels": {"per_class": 10}, "learner": learner, "draw": draw,
            "settings": format!("steps: {steps}"), "split": "", "validation": validation,
            "outcome": {"scored": {"accuracy": accuracy, "balanced_accuracy": accuracy, "macro_f1": accuracy, "nll": null,
                "brier": 0.0, "ece": 0.0}},
            "fit_seconds": 1.0, "predict_seconds": 1.0, "peak_memory": null, "rows": [100, 0, 100], "seed": draw, "data": "",
            "plan": "", "version": "", "threads": 1, "date": ""
        }))
        .unwrap()
    }

    /// A plan whose steps were raised leaves the records of fewer steps in its file, and one of more draws those draws.
    #[test]
    fn the_last_record_of_a_draw_counts_and_draws_that_the_plan_no_longer_has_do_not() {
        let records = [
            record("flowgmm", 300, 0, None, 0.5),
            record("flowgmm", 300, 7, None, 0.1),
            record("flowgmm", 600, 0, None, 0.75),
            record("flowgmm", 600, 1, None, 0.25),
        ];
        let found = summarise(records.iter(), &[0, 1]).unwrap();
        assert_eq!((found.mean, found.draws), (50.0, 2));
    }

    #[test]
    fn of_a_grid_the_setting_that_is_best_on_validation_rows_counts() {
        let records = [
            record("knn/1", 0, 0, Some(0.5), 0.25),
            record("knn/10", 0, 0, Some(0.75), 0.5),
            record("knn/2", 0, 0, Some(0.625), 1.0),
            record("knn/1", 0, 1, Some(0.5), 0.75),
        ];
        let found = summarise(records.iter(), &[0, 1, 2]).unwrap();
        assert_eq!((found.mean, found.draws), (62.5, 2));
        assert_eq!(found.best_by_validation, Some(50.0));
    }
}
