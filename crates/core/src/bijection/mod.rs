//! Invertible maps f: R^dim -> R^dim with a tractable log|det df/dx| (paper, section 3).
//!
//! | file | map | paper / source |
//! |---|---|---|
//! | `affine` | x_c -> (x_c + t) e^s or x_c e^s + t | RealNVP coupling, forms A and B |
//! | `additive` | x_c -> x_c + t | NICE coupling |
//! | `spline` | monotone rational-quadratic spline per column | neural spline flows |
//! | `permutation` | columns in another order | |
//! | `actnorm` | (x + b) e^s per column, initialised on data | Glow |
//! | `linear` | x W^T with W = P L U | Glow |
//! | `logit` | logit(alpha + (1 - 2 alpha) x) | RealNVP preprocessing |
//! | `image/` | squeeze, convolutional couplings, channel mixing, factor-out | RealNVP, Glow, appendix D |
//!
//! To add one: write its file, give it a variant in [`BijectionSpec`], and the law tests in
//! `tests/laws.rs` pick it up from [`BijectionSpec::examples`].

mod actnorm;
mod additive;
mod affine;
mod conditioner;
mod dropout;
mod image;
mod linear;
mod logit;
mod mask;
mod permutation;
mod spline;

use std::fmt::Debug;

use burn::tensor::Tensor;
use flowgmm_kernels::{Coupling, image::ImageStep};
use semisup::Rng;
use serde::{Deserialize, Serialize};

pub use affine::Form;
pub use dropout::Dropout;
use image::ShapeExt as _;
pub use image::{ConvNet, ImageMask, ImageShape};
pub use mask::Mask;

use crate::{Error, Result, flow::Engine, tensor::Place, theta::Theta};

/// What a bijection returns: the image and how it stretched space there.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// f(x), `[n, dim]`.
    pub value: Tensor<2>,
    /// log|det df/dx| per row, `[n, 1]`.
    pub log_det: Tensor<2>,
}

/// Whose mean and variance batch normalisations use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistics {
    /// Stored ones: every row is mapped by itself, whatever its neighbours. Prediction and the inverse.
    #[default]
    Stored,
    /// Those of the rows at hand: training.
    Batch,
}

/// How maps compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// By which code.
    pub engine: Engine,
    /// With whose statistics.
    pub statistics: Statistics,
}

/// The fused kernel that computes a map.
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

    /// The same for a step of training, with hidden units of the network left out; most maps have no network.
    fn forward_dropping(&self, x: Tensor<2>, _dropout: &mut Dropout) -> Mapped {
        self.forward(x)
    }

    /// x = f^-1(z).
    fn inverse(&self, z: Tensor<2>) -> Tensor<2>;

    /// The parameters, in a fixed order.
    fn thetas(&self) -> Vec<&Theta> {
        Vec::new()
    }

    /// The same, to be updated.
    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        Vec::new()
    }

    /// Which of [`Bijection::thetas`] gradients train; statistics of batch normalisations are not among them.
    fn trained(&self) -> Vec<bool> {
        vec![true; self.thetas().len()]
    }

    /// What tells [`Bijection::thetas`] apart in names, where they belong to maps within this one.
    fn labels(&self) -> Vec<String> {
        vec![String::new(); self.thetas().len()]
    }

    /// Data-dependent initialisation on a first batch; most maps need none.
    fn adapt(&mut self, _x: &Tensor<2>) {}

    /// Whether [`Bijection::adapt`] does anything.
    fn adapts(&self) -> bool {
        false
    }

    /// Moves stored statistics towards those of a batch, m <- (1 - momentum) m + momentum m_batch; returns f(x) with
    /// statistics of the batch. Most maps have none.
    fn settle(&mut self, x: Tensor<2>, _momentum: f64) -> Tensor<2> {
        self.forward(x).value
    }

    /// Chooses how the map computes; most maps have no choice.
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
    /// All layers random, as in the authors' code.
    Random,
}

