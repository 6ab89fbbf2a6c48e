//! Affine coupling (RealNVP; paper, section 5 "we use the RealNVP architecture").
//!
//! With x_k the kept and x_c the changed columns and (raw, t) = net(x_k):
//!
//!   s = g tanh(raw)                         scale, bounded by |g|, g learned per column
//!   form A: z_c = (x_c + t) e^s             x_c = z_c e^-s - t       (the authors' code)
//!   form B: z_c = x_c e^s + t               x_c = (z_c - t) e^-s     (RealNVP paper)
//!   log_det = sum_c s                       in both forms
//!
//! On a CPU in single precision runs of these layers take the fused kernel instead (`crate::fused`).

use burn::tensor::Tensor;
use flowgmm_kernels::Coupling;
use semisup::Rng;
use serde::{Deserialize, Serialize};

use super::{Bijection, Dropout, Init, Kernel, Mapped, Mask, conditioner::Conditioner};
use crate::{tensor::Place, theta::Theta};

/// The order in which a coupling scales and shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Form A: z = (x + t) e^s.
    ShiftThenScale,
    /// Form B: z = x e^s + t.
    ScaleThenShift,
}

/// The same form, as the kernels call it.
pub(super) fn kernel_form(form: Form) -> flowgmm_kernels::Form {
    match form {
        Form::ShiftThenScale => flowgmm_kernels::Form::ShiftThenScale,
        Form::ScaleThenShift => flowgmm_kernels::Form::ScaleThenShift,
    }
}

/// The bound |s| <= g a fresh coupling starts with.
const INITIAL_GAIN: f64 = 1.0;

#[derive(Clone, Debug)]
pub(super) struct Affine {
    net: Conditioner,
    form: Form,
    theta: Theta,
    kernel: Coupling,
}

impl Affine {
    pub(super) fn new(
        dim: usize,
        mask: Mask,
        hidden: &[usize],
        form: Form,
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Self {
        let net = Conditioner::new(dim, mask, hidden, 2);
        let mut pieces = net.draw(init, rng);
        let changed = net.change.len();
        pieces.push(("g".into(), [1, changed], vec![INITIAL_GAIN; changed]));
        let kernel =
            Coupling::new(dim, net.keep.clone(), net.change.clone(), net.hidden(), kernel_form(form));
        Self { theta: Theta::new(pieces, place), net, form, kernel }
    }

    /// Scale and shift for rows of kept columns.
    fn scale_shift(&self, kept: Tensor<2>, dropout: Option<&mut Dropout>) -> (Tensor<2>, Tensor<2>) {
        let changed = self.net.change.len();
        let output = self.net.net(&self.theta, kept, dropout);
        let g = self.theta.part(self.net.n_parts());
        let s = output.clone().narrow(1, 0, changed).tanh() * g;
        (s, output.narrow(1, changed, changed))
    }

    fn map(&self, x: Tensor<2>, dropout: Option<&mut Dropout>) -> Mapped {
        let (kept, changed) = self.net.split(x);
        let (s, t) = self.scale_shift(kept.clone(), dropout);
        let changed = match self.form {
            Form::ShiftThenScale => (changed + t) * s.clone().exp(),
            Form::ScaleThenShift => changed * s.clone().exp() + t,
        };
        Mapped { value: self.net.merge(kept, changed), log_det: s.sum_dim(1) }
    }
}

impl Bijection for Affine {
    fn dim(&self) -> usize {
        self.net.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        self.map(x, None)
    }

    fn forward_dropping(&self, x: Tensor<2>, dropout: &mut Dropout) -> Mapped {
        self.map(x, Some(dropout))
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let (kept, changed) = self.net.split(z);
        let (s, t) = self.scale_shift(kept.clone(), None);
        let changed = match self.form {
            Form::ShiftThenScale => changed * s.neg().exp() - t,
            Form::ScaleThenShift => (changed - t) * s.neg().exp(),
        };
        self.net.merge(kept, changed)
    }

    fn thetas(&self) -> Vec<&Theta> {
        vec![&self.theta]
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        vec![&mut self.theta]
    }

    fn kernel(&self) -> Option<Kernel<'_>> {
        Some(Kernel::Dense(&self.kernel))
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
