//! Held-out labels decide how much the flow counts beside the forest, and how sure both may be.
//!
//! For each fold of the labelled rows, teachers, flow and forest learn again without its labels, the flow by a short run:
//!
//! ```text
//! p(w | labels) ~ Beta(w; a, b) prod_i [ w p_flow(y_i | x_i) + (1 - w) p_forest(y_i | x_i) ]      the weight is its mean
//! ```
//!
//! With few labels the mean stays near the prior's, with many it follows them: nothing switches.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use flowgmm_core::train::{Control, Purpose, TrainConfig, TrainState, stream};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use semisup::{metrics::arg_max, split};

use super::Fitter;
use crate::{
    Error, Result,
    config::{Calibration, ForestConfig},
    model::Evidence,
    observer::{Observer, Phase},
    prepared::Prepared,
};
use flowgmm_core::checkpoint::Progress;

/// The Beta prior of the flow's weight: the forest, which rests on learners that a user would try, is the safe one until
/// labels speak for the flow.
const PRIOR: (f64, f64) = (0.6, 2.4);
/// Steps of a short run, at most: what a fold tells hardly changes after these.
const SHORT: usize = 600;
/// The forest of a fold has so many times fewer trees: it predicts a few rows, once.
const FEWER_TREES: usize = 2;
/// Weights that are integrated over.
const GRID: usize = 200;

/// What flows and forests that were not shown them say of the labelled rows.
pub(super) struct HeldOut {
    /// log p(x, k) by the flows, `[n, K]`.
    pub log_joint: Array2<f64>,
    /// p(k | x) by the forests, `[n, K]`; 0 without a forest.
    pub forest: Array2<f64>,
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
            forest: Array2::zeros((0, data.n_classes())),
            y: Vec::new(),
        };
        for part in found {
            match part {
                Ok(part) => {
                    all.log_joint.append(Axis(0), part.log_joint.view()).expect("as many classes");
                    all.forest.append(Axis(0), part.forest.view()).expect("as many classes");
                    all.y.extend(part.y);
                }
                Err(Error::Diverged { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok((!all.y.is_empty()).then_some(all))
    }

    /// What a flow and a forest that are not shown a fold say of it.
    fn fold(
        &self,
        problem: &Prepared,
        short: &TrainConfig,
        held: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<HeldOut> {
        let shown = problem.without(held, observer)?;
        let at: Vec<usize> = held.iter().map(|&at| problem.labelled_row(at)).collect();
        let forest = match self.config.forest {
            None => Array2::zeros((held.len(), self.data.n_classes())),
            Some(ForestConfig { n_trees }) => {
                let forest =
                    problem.forest(self.data.x(), &shown, n_trees.div_ceil(FEWER_TREES), self.seed)?;
                forest.smoothed(self.data.x().select(Axis(0), &at).view())
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
        Ok(HeldOut { log_joint, forest, y: held.iter().map(|&at| y[at]).collect() })
    }
}

/// The mean weight of the flow, given what both say of held-out labels: log-probabilities of the flow, probabilities of the
/// forest, both `[n, K]`.
pub(super) fn flow_weight(flow: ArrayView2<f64>, forest: ArrayView2<f64>, y: &[usize]) -> f64 {
    let own = |i: usize| (flow[[i, y[i]]].exp(), forest[[i, y[i]]]);
    let of_labels: Vec<(f64, f64)> = (0..y.len()).map(own).collect();
    let (a, b) = PRIOR;
    let log_posterior = |w: f64| {
        let prior = (a - 1.0) * w.ln() + (b - 1.0) * (1.0 - w).ln();
        prior + of_labels.iter().map(|(flow, forest)| (w * flow + (1.0 - w) * forest).ln()).sum::<f64>()
    };
    mean_under((0..GRID).map(|i| (i as f64 + 0.5) / GRID as f64), log_posterior)
}

/// The mean of points, each weighed by the exponential of a log density that need not be normalised.
pub(super) fn mean_under(points: impl Iterator<Item = f64>, log_density: impl Fn(f64) -> f64) -> f64 {
    let points: Vec<(f64, f64)> = points.map(|point| (point, log_density(point))).collect();
    let most = points.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut total) = (0.0, 0.0);
    for (point, log) in points {
        let mass = (log - most).exp();
        sum += mass * point;
        total += mass;
    }
    sum / total
}

/// The mean of the prior, where no label can be held out.
pub(super) fn prior_weight() -> f64 {
    PRIOR.0 / (PRIOR.0 + PRIOR.1)
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

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_weight_follows_held_out_labels_and_stays_near_the_prior_without_them() {
        let (sure, unsure) = (array![[0.95, 0.05]], array![[0.5, 0.5]]);
        let repeat = |p: &Array2<f64>, n: usize| Array2::from_shape_fn((n, 2), |(_, k)| p[[0, k]]);
        let weight = |flow: &Array2<f64>, forest: &Array2<f64>, n: usize| {
            flow_weight(repeat(flow, n).ln().view(), repeat(forest, n).view(), &vec![0; n])
        };
        assert!((weight(&sure, &sure, 30) - prior_weight()).abs() < 0.01, "equally good: as before");
        assert!(weight(&sure, &unsure, 200) > 0.9 && weight(&unsure, &sure, 100) < 0.05);
        let few = weight(&sure, &unsure, 2);
        assert!(few > prior_weight() && few < 0.4, "{few}: two labels do not decide");
        assert!(
            (flow_weight(Array2::zeros((0, 2)).view(), Array2::zeros((0, 2)).view(), &[]) - prior_weight())
                .abs()
                < 0.01
        );
    }
}
