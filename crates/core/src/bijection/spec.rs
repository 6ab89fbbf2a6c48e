//! The architecture of a bijection: everything but its parameters, checked before anything is built or allocated.

use semisup::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    Bijection, ConvNet, Form, ImageMask, ImageShape, Init, Mask, Transform,
    actnorm::ActNorm,
    coupling::Coupling,
    image::{self, ShapeExt as _},
    linear::Linear,
    logit::Logit,
    permutation::{self, Permutation},
};
use crate::{Error, Result, tensor::Place};

/// The architecture of one bijection: everything but its parameters.
///
/// ```
/// use flowgmm_core::bijection::{BijectionSpec, Mask, Transform};
/// let spline = Transform::Spline { bins: 8, bound: 3.0 };
/// let layer = BijectionSpec::Coupling { mask: Mask::KeepEven, hidden: vec![64], transform: spline };
/// assert_eq!(layer.kind(), "spline");
/// assert!(layer.validate(4).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum BijectionSpec {
    /// Coupling of columns: the changed ones are transformed, given the kept ones.
    Coupling {
        /// Which columns are kept.
        mask: Mask,
        /// Widths of the conditioner's hidden layers.
        hidden: Vec<usize>,
        /// What happens to the changed columns.
        transform: Transform,
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

/// Couplings as model files named them when each transform was a bijection of its own.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
enum OldCoupling {
    Affine { mask: Mask, hidden: Vec<usize>, form: Form },
    Additive { mask: Mask, hidden: Vec<usize> },
    Spline { mask: Mask, hidden: Vec<usize>, bins: usize, bound: f64 },
}

impl From<OldCoupling> for BijectionSpec {
    fn from(old: OldCoupling) -> Self {
        let (mask, hidden, transform) = match old {
            OldCoupling::Affine { mask, hidden, form } => (mask, hidden, Transform::Affine { form }),
            OldCoupling::Additive { mask, hidden } => (mask, hidden, Transform::Additive),
            OldCoupling::Spline { mask, hidden, bins, bound } => {
                (mask, hidden, Transform::Spline { bins, bound })
            }
        };
        Self::Coupling { mask, hidden, transform }
    }
}

impl Serialize for BijectionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for BijectionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let old = matches!(value["kind"].as_str(), Some("affine" | "additive" | "spline"));
        let read =
            if old { OldCoupling::deserialize(value).map(Self::from) } else { Self::deserialize(value) };
        read.map_err(D::Error::custom)
    }
}

/// No architecture asks for wider layers than this; a file that does is damaged or hostile.
pub(crate) const MAX_WIDTH: usize = 1 << 16;
/// Nor for more hidden layers than this.
const MAX_HIDDEN_LAYERS: usize = 16;

fn wrong(what: String) -> Result<()> {
    Err(Error::Config(what))
}

fn check_hidden(hidden: &[usize]) -> Result<()> {
    if hidden.iter().all(|h| (1..=MAX_WIDTH).contains(h)) && hidden.len() <= MAX_HIDDEN_LAYERS {
        return Ok(());
    }
    wrong(format!(
        "hidden widths must be between 1 and {MAX_WIDTH}, at most {MAX_HIDDEN_LAYERS} of them, got {hidden:?}"
    ))
}

fn check_order(order: &[usize], n: usize, of: &str) -> Result<()> {
    if permutation::is_permutation(order, n) {
        return Ok(());
    }
    wrong(format!("a permutation of {n} {of} names each of 0..{n} once, got {order:?}"))
}

