//! FlowGMM: semi-supervised learning with normalizing flows.
//!
//! One invertible network f maps data to a latent space where every class is a Gaussian (or a few); labelled and
//! unlabelled rows train it together by exact likelihood. After Izmailov, Kirichenko, Finzi and Wilson,
//! "Semi-Supervised Learning with Normalizing Flows" (ICML 2020); sections and equations named in these docs are
//! that paper's.

pub mod analysis;
mod architecture;
pub mod bijection;
mod certificate;
pub mod checkpoint;
mod container;
mod cost;
mod dequantise;
mod device;
mod em;
mod error;
mod flow;
mod fused;
mod image;
mod means;
mod mixture;
mod model;
pub mod objective;
mod residual;
pub mod rule;
mod stored;
pub mod tensor;
mod theta;
pub mod train;

pub use architecture::{Architecture, CouplingKind, Prior};
pub use bijection::Bijection;
pub use certificate::{Certificate, certify, jacobian, log_abs_det};
pub use checkpoint::{Checkpoints, Resume};
pub use container::Container;
pub use dequantise::Dequantiser;
pub use device::DeviceName;
pub use em::{Em, MixtureStep, estimate};
pub use error::{Error, Result};
pub use flow::{Engine, Flow, FlowSpec};
pub use flowgmm_kernels::instruction_set;
pub use image::{ImageFlow, LightStage, bits_per_dim, dequantised};
pub use means::{Means, centroids, spread};
pub use mixture::{Covariance, Mixture, MixtureSpec, MixtureValues, Trainable};
pub use model::{Densities, FlowGmm, ModelSpec, SCORING_BATCH};
pub use residual::ResidualTower;
pub use stored::{fill, model_tensors};
pub use theta::{Part, Theta};
