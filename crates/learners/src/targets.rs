//! Labels as targets of a fit.

use ndarray::{Array2, ArrayView2};
use semisup::SemiSupervised;

use crate::Result;
use crate::error::within;

/// One-hot labels, 0 where there is none, `[n, n_classes]`.
pub(crate) fn one_hot(y: &[Option<usize>], n_classes: usize) -> Array2<f64> {
    Array2::from_shape_fn((y.len(), n_classes), |(i, k)| f64::from(u8::from(y[i] == Some(k))))
}

/// The labelled rows and their classes.
pub(crate) fn labelled(data: &SemiSupervised) -> (Array2<f64>, Vec<usize>) {
    let x = data.x().select(ndarray::Axis(0), &data.labelled());
    (x, data.y().iter().flatten().copied().collect())
}

/// Checks that rows x `[n, dim]` have columns, finite values, classes y `[n]` below `n_classes` and weights `[n]` from 0
/// on, of which one is above it. Gives the weights: 1 for each row if there are none.
pub(crate) fn check_rows(
    x: ArrayView2<f64>,
    y: &[usize],
    n_classes: usize,
    weights: Option<&[f64]>,
) -> Result<Vec<f64>> {
    use semisup::Error::{LabelOutOfRange, NoColumns, Size};
    let n = x.nrows();
    if x.ncols() == 0 {
        return Err(NoColumns { name: "the data".into() }.into());
    }
    if y.len() != n {
        return Err(Size { what: "labels, against rows of x", found: y.len(), expected: n }.into());
    }
    if let Some(row) = y.iter().position(|&k| k >= n_classes) {
        return Err(LabelOutOfRange { row: row + 1, label: y[row], n_classes }.into());
    }
    if let Some(&value) = x.iter().find(|value| !value.is_finite()) {
        within("a value of x", value, false, "a finite number")?;
    }
    let Some(weights) = weights else {
        within("labelled rows", n as f64, n > 0, "at least 1")?;
        return Ok(vec![1.; n]);
    };
    if weights.len() != n {
        return Err(Size { what: "weights, against rows of x", found: weights.len(), expected: n }.into());
    }
    for &weight in weights {
        within("a weight", weight, weight >= 0. && weight.is_finite(), "a number from 0 on")?;
    }
    let sum = weights.iter().sum::<f64>();
    within("the sum of weights", sum, sum > 0. && sum.is_finite(), "a number above 0")?;
    Ok(weights.to_vec())
}
