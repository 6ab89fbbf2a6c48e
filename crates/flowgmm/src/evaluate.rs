//! How good a model's predictions are where the truth is known, and the temperature that suits known labels best.

use flowgmm_core::{bits_per_dim, dequantised};
use ndarray::{Array2, Axis};
use semisup::{Scores, metrics::fit_temperature_near};
use serde::Serialize;

use crate::{
    Model, Result, Source,
    observer::Observer,
    source::{Chunks, Wanted},
};

/// How a model does on labelled rows.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Accuracy, negative log-likelihood, calibration and confusion.
    #[serde(flatten)]
    pub scores: Scores,
    /// The names of the classes, in the order of the confusion matrix.
    pub classes: Vec<String>,
    /// Rows without a label, which were skipped.
    pub skipped_unlabelled: usize,
    /// Bits per pixel value, of images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_dim: Option<f64>,
    /// What the user should know about the rows.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Compares predictions with known labels; rows without a label are skipped.
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let problem = semisup::Toy::Moons.problem(1);
/// # let train = &problem.train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 300);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let test = &problem.test;
/// let labels = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
/// let found = flowgmm::evaluate(&model, &Source::matrix(test.x()).labels(labels), &mut ())?;
/// assert!(found.scores.accuracy > 0.8);
/// // Of a file: flowgmm::evaluate(&model, &Source::path("test.csv").label_column("class"), &mut ())
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn evaluate(model: &Model, source: &Source, observer: &mut dyn Observer) -> Result<Evaluation> {
    let scored = Labelled::score(model, source, observer)?;
    Ok(Evaluation {
        scores: Scores::from_log_probs(&scored.log_probs, &scored.y),
        classes: model.classes_ref().to_vec(),
        skipped_unlabelled: scored.skipped,
        bits_per_dim: scored.bits_per_dim,
        warnings: scored.warnings,
    })
}

/// What calibration changed.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The calibrated model.
    pub model: Model,
    /// Scores on the labelled rows as the model was.
    pub before: Scores,
    /// Scores on the same rows as the model is now.
    pub after: Scores,
    /// What the user should know about the rows.
    pub warnings: Vec<String>,
}

/// Fits the model's temperature (sigma^2 of the paper's section 6.1) to labelled rows that it was not fitted to.
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let problem = semisup::Toy::Moons.problem(1);
/// # let train = &problem.train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 100);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let test = &problem.test;
/// let labels = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
/// let found = flowgmm::calibrate(&model, &Source::matrix(test.x()).labels(labels), &mut ())?;
/// assert!(found.after.nll <= found.before.nll);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn calibrate(model: &Model, source: &Source, observer: &mut dyn Observer) -> Result<Calibrated> {
    let scored = Labelled::score(model, source, observer)?;
    let before = Scores::from_log_probs(&scored.log_probs, &scored.y);
    let bias = model.logit_bias();
    let temperature = fit_temperature_near(scored.logits.view(), &bias, &scored.y, model.temperature());
    let after = semisup::metrics::at_temperature(scored.logits.view(), &bias, temperature);
    let after = Scores::from_log_probs(&after, &scored.y);
    let model = model.clone().at_temperature(temperature);
    Ok(Calibrated { model, before, after, warnings: scored.warnings })
}

/// Labelled rows and what a model says of them, each mapped through the flow once.
struct Labelled {
    log_probs: Array2<f64>,
    logits: Array2<f64>,
    y: Vec<usize>,
    skipped: usize,
    bits_per_dim: Option<f64>,
    warnings: Vec<String>,
}

impl Labelled {
    fn score(model: &Model, source: &Source, observer: &mut dyn Observer) -> Result<Self> {
        let classes = model.classes_ref();
        let mut chunks = Chunks::open(source, model.rows(), classes, Wanted::LabelledRows)?;
        let empty = || Array2::zeros((0, classes.len()));
        let (mut log_probs, mut logits, mut y) = (empty(), empty(), Vec::new());
        let (mut rng, mut log_density) = (semisup::rng(0), Vec::new());
        while let Some(chunk) = chunks.next(observer)? {
            let found = model.score(chunk.x.view());
            found.check(chunks.name(), &chunk.names)?;
            log_probs.append(Axis(0), found.log_probs.view()).expect("as many classes");
            logits.append(Axis(0), found.logits.view()).expect("as many classes");
            y.extend(chunk.y.iter().flatten());
            if model.rows().layout().is_some() {
                let spread = dequantised(chunk.x.view(), &mut rng);
                log_density.extend(model.score(spread.view()).log_marginal);
            }
        }
        if y.is_empty() {
            return Err(semisup::Error::NoLabels { name: chunks.name().to_string() }.into());
        }
        let bits_per_dim = model.rows().layout().map(|layout| bits_per_dim(&log_density, layout.pixels()));
        let skipped = chunks.skipped;
        Ok(Self { log_probs, logits, y, skipped, bits_per_dim, warnings: chunks.into_warnings() })
    }
}
