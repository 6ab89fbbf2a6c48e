//! What is to be compared: a small TOML file.
//!
//! ```toml
//! title = "Few labels"
//! learners = ["knn", "label-spreading"]   # "paper-knn/*" stands for a whole grid of settings
//! ours = ["label-spreading"]        # optional: the first is compared with the best of the others
//! rank = ["knn", "label-spreading"] # optional: those that are ranked over all tables; all learners if absent
//! labels = [5, 20]                  # optional: for datasets that do not say; see `labels`
//! only_at = { knn = 5 }             # optional: learners that run at these labels only
//! unlabelled_limit = 100_000        # optional: most unlabelled rows
//! budget_seconds = 3600             # optional: see `Plan::budget_seconds`
//! steps = { mlp = 500 }             # optional: training steps, where they are not the learner's own
//! draws = { first = 2000, count = 5 }
//! test = { share = 0.2, limit = 20_000 } # this is the default
//! validation = 5000                 # optional: rows that nobody learns from, to choose the best run by, as the paper does
//!
//! [[dataset]]
//! name = "optdigits"
//! file = "tabular/optdigits.csv.gz"
//! labels = [5, { random_per_class = 5 }] # one number or several, of each class or at random; or split = "FILE"
//! options = { header = "absent" }   # for whoever loads the file
//! steps = { mlp = 900 }             # optional: before those of the plan
//! ```

mod dataset;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::labels::{LabelSource, Labels};
use crate::{Error, Registry, Result};

pub use dataset::PlanDataset;

/// A plan that is consistent in itself; [`Plan::check`] compares it with the learners there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Heading of the tables.
    pub title: String,
    /// Names of learners, in the order of the tables.
    pub learners: Vec<String>,
    /// Our own learners: the first of them is compared with the best of all others.
    #[serde(default)]
    pub ours: Vec<String>,
    /// The learners that are ranked, and are each other's rivals, over all tables; all learners if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rank: Vec<String>,
    /// The labels of datasets that do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Labels>,
    /// Learners that run at these labels only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    only_at: BTreeMap<String, Labels>,
    /// Which draws of labels.
    pub draws: Draws,
    /// How many rows are held out.
    #[serde(default)]
    pub test: TestRows,
    /// Rows that no learner sees, the same in all draws: the accuracy on them is recorded, so that the best of several runs or
    /// settings can be chosen without a test label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<usize>,
    /// Most unlabelled rows; all if absent.
    pub unlabelled_limit: Option<usize>,
    /// A cell is never cut short, but once one took longer than this, later draws of the same learner on the same
    /// data are left out.
    pub budget_seconds: Option<f64>,
    /// Training steps of learners, where they are not the learner's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, usize>,
    /// The data.
    #[serde(rename = "dataset")]
    pub datasets: Vec<PlanDataset>,
}

/// Numbers `first`, `first + 1`, ...: each is the seed of a draw and of the learners on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draws {
    /// The first draw.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// Rows held out from data that have no test rows of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRows {
    /// The share of all rows, in (0, 1).
    pub share: f64,
    /// The most.
    pub limit: usize,
}

impl Default for TestRows {
    fn default() -> Self {
        Self { share: 0.2, limit: 20_000 }
    }
}

impl Plan {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Plan> {
        Plan::parse(&fs::read_to_string(path).map_err(Error::io(path))?)
    }

    /// Reads and checks TOML.
    pub fn parse(text: &str) -> Result<Plan> {
        let mut plan: Plan = toml::from_str(text)?;
        plan.learners = plan.learners.iter().flat_map(|name| family(name)).collect();
        for dataset in plan.datasets.iter_mut().filter(|dataset| dataset.split.is_none()) {
            dataset.labels = dataset.labels.take().or_else(|| plan.labels.clone());
        }
        plan.validate()?;
        Ok(plan)
    }

    /// Whether every learner is known, and can be trained for the steps that are asked for.
    pub fn check(&self, registry: &Registry) -> Result<()> {
        let all =
            self.datasets.iter().flat_map(|dataset| self.learners.iter().map(move |name| (dataset, name)));
        all.into_iter()
            .try_for_each(|(dataset, name)| registry.learner(name, self.steps(dataset, name)).map(|_| ()))
    }

    /// How many steps a learner is trained for on a dataset, where they are not the learner's own.
    pub fn steps(&self, dataset: &PlanDataset, learner: &str) -> Option<usize> {
        dataset.steps.get(learner).or_else(|| self.steps.get(learner)).copied()
    }

    /// The plan restricted to the named datasets; all of them if none is named.
    pub fn only(mut self, datasets: &[String]) -> Result<Plan> {
        if let Some(name) = datasets.iter().find(|name| self.datasets.iter().all(|d| d.name != **name)) {
            let known: Vec<&str> = self.datasets.iter().map(|d| d.name.as_str()).collect();
            return Err(Error::Plan(format!("no dataset '{name}'; there are {}", known.join(", "))));
        }
        self.datasets.retain(|dataset| datasets.is_empty() || datasets.contains(&dataset.name));
        Ok(self)
    }

    /// The numbers of the draws.
    pub fn draw_numbers(&self) -> impl Iterator<Item = u64> + use<> {
        let Draws { first, count } = self.draws;
        first..first + count
    }

