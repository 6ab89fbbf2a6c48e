//! One Gaussian by its whitening map: with Sigma = L L^T and w = L^-1 (x - mu),
//! log N(x; mu, Sigma) = -|w|^2 / 2 - log|L| - dim/2 log 2 pi.

use std::f64::consts::TAU;

use ndarray::{Array1, Array2, ArrayView2, Axis};
use semisup::linalg::cholesky;

use super::CovarianceType;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gaussian {
    mu: Array1<f64>,
    whiten: Whiten,
    log_det: f64, // log|L|
}

/// L^-1.
#[derive(Clone, Debug, PartialEq)]
enum Whiten {
    Full(Array2<f64>),     // [dim, dim], lower triangular
    Diagonal(Array1<f64>), // [dim]
}

impl Gaussian {
    /// From Sigma `[dim, dim]`, or its diagonal `[1, dim]`; None if it is not positive definite.
    pub fn new(mu: Array1<f64>, sigma: Array2<f64>, covariance: CovarianceType) -> Option<Self> {
        let (whiten, log_det) = match covariance {
            CovarianceType::Full => {
                let l = cholesky(sigma)?;
                let log_det = l.diag().ln().sum();
                (Whiten::Full(inverse_of_lower(&l)), log_det)
            }
            CovarianceType::Diagonal => {
                let scale = sigma.index_axis_move(Axis(0), 0).sqrt();
                let log_det = scale.ln().sum();
                (Whiten::Diagonal(1. / scale), log_det)
            }
        };
        log_det.is_finite().then_some(Self { mu, whiten, log_det })
    }

    pub fn mean(&self) -> &Array1<f64> {
        &self.mu
    }

    /// log N(x; mu, Sigma) of rows, `[n]`.
    pub fn log_density(&self, x: ArrayView2<f64>) -> Array1<f64> {
        let centred = &x - &self.mu;
        let w = match &self.whiten {
            Whiten::Full(inverse) => centred.dot(&inverse.t()),
            Whiten::Diagonal(inverse) => centred * inverse,
        };
        let constant = self.log_det + self.mu.len() as f64 / 2. * TAU.ln();
        w.map_axis(Axis(1), |w| -w.dot(&w) / 2. - constant)
    }

    /// log|Sigma| + tr Sigma^-1 T for diagonal T.
    pub fn penalty(&self, target: &Array1<f64>) -> f64 {
        let trace = match &self.whiten {
            Whiten::Full(inverse) => (inverse * inverse).sum_axis(Axis(0)).dot(target),
            Whiten::Diagonal(inverse) => (inverse * inverse).dot(target),
        };
        2. * self.log_det + trace
    }
}

/// L^-1, column by column by forward substitution.
fn inverse_of_lower(l: &Array2<f64>) -> Array2<f64> {
    let n = l.nrows();
    let mut inverse = Array2::zeros((n, n));
    for column in 0..n {
        inverse[[column, column]] = 1. / l[[column, column]];
        for i in column + 1..n {
            let known: f64 = (column..i).map(|m| l[[i, m]] * inverse[[m, column]]).sum();
            inverse[[i, column]] = -known / l[[i, i]];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// Against the closed form for two columns: Sigma^-1 = [[c, -b], [-b, a]] / det.
    #[test]
    fn density_and_penalty_by_hand() {
        let (a, b, c) = (2., 0.6, 0.5);
        let gaussian = Gaussian::new(array![1., -1.], array![[a, b], [b, c]], CovarianceType::Full).unwrap();
        let det: f64 = a * c - b * b;
        let (u, v) = (0.3 - 1., 2. + 1.);
        let quadratic = (c * u * u - 2. * b * u * v + a * v * v) / det;
        let expected = -quadratic / 2. - det.ln() / 2. - TAU.ln();
        let found = gaussian.log_density(array![[0.3, 2.]].view())[0];
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
        let penalty = det.ln() + (c * 3. + a * 5.) / det;
        assert!((gaussian.penalty(&array![3., 5.]) - penalty).abs() < 1e-12);
    }

    #[test]
    fn a_diagonal_gaussian_is_a_full_one_without_correlations() {
        let x = array![[0.1, 3.], [-2., 0.4]];
        let mu = array![0.5, 1.];
        let full = Gaussian::new(mu.clone(), array![[2., 0.], [0., 0.3]], CovarianceType::Full).unwrap();
        let diagonal = Gaussian::new(mu, array![[2., 0.3]], CovarianceType::Diagonal).unwrap();
        let apart = full.log_density(x.view()) - diagonal.log_density(x.view());
        assert!(apart.iter().all(|d| d.abs() < 1e-14));
        assert!((full.penalty(&array![1., 2.]) - diagonal.penalty(&array![1., 2.])).abs() < 1e-13);
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        assert_eq!(Gaussian::new(array![0., 0.], array![[1., 2.], [2., 1.]], CovarianceType::Full), None);
        assert_eq!(Gaussian::new(array![0., 0.], array![[1., 0.]], CovarianceType::Diagonal), None);
    }
}
