//! Affine transform (RealNVP; paper, section 5 "we use the RealNVP architecture"). From the conditioner's (raw, t):
//!
//!   s = g tanh(raw)                       scale, bounded by |g|, g learned per column
//!   form A: z = (x + t) e^s               x = z e^-s - t       (the authors' code)
//!   form B: z = x e^s + t                 x = (z - t) e^-s     (RealNVP paper)
//!   log_det = sum s over the changed columns, in both forms
//!
//! On a CPU in single precision runs of dense affine couplings take the fused kernel instead (`crate::fused`).

use burn_tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The order in which a coupling scales and shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Form A: z = (x + t) e^s.
    ShiftThenScale,
    /// Form B: z = x e^s + t.
    ScaleThenShift,
}

/// The bound |s| <= g a fresh coupling starts with.
pub(super) const INITIAL_GAIN: f64 = 1.0;

impl Form {
    /// z of x, for columns or for images.
    pub(in crate::bijection) fn forward<const D: usize>(
        self,
        x: Tensor<D>,
        s: Tensor<D>,
        t: Tensor<D>,
    ) -> Tensor<D> {
        match self {
            Self::ShiftThenScale => (x + t) * s.exp(),
            Self::ScaleThenShift => x * s.exp() + t,
        }
    }

    /// x of z, for columns or for images.
    pub(in crate::bijection) fn inverse<const D: usize>(
        self,
        z: Tensor<D>,
        s: Tensor<D>,
        t: Tensor<D>,
    ) -> Tensor<D> {
        match self {
            Self::ShiftThenScale => z * s.neg().exp() - t,
            Self::ScaleThenShift => (z - t) * s.neg().exp(),
        }
    }
}

/// A form as the kernels name it.
pub(in crate::bijection) fn kernel_form(form: Form) -> flowgmm_kernels::Form {
    match form {
        Form::ShiftThenScale => flowgmm_kernels::Form::ShiftThenScale,
        Form::ScaleThenShift => flowgmm_kernels::Form::ScaleThenShift,
    }
}

/// s and t, `[n, changed]` each, from the conditioner's output `[n, 2 changed]` and the gain `[1, changed]`.
pub(super) fn scale_shift(output: Tensor<2>, gain: Option<Tensor<2>>) -> (Tensor<2>, Tensor<2>) {
    let gain = gain.expect("an affine transform has a gain");
    let changed = gain.dims()[1];
    let s = output.clone().narrow(1, 0, changed).tanh() * gain;
    (s, output.narrow(1, changed, changed))
}
