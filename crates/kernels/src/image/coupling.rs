//! A coupling of channels with a small convolutional net: the one of the CPU preset.
//!
//! ```text
//! h1 = conv3x3(x_keep; W1)                         [n, h, height, width]
//! h2 = conv1x1(relu(bn(h1; gamma1, beta1)); W2)
//! o  = conv3x3(relu(bn(h2; gamma2, beta2)); W3) + b3
//! s  = g tanh(o_first half),  t = o_second half
//! z_c = (x_c + t) e^s  or  x_c e^s + t             log_det = sum s
//! ```
//!
//! theta is W1 `[h, k, 3, 3]`, gamma1, beta1 `[h]`, W2 `[h, h]`, gamma2, beta2 `[h]`, W3 `[2 c, h, 3, 3]`, b3 `[2 c]`,
//! g `[c]`, for k kept and c changed channels. Statistics are mean1, variance1, mean2, variance2, `[h]` each.

use super::Plane;
use super::affine::{Backward, Forward, Inverse, Kept};
use crate::Form;
use crate::conv::{Activations, Conv, KernelSize, Moments, PreActConv, PreActParams, Shape, Workspace};
use crate::simd::dispatch;
use rayon::prelude::*;
use std::ops::Range;

/// Half of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Channels 0..C/2.
    First,
    /// Channels C/2..C.
    Second,
}

/// The coupling for images of one shape.
#[derive(Clone, Debug)]
pub struct LightCoupling {
    shape: Plane,
    keep: Half,
    hidden: usize,
    form: Form,
    first: Conv,
    second: PreActConv,
    third: PreActConv,
    workspace: Workspace,
}

/// What the backward pass needs.
#[derive(Debug)]
pub(super) struct CouplingTape {
    kept: Activations,
    h1: Activations,
    h2: Activations,
    tanh: Vec<f32>, // [n, c, pixels]
    e_s: Vec<f32>,
    p: Vec<f32>,
}

/// The parts of theta.
struct Params<'a> {
    w1: &'a [f32],
    second: PreActParams<'a>,
    third: PreActParams<'a>,
    b3: &'a [f32],
    g: &'a [f32],
}

impl LightCoupling {
    /// # Panics
    /// Unless the channels can be halved and there is a hidden one.
    pub fn new(shape: Plane, keep: Half, hidden: usize, form: Form, workspace: &Workspace) -> Self {
        assert!(
            shape.channels.is_multiple_of(2) && shape.channels > 0,
            "an even number of channels: {shape:?}"
        );
        let half = shape.channels / 2;
        Self {
            shape,
            keep,
            hidden,
            form,
            first: Conv::new(half, hidden, KernelSize::Three, workspace),
            second: PreActConv::new(hidden, hidden, KernelSize::One, workspace),
            third: PreActConv::new(hidden, 2 * half, KernelSize::Three, workspace),
            workspace: workspace.clone(),
        }
    }

    /// This coupling with another stock of buffers.
    pub(super) fn sharing(&self, workspace: &Workspace) -> Self {
        Self::new(self.shape, self.keep, self.hidden, self.form, workspace)
    }

    /// The shape of an image.
    pub fn shape(&self) -> Plane {
        self.shape
    }

    /// Length of theta.
    pub fn n_params(&self) -> usize {
        let half = self.shape.channels / 2;
        self.first.n_weights()
            + self.second.conv().n_weights()
            + self.third.conv().n_weights()
            + 4 * self.hidden
            + 3 * half
    }

    /// Length of the statistics.
    pub fn n_statistics(&self) -> usize {
        4 * self.hidden
    }

    fn half(&self) -> usize {
        self.shape.dim() / 2
    }

    /// The kept and the changed numbers of an image.
    fn halves(&self) -> (Range<usize>, Range<usize>) {
        let (first, second) = (0..self.half(), self.half()..self.shape.dim());
        match self.keep {
            Half::First => (first, second),
            Half::Second => (second, first),
        }
    }

