//! A dataset of a plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{TestRows, twice};
use crate::labels::{LabelSource, Labels};
use crate::{Error, Result};

/// A table of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDataset {
    /// In tables.
    pub name: String,
    /// Where it is, for the loader.
    pub file: String,
    /// Whatever else the loader has to know.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// How many labels; the plan's if absent.
    pub(super) labels: Option<Labels>,
    /// A file of labelled rows, one list for each draw.
    pub(super) split: Option<String>,
    /// Most unlabelled rows of this dataset; the plan's number if absent.
    pub(super) unlabelled_limit: Option<usize>,
    /// Rows held out of this dataset; the plan's rule if absent.
    pub(super) test: Option<TestRows>,
    /// Training steps of learners on this dataset, where they differ from the plan's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) steps: BTreeMap<String, usize>,
}

impl PlanDataset {
    /// A dataset without labels of its own, for whoever draws them.
    pub(crate) fn of_file(file: &str, options: BTreeMap<String, String>) -> Self {
        Self {
            name: file.into(),
            file: file.into(),
            options,
            labels: None,
            split: None,
            unlabelled_limit: None,
            test: None,
            steps: BTreeMap::new(),
        }
    }

    /// Where labels come from: one for each row of the tables.
    pub fn label_sources(&self) -> Vec<LabelSource> {
        match (&self.labels, &self.split) {
            (Some(labels), _) => labels.sources(),
            (None, Some(file)) => vec![LabelSource::Split(file.clone())],
            (None, None) => Vec::new(),
        }
    }

    pub(super) fn validate(&self, test: TestRows) -> Result<()> {
        let fail = |why: &str| Err(Error::Plan(format!("dataset '{}': {why}", self.name)));
        let sources = self.label_sources();
        if self.labels.is_some() == self.split.is_some() {
            return fail("give either labels (a number of each class, or several) or split (a file)");
        }
        if sources.is_empty() || sources.iter().any(LabelSource::is_empty) {
            return fail("labels: at least 1 of each class, or at random");
        }
        if twice(&sources).is_some() {
            return fail("labels: a number is there twice");
        }
        if !(test.share > 0. && test.share < 1.) || test.limit == 0 {
            return fail("test: a share strictly between 0 and 1 and a limit of at least 1");
        }
        Ok(())
    }
}
