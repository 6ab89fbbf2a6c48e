//! Semi-supervised learning with normalizing flows.

mod card;
mod config;
mod cost;
mod error;
mod evaluate;
mod fit;
mod fitter;
pub mod insight;
mod latent;
mod model;
mod observer;
mod pages;
mod predict;
mod prepared;
mod recipe;
mod rows;
mod sample;
mod settings;
mod sheet;
mod source;
mod teachers;

pub use flowgmm_core::*;

pub use card::{Card, Certificates, PixelRoundTrip, TrainingEnd, card};
pub use config::{Calibration, Dequantise, FitConfig, MultiStart, Prepare, QuantileTransform};
pub use cost::Cost;
pub use error::{Error, ErrorKind, Need, Result};
pub use evaluate::{Calibrated, Evaluation, calibrate, evaluate};
pub use fit::{Checkpoint, Fit, FitPlan, Request, fit};
pub use fitter::{Fitter, FlowGmmLearner};
pub use latent::{Encoded, EncodedChunks, decode, decode_table, encode};
pub use model::{FORMAT, Model, Predictions, Provenance};
pub use observer::{Control, EpochRecord, Observer, Phase};
pub use predict::{Predicted, PredictedChunks, predict};
pub use prepared::Prepared;
pub use recipe::{Decision, Preset, Recipe};
pub use rows::{Rows, TextColumn, TextEncoder};
pub use sample::{ByClass, SampleRequest, SampledChunks, Samples, sample};
pub use settings::{Override, SettingOrigin, Settings};
pub use sheet::contact_sheet;
pub use source::{
    Chunk, ImageArray, Reading, RowNames, Source,
    training::{Declared, Origins, Training},
};
pub use teachers::{Teacher, TeacherMethod};

pub use semisup::{Classifier, Scores};

pub use flowgmm_data as data;
pub use flowgmm_datasets as datasets;
pub use flowgmm_report as figures;
pub use flowgmm_tables as tables;

/// The first few of many names.
fn names(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
