//! Ridge regression of one column on all others, for many columns at a time.
//!
//! With centred columns z `[m, dim]` and A = z^T z + lambda I, the coefficients of column j on the others are
//! -P_jk / P_jj with P = A^-1 (block inversion), so one Cholesky factor of A serves every j: solve A p = e_j.
//! lambda = dim is the Bayes choice when the columns together explain half of the variance.

use ndarray::Array2;
use semisup::linalg::{cholesky, cholesky_solve};
use serde::{Deserialize, Serialize};

/// z_j ~ intercept + sum_k coefficient_k z_k, the coefficient of j itself being 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Regression {
    pub intercept: f64,
    pub coefficients: Vec<f32>, // [dim]
}

impl Regression {
    /// Column j predicted from the others.
    pub fn predict(&self, z: &[f64]) -> f64 {
        let terms = self.coefficients.iter().zip(z).map(|(c, z)| f64::from(*c) * z);
        self.intercept + terms.sum::<f64>()
    }
}

/// The regression of each of `targets` over these rows of z `[m, dim]`.
pub(super) fn regressions(z: &[f64], dim: usize, rows: &[usize], targets: &[usize]) -> Vec<Regression> {
    let row = |at: usize| &z[at * dim..(at + 1) * dim];
    let mut mean = vec![0.; dim];
    for &at in rows {
        mean.iter_mut().zip(row(at)).for_each(|(mean, z)| *mean += z / rows.len() as f64);
    }
    let mut a = Array2::zeros((dim, dim)); // the lower triangle of A
    let entries = a.as_slice_mut().expect("standard layout");
    let mut centred = vec![0.; dim];
    for &at in rows {
        centred.iter_mut().zip(row(at)).zip(&mean).for_each(|((c, z), mean)| *c = z - mean);
        for i in 0..dim {
            let zi = centred[i];
            entries[i * dim..i * dim + i + 1].iter_mut().zip(&centred).for_each(|(a, zj)| *a += zi * zj);
        }
    }
    a.diag_mut().mapv_inplace(|a| a + dim as f64);
    let l = cholesky(a);
    let regression = |&j: &usize| {
        // lambda > 0 makes A positive definite but for overflow and rounding; the mean is imputed then.
        let Some(l) = &l else { return Regression { intercept: mean[j], coefficients: vec![0.; dim] } };
        let mut p = vec![0.; dim];
        p[j] = 1.;
        cholesky_solve(l.view(), &mut p);
        let pivot = p[j];
        let coefficient = |k: usize| if k == j { 0. } else { (-p[k] / pivot) as f32 };
        let coefficients: Vec<f32> = (0..dim).map(coefficient).collect();
        let explained: f64 = coefficients.iter().zip(&mean).map(|(c, mean)| f64::from(*c) * mean).sum();
        Regression { intercept: mean[j] - explained, coefficients }
    };
    targets.iter().map(regression).collect()
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    /// Gradient of |z_j - Z c|^2 + lambda |c|^2 over the centred columns, which is 0 at the regression.
    #[test]
    fn the_gradient_of_the_penalised_error_vanishes() {
        let (m, dim) = (60, 5);
        let mut rng = semisup::rng(7);
        let mut z: Vec<f64> = (0..m * dim).map(|_| rng.random_range(-1. ..1.)).collect();
        for row in z.chunks_mut(dim) {
            row[3] = 2. * row[0] - row[1] + 0.1 * row[3] + 4.;
        }
        let rows: Vec<usize> = (0..m).filter(|row| row % 7 != 0).collect();
        let mean = |j: usize| rows.iter().map(|&row| z[row * dim + j]).sum::<f64>() / rows.len() as f64;
        let targets = [3, 0];
        for (regression, j) in regressions(&z, dim, &rows, &targets).iter().zip(targets) {
            for k in (0..dim).filter(|&k| k != j) {
                let residual =
                    |row: usize| z[row * dim + j] - regression.predict(&z[row * dim..(row + 1) * dim]);
                let data: f64 = rows.iter().map(|&row| residual(row) * (z[row * dim + k] - mean(k))).sum();
                let penalty = dim as f64 * f64::from(regression.coefficients[k]);
                assert!((data - penalty).abs() < 1e-4, "column {j} on {k}: {data} against {penalty}"); // f32
            }
            let bias: f64 =
                rows.iter().map(|&r| z[r * dim + j] - regression.predict(&z[r * dim..(r + 1) * dim])).sum();
            assert!(bias.abs() < 1e-9);
        }
    }

    #[test]
    fn constant_columns_have_no_weight() {
        let z: Vec<f64> = (0..30).flat_map(|i| [f64::from(i), 1., f64::from(i) * 2.]).collect();
        let rows: Vec<usize> = (0..30).collect();
        let [regression] = &regressions(&z, 3, &rows, &[2])[..] else { panic!() };
        assert!(regression.coefficients[1].abs() < 1e-12);
        assert!((regression.predict(&[10., 1., 0.]) - 20.).abs() < 0.2);
    }
}
