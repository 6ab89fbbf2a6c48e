//! Training: batches of labelled and unlabelled rows, AdamW, a moving average of the weights, and no NaN.
//!
//! A step is: batch -> terms -> gradient -> clipped Adam -> moving average. A loss or gradient that is not finite
//! takes the last good state back and halves the learning rate; when that keeps failing, training ends with an
//! error that names the step and the quantity. All randomness is a function of (seed, step), so a trainer rebuilt
//! from a [`TrainState`] continues bit for bit.

mod batches;
mod finish;
mod history;
mod optim;
mod refine;
mod rules;
mod schedule;
mod views;

use std::fmt::Debug;

use burn::tensor::Tensor;
use semisup::Rng;
use serde::{Deserialize, Serialize};

pub use batches::{Batches, Noise, Purpose, stream};
pub use batches::{Rows, TrainingRows};
pub use history::{EpochRecord, History};
pub use optim::{Adam, AdamConfig, Average, Decay};
pub use refine::Refine;
pub use schedule::{Schedule, Shape};
pub use views::ImageViews;

use crate::{
    Error, Result,
    bijection::{Dropout, Statistics},
    em::{self, Em},
    model::FlowGmm,
    objective::{Batch, Objective, Term, Unlabelled, total},
    tensor::to_scalar,
};
use batches::jitter;

/// How a run trains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Optimiser steps.
    pub steps: usize,
    /// Labelled rows per step (all of them if there are fewer).
    pub batch_labelled: usize,
    /// Unlabelled rows per step.
    pub batch_unlabelled: usize,
    /// Learning rate.
    pub schedule: Schedule,
    /// Optimiser.
    pub adam: AdamConfig,
    /// Decay of the moving average of the weights, if the average is wanted.
    pub ema: Option<f64>,
    /// What is minimised.
    pub objective: Objective,
    /// Standard deviation of Gaussian noise on all training inputs.
    pub noise: f64,
    /// Standard deviation of the Gaussian perturbation that makes the two views of consistency.
    pub view_noise: f64,
    /// Views of images, for labelled rows too, in place of both noises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<ImageViews>,
    /// The last part of training, if it is to differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refine: Option<Refine>,
    /// Share of the first hidden layer's units that a step leaves out in every coupling's network. Above 0, composed
    /// operations compute the steps, whatever the engine: the kernels have no dropout.
    pub dropout: f64,
    /// Expectation-maximisation instead of plain gradient descent on the marginal.
    pub em: Option<Em>,
}

/// Makes a view of rows for consistency regularisation (paper, section 4.1).
pub trait Perturbation: Debug + Send + Sync {
    /// Perturbs row-major values in place.
    fn perturb(&self, values: &mut [f32], dim: usize, rng: &mut Rng);

    /// The same for the other view, which says what class the first should be of.
    fn perturb_target(&self, values: &mut [f32], dim: usize, rng: &mut Rng) {
        self.perturb(values, dim, rng);
    }

    /// The same for labelled rows, where they are perturbed at all.
    fn perturb_labelled(&self, values: &mut [f32], dim: usize, rng: &mut Rng) {
        self.perturb(values, dim, rng);
    }
}

/// Additive Gaussian noise: the perturbation for tables and embeddings.
#[derive(Clone, Copy, Debug)]
pub struct GaussianNoise {
    /// Its standard deviation.
    pub sigma: f64,
}

impl Perturbation for GaussianNoise {
    fn perturb(&self, values: &mut [f32], _dim: usize, rng: &mut Rng) {
        jitter(values, self.sigma, rng);
    }
}

/// What an observer wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop after this step; the state stays as it is.
    Stop,
}

/// Watches training: progress, cancellation, checkpoints.
pub trait Observer {
    /// The loss of a step that was taken.
    fn loss(&mut self, _loss: f64) {}

    /// After every step.
    fn step(&mut self, _state: &TrainState) -> Control {
        Control::Continue
    }

    /// After every epoch (several, if they are very short).
    fn epoch(&mut self, _record: &EpochRecord) {}
}

/// Watches nothing.
impl Observer for () {}

/// Steps between two snapshots of a good state.
const SNAPSHOT_EVERY: usize = 50;
/// Roll-backs without a good stretch in between before training gives up.
const PATIENCE: usize = 10;
/// At most about this many records in a history.
const RECORDS: usize = 100;

/// Everything that changes while training.
#[derive(Clone, Debug)]
pub struct TrainState {
    /// Steps done.
    pub step: usize,
    /// The weights being trained.
    pub model: FlowGmm,
    pub adam: Adam,
    pub ema: Option<Vec<Tensor<1>>>,
    /// Factor on the learning rate; halves with each roll-back.
    pub rate_scale: f64,
    pub rollbacks: usize,
    pub failures: usize,
    pub good: Option<Good>,
    /// Responsibilities of the last E-step, or what a refinement decided, `[n_u, K]`.
    pub q: Option<Vec<f32>>,
    /// What happened so far.
    pub history: History,
}

