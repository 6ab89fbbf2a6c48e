//! The training loop.

use burn_tensor::Tensor;

use super::{
    Adam, Average, Batches, Control, GaussianNoise, ImageViews, Noise, Observer, Perturbation, Purpose,
    Reduce, Shards, Snapshot, TrainConfig, TrainState, TrainingRows, gradients, put_trained, set_trained,
    sharded::Sharded, shards::ShardedBatches, stream, take_trained, trained_values,
};
use crate::{
    Error, Result,
    bijection::{Dropout, NormStatistics},
    em::{self, Em},
    model::FlowGmm,
    objective::{Batch, Objective, Term, TermName, UnlabelledTerm, total},
    tensor::to_scalar,
};

/// Steps between two snapshots of a good state.
const SNAPSHOT_EVERY: usize = 50;
/// Roll-backs without a new snapshot in between before training gives up.
pub(crate) const PATIENCE: usize = 10;
/// At most about this many records in a history.
const RECORDS: usize = 100;

/// A training run over fixed rows.
#[derive(Debug)]
pub struct Trainer<'a> {
    pub(super) config: &'a TrainConfig,
    pub(super) rows: &'a TrainingRows,
    pub(super) seed: u64,
    /// The state; a checkpoint of it is enough to go on.
    pub state: TrainState,
    /// The rows in shards, if gradients are sums over them.
    pub(super) sharded: Option<Sharded<'a>>,
    /// Unlabelled rows of all workers.
    n_unlabelled: usize,
}

/// The gradient of a step.
pub(super) struct Gradient {
    pub(super) loss: f64,
    /// The terms of the loss, unweighted.
    pub(super) terms: Vec<(TermName, f64)>,
    /// One vector for each trained parameter vector.
    pub(super) gradients: Vec<Tensor<1>>,
}

impl<'a> Trainer<'a> {
    /// A run at its beginning, or wherever `state` is.
    pub fn new(config: &'a TrainConfig, rows: &'a TrainingRows, seed: u64, state: TrainState) -> Self {
        Self { config, rows, seed, state, sharded: None, n_unlabelled: rows.unlabelled.len() }
    }

