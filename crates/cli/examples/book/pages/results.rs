//! The committed results: JSON files, and what plans gave.

use std::{
    fs,
    path::{Path, PathBuf},
};

use flowgmm_bench::{Entry, LabelSource, Plan, Summary, SummaryRow, read_records};
use serde_json::Value;

/// The files under `experiments/`.
pub struct Results {
    /// The root of the repository.
    pub root: PathBuf,
}

impl Results {
    pub fn new(root: &Path) -> Self {
        Self { root: root.into() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join("experiments/results").join(name)
    }

    /// A file of results.
    pub fn json(&self, name: &str) -> Result<Value, String> {
        let text = fs::read_to_string(self.file(name)).map_err(|error| format!("results {name}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("results {name}: {error}"))
    }

    /// What a plan gave; nothing if it has not been run.
    pub fn plan(&self, name: &str) -> Result<Option<Summary>, String> {
        let say = |error: flowgmm_bench::Error| format!("plan {name}: {error}");
        let plan = Plan::read(&self.root.join(format!("experiments/{name}.toml"))).map_err(say)?;
        let file = self.file(&format!("{name}/results.jsonl"));
        if !file.exists() {
            return Ok(None);
        }
        let summary = Summary::new(&plan, &read_records(&file).map_err(say)?);
        Ok(Some(summary).filter(|summary| !summary.rows.is_empty()))
    }

    /// What a plan gave that must have been run.
    pub fn finished(&self, name: &str) -> Result<Summary, String> {
        self.plan(name)?.ok_or_else(|| format!("plan {name} has no results"))
    }
}

/// The results of a learner in a row, if it has some.
pub fn entry<'a>(row: &'a SummaryRow, learner: &str) -> Option<&'a Entry> {
    row.entries.iter().find(|entry| entry.learner == learner && entry.accuracy.is_some())
}

/// The number of labels of each class, of rows that have as many of each.
pub fn per_class(row: &SummaryRow) -> Option<usize> {
    match row.labels {
        LabelSource::PerClass(n) => Some(n),
        _ => None,
    }
}

/// How the book calls a learner.
pub fn called(learner: &str) -> &str {
    match learner {
        "flowgmm-pure" => "flowgmm, flow alone",
        "flowgmm-labelled" => "flowgmm, labelled rows only",
        "extra-trees" => "extra trees",
        "random-forest" => "random forest",
        "logistic-regression-plain" | "logistic-regression" => "logistic regression",
        "svc" => "SVC",
        "knn" => "kNN",
        "label-spreading" => "label spreading",
        "self-training" => "self-training",
        "gradient-boosting" => "gradient boosting",
        other => other,
    }
}

pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}
