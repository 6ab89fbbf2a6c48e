//! Labelled rows predicted by fits that did not see them: with the unlabelled rows, and without.
//!
//! The labelled rows are dealt into stratified folds. For each fold two models are fitted without it, row and label,
//! with the settings of the fit itself but in a share of its steps: one to all other rows, one to the labelled ones
//! among them. A logistic regression on the same labelled rows stands beside them, as what one would do otherwise.
//! The number of steps is fixed in advance, so the same seed gives the same report at any speed.

use flowgmm::{Calibration, FitConfig, Fitter, Model};
use flowgmm_learners::Logistic;
use ndarray::{Array2, Axis};
use semisup::{Classifier, Preprocess, SemiSupervised, metrics::arg_max, split};

use super::Subject;
use crate::{
    exit::{Failure, Result},
    progress::FitProgress,
};

/// How the labelled rows are held out. The short fits to all rows take about as many steps together as the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Parts of the labelled rows.
    pub folds: usize,
    /// How often they are dealt anew.
    pub repeats: usize,
    /// Length of a short fit as a share of the fit.
    pub share: f64,
}

impl Plan {
    /// Few labels are dealt twice, since it matters much which of them meet in a fold.
    fn of(n_labelled: usize) -> Self {
        if n_labelled < 60 {
            Self { folds: 4, repeats: 2, share: 0.12 }
        } else {
            Self { folds: 5, repeats: 1, share: 0.2 }
        }
    }
}

/// Predictions of held-out rows, `m` of them: each row as often as it was held out.
pub struct HeldOut {
    /// Rows of the data, `[m]`.
    pub rows: Vec<usize>,
    /// Their classes, `[m]`.
    pub y: Vec<usize>,
    /// log p(k | x) by fits to all other rows, at the temperature of the model, `[m, K]`.
    pub log_probs: Array2<f64>,
    /// Classes predicted by fits to the labelled ones among them, `[m]`.
    pub labelled_only: Vec<usize>,
    /// Classes predicted by a logistic regression on the same, `[m]`.
    pub linear: Vec<usize>,
    /// How they were held out.
    pub plan: Plan,
    /// Steps of a short fit.
    pub steps: usize,
    /// Folds without a prediction because a fit diverged.
    pub lost: usize,
}

impl HeldOut {
    fn new(plan: Plan, steps: usize, n_classes: usize) -> Self {
        let none = Vec::new;
        let log_probs = Array2::zeros((0, n_classes));
        Self {
            rows: none(),
            y: none(),
            log_probs,
            labelled_only: none(),
            linear: none(),
            plan,
            steps,
            lost: 0,
        }
    }
}

/// Holds out every labelled row that is not the only one of its class; `None` if there are too few.
pub fn cross_validate(subject: &Subject, progress: &mut FitProgress) -> Result<Option<HeldOut>> {
    let data = subject.data;
    let labelled = data.labelled();
    let y: Vec<usize> = data.y().iter().flatten().copied().collect();
    let plan = Plan::of(labelled.len());
    let mut rng = semisup::rng(subject.settings.seed);
    let folds: Vec<Vec<usize>> =
        (0..plan.repeats).flat_map(|_| split::folds(&y, plan.folds, &mut rng)).collect();
    let short = shortened(&subject.settings.config, plan.share);
    let mut out = HeldOut::new(plan, short.train.steps, data.n_classes());
    for (i, fold) in folds.iter().enumerate() {
        let held: Vec<usize> = fold.iter().map(|&at| labelled[at]).collect();
        progress.call(format!("report {}/{}", i + 1, folds.len()));
        out.add_fold(subject, &short, &held, progress)?;
    }
    Ok((!out.rows.is_empty()).then_some(out))
}

impl HeldOut {
    fn add_fold(
        &mut self,
        subject: &Subject,
        short: &FitConfig,
        held: &[usize],
        progress: &mut FitProgress,
    ) -> Result<()> {
        let data = subject.data;
        let seen: Vec<usize> = (0..data.n()).filter(|row| held.binary_search(row).is_err()).collect();
        let rest = data.select(&seen)?;
        let only = rest.labelled_only();
        let x = data.x().select(Axis(0), held);
        let Some(all) = fit(subject, short, &rest, progress)? else {
            self.lost += 1;
            return Ok(());
        };
        let log_probs = all.at_temperature(subject.model.temperature()).log_probs(x.view());
        let without = match only.n() < rest.n() {
            true => fit(subject, short, &only, progress)?.map(|model| model.predict(x.view())),
            false => Some(arg_max(log_probs.view())),
        };
        let (Some(without), true) = (without, log_probs.iter().all(|v| v.is_finite())) else {
            self.lost += 1;
            return Ok(());
        };
        self.rows.extend(held);
        self.y.extend(held.iter().filter_map(|&row| data.y()[row]));
        self.log_probs.append(Axis(0), log_probs.view()).expect("as many classes");
        self.labelled_only.extend(without);
        self.linear.extend(linear(&only, &x)?);
        Ok(())
    }
}

/// The same settings in a share of the steps, from one start and without a calibration that takes runs of its own.
fn shortened(config: &FitConfig, share: f64) -> FitConfig {
    let mut short = config.clone();
    short.train.steps = ((short.train.steps as f64 * share) as usize).max(1);
    short.multi_start.starts = 1;
    if let Some(Calibration::Folds { .. }) = short.calibration {
        short.calibration = None;
    }
    short
}

/// A fit as the model's own, of other rows; nothing if it diverges or the rows do not suffice.
pub fn fit(
    subject: &Subject,
    config: &FitConfig,
    data: &SemiSupervised,
    progress: &mut FitProgress,
) -> Result<Option<Model>> {
    let settings = subject.settings;
    let fitter = Fitter::new(config, data, settings.seed).engine(settings.engine);
    match fitter.place(subject.place.clone()).run(progress) {
        Ok(model) => Ok(Some(model)),
        Err(flowgmm::Error::Diverged { .. } | flowgmm::Error::Data(_)) => Ok(None),
        Err(flowgmm::Error::Interrupted { .. }) => Err(Failure::Interrupted(format!(
            "interrupted while the report was made; the model is in {}, no report was written",
            subject.model_path.display()
        ))),
        Err(other) => Err(other.into()),
    }
}

/// Classes by a logistic regression on standardised columns, with scikit-learn's default penalty.
pub fn linear(labelled: &SemiSupervised, x: &Array2<f64>) -> Result<Vec<usize>> {
    let scale = Preprocess::standardise(labelled.x())?;
    let y: Vec<usize> = labelled.y().iter().flatten().copied().collect();
    let q = Array2::from_shape_fn((y.len(), labelled.n_classes()), |(i, k)| f64::from(y[i] == k));
    let model = Logistic::fit(scale.apply(labelled.x()).view(), q.view(), 1.0);
    Ok(arg_max(model.log_probs(scale.apply(x.view()).view()).view()))
}
