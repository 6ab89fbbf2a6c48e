//! The RBF kernel w(a, b) = exp(-gamma |a - b|^2) between all rows.

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};
use semisup::{Stopped, Watch};

use super::solve::conjugate_gradients;
use crate::chunks::in_chunks;

/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;
/// Conjugate gradients solve to this residual.
const TOLERANCE: f64 = 1e-13;
/// A row whose labels sum to less than this, relative to the row that most labels reach, is not solved yet.
const LEAST: f64 = 1e-6;

/// S = D^-1/2 W D^-1/2 of rows x `[n, dim]`, with W the kernel without its diagonal and D its column sums, `[n, n]`.
pub(super) fn normalised(x: ArrayView2<f64>, gamma: f64) -> Array2<f64> {
    let distances = Distances::to(x);
    let kernel =
        |chunk: ArrayView2<f64>| distances.squared(chunk).mapv_into(|squared| (-gamma * squared).exp());
    let mut s = in_chunks(x, CHUNK, x.nrows(), kernel);
    s.diag_mut().fill(0.);
    let root: Array1<f64> = s.sum_axis(Axis(0)).mapv(|degree| if degree > 0. { degree.sqrt() } else { 1. });
    s /= &root;
    s /= &root.insert_axis(Axis(1));
    s
}

/// F of F = alpha S F + b for symmetric S `[n, n]` and b `[n, K]`, neither of them negative.
///
/// I - alpha S is positive definite, and conjugate gradients need some 150 products with S where alpha = 0.99, against 3,000
/// of fixed-point iteration. But they are exact relative to the largest row only, and in a row that hardly any label reaches the
/// ratios between classes must be right, too: such rows are solved again among themselves, with the others given.
pub(super) fn spread(
    s: &Array2<f64>,
    b: Array2<f64>,
    alpha: f64,
    watch: &dyn Watch,
) -> Result<Array2<f64>, Stopped> {
    let system = |v: &Array2<f64>| {
        let mut out = product(s, v);
        Zip::from(&mut out).and(v).for_each(|out, v| *out = v - alpha * *out);
        out
    };
    let mut f = conjugate_gradients(system, b.clone(), TOLERANCE, watch)?.mapv_into(|f| f.max(0.));
    let reached = f.sum_axis(Axis(1));
    let least = LEAST * reached.fold(0., |most: f64, sum| most.max(*sum));
    let (hardly, well): (Vec<usize>, Vec<usize>) = (0..f.nrows()).partition(|&row| reached[row] < least);
    if !hardly.is_empty() {
        let of = s.select(Axis(0), &hardly);
        let given = product(&of.select(Axis(1), &well), &f.select(Axis(0), &well)) * alpha;
        let b = b.select(Axis(0), &hardly) + given;
        let solved = spread(&of.select(Axis(1), &hardly), b, alpha, watch)?;
        hardly.iter().zip(solved.rows()).for_each(|(&row, solved)| f.row_mut(row).assign(&solved));
    }
    Ok(f)
}

/// s f.
fn product(s: &Array2<f64>, f: &Array2<f64>) -> Array2<f64> {
    in_chunks(s.view(), CHUNK, f.ncols(), |chunk| chunk.dot(f))
}

/// sum_i w(q, x_i) f_i for each query q, up to a factor: the nearest row has weight 1, so that the weights of a query far
/// from all rows do not underflow.
pub(super) fn votes(
    x: ArrayView2<f64>,
    f: &Array2<f64>,
    queries: ArrayView2<f64>,
    gamma: f64,
) -> Array2<f64> {
    let distances = Distances::to(x);
    in_chunks(queries, CHUNK, f.ncols(), |chunk| {
        let mut weights = distances.squared(chunk);
        weights.rows_mut().into_iter().for_each(|mut row| {
            let least = row.fold(f64::INFINITY, |least, &squared| least.min(squared));
            row.mapv_inplace(|squared| (-gamma * (squared - least)).exp());
        });
        weights.dot(f)
    })
}

