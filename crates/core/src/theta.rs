//! The parameters of one layer or of one part of the mixture: a flat vector with named slices.
//!
//! Every bijection and the mixture hold exactly one such vector, so that the optimiser, the moving average,
//! clipping, checkpoints and the model file all see the same thing: a list of `(name, Tensor<1>)`.

use burn_tensor::Tensor;

use crate::tensor::Place;

/// A named slice of a parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSlice {
    /// Name within its owner, e.g. `W1`.
    pub name: String,
    /// `[out, in]` for a matrix, `[1, n]` for a row vector.
    pub shape: [usize; 2],
    /// Where it starts.
    pub offset: usize,
}

impl ParameterSlice {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A flat parameter vector with named slices.
#[derive(Clone, Debug)]
pub struct Theta {
    value: Tensor<1>,
    parts: Vec<ParameterSlice>,
}

impl Theta {
    /// Parameters from slices `(name, shape, row-major values)`.
    pub fn new(pieces: Vec<(String, [usize; 2], Vec<f64>)>, place: &Place) -> Self {
        let (mut parts, mut values) = (Vec::with_capacity(pieces.len()), Vec::new());
        for (name, shape, piece) in pieces {
            assert_eq!(piece.len(), shape[0] * shape[1], "{name}: values do not fill the shape");
            parts.push(ParameterSlice { name, shape, offset: values.len() });
            values.extend(piece);
        }
        Self { value: place.vector(values), parts }
    }

    /// The whole vector.
    pub fn value(&self) -> &Tensor<1> {
        &self.value
    }

    /// Replaces the values, keeping the slices.
    pub fn set(&mut self, value: Tensor<1>) {
        assert_eq!(value.dims(), self.value.dims(), "a parameter vector never changes its length");
        self.value = value;
    }

    /// Takes the values out, to be changed in place and [`Theta::put`] back.
    pub fn take(&mut self) -> Tensor<1> {
        let device = self.value.device();
        std::mem::replace(&mut self.value, Tensor::empty([0], &device))
    }

    /// Puts values back that [`Theta::take`] took out.
    pub fn put(&mut self, value: Tensor<1>) {
        let expected: usize = self.parts.iter().map(ParameterSlice::len).sum();
        assert_eq!(value.dims(), [expected], "a parameter vector never changes its length");
        self.value = value;
    }

    /// The named slices, in order.
    pub fn parts(&self) -> &[ParameterSlice] {
        &self.parts
    }

    /// Slice number `i` in its own shape.
    pub fn part(&self, i: usize) -> Tensor<2> {
        let part = &self.parts[i];
        self.value.clone().narrow(0, part.offset, part.len()).reshape(part.shape)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.value.dims()[0]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Device and precision of the values.
    pub fn place(&self) -> Place {
        Place::of(&self.value)
    }
}
