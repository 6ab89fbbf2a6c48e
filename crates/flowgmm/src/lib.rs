//! Semi-supervised learning with normalizing flows: many rows, few labels, one model.
//!
//! An invertible network f maps rows to a latent space where every class is a Gaussian; labelled and unlabelled rows train
//! it together by exact likelihood (Izmailov, Kirichenko, Finzi and Wilson, ICML 2020). The model classifies, gives
//! calibrated probabilities, scores how typical a row is, generates new rows and shows what its features mean.
//!
//! ```
//! # let dir = std::env::temp_dir().join(format!("flowgmm-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir)?;
//! # std::env::set_current_dir(&dir)?;
//! # let train = semisup::Toy::Moons.problem(1).train;
//! # let label = |row: usize| train.y()[row].map_or(String::new(), |k| ["upper", "lower"][k].into());
//! # let lines = (0..train.n()).map(|i| format!("{},{},{}\n", train.x()[[i, 0]], train.x()[[i, 1]], label(i)));
//! # std::fs::write("moons.csv", format!("width,height,moon\n{}", lines.collect::<String>()))?;
//! use flowgmm::{Classifier, Request, Source};
//!
//! let request = Request::new(Source::path("moons.csv").label_column("moon"));
//! # let request = request.with("train.steps", 300);
//! let fit = flowgmm::fit(&request, &mut ())?;
//! let (found, _) = flowgmm::predict(&fit.model, &Source::path("moons.csv"))?.all()?;
//! println!("the first row is of class {}", fit.model.classes()[found.classes()[0]]);
//! fit.model.save("moons.flow".as_ref())?;
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | call | of rows | gives |
//! |---|---|---|
//! | [`fit`] | a [`Request`] | [`Fit`]: a complete [`Model`], its decisions, cost and history |
//! | [`density`] | a request without labels | a [`Fit`] of the rows' density |
//! | [`predict`] | a [`Source`] | [`Predictions`]: classes, probabilities, densities, latent points |
//! | [`evaluate`], [`calibrate`] | a source with labels | [`Evaluation`], [`Calibrated`] |
//! | [`sample`] | | new rows of a class or of all |
//! | [`encode`], [`decode`] | a source, latent points | z = f(x), x = f^-1(z), any layer |
//! | [`card`] | | [`Card`]: what the model is, and how exactly its flow inverts |
//!
//! A [`Source`] is a file, a folder, or data in memory: arrays, Arrow record batches, images. What a row is, is a [`Rows`]
//! that the model keeps. Long work is watched, and stopped, by an [`Observer`]; `&mut ()` watches nothing. Errors say what
//! the user can do about them ([`Error::kind`]); warnings are values. Everything random takes a seed, and the same seed
//! gives the same bits at any number of threads. Computations run in the current rayon pool.
//!
//! The mathematics is in the crate `flowgmm-core`; what configurations and models name of it is here, too.

mod card;
mod config;
mod cost;
pub mod demo;
mod density;
mod error;
mod evaluate;
pub mod explain;
mod fit;
mod fitter;
pub mod insight;
mod latent;
mod memory;
mod model;
mod observer;
mod onnx;
mod pages;
pub mod playground;
mod predict;
mod prepared;
mod recipe;
pub mod report;
mod rows;
mod sample;
mod settings;
pub mod sharded;
mod sheet;
mod snapshot;
mod source;
pub mod study;
mod teachers;
mod trial;
mod units;

// The mathematics, as far as configurations, models and their parts name it.
pub use flowgmm_core::{
    Architecture, Between, Bijection, Certificate, Checkpoints, Covariance, Densities, DeviceName, Em,
    Engine, Flow, FlowGmm, FlowSpec, ImageFlow, ImageStage, Means, Mixture, MixtureSpec, MixtureStep,
    MixtureValues, ModelSpec, ParameterSlice, Prior, Resume, Theta, Trainable, Transform, analysis,
    atomic_write, bijection, bits_per_dim, check_environment, checkpoint, dequantised, instruction_set,
    objective, rule, tensor, train,
};

pub use card::{Card, Certificates, PixelRoundTrip, TrainingEnd, card};
pub use config::{Calibration, Dequantise, FitConfig, ForestConfig, MultiStart, Prepare, QuantileTransform};
pub use cost::{Cost, MemoryParts};
pub use density::density;
pub use error::{Error, ErrorKind, Need, Result};
pub use evaluate::{Calibrated, Evaluation, calibrate, evaluate};
pub use explain::{ExplainRequest, Explanation, explain};
pub use fit::{Checkpoint, Fit, FitPlan, Request, fit, fit_on};
pub use fitter::{Fitter, FlowGmmLearner};
pub use latent::{Encoded, EncodedChunks, decode, decode_table, encode};
pub use model::{Blend, ClassEvidence, Evidence, FORMAT, Model, Predictions, Provenance};
pub use observer::{Control, EpochRecord, Observer, Phase, Reporting, watched};
pub use onnx::{export_onnx, to_onnx};
pub use predict::{Predicted, PredictedChunks, predict, score_together};
pub use prepared::{Prepared, Shown};
pub use recipe::{Decision, Preset, Recipe};
pub use report::{Report, ReportRequest, report};
pub use rows::{Rows, TextColumn, TextEncoder};
pub use sample::{ByClass, MOST_TEMPERATURE, SampleRequest, SampledChunks, Samples, sample};
pub use settings::{Override, SettingOrigin, Settings};
pub use sheet::contact_sheet;
pub use snapshot::{Glimpse, Snapshot};
pub use source::{
    Chunk, ImageArray, LabelledRows, Reading, RowNames, Source, read_labelled, read_rows,
    training::{Declared, Origins, Training},
};
pub use teachers::{Teacher, TeacherMethod};

pub use semisup::{Classifier, ImageShape, Scores, metrics::Conformal};

pub use flowgmm_data as data;
pub use flowgmm_datasets as datasets;
pub use flowgmm_report as figures;
pub use flowgmm_tables as tables;

/// The examples of the book.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Book;

/// The first few of many names.
fn names(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
