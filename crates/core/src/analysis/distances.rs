//! Distances between Gaussian samples (paper, section 6.1 and appendix G): why a mixture with random means is sure of itself.
//!
//! With mu_1, mu_2 ~ N(0, I_D) and s ~ N(mu_1, I_D): E |s - mu_1|^2 = D and E |s - mu_2|^2 = 3 D. The posterior of the first
//! component, 1 / (1 + exp(-(|s - mu_2|^2 - |s - mu_1|^2) / 2)), goes to 1 as D grows: a hard assignment.

use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

/// What draws of two Gaussians of one dimension say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianDistances {
    /// The dimension D.
    pub dim: usize,
    /// Mean of |s - mu_1|^2; D is expected.
    pub own: f64,
    /// Standard error of `own`.
    pub own_error: f64,
    /// Mean of |s - mu_2|^2; 3 D is expected.
    pub other: f64,
    /// Standard error of `other`.
    pub other_error: f64,
    /// Mean posterior of the component that s comes from.
    pub posterior: f64,
    /// Share of draws whose posterior is above 0.99.
    pub saturated: f64,
}

/// Draws `n` times two means and a sample of the first component, in `dim` dimensions.
///
/// # Panics
/// If `n` is less than 2, which has no standard error.
pub fn gaussian_distances(dim: usize, n: usize, rng: &mut Rng) -> GaussianDistances {
    assert!(n > 1, "a standard error needs two draws");
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let draws: Vec<[f64; 2]> = (0..n)
        .map(|_| {
            (0..dim).fold([0.0; 2], |[own, other], _| {
                let (mu_1, mu_2) = (normal(), normal());
                let s = mu_1 + normal();
                [own + (s - mu_1).powi(2), other + (s - mu_2).powi(2)]
            })
        })
        .collect();
    let moments = |of: usize| {
        let mean = draws.iter().map(|draw| draw[of]).sum::<f64>() / n as f64;
        let variance = draws.iter().map(|draw| (draw[of] - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        (mean, (variance / n as f64).sqrt())
    };
    let posterior = |[own, other]: &[f64; 2]| 1.0 / (1.0 + (0.5 * (own - other)).exp());
    let ((own, own_error), (other, other_error)) = (moments(0), moments(1));
    GaussianDistances {
        dim,
        own,
        own_error,
        other,
        other_error,
        posterior: draws.iter().map(posterior).sum::<f64>() / n as f64,
        saturated: draws.iter().filter(|draw| posterior(draw) > 0.99).count() as f64 / n as f64,
    }
}
