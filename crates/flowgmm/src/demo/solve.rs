//! Two fits of every problem: with its unlabelled rows, and without.

use std::{
    cmp::Reverse,
    fmt,
    time::{Duration, Instant},
};

use semisup::Scores;

use super::{problem::Problem, progress::SharedObserver, queue};
use crate::{Calibration, FitConfig, Fitter, Model, MultiStart, Predictions, Result, observer::Observer};

/// Which training rows a fit sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FitRows {
    All,
    LabelledOnly,
}

impl fmt::Display for FitRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all rows",
            Self::LabelledOnly => "labelled rows only",
        })
    }
}

/// A model and how well it does on test rows.
pub(super) struct Fitted {
    pub(super) model: Model,
    /// What the model says about the test rows.
    pub(super) test: Predictions,
    pub(super) scores: Scores,
    pub(super) seconds: f64,
}

/// A problem with both its fits.
pub(super) struct Pair {
    pub(super) problem: Problem,
    pub(super) all: Fitted,
    pub(super) labelled: Fitted,
}

/// Fits every problem twice; the largest first, so that no long fit is left over at the end.
pub(super) fn solve(
    problems: Vec<Problem>,
    seed: u64,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Vec<Pair>> {
    let mut jobs: Vec<(usize, FitRows)> =
        (0..problems.len()).flat_map(|p| [(p, FitRows::All), (p, FitRows::LabelledOnly)]).collect();
    jobs.sort_by_key(|&(p, rows)| (Reverse(problems[p].train.dim()), rows == FitRows::LabelledOnly));
    let total = jobs.iter().map(|&(p, _)| steps(&problems[p])).sum();
    let shared = SharedObserver::new(observer, total);
    let fitted = queue::in_order(threads, &jobs, |&(p, rows)| -> Result<Fitted> {
        let fitted = fit(&problems[p], rows, seed, &shared)?;
        let what = format!("{} with {rows}", problems[p].name);
        shared.fitted(what, Duration::from_secs_f64(fitted.seconds));
        Ok(fitted)
    })?;
    let mut by_job: Vec<_> = jobs.into_iter().zip(fitted).collect();
    by_job.sort_by_key(|&((p, rows), _)| (p, rows == FitRows::LabelledOnly));
    let mut fitted = by_job.into_iter().map(|(_, fitted)| fitted);
    let mut next = || fitted.next().expect("two fits of each problem");
    problems.into_iter().map(|problem| Ok(Pair { problem, all: next()?, labelled: next()? })).collect()
}

fn fit(problem: &Problem, rows: FitRows, seed: u64, shared: &SharedObserver) -> Result<Fitted> {
    let began = Instant::now();
    let labelled = (rows == FitRows::LabelledOnly).then(|| problem.train.labelled_only());
    let data = labelled.as_ref().unwrap_or(&problem.train);
    let mut watcher = shared.watcher()?;
    let model = Fitter::new(&problem.config, data, seed).run(&mut watcher);
    let model = model.map_err(|error| shared.or_cancelled(error))?;
    let seconds = began.elapsed().as_secs_f64();
    let test = model.score(problem.test.x());
    let scores = Scores::from_log_probs(&test.log_probs, problem.test.y());
    Ok(Fitted { model, test, scores, seconds })
}

/// Training steps of a fit, those of short starts and calibration included.
fn steps(problem: &Problem) -> usize {
    let FitConfig { train, multi_start, calibration, .. } = &problem.config;
    let short = |fraction: f64| ((train.steps as f64 * fraction) as usize).max(1);
    let MultiStart { starts, fraction, folds } = *multi_start;
    let starts = if starts > 1 { starts * folds * short(fraction) } else { 0 };
    let fewest = problem.train.class_counts().into_iter().min().unwrap_or(0);
    let calibration = match *calibration {
        Some(Calibration::Folds { folds, fraction }) if fewest > 1 => folds.min(fewest) * short(fraction),
        _ => 0,
    };
    train.steps + starts + calibration
}
