//! Principal directions of centred rows S `[n, dim]`: eigenvectors of the covariance C = S^T S / n.
//!
//! With fewer rows than columns they follow from those of the small matrix G = S S^T / n: G v = lambda v gives
//! C r = lambda r for r = S^T v / sqrt(n lambda), which is fast for fifty rows of five thousand columns.

use ndarray::{Array2, ArrayView2, Axis};

use crate::linalg::{Eigen, symmetric_eigen};

/// Principal directions.
pub(super) struct Directions {
    /// Variance along each direction, descending, `[kept]`.
    pub variance: Vec<f64>,
    /// The directions as columns, `[dim, kept]`; the largest entry of each is positive.
    pub r: Array2<f64>,
    /// Variance along all directions there are.
    pub total: f64,
}

/// The leading directions, at most `dims`, without those whose variance is rounding error: dividing by it would amplify
/// noise, and the map could not be inverted. `None` if sums of squares overflow.
pub(super) fn leading(scaled: ArrayView2<f64>, dims: usize) -> Option<Directions> {
    let (n, dim) = scaled.dim();
    let wide = n < dim;
    let products = if wide { scaled.dot(&scaled.t()) } else { scaled.t().dot(&scaled) } / n as f64;
    if products.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let Eigen { values, vectors } = symmetric_eigen(products.view());
    // The way back from G divides by sqrt(lambda), which costs the directions half their digits.
    let least = values[0] * if wide { 1e-10 } else { 1e-12 };
    let kept = values.iter().take(dims).take_while(|&&value| value > least).count();
    let total = values.iter().map(|value| value.max(0.)).sum();
    let leading = vectors.select(Axis(0), &(0..kept).collect::<Vec<_>>()); // [kept, n or dim]
    let mut r = if wide { scaled.t().dot(&leading.t()) } else { leading.reversed_axes() };
    if wide {
        r.columns_mut().into_iter().for_each(|mut column| {
            let norm = column.dot(&column).sqrt();
            let largest = column.iter().fold(0_f64, |a, &b| if b.abs() > a.abs() { b } else { a });
            column /= norm * largest.signum();
        });
    }
    Some(Directions { variance: values[..kept].to_vec(), r, total })
}
