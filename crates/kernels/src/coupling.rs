//! One dense coupling: its shapes, where its parameters lie, and its passes over one panel.
//!
//! Parameters `theta`: for each linear layer its `W` `[out, in]` row-major then `b` `[out]`; last `g` `[c]`.
//!
//! Buffers of one panel, feature-major, one after the other:
//!
//! ```text
//! tape     input [in]  hidden [h_1] [h_2] ..  tanh [c]  e^s [c]  p [c]
//! signals  gradients of each layer's output [h_1] [h_2] .. [2 c], then 16 partial sums for each of g [c]
//! ```

use crate::dense::{Finish, Linear, Scalars, Start};
use crate::pointwise::{Backward, Forward, Inverse, Kept};
use crate::simd::{Lane, dispatch};

/// Which order scale and shift are applied in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `y = (x + t) e^s`, `x = y e^-s - t`
    ShiftThenScale,
    /// `y = x e^s + t`, `x = (y - t) e^-s`
    ScaleThenShift,
}

/// One coupling: keeps columns `keep`, changes columns `change` by an MLP
/// `keep -> hidden .. -> 2 |change|` with ReLU between.
#[derive(Clone, Debug)]
pub struct Coupling {
    pub(crate) dim: usize,
    pub(crate) keep: Vec<usize>,
    pub(crate) change: Vec<usize>,
    pub(crate) form: Form,
    pub(crate) layers: Vec<Layer>,
}

/// One linear layer, and where its things lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub n_in: usize,
    pub n_out: usize,
    /// Offset of `W` in theta; `b` follows it.
    pub theta_at: usize,
    /// Feature offset of the layer's input in the tape.
    pub input_at: usize,
    /// Feature offset of the gradient of its output in the signals.
    pub signal_at: usize,
}

impl Layer {
    fn weights<'a>(&self, theta: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        theta[self.theta_at..][..(self.n_in + 1) * self.n_out].split_at(self.n_in * self.n_out)
    }
}

impl Coupling {
    /// `hidden` may be empty: one linear layer.
    ///
    /// # Panics
    /// Unless `keep` and `change` partition `0..dim`, `change` has a column and hidden layers have units.
    pub fn new(dim: usize, keep: Vec<usize>, change: Vec<usize>, hidden: Vec<usize>, form: Form) -> Self {
        let mut columns = [keep.as_slice(), &change].concat();
        columns.sort_unstable();
        assert!(
            columns.into_iter().eq(0..dim),
            "keep {keep:?} and change {change:?} must partition 0..{dim}"
        );
        assert!(!change.is_empty(), "a coupling must change a column");
        assert!(hidden.iter().all(|&h| h > 0), "hidden layers must have units, got {hidden:?}");
        let mut widths = vec![keep.len()];
        widths.extend(hidden);
        widths.push(2 * change.len());
        let (mut theta_at, mut input_at, mut signal_at) = (0, 0, 0);
        let layers = widths
            .windows(2)
            .map(|w| {
                let layer = Layer { n_in: w[0], n_out: w[1], theta_at, input_at, signal_at };
                theta_at += (w[0] + 1) * w[1];
                input_at += w[0];
                signal_at += w[1];
                layer
            })
            .collect();
        Self { dim, keep, change, form, layers }
    }

    /// The length of `theta`.
    pub fn n_params(&self) -> usize {
        self.scale_at() + self.change.len()
    }

    /// Offset of `g` in theta.
    pub(crate) fn scale_at(&self) -> usize {
        self.layers.iter().map(|l| (l.n_in + 1) * l.n_out).sum()
    }

    /// Features in the tape before tanh, e^s and p: the inputs of all layers.
    fn n_inputs(&self) -> usize {
        self.layers.iter().map(|l| l.n_in).sum()
    }

    /// Lanes of tape a panel of `lanes` lanes needs.
    pub(crate) fn tape_len(&self, lanes: usize) -> usize {
        (self.n_inputs() + 3 * self.change.len()) * lanes
    }

    /// Features in the signals before the partial sums for `g`: the outputs of all layers.
    pub(crate) fn n_outputs(&self) -> usize {
        self.layers.iter().map(|l| l.n_out).sum()
    }

    /// Lanes of signals a panel of `lanes` lanes needs.
    pub(crate) fn signals_len(&self, lanes: usize) -> usize {
        self.n_outputs() * lanes + self.change.len()
    }

    /// Lanes of scratch a panel of `lanes` lanes needs: the network's output, or its input's gradient.
    pub(crate) fn scratch_len(&self, lanes: usize) -> usize {
        (2 * self.change.len()).max(self.keep.len()) * lanes
    }

