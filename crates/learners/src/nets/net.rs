//! A fully connected net, with ReLU and dropout or with softplus units, and its hand-derived backward pass.
//!
//! With h_0 = x `[n, dim]`, weights W_i `[in, out]`, b_i `[out]` and dropout of probability p after each hidden
//! layer:
//!
//! ```text
//! a_i = h_{i-1} W_i + b_i      h_i = relu(a_i) m_i,  m_i = 0 with probability p, else 1 / (1 - p)
//! dL/dW_i = h_{i-1}^T dL/da_i      dL/dh_{i-1} = dL/da_i W_i^T      dL/da_i = dL/dh_i / (1 - p) where h_i > 0
//! ```
//!
//! h_i > 0 means both that the unit was active and that it was kept, so no mask is stored. Softplus units,
//! h_i = log(1 + e^{a_i}), have dh_i/da_i = 1 - e^{-h_i}: they need nothing but h_i either. Nets train in f32; the
//! float type is a parameter so that tests can compare with finite differences in f64.

use ndarray::{Array1, Array2, ArrayView2, Axis, NdFloat, Zip};
use rand::Rng as _;
use semisup::Rng;

/// a = h W + b.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer<F> {
    pub w: Array2<F>, // [in, out]
    pub b: Array1<F>, // [out]
}

/// The layers, or anything with one number for each weight: a gradient, a moment of Adam.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Net<F> {
    pub layers: Vec<Layer<F>>,
}

/// Dropout: how often a hidden unit is set to 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    /// The probability in units of 1 / 65536: 16 random bits decide about a unit.
    threshold: u16,
}

/// What the forward pass keeps for the backward pass.
pub(crate) struct Trace<F> {
    inputs: Vec<Array2<F>>, // h_{i-1} of each layer, [n, in]
    units: Units<F>,
    pub logits: Array2<F>, // [n, out]
}

/// The hidden units of a pass.
enum Units<F> {
    /// `scale` is 1 / (1 - p).
    Relu {
        scale: F,
    },
    Softplus,
}

impl Dropout {
    pub const NONE: Dropout = Dropout { threshold: 0 };

    /// Drops with probability p in [0, 1).
    pub fn new(p: f64) -> Self {
        Self { threshold: (p * 65536.).round().min(65535.) as u16 }
    }

    fn scale<F: NdFloat>(self) -> F {
        number(1. / (1. - f64::from(self.threshold) / 65536.))
    }

    /// relu(a) m, in place.
    fn activate<F: NdFloat>(self, a: &mut Array2<F>, rng: &mut Rng) {
        if self.threshold == 0 {
            return a.mapv_inplace(|a| a.max(F::zero()));
        }
        let mut bits = vec![0u16; a.len()];
        rng.fill(&mut bits[..]);
        let scale = self.scale::<F>();
        for (a, bits) in a.iter_mut().zip(bits) {
            *a = if bits < self.threshold { F::zero() } else { a.max(F::zero()) * scale };
        }
    }
}

