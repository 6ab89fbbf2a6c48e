//! Invertible maps f: R^dim -> R^dim with a tractable log|det df/dx| (paper, section 3).
//!
//! | file | map | paper / source |
//! |---|---|---|
//! | `coupling`, `transform/` | x_c -> transform(x_c; net(x_k)): affine, additive or spline | RealNVP, NICE, neural spline flows |
//! | `permutation` | columns in another order | |
//! | `actnorm` | (x + b) e^s per column, initialised on data | Glow |
//! | `linear` | x W^T with W = P L U | Glow |
//! | `logit` | logit(alpha + (1 - 2 alpha) x) | RealNVP preprocessing |
//! | `image/` | squeeze, convolutional couplings, channel mixing, factor-out | RealNVP, Glow, appendix D |
//!
//! To add one: write its file and give it a variant in [`BijectionSpec`]. The compiler then asks for its checks, size,
//! cost and constructor (no `match` over [`BijectionSpec`] has a wildcard), and a test asks for an instance in
//! [`BijectionSpec::examples`], which the law tests run over, and for a setting of
//! [`Architecture`](crate::Architecture) that reaches it.
//!
//! ```
//! use flowgmm_core::{Flow, FlowSpec, bijection::{Bijection, Form, Init}, tensor::{Place, to_vec}};
//! let place = Place::cpu_f64();
//! let spec = FlowSpec::couplings(2, 4, &[8], Form::ScaleThenShift);
//! let f = Flow::new(spec, Init::Random, &mut semisup::rng(0), &place)?;
//! let x = place.matrix(vec![0.5, -1.0], [1, 2]);
//! let z = f.forward(x.clone());
//! let back = to_vec(&f.inverse(z.value));
//! assert!((back[0] - 0.5).abs() < 1e-9 && (back[1] + 1.0).abs() < 1e-9);
//! # Ok::<(), flowgmm_core::Error>(())
//! ```

mod actnorm;
mod conditioner;
mod coupling;
mod dropout;
mod examples;
mod image;
mod linear;
mod logit;
mod mask;
mod permutation;
mod spec;
mod transform;

use std::fmt::Debug;

use burn_tensor::Tensor;
use flowgmm_kernels::{Coupling, image::ImageStep};
use serde::{Deserialize, Serialize};

pub use dropout::Dropout;
/// What batch normalisation adds to a variance.
pub use flowgmm_kernels::conv::EPSILON as NORM_EPSILON;
pub use image::{ConvNet, ImageMask, ImageShape};
pub use mask::Mask;
pub use spec::BijectionSpec;
pub(crate) use spec::MAX_WIDTH;
pub use transform::{Form, MIN_BIN as SPLINE_MIN_BIN, MIN_SLOPE as SPLINE_MIN_SLOPE, Transform};

use crate::{flow::Engine, theta::Theta};

/// What a bijection returns: the value and its log-determinant.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// f(x), `[n, dim]`.
    pub value: Tensor<2>,
    /// log|det df/dx| per row, `[n, 1]`.
    pub log_det: Tensor<2>,
}

/// Which mean and variance batch normalisation uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormStatistics {
    /// Running statistics: every row is mapped by itself, whatever else is in its batch. Prediction and the inverse.
    #[default]
    Running,
    /// Those of the batch: training.
    Batch,
}

/// How bijections compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Fused kernels or composed operations.
    pub engine: Engine,
    /// The statistics of batch normalisation.
    pub statistics: NormStatistics,
}

/// The fused kernel that computes a bijection.
#[derive(Clone, Copy, Debug)]
pub enum Kernel<'a> {
    /// A dense affine coupling.
    Dense(&'a Coupling),
    /// A step on images.
    Image(&'a ImageStep),
}

/// An invertible map of rows.
pub trait Bijection: Debug + Send + Sync {
    /// Number of columns, in and out.
    fn dim(&self) -> usize;

    /// z = f(x) and log|det df/dx|.
    fn forward(&self, x: Tensor<2>) -> Mapped;

    /// z = f(x) and log|det df/dx| in a training step with dropout in the conditioner; most maps have no conditioner.
    fn forward_with_dropout(&self, x: Tensor<2>, _dropout: &mut Dropout) -> Mapped {
        self.forward(x)
    }

    /// x = f^-1(z).
    fn inverse(&self, z: Tensor<2>) -> Tensor<2>;

    /// The parameters, in a fixed order.
    fn thetas(&self) -> Vec<&Theta> {
        Vec::new()
    }

    /// The parameters of [`Bijection::thetas`], to be updated.
    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        Vec::new()
    }

    /// Which of [`Bijection::thetas`] gradients train; the running statistics of batch normalisation are not among them.
    fn trained(&self) -> Vec<bool> {
        vec![true; self.thetas().len()]
    }

    /// A suffix for the name of each of [`Bijection::thetas`], where they belong to maps within this one.
    fn labels(&self) -> Vec<String> {
        vec![String::new(); self.thetas().len()]
    }

    /// Data-dependent initialisation on a first batch; most maps need none.
    fn adapt(&mut self, _x: &Tensor<2>) {}

    /// Whether [`Bijection::adapt`] does anything.
    fn adapts(&self) -> bool {
        false
    }

    /// Moves the running statistics of batch normalisation towards those of a batch,
    /// m <- (1 - momentum) m + momentum m_batch, and returns f(x) with statistics of the batch. Most maps have none.
    fn update_running_statistics(&mut self, x: Tensor<2>, _momentum: f64) -> Tensor<2> {
        self.forward(x).value
    }

    /// Chooses the engine and the statistics; most maps have one way to compute only.
    fn set_mode(&mut self, _mode: Mode) {}

    /// The fused kernel that computes the same map, if there is one.
    fn kernel(&self) -> Option<Kernel<'_>> {
        None
    }

    /// A copy behind a box; parameters are shared until one of them changes.
    fn boxed(&self) -> Box<dyn Bijection>;
}

impl Clone for Box<dyn Bijection> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// How fresh parameters are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Last layers are zero: a fresh flow is the identity.
    Identity,
    /// All layers random.
    Random,
    /// As `random`, but first layers have the smaller weights of nets that see all columns, the changed ones as zeros: those of
    /// the authors' code.
    Masked,
}
