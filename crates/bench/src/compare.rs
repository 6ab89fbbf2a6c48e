//! Any learner on the user's own rows, to compare FlowGMM with: what `flowgmm fit --learner` does.

use std::time::Instant;

use flowgmm::{Observer, Phase, Source, Training, read_labelled, watched};
use flowgmm_data::{Cells, Column, Frame};
use flowgmm_learners::AnyModel;
use semisup::{ImageShape, Scores, metrics::arg_max};
use serde::Serialize;

use crate::{Error, Result, registry};

/// A learner that was fitted to the user's rows.
pub struct LearnerFit<'a> {
    /// What was fitted, to what, and how long it took.
    pub report: LearnerReport,
    /// The learner's name in tables and reports.
    pub title: String,
    /// The fitted model.
    pub model: AnyModel,
    training: &'a Training,
}

/// What was fitted, to what, and how long it took.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerReport {
    /// The learner, by its name in the registry.
    pub learner: String,
    /// Its hyper-parameters.
    pub settings: String,
    /// Rows it was fitted to.
    pub rows: usize,
    /// Those of them with a label.
    pub labelled: usize,
    /// Those without.
    pub unlabelled: usize,
    /// The names of the numbers that a row becomes; absent for images.
    pub columns: Option<Vec<String>>,
    /// The shape of images, padding included.
    pub layout: Option<ImageShape>,
    /// The seed.
    pub seed: u64,
    /// Seconds of fitting.
    pub seconds: f64,
}

/// How a learner does on labelled rows.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerScores {
    /// Accuracy, negative log-likelihood, calibration and confusion.
    #[serde(flatten)]
    pub scores: Scores,
    /// What the user should know about the rows.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Fits the learner `name` of [`registry`] to rows, in `steps` training steps instead of its own if given.
///
/// A name or steps that make no sense fail before any work; [`Registry::learner`](crate::Registry::learner) says so
/// before rows are read.
///
/// ```
/// use flowgmm::{Request, Source, Training};
/// use flowgmm_bench::fit_learner;
///
/// let semisup::Problem { train, test } = semisup::Toy::Moons.problem(1);
/// let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// let request = Request::new(Source::matrix(train.x()).labels(labels));
/// let training = Training::read(&request, &mut ())?;
/// let fit = fit_learner("label-spreading", &training, None, 0)?;
/// assert_eq!(fit.predictions()?.n(), train.n());
/// let labels = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
/// let found = fit.evaluate(&Source::matrix(test.x()).labels(labels), &mut ())?;
/// assert!(found.scores.accuracy > 0.9);
/// # Ok::<(), flowgmm_bench::Error>(())
/// ```
pub fn fit_learner<'a>(
    name: &str,
    training: &'a Training,
    steps: Option<usize>,
    seed: u64,
) -> Result<LearnerFit<'a>> {
    fit_learner_watched(name, training, steps, seed, &mut ())
}

/// [`fit_learner`], watched by somebody who may stop it.
pub fn fit_learner_watched<'a>(
    name: &str,
    training: &'a Training,
    steps: Option<usize>,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<LearnerFit<'a>> {
    let registry = registry();
    let learner = registry.learner(name, steps)?;
    let data = &training.data;
    let began = Instant::now();
    // Learners count in percent.
    let model = watched(observer, &Phase::Fitting, 100, |watch| {
        let model = learner.fit_any_watched(data, seed, watch);
        // A learner that was stopped says so in its own words.
        watch.at(1.0)?;
        Ok(model)
    })?;
    let failed = |why: flowgmm_learners::AnyError| Error::Learner { name: name.into(), why: why.to_string() };
    let model = model.map_err(failed)?;
    let report = LearnerReport {
        learner: name.into(),
        settings: learner.settings(),
        rows: data.n(),
        labelled: data.labelled().len(),
        unlabelled: data.unlabelled().len(),
        columns: data.image_shape().is_none().then(|| data.columns().to_vec()),
        layout: data.image_shape(),
        seed,
        seconds: began.elapsed().as_secs_f64(),
    };
    Ok(LearnerFit { report, title: learner.name(), model, training })
}

impl LearnerFit<'_> {
    /// Class and class probabilities of every row it was fitted to: columns `class` and `p_<class>`.
    pub fn predictions(&self) -> Result<Frame> {
        let x = self.training.data.x();
        let log_probs = self.model.log_probs(x);
        let classes = self.model.classes();
        let predicted = arg_max(log_probs.view()).into_iter().map(|k| Some(classes[k].as_str()));
        let mut columns = vec![Column { name: "class".into(), cells: Cells::Texts(predicted.collect()) }];
        for (k, class) in classes.iter().enumerate() {
            let cells = Cells::Numbers(log_probs.column(k).mapv(f64::exp).to_vec());
            columns.push(Column { name: format!("p_{class}"), cells });
        }
        let frame = Frame::new("predictions", columns, (1..=x.nrows() as u64).collect());
        Ok(frame.map_err(flowgmm::Error::from)?)
    }

    /// Scores on the labelled rows of a source; rows without a label are skipped.
    pub fn evaluate(&self, test: &Source, observer: &mut dyn Observer) -> Result<LearnerScores> {
        let found = read_labelled(&self.training.rows, self.model.classes(), test, observer)?;
        let scores = Scores::from_log_probs(&self.model.log_probs(found.x.view()), &found.y);
        Ok(LearnerScores { scores, warnings: found.warnings })
    }
}
