//! What labels that are held out say of the flow and of the experts beside it: for each fold of the labelled rows, teachers,
//! flow and experts learn again without its labels, the flow by a short run.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use flowgmm_core::train::{Control, Purpose, TrainConfig, TrainState, stream};
use ndarray::{Array2, Axis};
use rayon::prelude::*;
use semisup::{metrics::arg_max, split};

use super::{
    Fitter,
    experts::{ExpertProbs, Experts},
};
use crate::{
    Error, Result,
    config::{Calibration, ForestConfig},
    model::Evidence,
    observer::{Observer, Phase},
    prepared::Prepared,
};
use flowgmm_core::checkpoint::Progress;

/// Steps of a short run, at most: what a fold tells hardly changes after these.
const SHORT: usize = 600;
/// Forests of a fold have so many times fewer trees: they predict a few rows, once.
const FEWER_TREES: usize = 2;

/// What flows and experts that were not shown them say of the labelled rows.
pub(super) struct HeldOut {
    /// log p(x, k) by the flows, `[n, K]`.
    pub log_joint: Array2<f64>,
    /// p(k | x) by the experts, `[n, K]`; of no rows if none were asked for.
    pub experts: ExpertProbs,
    /// The classes, `[n]`.
    pub y: Vec<usize>,
}

impl HeldOut {
    /// What they say of the flow alone, at a temperature.
    pub(super) fn of_flow(&self, temperature: f64) -> Evidence {
        let predicted = arg_max(self.log_joint.view());
        Evidence::of_flow(&predicted, &self.y, self.log_joint.ncols(), temperature)
    }
}

impl Fitter<'_> {
    /// Fits without each fold in turn, several at once; `None` if no label can be held out, or none is asked for.
    pub(super) fn hold_out(
        &self,
        problem: &Prepared,
        observer: &mut dyn Observer,
    ) -> Result<Option<HeldOut>> {
        let Some(Calibration::Folds { folds, fraction }) = self.config.calibration else { return Ok(None) };
        let y = problem.y_labelled();
        let folds = split::folds(&y, folds, &mut stream(self.seed, Purpose::Folds, u64::MAX >> 16));
        if folds.is_empty() {
            return Ok(None);
        }
        let mut short = self.config.train.clone();
        short.steps = ((short.steps as f64 * fraction) as usize).clamp(1, SHORT);
        short.shards = None; // on the sample alone
        observer.phase(&Phase::HoldingOut { folds: folds.len() }, Some(short.steps * folds.len()));
        let (done, watched) = (AtomicUsize::new(0), Mutex::new(observer));
        // A fit of its own for each fold: this one's checkpoints are not theirs.
        let (fit, data, seed, engine, place) = (self.config, self.data, self.seed, self.engine, &self.place);
        let found: Vec<Result<HeldOut>> = folds
            .par_iter()
            .map(|held| {
                let mut observer = Shared { observer: &watched, done: &done, seen: 0, steps: false };
                let fitter = Fitter::new(fit, data, seed).engine(engine).place(place.clone());
                fitter.fold(problem, &short, held, &mut observer)
            })
            .collect();
        let mut all = HeldOut {
            log_joint: Array2::zeros((0, data.n_classes())),
            experts: ExpertProbs::none(data.n_classes()),
            y: Vec::new(),
        };
        for part in found {
            match part {
                Ok(part) => {
                    all.log_joint.append(Axis(0), part.log_joint.view()).expect("as many classes");
                    all.experts.append(part.experts);
                    all.y.extend(part.y);
                }
                Err(Error::Diverged { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok((!all.y.is_empty()).then_some(all))
    }

    /// What a flow and experts that are not shown a fold say of it.
    fn fold(
        &self,
        problem: &Prepared,
        short: &TrainConfig,
        held: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<HeldOut> {
        let shown = problem.without(held, observer)?;
        let at: Vec<usize> = held.iter().map(|&at| problem.labelled_row(at)).collect();
        let experts = match self.config.forest {
            None => ExpertProbs::none(self.data.n_classes()),
            Some(ForestConfig { n_trees }) => {
                let experts = Experts::fit(problem, &shown, n_trees.div_ceil(FEWER_TREES), self.seed)?;
                experts.probs(problem.user_rows(&at).view(), problem.x_of(&at).view())
            }
        };
        let rows = problem.rows(&shown);
        let state = TrainState::new(self.fresh(problem, &shown, self.seed, observer)?, short);
        observer.phase(&Phase::Training, Some(short.steps));
        let (state, gmm) =
            self.train(short, problem, &rows, None, self.seed, state, &Progress::default(), observer)?;
        let log_joint = problem.joint_of(&gmm, held);
        if !log_joint.iter().all(|v| v.is_finite()) {
            let cause = "a held-out row has no finite density".to_string();
            return Err(Error::Diverged { step: state.step, cause, rollbacks: state.rollbacks });
        }
        let y = problem.y_labelled();
        Ok(HeldOut { log_joint, experts, y: held.iter().map(|&at| y[at]).collect() })
    }
}

/// Sums the steps of several fits for one observer.
struct Shared<'a, 'b> {
    observer: &'a Mutex<&'b mut dyn Observer>,
    done: &'a AtomicUsize,
    /// Steps of this phase of the fit that are counted already.
    seen: usize,
    /// Whether the phase counts training steps.
    steps: bool,
}

impl Observer for Shared<'_, '_> {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        (self.seen, self.steps) = (0, phase.counts_steps());
    }

    fn progress(&mut self, step: usize) -> Control {
        let steps = if self.steps { step.saturating_sub(self.seen) } else { 0 };
        self.seen = step;
        // Counted under the lock, so that nobody sees the count go back.
        let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        observer.progress(all)
    }
}
