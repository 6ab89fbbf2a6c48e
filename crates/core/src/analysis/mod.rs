//! Analyses of the latent space (paper, sections 6.1 to 6.3, appendix G), on rows in the flow's own, preprocessed space.

mod boundary;
mod distances;
mod latent;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use semisup::Preprocess;

use crate::{bijection::Bijection, model::FlowGmm, tensor::to_array};

pub use boundary::{Boundary, boundary, boundary_of_latent, nearest_on_boundary};
pub use distances::{GaussianDistances, gaussian_distances};
pub use latent::Latent;

/// Two orthonormal directions of the latent space, `[dim, 2]`, that show most of the distances between means; where the
/// means lie on a line, the second is the one along which `z` varies most across it. In one dimension it is 0.
pub fn class_plane(gmm: &FlowGmm, z: ArrayView2<f64>) -> Array2<f64> {
    let means = gmm.mixture().values().means;
    let mut plane = Array2::zeros((z.ncols(), 2));
    let mut found = 0;
    for rows in [means.view(), z] {
        let along = rows.dot(&plane).dot(&plane.t());
        for direction in principal(&(&rows - &along), 2 - found).columns() {
            plane.column_mut(found).assign(&direction);
            found += 1;
        }
    }
    plane
}

/// At most `count` principal directions of rows, `[dim, count]`, orthonormal.
fn principal(rows: &Array2<f64>, count: usize) -> Array2<f64> {
    let none = Array2::zeros((rows.ncols(), 0));
    // Differences that are only rounding give no direction.
    let variance = rows.var_axis(Axis(0), 0.0).sum();
    if count == 0 || variance.is_nan() || variance < 1e-12 {
        return none;
    }
    let Ok(map) = Preprocess::pca(rows.view(), count, 0.0) else { return none };
    let origin = Array2::zeros((1, rows.ncols()));
    let mut directions = map.apply(Array2::eye(rows.ncols()).view()) - map.apply(origin.view());
    for mut direction in directions.columns_mut() {
        let length = direction.dot(&direction).sqrt();
        direction /= length;
    }
    directions
}

/// f^-1((1 - a) f(x_0) + a f(x_1)) for each a in `steps`.
pub fn interpolate(gmm: &FlowGmm, from: ArrayView1<f64>, to: ArrayView1<f64>, steps: &[f64]) -> Array2<f64> {
    let ends = ndarray::stack(Axis(0), &[from, to]).expect("two rows of one length");
    let z = gmm.encode(ends.view());
    let path = Array2::from_shape_fn((steps.len(), z.ncols()), |(i, j)| {
        (1.0 - steps[i]) * z[[0, j]] + steps[i] * z[[1, j]]
    });
    gmm.decode(path.view())
}

/// Standard deviation of every activation of f_{:layer} over rows: sigma_c of the feature visualisation.
pub fn activation_std(gmm: &FlowGmm, layer: usize, x: ArrayView2<f64>) -> Array1<f64> {
    let head = gmm.flow().slice(0..layer);
    to_array(&head.forward(gmm.place().rows(x)).value).std_axis(Axis(0), 0.0)
}

/// x(alpha) = f_{:layer}^-1(f_{:layer}(x) + alpha sigma_c delta_c), with `shift` = alpha sigma_c (section 6.3, eq. 8).
pub fn visualise_feature(
    gmm: &FlowGmm,
    layer: usize,
    channel: usize,
    shift: f64,
    x: ArrayView2<f64>,
) -> Array2<f64> {
    let (head, place) = (gmm.flow().slice(0..layer), gmm.place());
    let mut activations = to_array(&head.forward(place.rows(x)).value);
    activations.column_mut(channel).mapv_inplace(|a| a + shift);
    to_array(&head.inverse(place.rows(activations.view())))
}
