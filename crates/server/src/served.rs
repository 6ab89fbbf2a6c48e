//! A model that is served: one version of it, and what was found about it so far.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use flowgmm::{Classifier as _, Model, Source, insight::ChannelStatistics, study::Study};

use serde_json::Value;

use crate::failure::{Failure, Result};

/// Rows that the model draws where there are no data.
const SAMPLES: usize = 2000;
/// Rows that statistics of channels are collected from, at most.
const STATISTICS: usize = 512;

/// One version of a model.
pub struct Served {
    /// Its name: the stem of its file.
    pub name: String,
    /// Its version, from 1.
    pub version: u64,
    /// The file.
    pub path: PathBuf,
    /// The model.
    pub model: Model,
    /// The columns of its rows; of images none.
    pub inputs: Vec<String>,
    data: Option<Source>,
    study: OnceLock<Result<Study>>,
    channels: OnceLock<ChannelStatistics>,
    card: OnceLock<Result<Value>>,
    /// Labels that somebody gave: row and class, none where a label was taken away.
    marks: Mutex<BTreeMap<usize, Option<usize>>>,
}

impl Served {
    /// A version of a model, with rows to look at.
    pub fn new(name: String, version: u64, path: PathBuf, model: Model, data: Option<Source>) -> Self {
        let inputs = model.input_columns();
        let (study, channels, card) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let marks = Mutex::default();
        Self { name, version, path, model, inputs, data, study, channels, card, marks }
    }

    /// The rows to look at: those of the data, or samples. Read when they are first asked for.
    pub fn study(&self) -> Result<&Study> {
        let read = || -> Result<Study> {
            Ok(match &self.data {
                Some(source) => Study::read(&self.model, source, &mut ())?,
                None => Study::of_samples(&self.model, SAMPLES, 0)?,
            })
        };
        self.study.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Whether the rows are data, not samples.
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// The source of the rows.
    pub fn source(&self) -> Option<&Source> {
        self.data.as_ref()
    }

    /// Mean and spread of every channel of every layer, over some of the rows.
    pub fn channels(&self) -> Result<&ChannelStatistics> {
        let study = self.study()?;
        Ok(self.channels.get_or_init(|| {
            let rows = study.spaced(STATISTICS);
            ChannelStatistics::collect(&self.model, rows.view())
        }))
    }

    /// What the model is; found once.
    pub fn card(&self, find: impl FnOnce() -> Result<Value>) -> Result<Value> {
        self.card.get_or_init(find).clone()
    }

    /// The number of a class.
    pub fn class(&self, name: &str) -> Result<usize> {
        Ok(self.model.class(name)?)
    }

    /// The row of this number, if there is one.
    pub fn row(&self, row: usize) -> Result<usize> {
        let n = self.study()?.n();
        match row < n {
            true => Ok(row),
            false => Err(Failure::not_found(format!("there is no row {row}: rows are 0 to {}", n - 1))),
        }
    }

    /// The name of a class.
    pub fn class_name(&self, class: usize) -> &str {
        &self.model.classes()[class]
    }

    /// The labels that somebody gave.
    pub fn marks(&self) -> Vec<(usize, Option<usize>)> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().map(|(row, label)| (*row, *label)).collect()
    }

    /// Adds labels.
    pub fn mark(&self, new: impl IntoIterator<Item = (usize, Option<usize>)>) {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
    }
}
