//! What a model does with rows, and how far each prediction can be trusted: typed findings, made into JSON or a page.
//!
//! ```text
//! Source ─sampled→ rows ─one pass through the flow→ Subject { z, p(k | x), log p(x), boundary, typicality }
//!   ─cross-fitting on held-out halves of the labels→ Assessment { temperature, conformal threshold }
//!   ─one module per section→ Explanation ─serde→ JSON
//!                                        ─to_page→ Page
//! ```
//!
//! Labels are not needed; sections that could say more with them say so.

mod assessment;
mod boundary;
mod calibration;
mod counterfactuals;
mod display;
mod features;
mod groups;
mod label_next;
mod map;
mod out_of_distribution;
mod page;
mod paths;
mod prediction_sets;
mod samples;
mod subject;
mod trust;

use std::time::Instant;

use serde::Serialize;

use crate::{
    Error, Model, Result, Source,
    observer::{Control, Observer, Phase},
};

use display::Display;
use subject::Subject;

pub use boundary::{BoundaryDistances, ClassDistances};
pub use calibration::CalibrationFindings;
pub use counterfactuals::{CounterfactualRow, Counterfactuals};
pub use features::{ChannelEffects, ColumnEffect, ColumnEffects, Features, GroupEffect};
pub use label_next::{LabelNext, LabelSuggestion};
pub use map::{LatentMap, MapPoint};
pub use out_of_distribution::{OutOfDistribution, ScoreDetection};
pub use paths::{LatentPath, LatentPaths};
pub use prediction_sets::PredictionSets;
pub use samples::{ClassSamples, SampledClass};
pub use trust::{Abstention, TrustCard, TrustCards};

/// Number of sections.
const SECTIONS: usize = 11;

/// What to explain a model with.
#[derive(Clone, Debug)]
pub struct ExplainRequest {
    /// Rows that the model was not fitted to; with labels, more can be said.
    pub data: Source,
    /// Rows of another distribution: how well can the model tell them from those of `data`?
    pub out_of_distribution: Option<Source>,
    /// Rows without labels to choose from: which should be labelled next? Those of `data` without a label, if absent.
    pub unlabelled: Option<Source>,
    /// Most rows that are used of each source; if there are more, a random sample. 10,000, of images 2000, if absent.
    pub rows: Option<usize>,
    /// The share of rows whose prediction set may miss the true class, between 0 and 1.
    pub alpha: f64,
    /// Seed of samples, splits and draws.
    pub seed: u64,
}

impl ExplainRequest {
    /// Explains a model with these rows alone; prediction sets contain the true class in 90% of cases.
    pub fn new(data: Source) -> Self {
        Self { data, out_of_distribution: None, unlabelled: None, rows: None, alpha: 0.1, seed: 0 }
    }

