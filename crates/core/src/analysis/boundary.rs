//! Where classes meet in the latent space (paper, section 6.2 and figure 4c).
//!
//! Class k wins at z where its log p(k | z) is largest: prior and temperature count. Between the two most probable classes k'
//! and k'', with g = log p(k' | z) - log p(k'' | z), the boundary is g = 0. For Gaussians of one covariance sigma^2 I it is a
//! plane, and the distance is exact:
//!
//!   d = | ||mu'' - z||^2 - ||mu' - z||^2 + 2 sigma^2 T (b' - b'') | / (2 ||mu' - mu''||)
//!
//! which for even classes is the paper's formula. For other covariances, and several Gaussians in a class, the nearest point
//! of the boundary solves min |z' - z| subject to g(z') = 0, by the iteration
//!
//!   z' <- z + lambda grad g(z'),   lambda = (grad g(z') . (z' - z) - g(z')) / |grad g(z')|^2
//!
//! (Hasofer and Lind 1974, Rackwitz and Fiessler 1978). It converges to a local optimum; where it does not converge, the point
//! where the line to the other class's mean crosses the boundary is taken instead.

use ndarray::{Array1, ArrayView1, ArrayView2};

use super::latent::{Latent, square};
use crate::model::FlowGmm;

/// Most steps of the iteration.
const STEPS: usize = 50;
/// Largest |g| in nats that counts as on the boundary.
const TOLERANCE: f64 = 1e-6;

/// How far a row is from the decision boundary, and between which classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary {
    /// Latent distance to the nearest point where the other class is as probable; infinite if there is none.
    pub distance: f64,
    /// The Gaussian of the most probable class that explains the row best.
    pub nearest: usize,
    /// That of the second most probable class.
    pub second: usize,
}

/// Latent distances of rows x, `[n, dim]`, to the boundary between their two most probable classes by eq. 5.
///
/// # Panics
/// If there is only one class.
pub fn boundary(gmm: &FlowGmm, x: ArrayView2<f64>) -> Vec<Boundary> {
    boundary_of_latent(&Latent::of(gmm.mixture()), gmm.encode(x).view())
}

/// Distances of latent points z, `[n, dim]`, to the boundary between their two most probable classes.
///
/// # Panics
/// If there is only one class.
pub fn boundary_of_latent(latent: &Latent, z: ArrayView2<f64>) -> Vec<Boundary> {
    let single = latent.class_of.len() == latent.n_classes();
    let plane =
        latent.values.common_sigma().filter(|_| single).map(|sigma| sigma * sigma * latent.temperature);
    z.rows()
        .into_iter()
        .map(|z| match plane {
            Some(scale) => from_plane(latent, z, scale),
            None => from_surface(latent, z),
        })
        .collect()
}

/// One Gaussian sigma^2 I in each class; `scale` = sigma^2 T.
fn from_plane(latent: &Latent, z: ArrayView1<f64>, scale: f64) -> Boundary {
    let means = &latent.values.means;
    // log p(k | z) times 2 sigma^2 T, up to a constant.
    let score = |k: usize| 2.0 * scale * latent.bias[k] - square(means.row(k), z);
    let scores: Vec<f64> = (0..latent.n_classes()).map(score).collect();
    let [nearest, second] = best_two(&scores);
    let apart = square(means.row(nearest), means.row(second)).sqrt();
    Boundary { distance: (scores[nearest] - scores[second]) / (2.0 * apart), nearest, second }
}

fn from_surface(latent: &Latent, z: ArrayView1<f64>) -> Boundary {
    let [from, to] = best_two(&latent.log_posterior(z));
    let distance = match nearest_on_boundary(latent, z, from, to) {
        Some(point) => square(point.view(), z).sqrt(),
        None => f64::INFINITY,
    };
    Boundary { distance, nearest: latent.best_component(z, from), second: latent.best_component(z, to) }
}

/// Where the largest and the second largest are.
fn best_two(scores: &[f64]) -> [usize; 2] {
    let best = |but: Option<usize>| {
        let candidates = (0..scores.len()).filter(|k| Some(*k) != but);
        candidates
            .max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)))
            .expect("at least two classes")
    };
    let first = best(None);
    [first, best(Some(first))]
}

/// The nearest point to `z` where class `to` is as probable as class `from`, if one is found.
pub fn nearest_on_boundary(
    latent: &Latent,
    z: ArrayView1<f64>,
    from: usize,
    to: usize,
) -> Option<Array1<f64>> {
    let g = |point: ArrayView1<f64>| {
        let joint = latent.log_posterior(point);
        joint[to] - joint[from]
    };
    let scale = 1.0 + g(z).abs();
    let mut point = z.to_owned();
    for _ in 0..STEPS {
        let slope = latent.gradient(point.view(), to) - latent.gradient(point.view(), from);
        let steepness = slope.dot(&slope);
        if steepness == 0.0 || !steepness.is_finite() {
            break;
        }
        let lambda = (slope.dot(&(&point - &z)) - g(point.view())) / steepness;
        let next = &z + &(slope * lambda);
        let step = (&next - &point).mapv(f64::abs).sum();
        point = next;
        if g(point.view()).abs() < TOLERANCE * scale && step < 1e-6 * (1.0 + point.mapv(f64::abs).sum()) {
            return Some(point);
        }
    }
    towards(z, latent.nearest_mean(z, to), g)
}

/// Where g changes sign between `z` and `mean`, by bisection.
fn towards(
    z: ArrayView1<f64>,
    mean: ArrayView1<f64>,
    g: impl Fn(ArrayView1<f64>) -> f64,
) -> Option<Array1<f64>> {
    let at = |a: f64| &z * (1.0 - a) + &mean * a;
    if g(mean) < 0.0 {
        return None; // the other class is never the more probable one, even at its mean
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if g(at(middle).view()) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(at(high))
}
