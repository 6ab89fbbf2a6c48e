//! Checkpoints: everything a fit needs to continue bit for bit after a crash, a kill or Ctrl-C.
//!
//! A checkpoint is one file, replaced atomically: weights, moments, moving average, the state to roll back to,
//! EM's responsibilities, step, history and the scores of finished starts. Data order and noise are functions
//! of (seed, step) and need no storing; the fingerprint of data, configuration and seed is checked on resume.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use burn_tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    container::Container,
    model::{FlowGmm, ModelSpec},
    stored::{load_tensors, model_tensors},
    tensor::{Place, to_vec},
    train::{Adam, History, Snapshot, TrainState},
};

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
    last: Cell<Instant>,
}

/// What to do with a checkpoint that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Start from the beginning and replace it.
    No,
    /// Continue from it; start from the beginning if there is none.
    IfPresent,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    fingerprint: Fingerprint,
    progress: Progress,
    spec: ModelSpec,
    step: usize,
    updates: usize,
    rate_scale: f64,
    rollbacks: usize,
    failures: usize,
    /// Updates at the last snapshot, if there is one.
    good_updates: Option<usize>,
    has_average: bool,
    history: History,
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
            last: Cell::new(Instant::now()),
        }
    }

    /// Says which run the checkpoints belong to, and makes the directory.
    pub fn begin(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.fingerprint = fingerprint;
        fs::create_dir_all(&self.directory)
            .map_err(|source| Error::Io { path: self.directory.clone(), source })
    }

    /// Whether it is time to write a checkpoint.
    pub fn due(&self) -> bool {
        self.last.get().elapsed() >= self.every
    }

    /// Replaces the checkpoint by one of this state.
    pub fn write(&self, progress: &Progress, state: &TrainState) -> Result<()> {
        let header = Header {
            format: FORMAT,
            fingerprint: self.fingerprint.clone(),
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
        Container { header, tensors }.write(&self.directory.join(FILE))?;
        self.last.set(Instant::now());
        Ok(())
    }

    /// The stored state, if there is one and resuming is wanted.
    pub fn resume(&self, place: &Place) -> Result<Option<Saved>> {
        let path = self.directory.join(FILE);
        if self.resume == Resume::No || !path.exists() {
            return Ok(None);
        }
        let mut file = Container::read(&path)?;
        let bad = |reason: String| Error::ModelFile { path: path.clone(), reason };
        let header: Header = serde_json::from_str(&file.header)
            .map_err(|e| bad(format!("its header is not that of a checkpoint: {e}")))?;
        if header.format != FORMAT {
            return Err(bad(format!(
                "it has checkpoint format {}, this program reads {FORMAT}",
                header.format
            )));
        }
        let Fingerprint { config, data, seed } = &header.fingerprint;
        let reason = if *data != self.fingerprint.data {
            Some("the training data differ".to_string())
        } else if *seed != self.fingerprint.seed {
            // Before the settings: those that are chosen from the data depend on it.
            Some(format!("its seed is {seed}, not {}", self.fingerprint.seed))
        } else if *config != self.fingerprint.config {
            Some("the configuration differs".to_string())
        } else {
            None
        };
        if let Some(reason) = reason {
            return Err(Error::ForeignCheckpoint { path, reason });
        }
        let valid = header.spec.flow.validate().and_then(|()| header.spec.mixture.validate());
        valid.map_err(|e| bad(e.to_string()))?;
        let stored = file.tensors.iter().filter(|(name, _)| name.starts_with("model."));
        let stored: usize = stored.map(|(_, (_, values))| values.len()).sum();
        if header.spec.n_parameters() != Some(stored) {
            return Err(bad("its tensors do not fit its architecture".into()));
        }
        let mut model = FlowGmm::blank(&header.spec, place).map_err(|e| bad(e.to_string()))?;
        load_tensors(&mut model, &mut file, "model.").map_err(bad)?;
        Ok(Some(Saved { progress: header.progress.clone(), header, model, file, path, place: place.clone() }))
    }
}

/// A checkpoint that was read.
pub struct Saved {
    /// The part of the fit that was done.
    pub progress: Progress,
    header: Header,
    model: FlowGmm,
    file: Container,
    path: PathBuf,
    place: Place,
}

impl Saved {
    /// Puts the stored state in place of a fresh one of the same architecture.
    pub fn restore(mut self, state: &mut TrainState) -> Result<()> {
        let path = self.path.clone();
        self.fill(state).map_err(|reason| Error::ModelFile { path, reason })
    }

    fn fill(&mut self, state: &mut TrainState) -> std::result::Result<(), String> {
        if self.header.spec != state.model.spec() {
            return Err("its architecture is not this run's".into());
        }
        let lengths: Vec<usize> = state.adam.m.iter().map(|m| m.dims()[0]).collect();
        for (to, from) in state.model.thetas_mut().into_iter().zip(self.model.thetas()) {
            to.set(from.value().clone());
        }
        let mut take = |prefix: &str| -> std::result::Result<Vec<Tensor<1>>, String> {
            let vectors = lengths.iter().enumerate().map(|(i, &n)| {
                let values = self.file.take(&format!("{prefix}.{i}"), &[n])?;
                Ok(self.place.vector(values.into_iter().map(f64::from).collect()))
            });
            vectors.collect()
        };
        state.adam.updates = self.header.updates;
        state.adam.m = take("m")?;
        state.adam.v = take("v")?;
        state.ema = if self.header.has_average { Some(take("ema")?) } else { None };
        state.snapshot = match self.header.good_updates {
            None => None,
            Some(updates) => {
                let mut adam: Adam = state.adam.clone();
                (adam.updates, adam.m, adam.v) = (updates, take("good.m")?, take("good.v")?);
                let ema = if self.header.has_average { Some(take("good.ema")?) } else { None };
                Some(Snapshot { thetas: take("good.theta")?, adam, ema })
            }
        };
        state.q = self.file.tensors.remove("q").map(|(_, values)| values);
        state.step = self.header.step;
        state.rate_scale = self.header.rate_scale;
        state.rollbacks = self.header.rollbacks;
        state.failures = self.header.failures;
        state.history = self.header.history.clone();
        Ok(())
    }
}
