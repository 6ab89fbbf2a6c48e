//! Labelled rows predicted by fits that did not see them: with the unlabelled rows, and without.
//!
//! The labelled rows are split into stratified folds. For each fold two models are fitted without it, rows and labels,
//! with the settings of the fit itself but a fraction of its steps: one to all other rows, one to the labelled rows among
//! them. A logistic regression on the same labelled rows is the baseline. The number of steps is fixed in advance, so the
//! same seed gives the same report on any machine.

use flowgmm_learners::{PlainLogisticRegression, Standardised};
use ndarray::{Array2, Axis};
use semisup::{Classifier, Learner, SemiSupervised, metrics::arg_max, split};
use serde::Serialize;

use super::subject::Subject;
use crate::{
    Calibration, FitConfig,
    error::Result,
    observer::{Observer, Phase},
};

/// How labelled rows were cross-validated. The short fits to all rows take about as many steps together as the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CrossValidation {
    /// Parts of the labelled rows.
    pub folds: usize,
    /// How often the rows are split anew.
    pub repeats: usize,
    /// Steps of a short fit.
    pub steps: usize,
    /// Steps of the fit that is reported on.
    pub full_steps: usize,
    /// Folds without a prediction, because a fit diverged.
    pub failed_folds: usize,
}

impl CrossValidation {
    /// Few labels are split twice, since it matters a lot which of them are held out together.
    fn of(n_labelled: usize, full_steps: usize) -> Self {
        let (folds, repeats, fraction) = if n_labelled < 60 { (4, 2, 0.12) } else { (5, 1, 0.2) };
        let steps = ((full_steps as f64 * fraction) as usize).max(1);
        Self { folds, repeats, steps, full_steps, failed_folds: 0 }
    }
}

/// Predictions of held-out rows, `m` of them: each row as often as it was held out.
pub(super) struct HeldOut {
    /// Rows of the data, `[m]`.
    pub(super) rows: Vec<usize>,
    /// Their classes, `[m]`.
    pub(super) y: Vec<usize>,
    /// log p(k | x) by fits to all other rows, with temperatures and weights of the model, `[m, K]`.
    pub(super) log_probs: Array2<f64>,
    /// Classes predicted by fits to the labelled rows among them, `[m]`.
    pub(super) labelled_only: Vec<usize>,
    /// Classes predicted by logistic regression on the same rows, `[m]`.
    pub(super) logistic: Vec<usize>,
    /// How they were held out.
    pub(super) plan: CrossValidation,
}

/// Holds out every labelled row that is not the only one of its class; `None` if there are too few.
pub(super) fn cross_validate(subject: &Subject, observer: &mut dyn Observer) -> Result<Option<HeldOut>> {
    let data = subject.data();
    let labelled = data.labelled();
    let y: Vec<usize> = data.y().iter().flatten().copied().collect();
    let config = &subject.settings().config;
    let plan = CrossValidation::of(labelled.len(), config.train.steps);
    let mut rng = semisup::rng(subject.settings().seed);
    let folds: Vec<Vec<usize>> =
        (0..plan.repeats).flat_map(|_| split::folds(&y, plan.folds, &mut rng)).collect();
    let short = shortened(config, plan.steps);
    let mut out = HeldOut::new(plan, data.n_classes());
    for (i, fold) in folds.iter().enumerate() {
        let held: Vec<usize> = fold.iter().map(|&at| labelled[at]).collect();
        observer.phase(&Phase::CrossValidating { fold: i + 1, folds: folds.len() }, None);
        out.add_fold(subject, &short, &held, observer)?;
    }
    Ok((!out.rows.is_empty()).then_some(out))
}

impl HeldOut {
    fn new(plan: CrossValidation, n_classes: usize) -> Self {
        let none = Vec::new;
        let log_probs = Array2::zeros((0, n_classes));
        Self { rows: none(), y: none(), log_probs, labelled_only: none(), logistic: none(), plan }
    }

    fn add_fold(
        &mut self,
        subject: &Subject,
        short: &FitConfig,
        held: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let data = subject.data();
        let seen: Vec<usize> = (0..data.n()).filter(|row| held.binary_search(row).is_err()).collect();
        let rest = data.select(&seen)?;
        let only = rest.labelled_only();
        let x = data.x().select(Axis(0), held);
        let Some(all) = subject.refit(short, &rest, observer)? else {
            self.plan.failed_folds += 1;
            return Ok(());
        };
        // Short fits learn no weights of their own: theirs are those of the model.
        let like = subject.model();
        let log_probs = all.weighed_like(like).log_probs(x.view());
        let without = match only.n() < rest.n() {
            true => {
                let without = subject.refit(short, &only, observer)?;
                without.map(|model| model.weighed_like(like).predict(x.view()))
            }
            false => Some(arg_max(log_probs.view())),
        };
        let (Some(without), true) = (without, log_probs.iter().all(|v| v.is_finite())) else {
            self.plan.failed_folds += 1;
            return Ok(());
        };
        self.rows.extend(held);
        self.y.extend(held.iter().filter_map(|&row| data.y()[row]));
        self.log_probs.append(Axis(0), log_probs.view()).expect("as many classes");
        self.labelled_only.extend(without);
        self.logistic.extend(logistic(&only, &x)?);
        Ok(())
    }
}

/// The settings with so many steps, one start, and no calibration that takes runs of its own.
fn shortened(config: &FitConfig, steps: usize) -> FitConfig {
    let mut short = config.clone();
    short.train.steps = steps;
    short.multi_start.starts = 1;
    if let Some(Calibration::Folds { .. }) = short.calibration {
        short.calibration = None;
    }
    short
}

/// Classes of rows x by logistic regression as scikit-learn has it: standardised columns, the default penalty.
pub(super) fn logistic(labelled: &SemiSupervised, x: &Array2<f64>) -> Result<Vec<usize>> {
    let model = Standardised(PlainLogisticRegression::default()).fit(labelled, 0)?;
    Ok(model.predict(x.view()))
}
