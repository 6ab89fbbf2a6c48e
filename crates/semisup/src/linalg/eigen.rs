//! Eigenvalues and eigenvectors of a symmetric matrix, A = V^T diag(lambda) V, all `[n, n]`.
//!
//! Householder reflections make A tridiagonal, then implicitly shifted QR steps make it diagonal (Golub and
//! Van Loan, Matrix Computations, 8.3). About 5 n^3 multiplications, so n = 800 takes a second or two.

use ndarray::{Array2, ArrayView2};

/// Eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// lambda, descending, `[n]`.
    pub values: Vec<f64>,
    /// V, `[n, n]`: row j is the eigenvector of `values[j]`.
    pub vectors: Array2<f64>,
}

/// Decomposes a symmetric matrix; the largest entry of each eigenvector is positive, so that signs are determined.
///
/// ```
/// use semisup::{linalg::symmetric_eigen, ndarray::array};
///
/// let eigen = symmetric_eigen(array![[2., 0.], [0., 3.]].view());
/// assert_eq!(eigen.values, [3., 2.]);
/// assert_eq!(eigen.vectors, array![[0., 1.], [1., 0.]]);
/// ```
///
/// # Panics
/// If the matrix is not square or not finite: callers check their data first.
pub fn symmetric_eigen(a: ArrayView2<f64>) -> Eigen {
    assert!(a.is_square() && a.iter().all(|value| value.is_finite()), "symmetric_eigen needs finite [n, n]");
    // Dividing by the largest entry keeps squares from overflowing.
    let largest = a.iter().fold(0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0. {
        return Eigen { values: vec![0.; a.nrows()], vectors: Array2::eye(a.nrows()) };
    }
    let (mut tridiagonal, mut v) = tridiagonalise(a.as_standard_layout().mapv(|value| value / largest));
    diagonalise(&mut tridiagonal, &mut v);
    sort_and_sign(&tridiagonal.diagonal, largest, &v)
}

/// Columns shorter than this count as 0, given a largest entry of 1.
const NEGLIGIBLE: f64 = 1e-100;

struct Tridiagonal {
    diagonal: Vec<f64>, // [n]
    off: Vec<f64>,      // [n - 1], off[i] couples i and i + 1
}

/// A = V^T T V with T tridiagonal and V orthogonal.
fn tridiagonalise(mut a: Array2<f64>) -> (Tridiagonal, Array2<f64>) {
    let n = a.nrows();
    let mut off = vec![0.; n - 1];
    let mut reflections: Vec<(f64, Vec<f64>)> = Vec::with_capacity(n); // H_k = I - beta u u^T on k + 1 ..
    for k in 0..n - 1 {
        // Reflect the column below the diagonal onto its first entry.
        let mut u: Vec<f64> = (k + 1..n).map(|i| a[[k, i]]).collect();
        let norm = dot(&u, &u).sqrt();
        // Repeated rows leave columns that shrink from step to step until 2 / u.u overflows; beside a largest entry of 1
        // they are negligible long before.
        let negligible = norm < NEGLIGIBLE;
        off[k] = match negligible {
            true => 0.,
            false if u[0] > 0. => -norm,
            false => norm,
        };
        u[0] -= off[k];
        let beta = if negligible { 0. } else { 2. / dot(&u, &u) };
        // A <- H A H = A - u w^T - w u^T with p = beta A u, w = p - (beta / 2)(p.u) u.
        let m = n - k - 1;
        let entries = a.as_slice().expect("standard layout");
        let mut w: Vec<f64> =
            (k + 1..n).map(|i| beta * dot(&entries[i * n + k + 1..(i + 1) * n], &u)).collect();
        let half = beta / 2. * dot(&w, &u);
        w.iter_mut().zip(&u).for_each(|(w, u)| *w -= half * u);
        for i in 0..m {
            let (ui, wi) = (u[i], w[i]);
            let row = &mut a.row_mut(k + 1 + i).into_slice().expect("standard layout")[k + 1..];
            for ((entry, uj), wj) in row.iter_mut().zip(&u).zip(&w) {
                *entry -= ui * wj + wi * uj;
            }
        }
        reflections.push((beta, u));
    }
    let diagonal = a.diag().to_vec();
    (Tridiagonal { diagonal, off }, accumulate(&reflections, n))
}

/// V = H_(n-2) .. H_1 H_0, multiplied from the left, so that the reflections that touch few rows come first.
fn accumulate(reflections: &[(f64, Vec<f64>)], n: usize) -> Array2<f64> {
    let mut v = Array2::eye(n);
    for (k, (beta, u)) in reflections.iter().enumerate().rev() {
        // Rows above k + 1 are still those of the identity and have nothing in the columns of u.
        for i in k + 1..n {
            let row = &mut v.row_mut(i).into_slice().expect("standard layout")[k + 1..];
            let factor = beta * dot(row, u);
            row.iter_mut().zip(u).for_each(|(entry, u)| *entry -= factor * u);
        }
    }
    v
}

/// Implicit QR steps T <- G T G^T, V <- G V with Wilkinson's shift, until nothing is left off the diagonal.
fn diagonalise(t: &mut Tridiagonal, v: &mut Array2<f64>) {
    let Tridiagonal { diagonal: d, off: e } = t;
    let mut hi = d.len() - 1;
    let mut steps = 0;
    while hi > 0 {
        let negligible = |i: usize| e[i].abs() <= f64::EPSILON * (d[i].abs() + d[i + 1].abs());
        if negligible(hi - 1) {
            hi -= 1;
            continue;
        }
        let mut lo = hi - 1;
        while lo > 0 && !negligible(lo - 1) {
            lo -= 1;
        }
        steps += 1;
        assert!(steps <= 60 * d.len(), "QR converges in about two steps an eigenvalue");
        let delta = (d[hi - 1] - d[hi]) / 2.;
        let coupling = e[hi - 1];
        let shift = d[hi] - coupling * (coupling / (delta + delta.hypot(coupling).copysign(delta)));
        let (mut x, mut z) = (d[lo] - shift, e[lo]);
        for k in lo..hi {
            let r = x.hypot(z);
            let (cos, sin) = if r > 0. { (x / r, z / r) } else { (1., 0.) };
            if k > lo {
                e[k - 1] = r;
            }
            let (a, b, c) = (d[k], e[k], d[k + 1]);
            d[k] = cos * cos * a + 2. * cos * sin * b + sin * sin * c;
            d[k + 1] = sin * sin * a - 2. * cos * sin * b + cos * cos * c;
            e[k] = cos * sin * (c - a) + (cos * cos - sin * sin) * b;
            x = e[k];
            if k + 1 < hi {
                z = sin * e[k + 1]; // the bulge that the next rotation chases
                e[k + 1] *= cos;
            }
            rotate(v, k, cos, sin);
        }
    }
}

/// Rows k and k + 1 of V become cos v_k + sin v_(k+1) and cos v_(k+1) - sin v_k.
fn rotate(v: &mut Array2<f64>, k: usize, cos: f64, sin: f64) {
    let n = v.ncols();
    let rows = v.as_slice_mut().expect("standard layout");
    let (upper, lower) = rows[k * n..(k + 2) * n].split_at_mut(n);
    for (p, q) in upper.iter_mut().zip(lower) {
        (*p, *q) = (cos * *p + sin * *q, cos * *q - sin * *p);
    }
}

fn sort_and_sign(diagonal: &[f64], scale: f64, v: &Array2<f64>) -> Eigen {
    let mut order: Vec<usize> = (0..diagonal.len()).collect();
    order.sort_by(|&i, &j| diagonal[j].total_cmp(&diagonal[i]));
    let values = order.iter().map(|&i| diagonal[i] * scale).collect();
    let mut vectors = v.select(ndarray::Axis(0), &order);
    for mut row in vectors.rows_mut() {
        let largest = row.iter().fold(0_f64, |largest, &x| if x.abs() > largest.abs() { x } else { largest });
        if largest < 0. {
            row.mapv_inplace(|x| -x);
        }
    }
    Eigen { values, vectors }
}

/// Eight partial sums let the compiler use vector registers; the order of summation is fixed.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;
    use rand::Rng as _;

    use super::*;

    /// The law: V is orthogonal, V A V^T is diag(lambda), lambda descends. Errors are relative to |A|.
    fn check(a: &Array2<f64>) {
        let n = a.nrows();
        let Eigen { values, vectors: v } = symmetric_eigen(a.view());
        let norm = a.iter().fold(f64::MIN_POSITIVE, |norm, x| norm.max(x.abs()));
        let tolerance = 1e-14 * (n as f64 + 10.);
        let vav = v.dot(a).dot(&v.t());
        let vv = v.dot(&v.t());
        for i in 0..n {
            for j in 0..n {
                let (lambda, one) = if i == j { (values[i], 1.) } else { (0., 0.) };
                assert!((vav[[i, j]] - lambda).abs() <= tolerance * norm * n as f64, "V A V^T at {i}, {j}");
                assert!((vv[[i, j]] - one).abs() <= tolerance, "V V^T at {i}, {j}");
            }
        }
        assert!(values.is_sorted_by(|a, b| a >= b));
    }

    /// Few different rows, each many times: all but a few eigenvalues are 0, and none is a NaN.
    #[test]
    fn repeated_rows() {
        for seed in 0..20 {
            let mut rng = crate::rng(seed);
            let few = Array2::from_shape_fn((4, 96), |_| rng.random_range(-1. ..1.));
            let rows = Array2::from_shape_fn((60, 96), |(i, j)| few[[i / 15, j]]);
            check(&rows.dot(&rows.t()));
        }
    }

    #[test]
    fn known_decompositions() {
        let Eigen { values, vectors } = symmetric_eigen(array![[2., 1.], [1., 2.]].view());
        let h = 0.5_f64.sqrt();
        assert!((values[0] - 3.).abs() < 1e-15 && (values[1] - 1.).abs() < 1e-15);
        assert!((&vectors.row(0) - &array![h, h]).iter().all(|d| d.abs() < 1e-15));

        // The discrete Laplacian: 2 - 2 cos(j pi / (n + 1)).
        let n = 50;
        let laplacian = Array2::from_shape_fn((n, n), |(i, j): (usize, usize)| match i.abs_diff(j) {
            0 => 2.,
            1 => -1.,
            _ => 0.,
        });
        for (j, value) in symmetric_eigen(laplacian.view()).values.iter().enumerate() {
            let expected = 2. - 2. * ((n - j) as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
            assert!((value - expected).abs() < 1e-13, "{value} {expected}");
        }

        let diagonal = symmetric_eigen(Array2::from_diag(&array![-1., 5., 3.]).view());
        assert_eq!(diagonal.values, [5., 3., -1.]);
        assert_eq!(diagonal.vectors, array![[0., 1., 0.], [0., 0., 1.], [1., 0., 0.]]);
    }

    #[test]
    fn hard_cases() {
        check(&array![[7.]]);
        check(&Array2::zeros((4, 4)));
        check(&Array2::ones((30, 30))); // one eigenvalue 30, the others all 0
        check(&(Array2::eye(9) * 1e200));
        check(&array![[1e-200, 1e-201], [1e-201, -1e-200]]);
        let graded = Array2::from_shape_fn((12, 12), |(i, j)| 10_f64.powi(-((i + j) as i32)));
        check(&graded);
        let mut rng = crate::rng(5);
        let b = Array2::from_shape_fn((200, 120), |_| rng.random_range(-1. ..1.));
        check(&b.dot(&b.t())); // rank 120 of 200
    }

    proptest! {
        #[test]
        fn any_symmetric_matrix(n in 1usize..12, seed: u64) {
            let mut rng = crate::rng(seed);
            let b = Array2::from_shape_fn((n, n), |_| rng.random_range(-1. ..1.));
            check(&(&b + &b.t()));
        }
    }
}
