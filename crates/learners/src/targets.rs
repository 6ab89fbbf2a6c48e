//! Labels as targets of a fit.

use ndarray::Array2;

/// One-hot labels, 0 where there is none, `[n, n_classes]`.
pub(crate) fn one_hot(y: &[Option<usize>], n_classes: usize) -> Array2<f64> {
    Array2::from_shape_fn((y.len(), n_classes), |(i, k)| f64::from(u8::from(y[i] == Some(k))))
}
