//! What a coupling does to each changed column: an invertible map of one number, whose parameters are the conditioner's
//! output for that row and column.
//!
//! | transform | z of one column | outputs per column |
//! |---|---|---|
//! | affine | (x + t) e^s or x e^s + t | 2: s before its bound, t |
//! | additive | x + t | 1: t |
//! | spline | monotone rational-quadratic spline | 3 bins - 1: widths, heights, slopes |
//!
//! ```
//! use flowgmm_core::bijection::{Form, Transform};
//! let real_nvp = Transform::Affine { form: Form::ScaleThenShift };
//! let json = r#"{"kind":"affine","form":"scale-then-shift"}"#;
//! assert_eq!(serde_json::to_string(&real_nvp).unwrap(), json);
//! ```

mod affine;
mod spline;

use burn_tensor::Tensor;
use serde::{Deserialize, Serialize};

pub use affine::Form;
pub(super) use affine::kernel_form;
pub use spline::{MIN_BIN, MIN_SLOPE};

use super::{Mapped, conditioner::Pieces};
use crate::{Error, Result};

/// The map that a coupling applies to each changed column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Transform {
    /// Scale and shift (RealNVP).
    Affine {
        /// Order of scale and shift.
        form: Form,
    },
    /// Shift alone (NICE): volume-preserving and never unstable.
    Additive,
    /// Monotone rational-quadratic spline (neural spline flows).
    Spline {
        /// Number of bins.
        bins: usize,
        /// The spline acts on [-bound, bound]; outside it is the identity.
        bound: f64,
    },
}

impl Transform {
    /// Its name, as in model files and configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affine { .. } => "affine",
            Self::Additive => "additive",
            Self::Spline { .. } => "spline",
        }
    }

    /// Checks the settings of the transform.
    pub fn validate(self) -> Result<()> {
        match self {
            Self::Affine { .. } | Self::Additive => Ok(()),
            Self::Spline { bins, bound } => {
                if (2..=256).contains(&bins) && bound.is_finite() && bound > 0.0 {
                    return Ok(());
                }
                Err(Error::Config(format!(
                    "a spline needs 2 to 256 bins and a positive bound, got {bins} and {bound}"
                )))
            }
        }
    }

    /// Outputs of the conditioner for each changed column.
    pub(super) fn outputs_per_column(self) -> usize {
        match self {
            Self::Affine { .. } => 2,
            Self::Additive => 1,
            Self::Spline { bins, .. } => 3 * bins - 1,
        }
    }

    /// Parameters of each changed column that do not come from the conditioner.
    pub(super) fn own_per_column(self) -> usize {
        match self {
            Self::Affine { .. } => 1,
            Self::Additive | Self::Spline { .. } => 0,
        }
    }

    /// Fresh values of the transform's own parameters.
    pub(super) fn own_parameters(self, changed: usize) -> Pieces {
        match self {
            Self::Affine { .. } => vec![("g".into(), [1, changed], vec![affine::INITIAL_GAIN; changed])],
            Self::Additive | Self::Spline { .. } => Vec::new(),
        }
    }

    /// z and log|det dz/dx| for changed columns x `[n, changed]`, given the conditioner's output
    /// `[n, outputs_per_column * changed]` and the transform's own parameters.
    pub(super) fn forward(self, x: Tensor<2>, output: Tensor<2>, own: Option<Tensor<2>>) -> Mapped {
        match self {
            Self::Affine { form } => {
                let (s, t) = affine::scale_shift(output, own);
                Mapped { value: form.forward(x, s.clone(), t), log_det: s.sum_dim(1) }
            }
            Self::Additive => Mapped { log_det: x.zeros_like().sum_dim(1), value: x + output },
            Self::Spline { bins, bound } => spline::Spline { bins, bound }.forward(x, output),
        }
    }

    /// x for changed columns z.
    pub(super) fn inverse(self, z: Tensor<2>, output: Tensor<2>, own: Option<Tensor<2>>) -> Tensor<2> {
        match self {
            Self::Affine { form } => {
                let (s, t) = affine::scale_shift(output, own);
                form.inverse(z, s, t)
            }
            Self::Additive => z - output,
            Self::Spline { bins, bound } => spline::Spline { bins, bound }.inverse(z, output),
        }
    }
}
