//! FlowGMM: semi-supervised learning with normalizing flows.
//!
//! One invertible network f maps data to a latent space where every class is a Gaussian (or a few); labelled and
//! unlabelled rows train it together by exact likelihood. After Izmailov, Kirichenko, Finzi and Wilson,
//! "Semi-Supervised Learning with Normalizing Flows" (ICML 2020); sections and equations named in these docs are
//! that paper's.

pub mod analysis;
pub mod bijection;
mod certificate;
mod checkpoint;
mod config;
mod container;
mod cost;
mod dequantise;
mod device;
mod diglm;
mod em;
mod error;
mod fit;
mod fitted;
mod flow;
mod fused;
mod guides;
mod image;
pub mod insight;
mod means;
mod mixture;
mod model;
pub mod objective;
mod prepared;
mod recipe;
mod residual;
pub mod tensor;
mod theta;
pub mod train;

pub use bijection::Bijection;
pub use certificate::{Certificate, certify, jacobian, log_abs_det};
pub use checkpoint::{Checkpoints, Resume};
pub use config::{
    Architecture, Calibration, Columns, CouplingKind, Dequantise, FitConfig, MultiStart, Prepare, Prior,
};
pub use cost::Cost;
pub use device::DeviceName;
pub use diglm::{Diglm, DiglmModel};
pub use em::{Em, MixtureStep, estimate};
pub use error::{Error, Result};
pub use fit::{FitObserver, Fitter, FlowGmmLearner, Stage, fit};
pub use fitted::{FORMAT, Model, Provenance, Scores, TextColumn};
pub use flow::{Engine, Flow, FlowSpec};
pub use flowgmm_kernels::instruction_set;
pub use guides::{Guide, Teacher};
pub use image::{ImageFlow, LightStage, bits_per_dim, dequantised, fit_images};
pub use means::{Means, centroids};
pub use mixture::{Covariance, Mixture, MixtureSpec, MixtureValues, Trainable};
pub use model::{Densities, FlowGmm, ModelSpec};
pub use recipe::{Decision, Recipe};
pub use residual::ResidualTower;
pub use theta::{Part, Theta};
