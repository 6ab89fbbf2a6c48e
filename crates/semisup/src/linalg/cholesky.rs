//! Cholesky's factor L of a positive definite matrix, A = L L^T, and the solution of A x = b by it.

use ndarray::{Array2, ArrayView2};

/// L with L L^T = A, lower triangular; `None` if A is not positive definite. Only the lower triangle of A is read.
///
/// ```
/// use semisup::{linalg::cholesky, ndarray::array};
///
/// assert_eq!(cholesky(array![[4., 2.], [2., 5.]]).unwrap(), array![[2., 0.], [1., 2.]]);
/// assert!(cholesky(array![[1., 2.], [2., 1.]]).is_none());
/// ```
///
/// # Panics
/// If the matrix is not square.
pub fn cholesky(a: Array2<f64>) -> Option<Array2<f64>> {
    assert!(a.is_square(), "cholesky needs [n, n]");
    let n = a.nrows();
    let mut l = if a.is_standard_layout() { a } else { a.as_standard_layout().into_owned() };
    let entries = l.as_slice_mut().expect("standard layout");
    for i in 0..n {
        let (above, from_i) = entries.split_at_mut(i * n);
        let li = &mut from_i[..n];
        for j in 0..i {
            let lj = &above[j * n..j * n + j + 1];
            li[j] = (li[j] - dot(&li[..j], &lj[..j])) / lj[j];
        }
        li[i] = (li[i] - dot(&li[..i], &li[..i])).sqrt();
        if !(li[i] > 0. && li[i].is_finite()) {
            return None;
        }
        li[i + 1..].fill(0.);
    }
    Some(l)
}

/// Solves L L^T x = b in place, with L of [`cholesky`].
///
/// # Panics
/// If the sizes differ.
pub fn cholesky_solve(l: ArrayView2<f64>, b: &mut [f64]) {
    let n = b.len();
    assert_eq!(l.dim(), (n, n), "one equation for each unknown");
    let l = l.to_slice().expect("standard layout");
    for i in 0..n {
        b[i] = (b[i] - dot(&l[i * n..i * n + i], &b[..i])) / l[i * n + i];
    }
    for i in (0..n).rev() {
        b[i] /= l[i * n + i];
        let bi = b[i];
        b[..i].iter_mut().zip(&l[i * n..i * n + i]).for_each(|(b, l)| *b -= l * bi);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;
    use rand::Rng as _;

    use super::*;

    #[test]
    fn the_factor_and_the_solution_agree_with_the_matrix() {
        let mut rng = crate::rng(2);
        for n in 1..30 {
            let b = Array2::from_shape_fn((n, n + 3), |_| rng.random_range(-1. ..1.));
            let a = b.dot(&b.t()) + 0.1 * Array2::<f64>::eye(n);
            let l = cholesky(a.clone()).unwrap();
            assert!((l.dot(&l.t()) - &a).iter().all(|d| d.abs() < 1e-12 * (n as f64 + 1.)));
            assert!(l.indexed_iter().all(|((i, j), v)| j <= i || *v == 0.));
            let x = Array1::from_shape_fn(n, |_| rng.random_range(-1. ..1.));
            let mut found = a.dot(&x).to_vec();
            cholesky_solve(l.view(), &mut found);
            assert!(found.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-9));
            assert_eq!(cholesky(a.reversed_axes()), Some(l), "any layout of memory");
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        for a in
            [[[0., 0.], [0., 1.]], [[1., 1.], [1., 1.]], [[-1., 0.], [0., 1.]], [[f64::NAN, 0.], [0., 1.]]]
        {
            assert_eq!(cholesky(ndarray::arr2(&a)), None);
        }
    }
}