    /// The run with its rows in shards, some of which other workers may hold; `reduce` sums over the workers. All of them take the
    /// same steps, and have the same state after each.
    pub fn sharded(mut self, shards: &'a Shards, reduce: &'a mut dyn Reduce) -> Self {
        self.sharded = Some(Sharded { shards, reduce });
        self
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

    /// Trains until the configured number of steps is done, with views made by `perturbation`.
    pub fn run_with(&mut self, perturbation: &dyn Perturbation, observer: &mut dyn Observer) -> Result<()> {
        let consistent = self.config.objective.consistency.is_some();
        let unlabelled = consistent.then_some(perturbation);
        self.run_on(Noise { unlabelled, ..self.noise(perturbation) }, observer)
    }

    /// Noise that perturbs all unlabelled rows and no labelled ones.
    fn noise<'p>(&self, perturbation: &'p dyn Perturbation) -> Noise<'p> {
        Noise {
            sigma: self.config.noise,
            labelled: None,
            unlabelled: Some(perturbation),
            two_views: self.config.objective.consistency.is_some(),
        }
    }

    pub(super) fn batches<'p>(&self, noise: Noise<'p>) -> Batches<'p>
    where
        'a: 'p,
    {
        let sizes = (self.config.batch_labelled, self.config.batch_unlabelled);
        Batches::new(self.rows, sizes, self.seed, noise).taught_first(self.taught_steps())
    }

    /// Steps that see unlabelled rows that teachers predicted, and no others.
    fn taught_steps(&self) -> usize {
        let until = self.config.objective.soft_targets.map_or(0.0, |soft| soft.until);
        (until * self.config.steps as f64).ceil() as usize
    }

    fn run_on(&mut self, noise: Noise, observer: &mut dyn Observer) -> Result<()> {
        self.state.check(self.config, self.rows)?;
        let unmoved = self.config.views.map(ImageViews::unmoved);
        let mut sharded = self.sharded.take().map(|Sharded { shards, reduce }| {
            let sizes = (self.config.batch_labelled, self.config.batch_unlabelled);
            self.n_unlabelled = shards.n_unlabelled();
            (ShardedBatches::new(self.rows, shards, sizes, self.taught_steps(), self.seed, noise), reduce)
        });
        let mut batches = self.batches(noise);
        let place = self.state.model.place();
        let objective = self.objective();
        let period = self.record_period();
        while self.state.step < self.config.steps {
            if let Some(em) = &self.config.em
                && self.state.step.is_multiple_of(em.every.max(1).saturating_mul(self.steps_per_epoch()))
            {
                self.expectation(em, observer)?;
            }
            self.refine(&mut batches, unmoved.as_ref().map(|views| views as &dyn Perturbation), observer)?;
            let Gradient { loss, terms, gradients } = match &mut sharded {
                None => {
                    let batch = batches.batch(self.state.step, self.state.q.as_deref(), &place)?;
                    self.gradient(&objective, &batch)
                }
                Some((batches, by)) => self.sharded_gradient(&objective, batches, *by)?,
            };
            let norm = Adam::norm(&gradients);
            let rate = self.config.schedule.rate(self.state.step, self.config.steps) * self.state.rate_scale;
            let cause = fault(loss, norm).or_else(|| self.update(gradients, norm, rate));
            match cause {
                None => {
                    self.state.history.add(loss, norm, rate, terms.into_iter());
                    observer.loss(loss);
                }
                Some(cause) => self.roll_back(cause)?,
            }
            self.state.step += 1;
            if self.state.step.is_multiple_of(period) || self.state.step == self.config.steps {
                let accuracy = self.labelled_accuracy()?;
                let record = self.state.history.close(self.state.step, self.steps_per_epoch(), accuracy);
                observer.epoch(&record);
            }
            if observer.step(&self.state) == Control::Stop && self.state.step < self.config.steps {
                return Err(Error::Interrupted { step: self.state.step });
            }
        }
        Ok(())
    }

    /// The gradient of the loss on a batch.
    fn gradient(&self, objective: &Objective, batch: &Batch) -> Gradient {
        let progress = self.state.step as f64 / self.config.steps as f64;
        let fixed = self.state.model.clone().with_statistics(NormStatistics::Batch);
        let tracked = fixed.tracked();
        // The prior of this step's model, not of the run's first: a resumed run must see the same.
        let prior = self.state.model.mixture().log_prior().exp();
        let terms = self.terms(objective, &tracked, &fixed, batch, &prior, progress);
        drop(fixed);
        let loss = total(&terms);
        let value = to_scalar(&loss);
        let gradients = gradients(&tracked, &loss);
        let terms = terms.iter().map(|term| (term.name, to_scalar(&term.value))).collect();
        Gradient { loss: value, terms, gradients }
    }

    /// The terms of the loss, with dropout if the settings ask for it.
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
        let mut densities = |x: Tensor<2>| tracked.densities_with_dropout(x, &mut dropout);
        objective.terms_by(&mut densities, fixed, batch, prior, progress)
    }

    /// Steps for one pass over the unlabelled rows (the labelled ones, if there are no others).
    pub fn steps_per_epoch(&self) -> usize {
        let (n, batch) = match self.n_unlabelled {
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
            objective.unlabelled_term = UnlabelledTerm::Em;
        }
        objective
    }

    /// One step of the optimiser; returns the cause if the weights are not finite after it.
    fn update(&mut self, gradients: Vec<Tensor<1>>, norm: f64, rate: f64) -> Option<String> {
        let state = &mut self.state;
        if state.step.is_multiple_of(SNAPSHOT_EVERY) || state.snapshot.is_none() {
            state.snapshot = Some(Snapshot {
                thetas: trained_values(&state.model),
                adam: state.adam.clone(),
                ema: state.ema.clone(),
            });
            state.failures = 0;
        }
        // The parameters leave the model while they change: held once, they are updated in place.
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
        if let Some(snapshot) = state.snapshot.clone() {
            set_trained(&mut state.model, snapshot.thetas);
            state.adam = snapshot.adam;
            state.ema = snapshot.ema;
        }
        Ok(())
    }

    /// An error if the observer wants to stop between two steps.
    pub(super) fn go_on(&self, observer: &mut dyn Observer) -> Result<()> {
        match observer.between_steps() {
            Control::Continue => Ok(()),
            Control::Stop => Err(Error::Interrupted { step: self.state.step }),
        }
    }

    /// The E-step of appendix A on all unlabelled rows, and the mixture's own M-step if it has one.
    fn expectation(&mut self, em: &Em, observer: &mut dyn Observer) -> Result<()> {
        let mut go_on = || self.go_on(observer);
        let em = em.at(self.state.step, self.config.steps);
        let step = em::expectation(&self.state.model, self.rows, &em, &mut go_on)?;
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