impl<F: NdFloat> Net<F> {
    /// Layers of these sizes with the uniform initial weights of He et al. (2015), smaller in the last layer.
    pub fn new(sizes: &[usize], rng: &mut Rng) -> Self {
        let last = sizes.len() - 2;
        let layer = |(i, pair): (usize, &[usize])| {
            let bound = (if i == last { 1. } else { 6. } / pair[0] as f64).sqrt();
            let w =
                Array2::from_shape_simple_fn((pair[0], pair[1]), || number(rng.random_range(-bound..bound)));
            Layer { w, b: Array1::zeros(pair[1]) }
        };
        Self { layers: sizes.windows(2).enumerate().map(layer).collect() }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers[0].w.nrows()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].b.len()
    }

    /// A net of this shape whose weights are all 0.
    pub fn zeros_like(&self) -> Self {
        let zero =
            |layer: &Layer<F>| Layer { w: Array2::zeros(layer.w.dim()), b: Array1::zeros(layer.b.dim()) };
        Self { layers: self.layers.iter().map(zero).collect() }
    }

    /// Adds the weights of a net of the same shape.
    pub fn add(&mut self, other: &Self) {
        for (layer, other) in self.layers.iter_mut().zip(&other.layers) {
            layer.w += &other.w;
            layer.b += &other.b;
        }
    }

    /// The forward pass with ReLU units and dropout: logits of rows, `[n, dim] -> [n, n_classes]`.
    pub fn forward(&self, x: Array2<F>, dropout: Dropout, rng: &mut Rng) -> Trace<F> {
        let mut inputs = vec![x];
        for layer in &self.layers[..self.layers.len() - 1] {
            let mut h = layer.apply(inputs[inputs.len() - 1].view());
            dropout.activate(&mut h, rng);
            inputs.push(h);
        }
        let logits = self.layers[self.layers.len() - 1].apply(inputs[inputs.len() - 1].view());
        Trace { inputs, units: Units::Relu { scale: dropout.scale() }, logits }
    }

    /// The forward pass with softplus units, `[n, dim] -> [n, out]`.
    pub fn forward_softplus(&self, x: Array2<F>) -> Trace<F> {
        let mut inputs = vec![x];
        for layer in &self.layers[..self.layers.len() - 1] {
            let mut h = layer.apply(inputs[inputs.len() - 1].view());
            h.mapv_inplace(softplus);
            inputs.push(h);
        }
        let logits = self.layers[self.layers.len() - 1].apply(inputs[inputs.len() - 1].view());
        Trace { inputs, units: Units::Softplus, logits }
    }

    /// The gradient by all weights, from that by the logits, `[n, out]`.
    pub fn backward(&self, trace: &Trace<F>, d_logits: Array2<F>) -> Self {
        self.gradient(trace, d_logits).0
    }

    /// The gradient by all weights, and that by the net's input, `[n, in]`.
    pub fn backward_through(&self, trace: &Trace<F>, d_logits: Array2<F>) -> (Self, Array2<F>) {
        let (net, d) = self.gradient(trace, d_logits);
        let d_input = d.dot(&self.layers[0].w.t());
        (net, d_input)
    }

    /// The gradient by all weights, and that by the first layer's pre-activation.
    fn gradient(&self, trace: &Trace<F>, d_logits: Array2<F>) -> (Self, Array2<F>) {
        let mut d = d_logits; // dL/da of the layer at hand
        let mut layers = Vec::with_capacity(self.layers.len());
        for (i, (layer, h)) in self.layers.iter().zip(&trace.inputs).enumerate().rev() {
            layers.push(Layer { w: h.t().dot(&d), b: d.sum_axis(Axis(0)) });
            if i > 0 {
                d = d.dot(&layer.w.t());
                trace.units.backward(&mut d, h);
            }
        }
        layers.reverse();
        (Self { layers }, d)
    }
}

impl<F> Trace<F> {
    /// The net's input, `[n, in]`.
    pub fn input(&self) -> ArrayView2<'_, F> {
        self.inputs[0].view()
    }
}

impl<F: NdFloat> Units<F> {
    /// From dL/dh to dL/da, in place.
    fn backward(&self, d: &mut Array2<F>, h: &Array2<F>) {
        match *self {
            Units::Relu { scale } => Zip::from(d).and(h).for_each(|d, &h| {
                *d = if h > F::zero() { *d * scale } else { F::zero() };
            }),
            Units::Softplus => Zip::from(d).and(h).for_each(|d, &h| *d *= F::one() - (-h).exp()),
        }
    }
}

impl<F: NdFloat> Layer<F> {
    fn apply(&self, h: ArrayView2<F>) -> Array2<F> {
        h.dot(&self.w) + &self.b
    }
}

/// log(1 + e^a), without overflow of e^a.
pub(crate) fn softplus<F: NdFloat>(a: F) -> F {
    a.max(F::zero()) + (-a.abs()).exp().ln_1p()
}

/// A constant in the net's precision.
pub(crate) fn number<F: NdFloat>(value: f64) -> F {
    F::from(value).expect("f64 fits into floats")
}
