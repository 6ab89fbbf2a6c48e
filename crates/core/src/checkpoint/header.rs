//! The header of a checkpoint, and what must hold of it before anything is built from it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{FORMAT, Fingerprint, Progress};
use crate::{
    Error, Result,
    container::Container,
    model::ModelSpec,
    train::{History, PATIENCE},
};

/// Everything of a checkpoint but its tensors.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub format: u32,
    pub fingerprint: Fingerprint,
    pub progress: Progress,
    pub spec: ModelSpec,
    pub step: usize,
    pub updates: usize,
    pub rate_scale: f64,
    pub rollbacks: usize,
    pub failures: usize,
    /// Updates at the last snapshot, if there is one.
    pub good_updates: Option<usize>,
    pub has_average: bool,
    pub history: History,
}

impl Header {
    /// Reads and checks a file, and leaves its tensors in the container.
    pub fn read(path: &Path) -> Result<(Self, Container)> {
        Self::of(Container::read(path)?, path)
    }

    /// The checked header of a container, and its tensors; messages call it by this path.
    pub fn of(file: Container, path: &Path) -> Result<(Self, Container)> {
        let bad = |reason: String| Error::ModelFile { path: path.to_path_buf(), reason };
        let header: Self = serde_json::from_str(&file.header)
            .map_err(|error| bad(format!("its header is not that of a checkpoint: {error}")))?;
        header.check().map_err(bad)?;
        Ok((header, file))
    }

    /// An error if this is the checkpoint of another fit.
    pub fn check_fit(&self, path: &Path, own: &Fingerprint) -> Result<()> {
        let Fingerprint { config, data, seed } = &self.fingerprint;
        let reason = if *data != own.data {
            "the training data differ".to_string()
        } else if *seed != own.seed {
            // Before the settings: those that are chosen from the data depend on it.
            format!("its seed is {seed}, not {}", own.seed)
        } else if *config != own.config {
            "the configuration differs".to_string()
        } else {
            return Ok(());
        };
        Err(Error::ForeignCheckpoint { path: path.to_path_buf(), reason })
    }

    /// Counts and scales that training can have left behind. Steps are compared with the settings where training goes on.
    fn check(&self) -> std::result::Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("it has checkpoint format {}, this program reads {FORMAT}", self.format));
        }
        self.spec.flow.validate().and_then(|()| self.spec.mixture.validate()).map_err(|e| e.to_string())?;
        let counts = self.updates <= self.step
            && self.good_updates.is_none_or(|updates| updates <= self.updates)
            && self.rollbacks <= self.step.saturating_mul(2) // an E-step may fail, and then the step
            && self.failures <= self.rollbacks.min(PATIENCE);
        let sound = [
            (counts, "its counts of steps and roll-backs contradict each other"),
            ((0.0..=1.0).contains(&self.rate_scale), "its learning rate has an impossible scale"),
            (self.progress.scores.iter().all(|score| !score.is_nan()), "the score of a start is no number"),
            (self.history.is_of(self.step), "its history is not that of so many steps"),
        ];
        match sound.iter().find(|(holds, _)| !holds) {
            None => Ok(()),
            Some((_, why)) => Err(why.to_string()),
        }
    }
}
