//! Checkpoints: everything a fit needs to continue bit for bit after a crash, a kill or Ctrl-C.
//!
//! A checkpoint is one file, replaced atomically: weights, moments, moving average, the state to roll back to,
//! EM's responsibilities, step, history and the scores of finished starts. Data order and noise are functions
//! of (seed, step) and need no storing; the fingerprint of data, configuration and seed is checked on resume.
//!
//! A directory belongs to one fit at a time (see `lock`), and a checkpoint is only ever replaced by a later one of the
//! same fit. What is read is believed no more than a model file (see `header` and `saved`).

mod header;
mod lock;
mod saved;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use burn_tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    container::Container,
    stored::model_tensors,
    tensor::{Place, to_vec},
    train::TrainState,
};
use header::Header;
use lock::Lock;
pub use saved::Saved;

/// Name of the file within the checkpoint directory.
const FILE: &str = "checkpoint.safetensors";
/// The version of the checkpoint format.
const FORMAT: u32 = 1;

/// What a fit is a function of: a checkpoint of another fit is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Digest of the settings.
    pub config: String,
    /// Digest of the training data.
    pub data: String,
    /// The seed.
    pub seed: u64,
}

/// The part of a fit that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Scores of finished short starts, by start and fold.
    #[serde(with = "bits")]
    pub scores: Vec<f64>,
}

/// JSON has no infinities; scores travel as their bits.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Ok(Vec::<u64>::deserialize(deserializer)?.into_iter().map(f64::from_bits).collect())
    }
}

/// Where and how often checkpoints are written, and whether to resume.
#[derive(Debug)]
pub struct Checkpoints {
    directory: PathBuf,
    every: Duration,
    resume: Resume,
    fingerprint: Fingerprint,
    last: Mutex<Instant>,
    /// Held from the beginning of the fit until this is dropped.
    lock: Option<Lock>,
}

/// What to do with a checkpoint that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Refuse to begin: the work in it would be lost.
    No,
    /// Continue from it; start from the beginning if there is none.
    IfPresent,
}

impl Checkpoints {
    /// Checkpoints in `directory`, at most once in `every`.
    pub fn new(directory: &Path, every: Duration, resume: Resume) -> Self {
        let fingerprint = Fingerprint::default();
        Self {
            directory: directory.to_path_buf(),
            every,
            resume,
            fingerprint,
            last: Mutex::new(Instant::now()),
            lock: None,
        }
    }

    /// Says which fit the checkpoints belong to, makes the directory, and locks it against other fits.
    pub fn begin(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.fingerprint = fingerprint;
        fs::create_dir_all(&self.directory)
            .map_err(|source| Error::Io { path: self.directory.clone(), source })?;
        self.lock = Some(Lock::take(&self.directory)?);
        Ok(())
    }

    /// Whether it is time to write a checkpoint.
    pub fn due(&self) -> bool {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= self.every
    }

    /// Replaces the checkpoint by one of this state.
    pub fn write(&self, progress: &Progress, state: &TrainState) -> Result<()> {
        container(&self.fingerprint, progress, state).write(&self.directory.join(FILE))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }

    /// The stored state, if there is one and resuming is wanted. A checkpoint that is there is never replaced by that of
    /// another fit, nor started over from: without `resume`, it is an error.
    pub fn resume(&self, place: &Place) -> Result<Option<Saved>> {
        let path = self.directory.join(FILE);
        match (path.exists(), self.resume) {
            (false, _) => Ok(None),
            (true, Resume::IfPresent) => Saved::read(path, &self.fingerprint, place).map(Some),
            (true, Resume::No) => {
                let found =
                    Header::read(&path).and_then(|(header, _)| header.check_fit(&path, &self.fingerprint));
                let whose = match found {
                    Ok(()) => "a checkpoint of this fit",
                    Err(Error::ForeignCheckpoint { .. }) => "a checkpoint of another fit",
                    Err(Error::Io { path, source }) => return Err(Error::Io { path, source }),
                    Err(_) => "a damaged checkpoint",
                };
                Err(Error::CheckpointExists { path, whose })
            }
        }
    }
}

/// The content of a checkpoint file: what workers and their driver exchange.
pub fn to_bytes(fingerprint: &Fingerprint, progress: &Progress, state: &TrainState) -> Vec<u8> {
    container(fingerprint, progress, state).to_bytes()
}

fn container(fingerprint: &Fingerprint, progress: &Progress, state: &TrainState) -> Container {
    let header = Header {
        format: FORMAT,
        fingerprint: fingerprint.clone(),
        progress: progress.clone(),
        spec: state.model.spec(),
        step: state.step,
        updates: state.adam.updates,
        rate_scale: state.rate_scale,
        rollbacks: state.rollbacks,
        failures: state.failures,
        good_updates: state.snapshot.as_ref().map(|snapshot| snapshot.adam.updates),
        has_average: state.ema.is_some(),
        history: state.history.clone(),
    };
    let mut tensors = model_tensors(&state.model, "model.");
    let mut add = |prefix: &str, vectors: &[Tensor<1>]| {
        for (i, vector) in vectors.iter().enumerate() {
            let values: Vec<f32> = to_vec(vector).into_iter().map(|v| v as f32).collect();
            tensors.insert(format!("{prefix}.{i}"), (vec![values.len()], values));
        }
    };
    add("m", &state.adam.m);
    add("v", &state.adam.v);
    add("ema", state.ema.as_deref().unwrap_or_default());
    if let Some(snapshot) = &state.snapshot {
        add("good.theta", &snapshot.thetas);
        add("good.m", &snapshot.adam.m);
        add("good.v", &snapshot.adam.v);
        add("good.ema", snapshot.ema.as_deref().unwrap_or_default());
    }
    if let Some(q) = &state.q {
        tensors.insert("q".into(), (vec![q.len()], q.clone()));
    }
    let header = serde_json::to_string(&header).expect("plain data");
    Container { header, tensors }
}
