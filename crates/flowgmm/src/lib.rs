//! Semi-supervised learning with normalizing flows.

mod config;
mod cost;
mod error;
mod fitter;
pub mod insight;
mod model;
mod prepared;
mod recipe;
mod teachers;

pub use flowgmm_core::*;

pub use config::{Calibration, Columns, Dequantise, FitConfig, MultiStart, Prepare};
pub use cost::Cost;
pub use fitter::{FitObserver, Fitter, FlowGmmLearner, Stage, fit};
pub use model::{FORMAT, Model, Provenance, Scores, TextColumn};
pub use prepared::Prepared;
pub use recipe::{Decision, Recipe};
pub use teachers::{Guide, Teacher};
