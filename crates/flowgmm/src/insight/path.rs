//! Latent interpolation between rows: f^-1((1 - a) f(x_0) + a f(x_1)), with log p along the way (paper, section 6.2).
//!
//! Within a class the path stays in dense regions; between classes log p(z) dips where it crosses the boundary.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use semisup::metrics::arg_max;

use crate::model::Model;

/// A path from one row to another, straight in the latent space.
#[derive(Clone, Debug)]
pub struct Path {
    /// a at each point, from 0 to 1.
    pub steps: Vec<f64>,
    /// The rows, `[steps, dim_in]`, in the user's columns and units.
    pub x: Array2<f64>,
    /// log p(x) of those rows, in the user's units.
    pub log_p: Vec<f64>,
    /// log p(z) of the latent points: log p(x) without the log-determinant of f.
    pub log_p_latent: Vec<f64>,
    /// The predicted class of each of those rows.
    pub classes: Vec<usize>,
    /// The class of each latent point by the flow's own Bayes rule.
    pub classes_by_flow: Vec<usize>,
}

/// The path from `from` to `to` in `count` evenly spaced points, at least two.
pub fn path(model: &Model, from: ArrayView1<f64>, to: ArrayView1<f64>, count: usize) -> Path {
    let last = count.max(2) - 1;
    let steps: Vec<f64> = (0..=last).map(|i| i as f64 / last as f64).collect();
    let ends = ndarray::stack(Axis(0), &[from, to]).expect("two rows of one length");
    let z = model.encode(ends.view());
    let z = Array2::from_shape_fn((steps.len(), z.ncols()), |(i, j)| {
        (1.0 - steps[i]) * z[[0, j]] + steps[i] * z[[1, j]]
    });
    let latent = model.latent();
    let constant = 0.5 * z.ncols() as f64 * std::f64::consts::TAU.ln();
    let log_p_latent = z.rows().into_iter().map(|z| latent.log_density(z) - constant).collect();
    let log_posteriors: Vec<f64> = z.rows().into_iter().flat_map(|z| latent.log_posterior(z)).collect();
    let log_posteriors =
        ArrayView2::from_shape((z.nrows(), latent.n_classes()), &log_posteriors).expect("one for each class");
    let x = model.decode(z.view());
    let scored = model.score(x.view());
    let classes_by_flow = arg_max(log_posteriors);
    // Without experts the latent point itself tells, which decoding and encoding again could only blur.
    let classes = if model.blend().is_some() { scored.classes() } else { classes_by_flow.clone() };
    Path { steps, log_p: scored.log_marginal, log_p_latent, classes, classes_by_flow, x }
}