/// A state to go back to.
#[derive(Clone, Debug)]
pub struct Good {
    pub thetas: Vec<Tensor<1>>,
    pub adam: Adam,
    pub ema: Option<Vec<Tensor<1>>>,
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
            good: None,
            q: None,
            history: History::default(),
        }
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

/// A training run over fixed rows.
#[derive(Debug)]
pub struct Trainer<'a> {
    config: &'a TrainConfig,
    rows: &'a TrainingRows,
    seed: u64,
    /// The state; a checkpoint of it is enough to go on.
    pub state: TrainState,
}

impl<'a> Trainer<'a> {
    /// A run at its beginning, or wherever `state` is.
    pub fn new(config: &'a TrainConfig, rows: &'a TrainingRows, seed: u64, state: TrainState) -> Self {
        Self { config, rows, seed, state }
    }

    /// Trains until the configured number of steps is done.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<()> {
        match &self.config.views {
            Some(views) => {
                let labelled: Option<&dyn Perturbation> = Some(views);
                self.run_on(Noise { labelled, ..self.noise(views) }, observer)
            }
            None => self.run_with(&GaussianNoise { sigma: self.config.view_noise }, observer),
        }
    }

    /// The same with views made by `perturbation`.
    pub fn run_with(&mut self, perturbation: &dyn Perturbation, observer: &mut dyn Observer) -> Result<()> {
        let consistent = self.config.objective.consistency.is_some();
        let unlabelled = consistent.then_some(perturbation);
        self.run_on(Noise { unlabelled, ..self.noise(perturbation) }, observer)
    }

    /// All unlabelled rows perturbed, labelled ones not.
    fn noise<'p>(&self, perturbation: &'p dyn Perturbation) -> Noise<'p> {
        Noise {
            sigma: self.config.noise,
            labelled: None,
            unlabelled: Some(perturbation),
            two_views: self.config.objective.consistency.is_some(),
        }
    }

    fn batches<'p>(&self, noise: Noise<'p>) -> Batches<'p>
    where
        'a: 'p,
    {
        let sizes = (self.config.batch_labelled, self.config.batch_unlabelled);
        Batches::new(self.rows, sizes, self.seed, noise)
    }

    fn run_on(&mut self, noise: Noise, observer: &mut dyn Observer) -> Result<()> {
        let at_rest = self.config.views.map(ImageViews::at_rest);
        let mut batches = self.batches(noise);
        let place = self.state.model.place();
        let objective = self.objective();
        let period = self.record_period();
        while self.state.step < self.config.steps {
            if let Some(em) = &self.config.em
                && self.state.step.is_multiple_of(em.every.max(1) * self.steps_per_epoch())
            {
                self.expectation(em)?;
            }
            self.refine(&mut batches, at_rest.as_ref().map(|views| views as &dyn Perturbation));
            let batch = batches.batch(self.state.step, self.state.q.as_deref(), &place);
            let progress = self.state.step as f64 / self.config.steps as f64;
            let fixed = self.state.model.clone().with_statistics(Statistics::Batch);
            let tracked = fixed.tracked();
            // Of this step's model, not of the run's first: a resumed run must see the same.
            let prior = self.state.model.mixture().log_prior().exp();
            let terms = self.terms(&objective, &tracked, &fixed, &batch, &prior, progress);
            drop(fixed);
            let loss = total(&terms);
            let value = to_scalar(&loss);
            let gradients = gradients(&tracked, &loss);
            let norm = Adam::norm(&gradients);
            let rate = self.config.schedule.rate(self.state.step, self.config.steps) * self.state.rate_scale;
            let cause = fault(value, norm).or_else(|| self.update(gradients, norm, rate));
            match cause {
                None => {
                    let values = terms.iter().map(|term| (term.name, to_scalar(&term.value)));
                    self.state.history.add(value, norm, rate, values);
                    observer.loss(value);
                }
                Some(cause) => self.roll_back(cause)?,
            }
            self.state.step += 1;
            if self.state.step.is_multiple_of(period) || self.state.step == self.config.steps {
                let accuracy = self.labelled_accuracy();
                let record = self.state.history.close(self.state.step, self.steps_per_epoch(), accuracy);
                observer.epoch(&record);
            }
            if observer.step(&self.state) == Control::Stop && self.state.step < self.config.steps {
                return Err(Error::Interrupted { step: self.state.step });
            }
        }
        Ok(())
    }

    /// The terms of the loss, with hidden units left out if that is wanted.
    fn terms(
        &self,
        objective: &Objective,
        tracked: &FlowGmm,
        fixed: &FlowGmm,
        batch: &Batch,
        prior: &Tensor<2>,
        progress: f64,
    ) -> Vec<Term> {
        if self.config.dropout == 0.0 {
            return objective.terms(tracked, fixed, batch, prior, progress);
        }
        let rng = stream(self.seed, Purpose::Dropout, self.state.step as u64);
        let mut dropout = Dropout::new(self.config.dropout, rng);
        let mut densities = |x: Tensor<2>| tracked.densities_dropping(x, &mut dropout);
        objective.terms_by(&mut densities, fixed, batch, prior, progress)
    }

    /// Steps for one pass over the unlabelled rows (the labelled ones, if there are no others).
    pub fn steps_per_epoch(&self) -> usize {
        let (n, batch) = match self.rows.unlabelled.len() {
            0 => (self.rows.labelled.len(), self.config.batch_labelled),
            n => (n, self.config.batch_unlabelled),
        };
        n.div_ceil(batch.clamp(1, n.max(1))).max(1)
    }

    fn record_period(&self) -> usize {
        let epoch = self.steps_per_epoch();
        epoch * (self.config.steps / RECORDS).div_ceil(epoch).max(1)
    }

    fn objective(&self) -> Objective {
        let mut objective = self.config.objective.clone();
        if self.config.em.is_some() {
            objective.unlabelled_term = Unlabelled::Em;
        }
        objective
    }

    /// One step of the optimiser; says what is wrong if the weights are not finite after it.
    fn update(&mut self, gradients: Vec<Tensor<1>>, norm: f64, rate: f64) -> Option<String> {
        let state = &mut self.state;
        if state.step.is_multiple_of(SNAPSHOT_EVERY) || state.good.is_none() {
            state.good = Some(Good {
                thetas: trained_values(&state.model),
                adam: state.adam.clone(),
                ema: state.ema.clone(),
            });
            state.failures = 0;
        }
        // The parameters leave the model while they change, so that nobody else holds them and no copy is made.
        let mut thetas = take_trained(&mut state.model);
        // A young average follows quickly, so that it does not remember the start for long.
        let t = state.adam.updates as f64 + 1.0;
        let average = match (self.config.ema, &mut state.ema) {
            (Some(decay), Some(thetas)) => Some(Average { thetas, decay: decay.min((1.0 + t) / (10.0 + t)) }),
            _ => None,
        };
        state.adam.step(&mut thetas, average, &gradients, norm, rate);
        // The next loss would notice, but after the last step there is none. A sum is finite only if its terms are.
        let sound = Adam::norm(&thetas).is_finite();
        put_trained(&mut state.model, thetas);
        (!sound).then(|| "the weights overflow".to_string())
    }

    fn roll_back(&mut self, cause: String) -> Result<()> {
        let state = &mut self.state;
        state.rollbacks += 1;
        state.failures += 1;
        state.rate_scale *= 0.5;
        if state.failures > PATIENCE {
            return Err(Error::Diverged { step: state.step, cause, rollbacks: state.rollbacks });
        }
        if let Some(good) = state.good.clone() {
            set_trained(&mut state.model, good.thetas);
            state.adam = good.adam;
            state.ema = good.ema;
        }
        Ok(())
    }

    /// The E-step of appendix A on all unlabelled rows, and the mixture's own M-step if it has one.
    fn expectation(&mut self, em: &Em) -> Result<()> {
        let step = em::expectation(&self.state.model, self.rows, em)?;
        if !step.is_finite() {
            return self.roll_back("the E-step's estimates are not finite".into());
        }
        self.state.q = Some(step.q);
        if let Some(values) = step.mixture {
            self.state.model.set_mixture(&values)?;
        }
        Ok(())
    }
}

