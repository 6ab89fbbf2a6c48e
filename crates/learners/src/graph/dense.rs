//! The RBF kernel w(a, b) = exp(-gamma |a - b|^2) between all rows.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::chunks::in_chunks;

/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;

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

/// s f.
pub(super) fn product(s: &Array2<f64>, f: &Array2<f64>) -> Array2<f64> {
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

    use super::*;

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