    /// How many cells there are.
    pub fn n_cells(&self) -> usize {
        let sources = self.datasets.iter().flat_map(PlanDataset::label_sources);
        let learners: usize = sources.map(|labels| self.learners_at(&labels).count()).sum();
        learners * self.draws.count as usize
    }

    /// The learners that run at these labels, in the order of the tables.
    pub fn learners_at<'a>(&'a self, labels: &'a LabelSource) -> impl Iterator<Item = &'a String> {
        let runs = |name: &&String| self.only_at.get(*name).is_none_or(|at| at.sources().contains(labels));
        self.learners.iter().filter(runs)
    }

    /// The learners that are ranked, and are each other's rivals, over all tables.
    pub fn ranked(&self) -> &[String] {
        if self.rank.is_empty() { &self.learners } else { &self.rank }
    }

    /// 16 hexadecimal digits that differ where plans do.
    pub fn hash(&self) -> String {
        crate::record::fingerprint(serde_json::to_string(self).expect("plain data").bytes().map(u64::from))
    }

    /// The test rows of a dataset.
    pub fn test_rows(&self, dataset: &PlanDataset) -> TestRows {
        dataset.test.unwrap_or(self.test)
    }

    /// The most unlabelled rows of a dataset.
    pub fn unlabelled_limit(&self, dataset: &PlanDataset) -> usize {
        dataset.unlabelled_limit.or(self.unlabelled_limit).unwrap_or(usize::MAX)
    }

    /// What decides about rows and labels of a dataset beside the draw, in words.
    pub fn split_name(&self, dataset: &PlanDataset, labels: &LabelSource) -> String {
        let labels = match labels {
            LabelSource::Split(file) => format!("{file} from draw {}", self.draws.first),
            _ => labels.to_string(),
        };
        let TestRows { share, limit } = self.test_rows(dataset);
        let unlabelled = match self.unlabelled_limit(dataset) {
            usize::MAX => "all".into(),
            limit => format!("at most {limit}"),
        };
        let options: String = dataset.options.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        let file = &dataset.file;
        let validation = self.validation.map(|n| format!("; validation {n}")).unwrap_or_default();
        format!(
            "{file}{options}: labels {labels}; test {share} up to {limit} or its own; unlabelled \
             {unlabelled}{validation}"
        )
    }

    fn validate(&self) -> Result<()> {
        let fail = |why: String| Err(Error::Plan(why));
        if self.learners.is_empty() || self.datasets.is_empty() || self.draws.count == 0 {
            return fail("at least one learner, one dataset and one draw are needed".into());
        }
        if self.draws.first.checked_add(self.draws.count).is_none() {
            return fail(format!("draws from {} are too many", self.draws.first));
        }
        if let Some(name) = twice(&self.learners) {
            return fail(format!("learner '{name}' is there twice"));
        }
        if let Some(name) = twice(self.datasets.iter().map(|dataset| &dataset.name)) {
            return fail(format!("dataset '{name}' is there twice"));
        }
        let stepped =
            self.datasets.iter().map(|dataset| &dataset.steps).chain([&self.steps]).flat_map(BTreeMap::keys);
        let named = (self.ours.iter().map(|name| ("ours", name)))
            .chain(self.rank.iter().map(|name| ("rank", name)))
            .chain(self.only_at.keys().map(|name| ("only_at", name)))
            .chain(stepped.map(|name| ("steps", name)));
        for (place, name) in named {
            if !self.learners.contains(name) {
                return fail(format!("'{name}' is in {place} but not in learners"));
            }
        }
        if let Some(name) = twice(&self.rank) {
            return fail(format!("rank: '{name}' is there twice"));
        }
        let asked: Vec<LabelSource> = self.datasets.iter().flat_map(PlanDataset::label_sources).collect();
        for (name, at) in &self.only_at {
            if let Some(labels) = at.sources().iter().find(|labels| !asked.contains(labels)) {
                return fail(format!("only_at: '{name}' at {labels}, which no dataset has"));
            }
        }
        let split = self.datasets.iter().find(|dataset| dataset.split.is_some());
        if let (Some(_), Some(dataset)) = (self.validation, split) {
            return fail(format!(
                "validation rows cannot be taken from '{}', whose split names rows",
                dataset.name
            ));
        }
        if let Some(seconds) = self.budget_seconds.filter(|seconds| seconds.is_nan() || *seconds <= 0.) {
            return fail(format!("budget_seconds: found {seconds}, expected more than 0"));
        }
        self.datasets.iter().try_for_each(|dataset| dataset.validate(self.test_rows(dataset)))
    }
}

/// `paper-knn/*` stands for every setting of the grid of that name.
fn family(name: &str) -> Vec<String> {
    match name.strip_suffix('*') {
        Some(start) if start.ends_with('/') => {
            flowgmm_learners::paper_names().into_iter().filter(|name| name.starts_with(start)).collect()
        }
        _ => vec![name.to_string()],
    }
}

fn twice<T: Ord>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    for item in items {
        if seen.contains(&item) {
            return Some(item);
        }
        seen.insert(item);
    }
    None
}
