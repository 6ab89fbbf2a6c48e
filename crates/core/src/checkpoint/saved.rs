//! A checkpoint that was read, and how training goes on from it.

use std::path::PathBuf;

use burn_tensor::Tensor;

use super::{Fingerprint, Header, Progress};
use crate::{
    Error, Result,
    container::Container,
    flow::Engine,
    model::FlowGmm,
    stored::load_tensors,
    tensor::Place,
    train::{Adam, Snapshot, TrainConfig, TrainState},
};

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
    /// Reads the checkpoint of a fit and checks it: digest, header, fingerprint, sizes against the architecture.
    pub(super) fn read(path: PathBuf, own: &Fingerprint, place: &Place) -> Result<Self> {
        let (header, file) = Header::read(&path)?;
        Self::new(header, file, path, own, place)
    }

    /// The content of a checkpoint file, checked as a file is.
    pub fn from_bytes(bytes: &[u8], own: &Fingerprint, place: &Place) -> Result<Self> {
        let path = PathBuf::from("the checkpoint");
        let file =
            Container::from_bytes(bytes).map_err(|reason| Error::ModelFile { path: path.clone(), reason })?;
        let (header, file) = Header::of(file, &path)?;
        Self::new(header, file, path, own, place)
    }

    fn new(
        header: Header,
        mut file: Container,
        path: PathBuf,
        own: &Fingerprint,
        place: &Place,
    ) -> Result<Self> {
        header.check_fit(&path, own)?;
        let bad = |reason: String| Error::ModelFile { path: path.clone(), reason };
        let stored = file.tensors.iter().filter(|(name, _)| name.starts_with("model."));
        let stored: usize = stored.map(|(_, (_, values))| values.len()).sum();
        if header.spec.n_parameters() != Some(stored) {
            return Err(bad("its tensors do not fit its architecture".into()));
        }
        let mut model = FlowGmm::blank(&header.spec, place).map_err(|error| bad(error.to_string()))?;
        load_tensors(&mut model, &mut file, "model.").map_err(bad)?;
        let progress = header.progress.clone();
        Ok(Self { progress, header, model, file, path, place: place.clone() })
    }

    /// The stored state of a run with these settings, whose flow computes by `engine`.
    pub fn into_state(self, config: &TrainConfig, engine: Engine) -> Result<TrainState> {
        let mut state = TrainState::new(self.model.clone().with_engine(engine), config);
        self.restore(&mut state)?;
        Ok(state)
    }

    /// Puts the stored state in place of a fresh one of the same architecture.
    pub fn restore(mut self, state: &mut TrainState) -> Result<()> {
        let path = self.path.clone();
        self.fill(state).map_err(|reason| Error::ModelFile { path: path.clone(), reason })?;
        state.restored_from = Some(path);
        Ok(())
    }

    fn fill(&mut self, state: &mut TrainState) -> std::result::Result<(), String> {
        if self.header.spec != state.model.spec() {
            return Err("its architecture is not this run's".into());
        }
        if self.header.has_average != state.ema.is_some() {
            return Err("it has a moving average, or lacks one, against the settings".into());
        }
        let lengths: Vec<usize> = state.adam.m.iter().map(|m| m.dims()[0]).collect();
        for (to, from) in state.model.thetas_mut().into_iter().zip(self.model.thetas()) {
            to.set(from.value().clone());
        }
        state.adam.updates = self.header.updates;
        state.adam.m = self.take("m", &lengths)?;
        state.adam.v = self.take_positive("v", &lengths)?;
        state.ema = self.header.has_average.then(|| self.take("ema", &lengths)).transpose()?;
        state.snapshot = match self.header.good_updates {
            None => None,
            Some(updates) => {
                let mut adam: Adam = state.adam.clone();
                adam.updates = updates;
                adam.m = self.take("good.m", &lengths)?;
                adam.v = self.take_positive("good.v", &lengths)?;
                let ema = self.header.has_average.then(|| self.take("good.ema", &lengths)).transpose()?;
                Some(Snapshot { thetas: self.take("good.theta", &lengths)?, adam, ema })
            }
        };
        state.q = self.responsibilities(state.model.n_classes())?;
        if let Some(extra) = self.file.tensors.keys().next() {
            return Err(format!("tensor {extra} belongs to no part of a checkpoint"));
        }
        state.step = self.header.step;
        state.rate_scale = self.header.rate_scale;
        state.rollbacks = self.header.rollbacks;
        state.failures = self.header.failures;
        state.history = self.header.history.clone();
        Ok(())
    }

    /// One vector for each trained parameter vector.
    fn take(&mut self, prefix: &str, lengths: &[usize]) -> std::result::Result<Vec<Tensor<1>>, String> {
        let vectors = lengths.iter().enumerate().map(|(i, &n)| {
            let values = self.file.take(&format!("{prefix}.{i}"), &[n])?;
            Ok(self.place.vector(values.into_iter().map(f64::from).collect()))
        });
        vectors.collect()
    }

    /// Vectors of second moments, which are means of squares.
    fn take_positive(
        &mut self,
        prefix: &str,
        lengths: &[usize],
    ) -> std::result::Result<Vec<Tensor<1>>, String> {
        for i in 0..lengths.len() {
            let name = format!("{prefix}.{i}");
            let negative = |(_, values): &(Vec<usize>, Vec<f32>)| values.iter().any(|v| *v < 0.0);
            if self.file.tensors.get(&name).is_some_and(negative) {
                return Err(format!("tensor {name} holds a negative mean of squares"));
            }
        }
        self.take(prefix, lengths)
    }

    /// Responsibilities of rows, if there are some: `[n_u, K]`, probabilities.
    fn responsibilities(&mut self, n_classes: usize) -> std::result::Result<Option<Vec<f32>>, String> {
        let Some((_, values)) = self.file.tensors.get("q") else { return Ok(None) };
        let length = values.len();
        let q = self.file.take("q", &[length])?;
        match q.iter().all(|v| (0.0..=1.0 + 1e-3).contains(v)) && length.is_multiple_of(n_classes) {
            true => Ok(Some(q)),
            false => Err("tensor q does not hold probabilities of the classes".into()),
        }
    }
}
