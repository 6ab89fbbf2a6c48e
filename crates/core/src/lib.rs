//! FlowGMM: semi-supervised learning with normalizing flows.
//!
//! One invertible network f maps data to a latent space where every class is a Gaussian (or a few); labelled and
//! unlabelled rows train it together by exact likelihood. After Izmailov, Kirichenko, Finzi and Wilson,
//! "Semi-Supervised Learning with Normalizing Flows" (ICML 2020); sections and equations named in these docs are
//! that paper's.
//!
//! This crate is the mathematics, on arrays: the crate `flowgmm` reads data, chooses settings and fits models with it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bijection`] | invertible maps and their log-determinants |
//! | [`objective`] | what training minimises |
//! | [`train`] | batches, optimiser, training loop |
//! | [`checkpoint`] | fits that can be interrupted and resumed |
//! | [`analysis`] | the latent space: boundaries, interpolation, features |
//! | [`tensor`] | devices, precision, and the border to `ndarray` |
//! | [`rule`] | rules that settings must follow |
//!
//! A row through a flow of four couplings and back, with the log-determinant of the way there:
//!
//! ```
//! use flowgmm_core::{Bijection, Flow, FlowSpec, bijection::{Form, Init}, tensor::{Place, to_vec}};
//!
//! let place = Place::cpu_f64();
//! let spec = FlowSpec::couplings(2, 4, &[8], Form::ScaleThenShift);
//! let f = Flow::new(spec, Init::Random, &mut semisup::rng(0), &place)?;
//! let x = place.matrix(vec![0.5, -1.0], [1, 2]); // [n = 1, dim = 2]
//! let z = f.forward(x);
//! assert!(to_vec(&z.log_det)[0].is_finite());
//! let back = to_vec(&f.inverse(z.value));
//! assert!((back[0] - 0.5).abs() < 1e-9 && (back[1] + 1.0).abs() < 1e-9);
//! # Ok::<(), flowgmm_core::Error>(())
//! ```

pub mod analysis;
mod architecture;
mod atomic;
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
pub mod rule;
mod stored;
pub mod tensor;
mod theta;
pub mod train;

// A model: architecture, flow, mixture.
pub use architecture::{Architecture, Between, Prior};
pub use bijection::{Bijection, Transform};
pub use flow::{Engine, Flow, FlowSpec};
pub use image::{ImageFlow, ImageStage, bits_per_dim, dequantised};
pub use means::{Means, centroids, component_means};
pub use mixture::{Covariance, Mixture, MixtureSpec, MixtureValues, Trainable};
pub use model::{Densities, FlowGmm, ModelSpec, SCORING_BATCH};
pub use theta::{ParameterSlice, Theta};

// Estimation, and rows that are discrete.
pub use dequantise::{Dequantiser, DiscreteRows};
pub use em::{Em, MixtureStep, estimate};

// Files.
pub use atomic::atomic_write;
pub use checkpoint::{Checkpoints, Resume};
pub use container::Container;
pub use stored::{load_tensors, model_tensors};

// Devices, certificates, errors.
pub use certificate::{Certificate, certify, certify_watched, jacobian, log_abs_det};
pub use device::DeviceName;
pub use error::{Error, Result};
pub use flowgmm_kernels::{check_environment, instruction_set};

/// Settings that have a new name: the path of the old key in a configuration, and that of the new one.
pub const RENAMED_KEYS: &[(&str, &str)] =
    &[("architecture.prior.values.imagined", "architecture.prior.values.pseudo_count")];
