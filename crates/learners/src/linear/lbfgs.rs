//! L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5) with a backtracking line search.

use ndarray::Array1;
use semisup::{Stopped, Watch};

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;

/// The minimum of a smooth convex function, from `at` on, until the gradient is 1e-9 of `scale`. `f` gives the value and the
/// gradient.
pub(super) fn minimise(
    mut at: Array1<f64>,
    scale: f64,
    f: impl Fn(&Array1<f64>) -> (f64, Array1<f64>),
    watch: &dyn Watch,
) -> Result<Array1<f64>, Stopped> {
    const TOLERANCE: f64 = 1e-9;
    const MAX_STEPS: usize = 300;
    let (mut value, mut gradient) = f(&at);
    let scale = scale.max(1.0);
    let mut pairs: Vec<(Array1<f64>, Array1<f64>, f64)> = Vec::new(); // s, y, 1 / s.y
    for step in 0..MAX_STEPS {
        watch.at(step as f64 / MAX_STEPS as f64)?;
        if norm(&gradient) <= TOLERANCE * scale {
            break;
        }
        let direction = -two_loops(&pairs, &gradient);
        let slope = direction.dot(&gradient);
        let mut step = if pairs.is_empty() { 1.0 / scale } else { 1.0 };
        let (next, next_value, next_gradient) = loop {
            let next = &at + &(&direction * step);
            let (value_there, gradient_there) = f(&next);
            if value_there <= value + 1e-4 * step * slope || step < 1e-12 {
                break (next, value_there, gradient_there);
            }
            step *= 0.5;
        };
        let (s, y) = (&next - &at, &next_gradient - &gradient);
        let curvature = s.dot(&y);
        if curvature > 1e-12 * y.dot(&y) {
            pairs.push((s, y, 1.0 / curvature));
            if pairs.len() > MEMORY {
                pairs.remove(0);
            }
        }
        let gain = value - next_value;
        (at, value, gradient) = (next, next_value, next_gradient);
        if gain.abs() <= 1e-15 * value.abs().max(1.0) {
            break;
        }
    }
    Ok(at)
}

/// |v|.
pub(super) fn norm(v: &Array1<f64>) -> f64 {
    v.dot(v).sqrt()
}

/// H g, with H the estimate of the inverse Hessian from the pairs.
fn two_loops(pairs: &[(Array1<f64>, Array1<f64>, f64)], gradient: &Array1<f64>) -> Array1<f64> {
    let mut r = gradient.clone();
    let mut alphas = Vec::with_capacity(pairs.len());
    for (s, y, rho) in pairs.iter().rev() {
        let alpha = rho * s.dot(&r);
        r.scaled_add(-alpha, y);
        alphas.push(alpha);
    }
    if let Some((s, y, _)) = pairs.last() {
        r *= s.dot(y) / y.dot(y);
    }
    for ((s, y, rho), alpha) in pairs.iter().zip(alphas.into_iter().rev()) {
        let beta = rho * y.dot(&r);
        r.scaled_add(alpha - beta, s);
    }
    r
}