    /// `state` `[dim, lanes]` x -> y; adds to `log_det` `[lanes]`; fills `tape`.
    pub(crate) fn forward(
        &self,
        theta: &[f32],
        lanes: usize,
        state: &mut [Lane],
        log_det: &mut [Lane],
        tape: &mut [Lane],
        scratch: &mut [Lane],
    ) {
        let c = self.change.len();
        let (inputs, kept) = tape.split_at_mut(self.n_inputs() * lanes);
        let o = &mut scratch[..2 * c * lanes];
        self.network(theta, lanes, state, inputs, o);
        let (tanh, kept) = kept.split_at_mut(c * lanes);
        let (e_s, p) = kept.split_at_mut(c * lanes);
        let g = &theta[self.scale_at()..];
        let kept = Kept { tanh, e_s, p };
        dispatch(Forward { form: self.form, lanes, change: &self.change, g, o, state, log_det, kept });
    }

    /// `state` `[dim, lanes]` y -> x; `tape` is only room for the network's inputs.
    pub(crate) fn inverse(
        &self,
        theta: &[f32],
        lanes: usize,
        state: &mut [Lane],
        tape: &mut [Lane],
        scratch: &mut [Lane],
    ) {
        let o = &mut scratch[..2 * self.change.len() * lanes];
        self.network(theta, lanes, state, &mut tape[..self.n_inputs() * lanes], o);
        let g = &theta[self.scale_at()..];
        dispatch(Inverse { form: self.form, lanes, change: &self.change, g, o, state });
    }

    /// The MLP: gathers the kept columns of `state` and runs the layers, each input left in `inputs`.
    fn network(&self, theta: &[f32], lanes: usize, state: &[Lane], inputs: &mut [Lane], o: &mut [Lane]) {
        for (to, &column) in inputs.chunks_exact_mut(lanes).zip(&self.keep) {
            to.copy_from_slice(&state[column * lanes..][..lanes]);
        }
        for (i, layer) in self.layers.iter().enumerate() {
            let (w, b) = layer.weights(theta);
            let (before, after) = inputs.split_at_mut((layer.input_at + layer.n_in) * lanes);
            let x = &before[layer.input_at * lanes..];
            let (y, finish) = match self.layers.get(i + 1) {
                Some(next) => (&mut after[..next.n_in * lanes], Finish::Relu),
                None => (&mut *o, Finish::Nothing),
            };
            dispatch(Linear { lanes, start: Start::Bias(b), w: Scalars::Rows(w), x, y, finish, ahead: &[] });
        }
    }

    /// `grad` `[dim, lanes]` of y -> of x; fills `signals` for [`crate::gradients`].
    ///
    /// `wanted` says whether the kept columns' gradient is needed: it is not used at the first coupling
    /// when only parameters are trained.
    #[expect(clippy::too_many_arguments, reason = "the buffers of one panel, each a different one")]
    pub(crate) fn backward(
        &self,
        theta: &[f32],
        lanes: usize,
        tape: &[Lane],
        grad: &mut [Lane],
        grad_log_det: &[Lane],
        signals: &mut [Lane],
        scratch: &mut [Lane],
        wanted: InputGradient,
    ) {
        let c = self.change.len();
        let (inputs, kept) = tape.split_at(self.n_inputs() * lanes);
        let (tanh, kept) = kept.split_at(c * lanes);
        let (e_s, p) = kept.split_at(c * lanes);
        let (signals, grad_g) = signals.split_at_mut(self.n_outputs() * lanes);
        let (_, grad_o) = signals.split_at_mut((self.n_outputs() - 2 * c) * lanes);
        let g = &theta[self.scale_at()..];
        let kept = Kept { tanh, e_s, p };
        let (form, change) = (self.form, self.change.as_slice());
        dispatch(Backward { form, lanes, change, g, kept, grad, grad_log_det, grad_o, grad_g });
        for layer in self.layers[1..].iter().rev() {
            let w = Scalars::Columns(layer.weights(theta).0);
            let (before, after) = signals.split_at_mut(layer.signal_at * lanes);
            let gx = &mut before[(layer.signal_at - layer.n_in) * lanes..];
            let gy = &after[..layer.n_out * lanes];
            let finish = Finish::MaskedBy(&inputs[layer.input_at * lanes..][..layer.n_in * lanes]);
            dispatch(Linear { lanes, start: Start::Zero, w, x: gy, y: gx, finish, ahead: &[] });
        }
        if wanted == InputGradient::Skipped || self.keep.is_empty() {
            return;
        }
        let w = Scalars::Columns(self.layers[0].weights(theta).0);
        let gx = &mut scratch[..self.keep.len() * lanes];
        let gy = &signals[..self.layers[0].n_out * lanes];
        dispatch(Linear { lanes, start: Start::Zero, w, x: gy, y: gx, finish: Finish::Nothing, ahead: &[] });
        for (from, &column) in gx.chunks_exact(lanes).zip(&self.keep) {
            for (to, from) in grad[column * lanes..][..lanes].iter_mut().zip(from) {
                to.0.iter_mut().zip(&from.0).for_each(|(a, b)| *a += b);
            }
        }
    }
}

/// Whether a backward pass computes the gradient of its input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InputGradient {
    Wanted,
    Skipped,
}