/// Squared distances to fixed rows by one matrix product, |a - b|^2 = |a|^2 - 2 a.b + |b|^2. Rows are centred first:
/// far from the origin the three terms would cancel.
struct Distances {
    centre: Array1<f64>,  // [dim]
    rows: Array2<f64>,    // [n, dim], centred
    lengths: Array1<f64>, // [n], squared
}

impl Distances {
    fn to(x: ArrayView2<f64>) -> Self {
        let centre = x.mean_axis(Axis(0)).expect("there are rows");
        let rows = &x - &centre;
        let lengths = squared_lengths(&rows);
        Self { centre, rows, lengths }
    }

    /// Squared distances from each of these rows, `[m, n]`.
    fn squared(&self, from: ArrayView2<f64>) -> Array2<f64> {
        let from = &from - &self.centre;
        let mut squared = from.dot(&self.rows.t());
        squared *= -2.;
        squared += &self.lengths;
        squared += &squared_lengths(&from).insert_axis(Axis(1));
        squared.mapv_into(|squared| squared.max(0.))
    }
}

fn squared_lengths(rows: &Array2<f64>) -> Array1<f64> {
    rows.map_axis(Axis(1), |row| row.dot(&row))
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often it is asked: once for each product with S.
    struct Products(AtomicUsize);

    impl Watch for Products {
        fn at(&self, _fraction: f64) -> Result<(), Stopped> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    /// As exact as fixed-point iteration, which only ever adds, in rows that 1e-11, 1e-22 and nothing of the labels reaches, with
    /// few products.
    #[test]
    fn rows_that_hardly_any_label_reaches_are_right_as_well() {
        let mut rng = semisup::rng(2);
        let places = [0., 1.7, 3.4, 100.];
        let x = Array2::from_shape_fn((80, 1), |(i, _)| places[i / 20] + rng.random_range(0.0..0.3));
        let s = normalised(x.view(), 12.);
        let mut b = Array2::zeros((80, 2));
        (b[[0, 0]], b[[5, 1]], b[[7, 1]]) = (0.01, 0.01, 0.01);
        let products = Products(AtomicUsize::new(0));
        let found = spread(&s, b.clone(), 0.99, &products).unwrap();
        let mut exact = b.clone();
        (0..5000).for_each(|_| exact = product(&s, &exact) * 0.99 + &b); // what is left out is 0.99^5000 = 1e-22 of it
        for row in 0..80 {
            let (found, exact) = (found.row(row), exact.row(row));
            assert!(row >= 60 || found.sum() > 0., "{row}: {found}");
            for (found, exact) in found.iter().zip(exact) {
                assert!((found - exact).abs() <= 1e-5 * exact, "{row}: {found} {exact}"); // LEAST and TOLERANCE give 1e-5
            }
        }
        assert!(exact[[45, 0]] > 0. && exact[[45, 0]] < 1e-20, "{}", exact[[45, 0]]);
        let products = products.0.into_inner();
        assert!(products < 500, "{products}: fixed-point iteration takes 3,000");
    }

    /// Far from the origin and with columns of very different scales, the product is as good as the sum of squares.
    #[test]
    fn distances_by_a_product_are_distances() {
        let mut rng = semisup::rng(1);
        let scale = [1e-3, 1., 40.];
        let mut rows = |n| {
            Array2::from_shape_fn((n, 3), |(_, j)| 1e6 * scale[j] + scale[j] * rng.random_range(-1.0..1.0))
        };
        let (x, from) = (rows(300), rows(7));
        let found = Distances::to(x.view()).squared(from.view());
        for ((i, j), &found) in found.indexed_iter() {
            let direct: f64 = from.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!((found - direct).abs() < 1e-9 * (1. + direct), "{i} {j}: {found} {direct}");
        }
    }
}
