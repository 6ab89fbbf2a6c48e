//! Two solvers for the fixed point F = alpha S F + (1 - alpha) Y of label spreading, all columns of Y `[n, K]`
//! together: conjugate gradients where S is symmetric, fixed-point iteration where it is not.
//!
//! Sums over rows are taken in chunks of fixed size, so that they have the same bits on any number of threads.

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};
use rayon::prelude::*;
use semisup::{Stopped, Watch};

/// Rows of a chunk of parallel work.
pub(super) const CHUNK: usize = 1024;

/// Divides each row by its sum; rows of sum 0 become uniform.
pub(super) fn to_distributions(mut f: Array2<f64>) -> Array2<f64> {
    let uniform = 1. / f.ncols() as f64;
    for mut row in f.rows_mut() {
        let mass = row.sum();
        row.mapv_inplace(|f| if mass > 0. { f / mass } else { uniform });
    }
    f
}

/// F by iterating F <- alpha S F + (1 - alpha) Y from Y, with the product with S given, until it changes by less than
/// 1e-13 of itself: never negative, and as exact in rows that few labels reach. The error falls by alpha in each step.
pub(super) fn iterate(
    times: impl Fn(&Array2<f64>) -> Array2<f64>,
    y: &Array2<f64>,
    alpha: f64,
    watch: &dyn Watch,
) -> Result<Array2<f64>, Stopped> {
    const TOLERANCE: f64 = 1e-13;
    const MAX_STEPS: usize = 10_000; // alpha = 0.99 takes 3000
    let mut f = y.clone();
    for _ in 0..MAX_STEPS {
        let mut next = times(&f);
        next *= alpha;
        next.scaled_add(1. - alpha, y);
        let moved = Zip::from(&f).and(&next).fold(0., |sum: f64, a, b| sum + (a - b).abs());
        let mass = next.sum();
        f = next;
        if moved <= TOLERANCE * mass {
            break;
        }
        watch.at((moved / mass).ln() / TOLERANCE.ln())?; // the change falls by about the same factor in each step
    }
    Ok(f)
}

/// Solves A x = b for positive definite A, with the product with A given, each column of b `[n, K]` to a residual of
/// `tolerance` |b|.
pub(super) fn conjugate_gradients(
    a: impl Fn(&Array2<f64>) -> Array2<f64>,
    b: Array2<f64>,
    tolerance: f64,
    watch: &dyn Watch,
) -> Result<Array2<f64>, Stopped> {
    const MAX_STEPS: usize = 10_000; // alpha = 0.99 takes about a hundred
    let mut x = Array2::zeros(b.dim());
    let mut residual = b;
    let mut direction = residual.clone();
    let mut squared = dots(&residual, &residual);
    let enough = tolerance * tolerance * &squared;
    for _ in 0..MAX_STEPS {
        // A column that is solved stays as it is.
        let going = Zip::from(&squared).and(&enough).map_collect(|squared, enough| squared > enough);
        if !going.iter().any(|&going| going) {
            break;
        }
        // The logarithm of the residual falls about evenly.
        let worst = Zip::from(&squared).and(&enough).fold(1., |worst: f64, s, e| worst.max(s / e));
        watch.at(1. + worst.ln() / (2. * tolerance.ln()))?;
        let ratio = |of: &Array1<f64>, to: &Array1<f64>| {
            Zip::from(&going).and(of).and(to).map_collect(|going, of, to| if *going { of / to } else { 0. })
        };
        let image = a(&direction);
        let step = ratio(&squared, &dots(&direction, &image));
        x += &(&direction * &step);
        residual -= &(image * &step);
        let after = dots(&residual, &residual);
        direction *= &ratio(&after, &squared);
        direction += &residual;
        squared = after;
    }
    Ok(x)
}

/// The dot products of columns, `[K]`.
fn dots(a: &Array2<f64>, b: &Array2<f64>) -> Array1<f64> {
    let chunks: Vec<(ArrayView2<f64>, ArrayView2<f64>)> =
        a.axis_chunks_iter(Axis(0), CHUNK).zip(b.axis_chunks_iter(Axis(0), CHUNK)).collect();
    let sums: Vec<Array1<f64>> = chunks.par_iter().map(|(a, b)| (a * b).sum_axis(Axis(0))).collect();
    sums.iter().fold(Array1::zeros(a.ncols()), |sum, chunk| sum + chunk)
}
