//! Semi-supervised learning with normalizing flows.

mod card;
mod config;
mod cost;
pub mod demo;
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
mod source;
mod teachers;

pub use flowgmm_core::*;

pub use card::{Card, Certificates, PixelRoundTrip, TrainingEnd, card};
pub use config::{Calibration, Columns, Dequantise, FitConfig, MultiStart, Prepare};
pub use cost::Cost;
pub use error::{Error, ErrorKind, Result};
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
pub use source::{
    Chunk, ImageArray, LabelledRows, Reading, RowNames, Source, read_labelled,
    training::{Declared, Origins, Training},
};
pub use teachers::{Guide, Teacher};
