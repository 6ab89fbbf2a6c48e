//! One learner on one draw: scores, seconds, memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use flowgmm_learners::AnyLearner;
use ndarray::{Array2, ArrayView2};
use semisup::{Labelled, Problem, Watch, metrics::arg_max};

use crate::record::{clipped_nll, forget_peak_memory, peak_memory};
use crate::{CellScores, Outcome};

/// What a cell gave.
pub(crate) struct Measured {
    pub outcome: Outcome,
    /// Accuracy on validation rows.
    pub validation: Option<f64>,
    pub fit_seconds: f64,
    pub predict_seconds: f64,
    pub peak_memory: Option<u64>,
}

impl Measured {
    /// A cell that could not even begin.
    pub fn failed(why: String) -> Self {
        let outcome = Outcome::Failed(why);
        Self { outcome, validation: None, fit_seconds: 0., predict_seconds: 0., peak_memory: None }
    }
}

/// Fits and predicts. An error, a panic or a probability that is no number is an outcome like others.
pub(crate) fn measure(
    learner: &dyn AnyLearner,
    problem: &Problem,
    validation: Option<&Labelled>,
    seed: u64,
    watch: &dyn Watch,
) -> Measured {
    forget_peak_memory();
    let began = Instant::now();
    let (mut fit_seconds, mut validated) = (None, None);
    let work = AssertUnwindSafe(|| {
        let model =
            learner.fit_any_watched(&problem.train, seed, watch).map_err(|error| error.to_string())?;
        fit_seconds = Some(began.elapsed().as_secs_f64());
        let of = |rows: &Labelled| model.log_probs(rows.x());
        validated = validation.map(|rows| accuracy_of(&of(rows), model.classes(), rows));
        Ok(of(&problem.test))
    });
    let log_probs = catch_unwind(work).unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))));
    let seconds = began.elapsed().as_secs_f64();
    let fit_seconds = fit_seconds.unwrap_or(seconds);
    let outcome = match log_probs {
        Err(why) => Outcome::Failed(why),
        Ok(log_probs) if log_probs.dim() != (problem.test.n(), problem.train.n_classes()) => {
            Outcome::Failed(format!("predictions have the shape {:?}", log_probs.dim()))
        }
        Ok(log_probs) if log_probs.iter().any(|value| value.is_nan()) => {
            Outcome::Failed("some probabilities are not numbers".into())
        }
        Ok(log_probs) => match over_test_classes(log_probs.view(), problem) {
            Ok(log_probs) => Outcome::Scored(CellScores::from_log_probs(&log_probs, problem.test.y())),
            Err(why) => Outcome::Failed(why),
        },
    };
    let (validation, predict_seconds) = (validated, seconds - fit_seconds);
    Measured { outcome, validation, fit_seconds, predict_seconds, peak_memory: peak_memory() }
}

/// Share of rows whose most probable class is theirs.
fn accuracy_of(log_probs: &Array2<f64>, classes: &[String], rows: &Labelled) -> f64 {
    let predicted = arg_max(log_probs.view());
    let right = |(k, y): &(&usize, &usize)| classes[**k] == rows.classes()[**y];
    predicted.iter().zip(rows.y()).filter(right).count() as f64 / rows.n() as f64
}

/// [`CellScores::clipped_nll`] of predicting the class shares of the labels for every test row.
pub(crate) fn shares_nll(problem: &Problem) -> Option<f64> {
    let counts = problem.train.class_counts();
    let n = counts.iter().sum::<usize>() as f64;
    let of = |(_, k): (usize, usize)| (counts[k] as f64 / n).ln();
    let log_shares = Array2::from_shape_fn((problem.test.n(), counts.len()), of);
    let log_shares = over_test_classes(log_shares.view(), problem).ok()?;
    Some(clipped_nll(&log_shares, problem.test.y()))
}

/// log p over the classes of the training rows, `[n, known]`, as log p over those of the test rows, `[n, n_classes]`: a class
/// that has no label has probability 0.
fn over_test_classes(log_probs: ArrayView2<f64>, problem: &Problem) -> Result<Array2<f64>, String> {
    let (known, all) = (problem.train.classes(), problem.test.classes());
    if known.len() == all.len() {
        return Ok(log_probs.to_owned());
    }
    let mut wide = Array2::from_elem((log_probs.nrows(), all.len()), f64::NEG_INFINITY);
    for (class, column) in known.iter().zip(log_probs.columns()) {
        let k = all.iter().position(|name| name == class);
        let k = k.ok_or_else(|| format!("the test rows do not know class '{class}'"))?;
        wide.column_mut(k).assign(&column);
    }
    Ok(wide)
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use semisup::SemiSupervised;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn rows_of_an_unknown_class_are_errors_with_the_least_probability() {
        let x = array![[0.], [1.], [2.], [3.]];
        let known = SemiSupervised::new(
            x.clone(),
            vec![Some(0), Some(1), Some(1), Some(1)],
            names(&["a", "c"]),
            names(&["x"]),
        );
        let test = Labelled::new(x, vec![0, 1, 2, 2], names(&["a", "b", "c"]), names(&["x"])).unwrap();
        let problem = Problem { train: known.unwrap(), test };
        let probs = array![[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.4, 0.6]];
        let wide = over_test_classes(probs.ln().view(), &problem).unwrap();
        assert_eq!(wide.exp().column(1).to_vec(), [0.; 4]);
        let scores = CellScores::from_log_probs(&wide, problem.test.y());
        assert_eq!((scores.accuracy, scores.nll), (0.75, None));
        // (ln 2 + 6 ln 10 - ln 0.8 - ln 0.6) / 4
        assert!((scores.clipped_nll.unwrap() - 3.8106567).abs() < 1e-6);
        // Shares 1/4 and 3/4 of a and c: (ln 4 + 6 ln 10 + 2 ln 4/3) / 4
        assert!((shares_nll(&problem).unwrap() - 3.9442923).abs() < 1e-6);
    }
}
