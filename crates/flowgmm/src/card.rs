//! The model card: what a model is, what it was fitted to, and how exactly its flow inverts.

use flowgmm_core::{Certificate, ModelSpec, bits_per_dim, certify, dequantised, train::EpochRecord};
use ndarray::Array2;
use serde::Serialize;

use crate::{
    Decision, Evidence, FORMAT, Model, Result, Rows, Source,
    observer::Observer,
    source::{Sampled, Wanted},
};

/// Rows that certificates are measured on.
const SAMPLES: usize = 256;
const DATA_ROWS: usize = 4096;
const IMAGES: usize = 256;

/// What a model is.
#[derive(Clone, Debug, Serialize)]
pub struct Card {
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The names of the numbers a row becomes.
    pub columns: Vec<String>,
    /// What a row is.
    pub rows: Rows,
    /// What log p(x) is the density of.
    pub likelihood: String,
    /// Whether log p(x) is that of the projected row only.
    pub likelihood_is_projected: bool,
    /// What differences of log-densities are divided by.
    pub temperature: f64,
    /// How common the model takes each class to be.
    pub class_shares: Vec<f64>,
    /// A 95% interval of each class share; empty if shares were assumed or given.
    pub class_share_intervals: Vec<[f64; 2]>,
    /// What labels that were held out say of the predictions; absent if none could be held out.
    pub evidence: Option<Evidence>,
    /// What was decided about the fit, and why.
    pub decisions: Vec<Decision>,
    /// The preprocessing, in words.
    pub preprocessing: String,
    /// Flow and mixture.
    pub architecture: ModelSpec,
    /// Number of parameters.
    pub parameters: usize,
    /// The version that fitted it.
    pub version: String,
    /// The version of the file format.
    pub format: u32,
    /// Seed of the fit.
    pub seed: u64,
    /// Digest of the training rows.
    pub data_hash: String,
    /// Training rows with a label.
    pub n_labelled: usize,
    /// Training rows without.
    pub n_unlabelled: usize,
    /// The configuration of the fit.
    pub config: serde_json::Value,
    /// How training ended.
    pub training: TrainingEnd,
    /// How exactly the flow inverts.
    pub certificates: Certificates,
    /// What the user should know about the rows that were looked at.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// How training ended.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingEnd {
    /// How often it went back to an earlier state.
    pub rollbacks: usize,
    /// The last epoch.
    pub last: Option<EpochRecord>,
}

/// How exactly a flow inverts on several kinds of rows.
#[derive(Clone, Debug, Serialize)]
pub struct Certificates {
    /// On training rows, at the end of training.
    pub training: Option<Certificate>,
    /// On new samples.
    pub samples: Certificate,
    /// On rows that were given.
    pub data: Option<Certificate>,
    /// On images that were given, in pixels.
    pub images: Option<PixelRoundTrip>,
}

/// Pixels after x -> z -> x.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PixelRoundTrip {
    /// Number of images.
    pub images: usize,
    /// Largest difference, in pixel values of 0 to 255.
    pub largest: f64,
    /// Share of pixels that come back as they were when rounded.
    pub exact: f64,
    /// Bits per pixel value.
    pub bits_per_dim: f64,
}

/// The card of a model; certificates are measured on samples, and on the rows of `data` if it is given (4096 of them, of
/// images 256, if there are more).
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let train = semisup::Toy::Moons.problem(1).train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 50);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let card = flowgmm::card(&model, None, &mut ())?;
/// assert!(card.certificates.samples.round_trip < 1e-3);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn card(model: &Model, data: Option<&Source>, observer: &mut dyn Observer) -> Result<Card> {
    let samples = drawn(model);
    let mut certificates = Certificates {
        training: model.provenance().certificate,
        samples: certify(model.gmm(), samples.view()),
        data: None,
        images: None,
    };
    let mut warnings = Vec::new();
    if let Some(source) = data {
        let most = if model.rows().layout().is_some() { IMAGES } else { DATA_ROWS };
        let rows = Sampled::read(model, source, Wanted::Rows, most, 0, observer)?;
        certificates.data = Some(certify(model.gmm(), model.preprocess().apply(rows.x.view()).view()));
        certificates.images = round_trip(model, &rows.x);
        warnings = rows.warnings;
    }
    let provenance = model.provenance();
    Ok(Card {
        classes: model.classes_ref().to_vec(),
        columns: model.columns(),
        rows: model.rows().clone(),
        likelihood: model.likelihood(),
        likelihood_is_projected: model.likelihood_is_projected(),
        temperature: model.temperature(),
        class_shares: model.class_shares(),
        class_share_intervals: model.class_share_intervals().to_vec(),
        evidence: model.evidence().cloned(),
        decisions: model.decisions().to_vec(),
        preprocessing: model.preprocess().describe(),
        architecture: model.gmm().spec(),
        parameters: model.n_parameters(),
        version: provenance.version.clone(),
        format: FORMAT,
        seed: provenance.seed,
        data_hash: provenance.data_hash.clone(),
        n_labelled: provenance.n_labelled,
        n_unlabelled: provenance.n_unlabelled,
        config: provenance.config.clone(),
        training: TrainingEnd {
            rollbacks: provenance.rollbacks,
            last: model.history().epochs.last().cloned(),
        },
        certificates,
        warnings,
    })
}

/// New rows in the flow's space, with values that such rows can have.
fn drawn(model: &Model) -> Array2<f64> {
    match model.rows() {
        Rows::Matrix { .. } | Rows::Table { .. } => {
            model.gmm().sample(SAMPLES, None, 1.0, &mut semisup::rng(0)).0
        }
        Rows::Images { .. } => {
            let (x, _) = model.sample(SAMPLES, None, 1.0, &mut semisup::rng(0));
            model.preprocess().apply(model.rows().possible(x).view())
        }
    }
}

/// How well images survive x -> z -> x, and how many bits the model needs for them.
fn round_trip(model: &Model, x: &Array2<f64>) -> Option<PixelRoundTrip> {
    let layout = model.rows().layout()?;
    let back = model.decode(model.encode(x.view()).view());
    let gaps = || x.iter().zip(&back).map(|(x, back)| (x - back).abs());
    // `max` would drop a NaN; this keeps it.
    let largest = gaps().fold(0.0, |worst: f64, gap| if gap.is_nan() || gap > worst { gap } else { worst });
    let exact = gaps().filter(|gap| *gap < 0.5).count() as f64 / x.len() as f64;
    let spread = dequantised(x.view(), &mut semisup::rng(0));
    let bits_per_dim = bits_per_dim(&model.score(spread.view()).log_marginal, layout.pixels());
    Some(PixelRoundTrip { images: x.nrows(), largest, exact, bits_per_dim })
}
