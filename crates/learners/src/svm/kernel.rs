//! The RBF kernel k(a, b) = exp(-gamma |a - b|^2).

use ndarray::{Array2, ArrayView2, Axis};

use crate::chunks::in_chunks;

/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;

/// k(a_i, b_j) of all rows of a `[n, dim]` and b `[m, dim]`, `[n, m]`.
pub(super) fn rbf(a: ArrayView2<f64>, b: ArrayView2<f64>, gamma: f64) -> Array2<f64> {
    let squares = |rows: ArrayView2<f64>| rows.map_axis(Axis(1), |row| row.dot(&row));
    let mut kernel = a.dot(&b.t());
    let (of_a, of_b) = (squares(a), squares(b));
    for ((i, j), value) in kernel.indexed_iter_mut() {
        *value = (-gamma * (of_a[i] + of_b[j] - 2. * *value).max(0.)).exp();
    }
    kernel
}

/// The kernel between all rows of x, in 32 bits, `[n, n]`.
pub(super) fn gram(x: ArrayView2<f64>, gamma: f64) -> Array2<f32> {
    in_chunks(x, CHUNK, x.nrows(), |rows| rbf(rows, x, gamma).mapv(|value| value as f32))
}

/// scikit-learn's `gamma="scale"`: 1 / (dim var), var over all numbers of x; 1 if all are equal.
pub(super) fn scale_gamma(x: ArrayView2<f64>) -> f64 {
    let variance = x.var(0.);
    if variance > 0. { 1. / (x.ncols() as f64 * variance) } else { 1. }
}