/// Which quantity is not finite.
fn fault(loss: f64, norm: f64) -> Option<String> {
    if !loss.is_finite() {
        Some(format!("the loss is {loss}"))
    } else if norm.is_nan() || norm * norm > f64::from(f32::MAX) {
        // Beyond this the second moments of single precision overflow and never come back.
        Some(format!("the gradient norm is {norm}"))
    } else {
        None
    }
}

/// Gradients of the trained parameters; zero where the loss does not depend on them.
pub fn gradients(tracked: &FlowGmm, loss: &Tensor<1>) -> Vec<Tensor<1>> {
    let mut graph = loss.backward();
    let trained = tracked.trained();
    let leaves =
        tracked.thetas().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta.value()));
    leaves
        .map(|leaf| {
            let gradient = leaf.grad_remove(&mut graph);
            gradient.unwrap_or_else(|| leaf.clone().without_autodiff().zeros_like())
        })
        .collect()
}

/// The values of the trained parameters.
pub fn trained_values(model: &FlowGmm) -> Vec<Tensor<1>> {
    let trained = model.trained();
    model
        .thetas()
        .into_iter()
        .zip(trained)
        .filter(|(_, on)| *on)
        .map(|(theta, _)| theta.value().clone())
        .collect()
}

/// Takes the trained parameters out of a model that is about to get them back.
pub fn take_trained(model: &mut FlowGmm) -> Vec<Tensor<1>> {
    let trained = model.trained();
    model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then(|| theta.take())).collect()
}

/// The way back of [`take_trained`].
pub fn put_trained(model: &mut FlowGmm, values: Vec<Tensor<1>>) {
    let trained = model.trained();
    let thetas = model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta));
    thetas.zip(values).for_each(|(theta, value)| theta.put(value));
}

/// Replaces the values of the trained parameters.
pub fn set_trained(model: &mut FlowGmm, values: Vec<Tensor<1>>) {
    let trained = model.trained();
    let thetas = model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta));
    thetas.zip(values).for_each(|(theta, value)| theta.set(value));
}
