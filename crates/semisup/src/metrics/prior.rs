//! Class shares among unlabelled rows: prior shift estimated by EM (Saerens, Latinne, Decaestecker 2002).
//!
//! Labels are often the same number for each class although the classes are not equally common. If p(k | x) assumes equal
//! class priors, the maximum-likelihood shares pi_k maximise sum_i log sum_k pi_k p(k | x_i), which is concave, by EM:
//!
//! ```text
//! q_ik = pi_k p(k | x_i) / sum_j pi_j p(j | x_i),    pi_k = mean_i q_ik
//! ```

use ndarray::{Array1, ArrayView2};

/// EM stops when no share changes by more than this, or after this number of steps.
const TOLERANCE: f64 = 1e-6;
const STEPS: usize = 500;

/// Class shares from probabilities `[n, n_classes]` that assume equal class priors.
///
/// `pseudo_count` is a symmetric Dirichlet prior on the shares: `pseudo_count` times n pseudo-observations, spread evenly
/// over the classes, which shrink the estimate from few rows or wrong probabilities towards equal shares. Without rows the
/// shares are equal.
pub fn class_shares(probs: ArrayView2<f64>, pseudo_count: f64) -> Vec<f64> {
    let (n, k) = (probs.nrows() as f64, probs.ncols());
    let equal = 1.0 / k as f64;
    let mut shares = Array1::from_elem(k, equal);
    if probs.nrows() == 0 {
        return shares.to_vec();
    }
    for _ in 0..STEPS {
        let mut counts = Array1::zeros(k);
        for row in probs.rows() {
            let joint = &row * &shares;
            counts.scaled_add(1.0 / joint.sum().max(f64::MIN_POSITIVE), &joint);
        }
        let next = (counts / n + pseudo_count * equal) / (1.0 + pseudo_count);
        let moved = (&next - &shares).fold(0.0f64, |most, d| most.max(d.abs()));
        shares = next;
        if moved < TOLERANCE {
            break;
        }
    }
    let total = shares.sum();
    (shares / total).to_vec()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use rand::Rng as _;

    use super::*;

    /// Rows of two Gaussians a distance of 2 apart, 85 to 15: the shares come back though a fifth of the rows is
    /// ambiguous, and counting predictions would miss them.
    #[test]
    fn finds_the_shares_of_a_mixture() {
        let mut rng = crate::rng(7);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let n = 20_000;
        let probs = Array2::from_shape_vec(
            (n, 2),
            (0..n)
                .flat_map(|i| {
                    let x = normal() + if i % 20 < 17 { -1.0 } else { 1.0 };
                    let p = 1.0 / (1.0 + (2.0 * x).exp());
                    [p, 1.0 - p]
                })
                .collect(),
        )
        .expect("n rows");
        let shares = class_shares(probs.view(), 0.0);
        assert!((shares[0] - 0.85).abs() < 0.01, "{shares:?}");
        let predicted = probs.column(0).iter().filter(|p| **p > 0.5).count() as f64 / n as f64;
        assert!((predicted - 0.85).abs() > 0.05, "counting would do: {predicted}");
        let held = class_shares(probs.view(), 1.0);
        assert!(held[0] > 0.6 && held[0] < shares[0] - 0.05, "pseudo-counts shrink it: {held:?}");
    }

    #[test]
    fn rows_that_cannot_tell() {
        assert_eq!(class_shares(Array2::zeros((0, 4)).view(), 0.1), [0.25; 4]);
        let alike = class_shares(Array2::from_elem((9, 2), 0.5).view(), 0.0);
        assert_eq!(alike, [0.5, 0.5]);
        let certain = class_shares(array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]].view(), 0.0);
        assert!((certain[0] - 2.0 / 3.0).abs() < 1e-6);
        let never = class_shares(array![[1.0, 0.0]].view(), 0.5);
        assert!(never[1] > 0.1, "no class is ruled out with a pseudo-count: {never:?}");
    }
}
