//! Everything that changes while training: a checkpoint holds it, and a trainer continues from it bit for bit.

use std::path::PathBuf;

use burn_tensor::Tensor;

use super::{Adam, History, TrainConfig, TrainingRows, set_trained, trained_values};
use crate::{Error, Result, model::FlowGmm};

/// Everything that changes while training.
#[derive(Clone, Debug)]
pub struct TrainState {
    /// Steps done.
    pub step: usize,
    /// The weights being trained.
    pub model: FlowGmm,
    /// Moments of the optimiser.
    pub(crate) adam: Adam,
    /// Moving average of the trained parameters, if it is wanted.
    pub(crate) ema: Option<Vec<Tensor<1>>>,
    /// Factor on the learning rate; halves with each roll-back.
    pub(crate) rate_scale: f64,
    /// How often training went back to a snapshot.
    pub rollbacks: usize,
    /// Roll-backs since the last snapshot.
    pub(crate) failures: usize,
    /// The last state that was finite.
    pub(crate) snapshot: Option<Snapshot>,
    /// Responsibilities of the last E-step, or the hard pseudo-labels of a refinement, `[n_u, K]`.
    pub(crate) q: Option<Vec<f32>>,
    /// What happened so far.
    pub history: History,
    /// The checkpoint that this was read from, if it was.
    pub(crate) restored_from: Option<PathBuf>,
}

/// A state to roll back to.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) thetas: Vec<Tensor<1>>,
    pub(crate) adam: Adam,
    pub(crate) ema: Option<Vec<Tensor<1>>>,
}

impl TrainState {
    /// The beginning of training for a model.
    pub fn new(model: FlowGmm, config: &TrainConfig) -> Self {
        let thetas = trained_values(&model);
        Self {
            step: 0,
            adam: Adam::new(config.adam, &thetas),
            ema: config.ema.map(|_| thetas),
            model,
            rate_scale: 1.0,
            rollbacks: 0,
            failures: 0,
            snapshot: None,
            q: None,
            history: History::default(),
            restored_from: None,
        }
    }

    /// Checks that a state from a checkpoint can be one of a run with these settings on these rows.
    pub(super) fn check(&self, config: &TrainConfig, rows: &TrainingRows) -> Result<()> {
        let Some(path) = &self.restored_from else { return Ok(()) };
        let targets = config.em.is_some() || config.refine.is_some();
        let reason = match &self.q {
            _ if self.step > config.steps => {
                format!("it is at step {}, and training has {}", self.step, config.steps)
            }
            Some(_) if !targets => "it has targets of unlabelled rows, which training does not use".into(),
            Some(q) if q.len() != rows.unlabelled.len() * rows.n_classes => {
                format!("it has targets of {} rows, not {}", q.len() / rows.n_classes, rows.unlabelled.len())
            }
            _ => return Ok(()),
        };
        Err(Error::ModelFile { path: path.clone(), reason })
    }

    /// The model to keep: averaged weights if there is an average.
    pub fn averaged(&self) -> FlowGmm {
        let mut model = self.model.clone();
        if let Some(ema) = &self.ema {
            set_trained(&mut model, ema.clone());
        }
        model
    }
}