    fn check(&self, model: &Model) -> Result<()> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Error::Request(format!("alpha must be between 0 and 1, got {}", self.alpha)));
        }
        if self.rows == Some(0) {
            return Err(Error::Request("at least one row must be used, got 0".into()));
        }
        match self.data.label() {
            Some(label) if model.rows().layout().is_none() && model.columns().iter().any(|c| c == label) => {
                Err(Error::Request(format!(
                    "'{label}' is a column that the model predicts from, not the label"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// What a model does with rows, section by section. JSON is `serde_json::to_value(&explanation)`.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// What messages call the rows' origin.
    pub data: String,
    /// How many rows were used.
    pub rows: usize,
    /// How many rows there are.
    pub rows_in_all: usize,
    /// How many of the rows used have a label.
    #[serde(skip)]
    pub labelled: usize,
    /// The names of the model's classes.
    pub classes: Vec<String>,
    /// Seed of samples, splits and draws.
    pub seed: u64,
    /// Are the probabilities calibrated? Absent if there are too few labels to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationFindings>,
    /// Conformal prediction sets, and the risk at each coverage. Absent if there are too few labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction_sets: Option<PredictionSets>,
    /// For each row, how far its prediction can be trusted.
    pub trust: TrustCards,
    /// Rows most worth labelling. Absent if all rows have labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_next: Option<LabelNext>,
    /// A map of the latent space; not in JSON.
    #[serde(skip)]
    pub map: LatentMap,
    /// Distances to the decision boundary.
    pub boundary: BoundaryDistances,
    /// Latent interpolation between rows, within and between classes. Absent if there are too few rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<LatentPaths>,
    /// The smallest latent change that changes the class of a row by the flow.
    pub counterfactuals: Counterfactuals,
    /// What the model looks at: the key `channels` for images, `columns` for tables. Absent for texts.
    #[serde(flatten)]
    pub features: Option<Features>,
    /// Decoded means and samples of each class; not in JSON. Absent for texts.
    #[serde(skip)]
    pub samples: Option<ClassSamples>,
    /// How well out-of-distribution rows are detected. Absent unless there are some, and two rows to compare them with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_distribution: Option<OutOfDistribution>,
    /// What the user should know about the rows; not in JSON.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    #[serde(skip)]
    display: Display,
}

/// Explains what a model does with rows, and how far its predictions can be trusted.
///
/// ```
/// use flowgmm::{ExplainRequest, Source};
/// # use flowgmm::Request;
/// # let problem = semisup::Toy::Moons.problem(1);
/// # let train = &problem.train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 100);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
///
/// let test = &problem.test;
/// let labels = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
/// let request = ExplainRequest {
///     out_of_distribution: Some(Source::matrix((&test.x() + 10.0).view())),
///     ..ExplainRequest::new(Source::matrix(test.x()).labels(labels))
/// };
/// // Of a file: ExplainRequest::new(Source::path("test.csv").label_column("class"))
/// let found = flowgmm::explain(&model, &request, &mut ())?;
/// assert!(found.out_of_distribution.as_ref().unwrap().best_auroc > 0.9);
/// let json = serde_json::to_value(&found).unwrap();
/// assert_eq!(json["trust"].as_array().unwrap().len(), found.rows);
/// assert!(found.to_page().to_html().contains("Trust cards"));
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn explain(model: &Model, request: &ExplainRequest, observer: &mut dyn Observer) -> Result<Explanation> {
    let began = Instant::now();
    request.check(model)?;
    let subject = &Subject::read(model, request, observer)?;
    let mut steps = Steps { observer, done: 0, data: &subject.seen.rows.name };
    Ok(Explanation {
        data: subject.seen.rows.name.clone(),
        rows: subject.seen.rows.n(),
        rows_in_all: subject.seen.rows.total,
        labelled: subject.seen.labelled().len(),
        classes: model.classes_ref().to_vec(),
        seed: request.seed,
        calibration: steps.step("calibration", || CalibrationFindings::find(subject))?,
        prediction_sets: steps.step("prediction sets", || PredictionSets::find(subject))?,
        trust: steps.step("trust cards", || TrustCards::find(subject))?,
        label_next: steps.step("label next", || LabelNext::find(subject))?,
        map: steps.step("latent map", || LatentMap::find(subject))?,
        boundary: steps.step("boundary", || BoundaryDistances::find(subject))?,
        paths: steps.step("paths", || LatentPaths::find(subject))?,
        counterfactuals: steps.step("counterfactuals", || Counterfactuals::find(subject))?,
        features: steps.step("features", || Features::find(subject))?,
        samples: steps.step("samples", || ClassSamples::find(subject))?,
        out_of_distribution: steps.step("out-of-distribution", || OutOfDistribution::find(subject))?,
        warnings: subject.warnings(),
        seconds: began.elapsed().as_secs_f64(),
        display: subject.display.clone(),
    })
}

/// Sections one after the other, watched.
struct Steps<'a> {
    observer: &'a mut dyn Observer,
    done: usize,
    data: &'a str,
}

impl Steps<'_> {
    fn step<T>(&mut self, name: &'static str, find: impl FnOnce() -> T) -> Result<T> {
        self.observer.phase(&Phase::Section(name), Some(SECTIONS));
        if self.observer.progress(self.done) == Control::Stop {
            return Err(Error::Cancelled { during: format!("explaining {}", self.data) });
        }
        self.done += 1;
        Ok(find())
    }
}