    fn params<'a>(&self, theta: &'a [f32]) -> Params<'a> {
        let mut rest = theta;
        let mut take = |len: usize| {
            let (head, tail) = rest.split_at(len);
            rest = tail;
            head
        };
        let h = self.hidden;
        let w1 = take(self.first.n_weights());
        let (gamma, beta, weights) = (take(h), take(h), take(self.second.conv().n_weights()));
        let second = PreActParams { gamma, beta, weights };
        let (gamma, beta, weights) = (take(h), take(h), take(self.third.conv().n_weights()));
        let third = PreActParams { gamma, beta, weights };
        Params { w1, second, third, b3: take(self.shape.channels), g: take(self.shape.channels / 2) }
    }

    /// The net's input and layers for rows of images; `running` are the running statistics; without them the batch's own are used.
    fn net(&self, p: &Params, running: Option<&[f32]>, rows: &[f32]) -> [Activations; 4] {
        let (keep, _) = self.halves();
        let n = rows.len() / self.shape.dim();
        let Plane { channels, height, width } = self.shape;
        let shape = Shape { n, channels: channels / 2, height, width };
        let kept = Activations::from_rows(&self.workspace, shape, rows, keep.start, self.shape.dim());
        let h1 = match running {
            None => self.first.forward_measured(p.w1, &kept),
            Some(_) => self.first.forward(p.w1, None, &kept),
        };
        let moments = |layer: usize| {
            running.map(|all| {
                let own = &all[2 * layer * self.hidden..][..2 * self.hidden];
                let (mean, variance) = own.split_at(self.hidden);
                Moments { mean: mean.to_vec(), variance: variance.iter().map(|v| v.max(0.0)).collect() }
            })
        };
        let h2 = match moments(0) {
            None => self.second.forward(p.second, &h1, None),
            Some(moments) => self.second.evaluate(p.second, &h1, &moments, None),
        };
        let o = match moments(1) {
            None => self.third.evaluate(p.third, &h2, h2.moments(), None),
            Some(moments) => self.third.evaluate(p.third, &h2, &moments, None),
        };
        [kept, h1, h2, o]
    }

    pub(super) fn forward(
        &self,
        theta: &[f32],
        running: Option<&[f32]>,
        mut rows: Vec<f32>,
        log_det: &mut [f32],
    ) -> (Vec<f32>, CouplingTape) {
        let p = self.params(theta);
        let [kept, h1, h2, o] = self.net(&p, running, &rows);
        let o = o.to_nchw();
        let (dim, half, pixels) = (self.shape.dim(), self.half(), self.shape.pixels());
        let change = self.halves().1;
        let n = rows.len() / dim;
        let (mut tanh, mut e_s, mut p_) = (vec![0.0; n * half], vec![0.0; n * half], vec![0.0; n * half]);
        rows.par_chunks_mut(dim)
            .zip(o.par_chunks(2 * half))
            .zip(tanh.par_chunks_mut(half).zip(e_s.par_chunks_mut(half)).zip(p_.par_chunks_mut(half)))
            .zip(log_det.par_iter_mut())
            .for_each(|(((row, o), ((tanh, e_s), p_)), log_det)| {
                let x = &mut row[change.clone()];
                let kept = Kept { tanh, e_s, p: p_ };
                dispatch(Forward { form: self.form, pixels, g: p.g, bias: p.b3, o, x, kept, log_det });
            });
        (rows, CouplingTape { kept, h1, h2, tanh, e_s, p: p_ })
    }

    pub(super) fn inverse(&self, theta: &[f32], running: Option<&[f32]>, mut rows: Vec<f32>) -> Vec<f32> {
        let p = self.params(theta);
        let [.., o] = self.net(&p, running, &rows);
        let o = o.to_nchw();
        let (pixels, change) = (self.shape.pixels(), self.halves().1);
        rows.par_chunks_mut(self.shape.dim()).zip(o.par_chunks(2 * self.half())).for_each(|(row, o)| {
            let z = &mut row[change.clone()];
            dispatch(Inverse { form: self.form, pixels, g: p.g, bias: p.b3, o, z });
        });
        rows
    }

    /// The gradients of x, in place of that of z, and of theta.
    pub(super) fn backward(
        &self,
        theta: &[f32],
        tape: &CouplingTape,
        mut grad: Vec<f32>,
        grad_log_det: &[f32],
    ) -> (Vec<f32>, Vec<f32>) {
        let CouplingTape { kept, h1, h2, tanh, e_s, p: p_ } = tape;
        let p = self.params(theta);
        let (dim, half, pixels) = (self.shape.dim(), self.half(), self.shape.pixels());
        let (keep, change) = self.halves();
        let (n, c) = (grad.len() / dim, self.shape.channels / 2);
        let mut grad_o = vec![0.0; n * 2 * half];
        let mut grad_g = vec![0.0; n * c];
        grad.par_chunks_mut(dim)
            .zip(grad_o.par_chunks_mut(2 * half))
            .zip(tanh.par_chunks(half).zip(e_s.par_chunks(half)).zip(p_.par_chunks(half)))
            .zip(grad_g.par_chunks_mut(c).zip(grad_log_det.par_iter()))
            .for_each(|(((row, grad_o), ((tanh, e_s), p_)), (grad_g, grad_log_det))| {
                dispatch(Backward {
                    form: self.form,
                    pixels,
                    g: p.g,
                    kept: Kept { tanh, e_s, p: p_ },
                    grad: &mut row[change.clone()],
                    grad_log_det: *grad_log_det,
                    grad_o,
                    grad_g,
                });
            });
        let shape = Shape { channels: 2 * c, ..h2.shape() };
        let grad_o = Activations::from_nchw(&self.workspace, shape, &grad_o);
        let b3 = self.third.conv().bias_gradient(&grad_o);
        let third = self.third.backward(p.third, h2, &grad_o, None);
        let second = self.second.backward(p.second, h1, &third.x, None);
        let first = self.first.backward(p.w1, kept, &second.x);
        let of_kept = first.x.to_nchw();
        grad.par_chunks_mut(dim).zip(of_kept.par_chunks(half)).for_each(|(row, own)| {
            row[keep.clone()].iter_mut().zip(own).for_each(|(g, own)| *g += own);
        });
        let mut g = vec![0.0f64; c];
        for own in grad_g.chunks_exact(c) {
            g.iter_mut().zip(own).for_each(|(sum, own)| *sum += f64::from(*own));
        }
        let g = g.into_iter().map(|g| g as f32).collect();
        let parts = [
            first.weights,
            second.gamma,
            second.beta,
            second.weights,
            third.gamma,
            third.beta,
            third.weights,
            b3,
            g,
        ];
        (grad, parts.concat())
    }
}
