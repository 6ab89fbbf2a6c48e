//! What the test files share: comparisons with a named tolerance, random rows, scalar functions of a flow.
#![allow(dead_code)] // each test file is a crate of its own and uses a part of this

use burn_tensor::Tensor;
use flowgmm_core::{
    Flow,
    bijection::{Bijection, Mapped},
    tensor::{Place, to_vec},
};
use ndarray::Array2;
use rand::Rng as _;
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

/// Fails unless |got - want| <= tolerance * (largest |want|, or 1 for an array of zeros) everywhere.
///
/// Measuring against the largest entry keeps entries that are small by cancellation from asking for digits that
/// neither side has.
#[track_caller]
pub fn assert_close(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}: number of values");
    let largest = want.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        // Written so that a NaN fails.
        let near = (g - w).abs() <= tolerance * scale;
        assert!(near, "{what}[{i}]: got {g:e}, want {w:e}, off by {:e} of {scale:e}", (g - w).abs());
    }
}

/// Rows of standard normals.
pub fn normal_rows(rows: usize, dim: usize, rng: &mut Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, dim), || StandardNormal.sample(rng))
}

/// Rows of uniform values.
pub fn uniform_rows(rows: usize, dim: usize, lo: f64, hi: f64, rng: &mut Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, dim), || rng.random_range(lo..hi))
}

/// The bits of values, for comparisons that allow no difference at all.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A scalar that sees everything a flow returns: sum(z * c) + sum(log_det * d).
pub struct Probe {
    /// `[n, dim]`.
    pub c: Tensor<2>,
    /// `[n, 1]`.
    pub d: Tensor<2>,
}

impl Probe {
    /// Weights drawn for `rows` rows.
    pub fn new(rows: usize, dim: usize, rng: &mut Rng, place: &Place) -> Self {
        let (c, d) = (normal_rows(rows, dim, rng), normal_rows(rows, 1, rng));
        Self { c: place.rows(c.view()), d: place.rows(d.view()) }
    }

    /// The scalar, `[1]`.
    pub fn of(&self, flow: &Flow, x: Tensor<2>) -> Tensor<1> {
        let Mapped { value, log_det } = flow.forward(x);
        (value * self.c.clone()).sum() + (log_det * self.d.clone()).sum()
    }
}

/// Gradients of a probe by autodiff: of x, and of every parameter vector.
pub fn probe_gradients(flow: &Flow, probe: &Probe, x: &Tensor<2>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut flow = flow.clone();
    for theta in flow.thetas_mut() {
        let leaf = theta.value().clone().autodiff().require_grad();
        theta.set(leaf);
    }
    let x = x.clone().autodiff().require_grad();
    let graph = probe.of(&flow, x.clone()).backward();
    let of_x = x.grad(&graph).map_or_else(|| vec![0.0; x.dims()[0] * x.dims()[1]], |g| to_vec(&g));
    let thetas = flow.thetas().into_iter().map(|theta| {
        let gradient = theta.value().grad(&graph);
        gradient.map_or_else(|| vec![0.0; theta.len()], |g| to_vec(&g))
    });
    (of_x, thetas.collect())
}

/// The derivative of `f` at 0 by central differences, or `None` at a kink: where the two one-sided differences
/// disagree, the function has no derivative to compare with (a ReLU's corner, a spline's knot).
pub fn slope_at_zero(f: impl Fn(f64) -> f64) -> Option<f64> {
    const STEP: f64 = 1e-6;
    let (down, here, up) = (f(-STEP), f(0.0), f(STEP));
    let (before, after) = ((here - down) / STEP, (up - here) / STEP);
    let central = (up - down) / (2.0 * STEP);
    // A smooth function's one-sided differences differ by STEP f'', far below this.
    ((before - after).abs() <= 1e-3 * (1.0 + central.abs())).then_some(central)
}