/// The architecture of one bijection: everything but its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum BijectionSpec {
    /// Affine coupling.
    Affine {
        /// Which columns are kept.
        mask: Mask,
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
        /// Order of scale and shift.
        form: Form,
    },
    /// Additive coupling.
    Additive {
        /// Which columns are kept.
        mask: Mask,
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
    },
    /// Rational-quadratic spline coupling.
    Spline {
        /// Which columns are kept.
        mask: Mask,
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
        /// Number of bins of each spline.
        bins: usize,
        /// The spline lives on [-bound, bound]; outside it is the identity.
        bound: f64,
    },
    /// Columns in a fixed other order: column j of z is column `order[j]` of x.
    Permutation {
        /// Where each column comes from.
        order: Vec<usize>,
    },
    /// Per-column shift and scale, initialised to standardise the first batch.
    ActNorm,
    /// Invertible matrix by its LU factors with a fixed permutation of rows.
    Linear {
        /// The permutation P, as for [`BijectionSpec::Permutation`].
        order: Vec<usize>,
    },
    /// logit(alpha + (1 - 2 alpha) x) for x in [0, 1].
    Logit {
        /// Distance kept from 0 and 1.
        alpha: f64,
    },
    /// 2x2 blocks of an image's pixels to channels.
    Squeeze {
        /// The images before.
        shape: ImageShape,
    },
    /// Linear map of an image's channels at every pixel, initialised to standardise the first batch.
    ChannelMix {
        /// The images.
        shape: ImageShape,
        /// The permutation P of channels, as for [`BijectionSpec::Permutation`].
        order: Vec<usize>,
    },
    /// Affine coupling of images with a convolutional net.
    ConvAffine {
        /// The images.
        shape: ImageShape,
        /// Which part is changed.
        mask: ImageMask,
        /// The net.
        net: ConvNet,
        /// Order of scale and shift.
        form: Form,
    },
    /// The first channels go through layers of their own, the others are done and come first: z = [done, f(kept)].
    FactorOut {
        /// The images.
        shape: ImageShape,
        /// Channels that go on.
        keep: usize,
        /// The layers they go through.
        layers: Vec<BijectionSpec>,
    },
}

/// No architecture asks for wider layers than this; a file that does is damaged or hostile.
const MAX_WIDTH: usize = 1 << 16;