impl BijectionSpec {
    /// A short name for people: a coupling is named after its transform.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Coupling { transform, .. } => transform.name(),
            Self::Permutation { .. } => "permutation",
            Self::ActNorm => "act-norm",
            Self::Linear { .. } => "linear",
            Self::Logit { .. } => "logit",
            Self::Squeeze { .. } => "squeeze",
            Self::ChannelMix { .. } => "channel-mix",
            Self::ConvAffine { .. } => "conv-affine",
            Self::FactorOut { .. } => "factor-out",
        }
    }

    /// Checks that this describes a bijection of `dim` columns, without building it.
    pub fn validate(&self, dim: usize) -> Result<()> {
        if dim == 0 || dim > MAX_WIDTH {
            return wrong(format!("a flow needs between 1 and {MAX_WIDTH} columns, got {dim}"));
        }
        match self {
            Self::Coupling { hidden, transform, .. } => {
                check_hidden(hidden)?;
                transform.validate()
            }
            Self::Permutation { order } | Self::Linear { order } => check_order(order, dim, "columns"),
            Self::ActNorm => Ok(()),
            Self::Logit { alpha } => {
                if (0.0..0.5).contains(alpha) {
                    return Ok(());
                }
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
                check_order(order, shape.channels, "channels")
            }
            Self::ConvAffine { shape, mask, net, .. } => {
                shape.check(dim)?;
                if !mask.is_checkerboard() && shape.channels % 2 == 1 {
                    return wrong(format!("channels to be halved must be even, got {}", shape.channels));
                }
                if net.is_valid() {
                    return Ok(());
                }
                wrong(format!("no convolutional net has these sizes: {net:?}"))
            }
            Self::FactorOut { shape, keep, layers } => {
                shape.check(dim)?;
                if (1..shape.channels).contains(keep) {
                    return image::FactorOut::inner_spec(*shape, *keep, layers).validate();
                }
                wrong(format!(
                    "of {} channels between 1 and {} go on, got {keep}",
                    shape.channels,
                    shape.channels - 1
                ))
            }
        }
    }

    /// A bijection of this architecture with fresh parameters.
    pub fn build(&self, dim: usize, init: Init, rng: &mut Rng, place: &Place) -> Result<Box<dyn Bijection>> {
        self.validate(dim)?;
        Ok(match self {
            Self::Coupling { mask, hidden, transform } => {
                Box::new(Coupling::new(dim, *mask, hidden, *transform, init, rng, place))
            }
            Self::Permutation { order } => Box::new(Permutation::new(order)),
            Self::ActNorm => Box::new(ActNorm::new(dim, init, rng, place)),
            Self::Linear { order } => Box::new(Linear::new(order, init, rng, place)),
            Self::Logit { alpha } => Box::new(Logit::new(dim, *alpha)),
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
        match self {
            Self::Coupling { mask, hidden, transform } => {
                let (keep, change) = mask.split(dim);
                let outputs = change.len().checked_mul(transform.outputs_per_column())?;
                let (mut total, mut n_in) =
                    (change.len().checked_mul(transform.own_per_column())?, keep.len());
                for n_out in hidden.iter().copied().chain([outputs]) {
                    total = total.checked_add(n_in.checked_add(1)?.checked_mul(n_out)?)?;
                    n_in = n_out;
                }
                Some(total)
            }
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

    /// Number of running statistics of batch normalisation, or `None` if it overflows.
    pub fn n_running_statistics(&self) -> Option<usize> {
        match self {
            Self::ConvAffine { shape, mask, net, .. } => {
                let (inputs, _) = mask.net_channels(shape.channels);
                net.norms(inputs).into_iter().try_fold(0usize, |sum, c| sum.checked_add(2 * c))
            }
            Self::FactorOut { layers, .. } => {
                layers.iter().try_fold(0usize, |sum, layer| sum.checked_add(layer.n_running_statistics()?))
            }
            Self::Coupling { .. }
            | Self::Permutation { .. }
            | Self::ActNorm
            | Self::Linear { .. }
            | Self::Logit { .. }
            | Self::Squeeze { .. }
            | Self::ChannelMix { .. } => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn couplings_of_older_model_files_are_read() {
        let (mask, hidden) = (Mask::KeepOdd, vec![6, 5]);
        let coupling = |transform| BijectionSpec::Coupling { mask, hidden: hidden.clone(), transform };
        let old = [
            (
                r#"{"kind":"affine","mask":"keep-odd","hidden":[6,5],"form":"scale-then-shift"}"#,
                coupling(Transform::Affine { form: Form::ScaleThenShift }),
            ),
            (r#"{"kind":"additive","mask":"keep-odd","hidden":[6,5]}"#, coupling(Transform::Additive)),
            (
                r#"{"kind":"spline","mask":"keep-odd","hidden":[6,5],"bins":7,"bound":2.5}"#,
                coupling(Transform::Spline { bins: 7, bound: 2.5 }),
            ),
        ];
        for (json, spec) in old {
            assert_eq!(serde_json::from_str::<BijectionSpec>(json).unwrap(), spec, "{json}");
            let written = serde_json::to_string(&spec).unwrap();
            assert!(written.starts_with(r#"{"kind":"coupling","mask":"keep-odd""#), "{written}");
            assert_eq!(serde_json::from_str::<BijectionSpec>(&written).unwrap(), spec);
        }
        let nested = r#"{"kind":"factor-out","shape":{"channels":2,"height":1,"width":2},"keep":1,
            "layers":[{"kind":"additive","mask":"keep-odd","hidden":[6,5]},{"kind":"act-norm"}]}"#;
        let BijectionSpec::FactorOut { layers, .. } = serde_json::from_str(nested).unwrap() else {
            panic!("a factor-out");
        };
        assert_eq!(layers, [coupling(Transform::Additive), BijectionSpec::ActNorm]);
    }

    #[test]
    fn unknown_and_incomplete_kinds_are_refused() {
        for json in [
            r#"{"kind":"magic"}"#,
            r#"{"mask":"keep-odd","hidden":[6]}"#,
            r#"{"kind":"affine","mask":"keep-odd","hidden":[6]}"#,
            r#"{"kind":"additive","mask":"keep-odd","hidden":[6],"form":"scale-then-shift"}"#,
            r#"{"kind":"coupling","mask":"keep-odd","hidden":[6]}"#,
            r#"{"kind":"coupling","mask":"keep-odd","hidden":[6],"transform":{"kind":"cubic"}}"#,
            r#""affine""#,
        ] {
            assert!(serde_json::from_str::<BijectionSpec>(json).is_err(), "{json}");
        }
    }
}
