//! One learner on one draw: scores, seconds, memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use flowgmm_learners::AnyLearner;
use semisup::{Problem, Scores, Watch};

use crate::record::{forget_peak_memory, peak_memory};
use crate::{CellScores, Outcome};

/// What a cell gave.
pub(crate) struct Measured {
    pub outcome: Outcome,
    pub fit_seconds: f64,
    pub predict_seconds: f64,
    pub peak_memory: Option<u64>,
}

impl Measured {
    /// A cell that could not even begin.
    pub fn failed(why: String) -> Self {
        Self { outcome: Outcome::Failed(why), fit_seconds: 0., predict_seconds: 0., peak_memory: None }
    }
}

/// Fits and predicts. An error, a panic or a probability that is no number is an outcome like others.
pub(crate) fn measure(learner: &dyn AnyLearner, problem: &Problem, seed: u64, watch: &dyn Watch) -> Measured {
    forget_peak_memory();
    let began = Instant::now();
    let mut fit_seconds = None;
    let work = AssertUnwindSafe(|| {
        let model =
            learner.fit_any_watched(&problem.train, seed, watch).map_err(|error| error.to_string())?;
        fit_seconds = Some(began.elapsed().as_secs_f64());
        Ok(model.log_probs(problem.test.x()))
    });
    let log_probs = catch_unwind(work).unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))));
    let seconds = began.elapsed().as_secs_f64();
    let fit_seconds = fit_seconds.unwrap_or(seconds);
    let outcome = match log_probs {
        Err(why) => Outcome::Failed(why),
        Ok(log_probs) if log_probs.dim() != (problem.test.n(), problem.test.n_classes()) => {
            Outcome::Failed(format!("predictions have the shape {:?}", log_probs.dim()))
        }
        Ok(log_probs) if log_probs.iter().any(|value| value.is_nan()) => {
            Outcome::Failed("some probabilities are not numbers".into())
        }
        Ok(log_probs) => {
            Outcome::Scored(CellScores::from(&Scores::from_log_probs(&log_probs, problem.test.y())))
        }
    };
    Measured { outcome, fit_seconds, predict_seconds: seconds - fit_seconds, peak_memory: peak_memory() }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}