impl BijectionSpec {
    /// Checks that this describes a bijection of `dim` columns, without building it.
    pub fn validate(&self, dim: usize) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        if dim == 0 || dim > MAX_WIDTH {
            return wrong(format!("a flow needs between 1 and {MAX_WIDTH} columns, got {dim}"));
        }
        match self {
            Self::Affine { hidden, .. } | Self::Additive { hidden, .. } | Self::Spline { hidden, .. }
                if hidden.iter().any(|&h| h == 0 || h > MAX_WIDTH) || hidden.len() > 16 =>
            {
                wrong(format!(
                    "hidden widths must be between 1 and {MAX_WIDTH}, at most 16 of them, got {hidden:?}"
                ))
            }
            Self::Spline { bins, bound, .. }
                if *bins < 2 || *bins > 256 || !bound.is_finite() || *bound <= 0.0 =>
            {
                wrong(format!("a spline needs 2 to 256 bins and a positive bound, got {bins} and {bound}"))
            }
            Self::Permutation { order } | Self::Linear { order }
                if !permutation::is_permutation(order, dim) =>
            {
                wrong(format!("a permutation of {dim} columns names each of 0..{dim} once, got {order:?}"))
            }
            Self::Logit { alpha } if !(0.0..0.5).contains(alpha) => {
                wrong(format!("logit preprocessing needs 0 <= alpha < 0.5, got {alpha}"))
            }
            Self::Squeeze { shape } => {
                shape.check(dim)?;
                if shape.height.is_multiple_of(2) && shape.width.is_multiple_of(2) {
                    return Ok(());
                }
                wrong(format!("a squeeze halves height and width, got {} x {}", shape.height, shape.width))
            }
            Self::ChannelMix { shape, order } => {
                shape.check(dim)?;
                if permutation::is_permutation(order, shape.channels) {
                    return Ok(());
                }
                wrong(format!("a permutation of {} channels names each once, got {order:?}", shape.channels))
            }
            Self::ConvAffine { shape, mask, net, .. } => {
                shape.check(dim)?;
                if !mask.is_checkerboard() && shape.channels % 2 == 1 {
                    return wrong(format!("channels to be halved must be even, got {}", shape.channels));
                }
                if net.is_sensible() {
                    return Ok(());
                }
                wrong(format!("no convolutional net has these sizes: {net:?}"))
            }
            Self::FactorOut { shape, keep, layers } => {
                shape.check(dim)?;
                if *keep == 0 || *keep >= shape.channels {
                    return wrong(format!(
                        "of {} channels between 1 and {} go on, got {keep}",
                        shape.channels,
                        shape.channels - 1
                    ));
                }
                image::FactorOut::inner_spec(*shape, *keep, layers).validate()
            }
            _ => Ok(()),
        }
    }

    /// A bijection of this architecture with fresh parameters.
    pub fn build(&self, dim: usize, init: Init, rng: &mut Rng, place: &Place) -> Result<Box<dyn Bijection>> {
        self.validate(dim)?;
        Ok(match self {
            Self::Affine { mask, hidden, form } => {
                Box::new(affine::Affine::new(dim, *mask, hidden, *form, init, rng, place))
            }
            Self::Additive { mask, hidden } => {
                Box::new(additive::Additive::new(dim, *mask, hidden, init, rng, place))
            }
            Self::Spline { mask, hidden, bins, bound } => {
                Box::new(spline::Spline::new(dim, *mask, hidden, *bins, *bound, init, rng, place))
            }
            Self::Permutation { order } => Box::new(permutation::Permutation::new(order)),
            Self::ActNorm => Box::new(actnorm::ActNorm::new(dim, init, rng, place)),
            Self::Linear { order } => Box::new(linear::Linear::new(order, init, rng, place)),
            Self::Logit { alpha } => Box::new(logit::Logit::new(dim, *alpha)),
            Self::Squeeze { shape } => Box::new(image::Squeeze::new(*shape)),
            Self::ChannelMix { shape, order } => {
                Box::new(image::ChannelMix::new(*shape, order, init, rng, place))
            }
            Self::ConvAffine { shape, mask, net, form } => {
                Box::new(image::ConvAffine::new(*shape, *mask, *net, *form, init, rng, place))
            }
            Self::FactorOut { shape, keep, layers } => {
                Box::new(image::FactorOut::new(*shape, *keep, layers, init, rng, place)?)
            }
        })
    }

    /// Number of trainable values, or `None` if it overflows.
    pub fn n_parameters(&self, dim: usize) -> Option<usize> {
        let net = |mask: &Mask, hidden: &[usize], per_column: usize, extra: usize| -> Option<usize> {
            let (keep, change) = mask.split(dim);
            let (mut total, mut n_in) = (change.len().checked_mul(extra)?, keep.len());
            for n_out in hidden.iter().copied().chain([change.len().checked_mul(per_column)?]) {
                total = total.checked_add(n_in.checked_add(1)?.checked_mul(n_out)?)?;
                n_in = n_out;
            }
            Some(total)
        };
        match self {
            Self::Affine { mask, hidden, .. } => net(mask, hidden, 2, 1),
            Self::Additive { mask, hidden } => net(mask, hidden, 1, 0),
            Self::Spline { mask, hidden, bins, .. } => net(mask, hidden, 3 * bins - 1, 0),
            Self::ActNorm => dim.checked_mul(2),
            Self::Linear { .. } => dim.checked_mul(dim)?.checked_mul(2)?.checked_add(dim),
            Self::ChannelMix { shape, .. } => {
                let c = shape.channels;
                c.checked_mul(c.checked_add(1)?)?.checked_mul(2)
            }
            Self::ConvAffine { shape, mask, net, .. } => {
                let (inputs, changed) = mask.net_channels(shape.channels);
                net.n_parameters(inputs, changed)
            }
            Self::FactorOut { shape, keep, layers } => {
                image::FactorOut::inner_spec(*shape, *keep, layers).n_parameters()
            }
            Self::Permutation { .. } | Self::Logit { .. } | Self::Squeeze { .. } => Some(0),
        }
    }

    /// Number of stored statistics of batch normalisations, or `None` if it overflows.
    pub fn n_statistics(&self) -> Option<usize> {
        match self {
            Self::ConvAffine { shape, mask, net, .. } => {
                let (inputs, _) = mask.net_channels(shape.channels);
                net.norms(inputs).into_iter().try_fold(0usize, |sum, c| sum.checked_add(2 * c))
            }
            Self::FactorOut { layers, .. } => {
                layers.iter().try_fold(0usize, |sum, layer| sum.checked_add(layer.n_statistics()?))
            }
            _ => Some(0),
        }
    }

    /// One architecture of every kind for `dim` columns: what the laws are tested on.
    pub fn examples(dim: usize, rng: &mut Rng) -> Vec<Self> {
        use rand::seq::SliceRandom;
        let mut order: Vec<usize> = (0..dim).collect();
        order.shuffle(rng);
        let mut specs = vec![
            Self::Permutation { order: order.clone() },
            Self::ActNorm,
            Self::Linear { order },
            Self::Logit { alpha: 0.05 },
            Self::Affine { mask: Mask::KeepEven, hidden: vec![], form: Form::ScaleThenShift },
        ];
        for mask in [Mask::KeepEven, Mask::KeepOdd, Mask::KeepFirst, Mask::KeepSecond] {
            specs.extend([
                Self::Affine { mask, hidden: vec![7], form: Form::ShiftThenScale },
                Self::Affine { mask, hidden: vec![6, 5], form: Form::ScaleThenShift },
                Self::Additive { mask, hidden: vec![5] },
                Self::Spline { mask, hidden: vec![6], bins: 5, bound: 3.0 },
            ]);
        }
        specs.extend(image::examples(dim));
        specs
    }
}
