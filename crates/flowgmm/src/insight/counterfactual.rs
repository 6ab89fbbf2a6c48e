//! Counterfactuals: the shortest move in the latent space that changes a row's class, decoded exactly.
//!
//! Class k wins at z' where log p(k | z') >= log p(k0 | z'), k0 the class of z. The nearest such point is that of
//! [`nearest_on_boundary`]: exact for Gaussians of one covariance sigma^2 I, as in the paper, otherwise a local optimum.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use flowgmm_core::analysis::{Latent, nearest_on_boundary};

use crate::model::Model;

/// The nearest latent point of another class.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterfactual {
    /// The class of the row.
    pub from: usize,
    /// The other class.
    pub to: usize,
    /// Latent distance to the boundary between them.
    pub distance: f64,
    /// The point on the boundary, `[dim]`.
    pub z: Array1<f64>,
}

/// The nearest latent point of class `target`, or of any other class, for the latent point `z`. `None` if no other class
/// can be reached: there is only one class, or `z` belongs to the target already.
pub fn counterfactual(model: &Model, z: ArrayView1<f64>, target: Option<usize>) -> Option<Counterfactual> {
    nearest(&model.latent(), z, target)
}

/// The counterfactual of each row `[n, dim_in]`, and the rows that it decodes to after going `beyond` times the distance to
/// the boundary: 1 is the boundary itself. Rows without a counterfactual decode to themselves.
pub fn counterfactuals(
    model: &Model,
    x: ArrayView2<f64>,
    target: Option<usize>,
    beyond: f64,
) -> (Vec<Option<Counterfactual>>, Array2<f64>) {
    let latent = model.latent();
    let z = model.encode(x);
    let found: Vec<Option<Counterfactual>> =
        z.axis_iter(Axis(0)).map(|z| nearest(&latent, z, target)).collect();
    let moved = past_boundary(z.view(), found.iter().map(Option::as_ref), beyond);
    (found, model.decode(moved.view()))
}

/// Latent points moved towards their counterfactuals, `beyond` times as far as the boundary; others stay.
pub(crate) fn past_boundary<'a>(
    z: ArrayView2<f64>,
    found: impl Iterator<Item = Option<&'a Counterfactual>>,
    beyond: f64,
) -> Array2<f64> {
    let mut moved = z.to_owned();
    for ((mut to, from), found) in moved.rows_mut().into_iter().zip(z.rows()).zip(found) {
        if let Some(found) = found {
            to.assign(&(&from + &((&found.z - &from) * beyond)));
        }
    }
    moved
}

fn nearest(latent: &Latent, z: ArrayView1<f64>, target: Option<usize>) -> Option<Counterfactual> {
    let joint = latent.log_posterior(z);
    let from = (0..joint.len()).max_by(|&a, &b| joint[a].total_cmp(&joint[b]))?;
    let candidates = (0..joint.len()).filter(|&k| k != from && target.is_none_or(|target| target == k));
    let of = |to: usize| {
        let point = nearest_on_boundary(latent, z, from, to)?;
        let distance = (&point - &z).mapv(|v| v * v).sum().sqrt();
        distance.is_finite().then_some(Counterfactual { from, to, distance, z: point })
    };
    candidates.filter_map(of).min_by(|a, b| a.distance.total_cmp(&b.distance))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use rand::Rng as _;

    use super::*;
    use flowgmm_core::{Covariance, Mixture, MixtureSpec, MixtureValues, Trainable, tensor::Place};

    fn latent(log_sigma: Array2<f64>, per_class: Vec<usize>, means: Array2<f64>) -> Latent {
        let (components, classes) = (means.nrows(), per_class.len());
        let covariance = if log_sigma.ncols() == 1 { Covariance::Spherical } else { Covariance::Diagonal };
        let spec = MixtureSpec { dim: means.ncols(), per_class, covariance, trainable: Trainable::default() };
        let values = MixtureValues {
            means,
            log_sigma,
            log_weight: vec![0.0; components],
            log_prior: vec![-(classes as f64).ln(); classes],
            ..MixtureValues::default()
        };
        let bias = values.log_prior.iter().map(|log_pi| log_pi / 2.0).collect();
        Latent::new(&Mixture::new(spec, &values, &Place::cpu_f64()).unwrap(), 2.0, bias)
    }

    /// Means at 0, (4, 0) and (0, 6): from (1, 1) the planes x = 2 and y = 3 are 1 and 2 away.
    #[test]
    fn equal_gaussians_are_bounded_by_planes() {
        let three = latent(Array2::zeros((3, 1)), vec![1; 3], array![[0., 0.], [4., 0.], [0., 6.]]);
        let z = array![1., 1.];
        let found = nearest(&three, z.view(), None).unwrap();
        assert_eq!((found.from, found.to), (0, 1));
        assert!((found.distance - 1.0).abs() < 1e-9 && (&found.z - &array![2., 1.]).sum().abs() < 1e-9);
        let second = nearest(&three, z.view(), Some(2)).unwrap();
        assert!((second.distance - 2.0).abs() < 1e-9);
        assert!(nearest(&three, z.view(), Some(0)).is_none(), "it is there already");
    }

    /// With unequal and several Gaussians the point lies on the boundary, and no random point nearer to z is across it.
    #[test]
    fn no_nearer_point_changes_the_class() {
        let odd = latent(
            array![[0.1, -0.4], [-0.3, 0.5], [0.0, 0.2]],
            vec![2, 1],
            array![[0., 0.], [0.5, 3.], [4., 1.]],
        );
        let mut rng = semisup::rng(1);
        for _ in 0..20 {
            let z = array![rng.random_range(-1.5..1.5), rng.random_range(-1.0..3.0)];
            let found = nearest(&odd, z.view(), None).unwrap();
            let joint = odd.log_posterior(found.z.view());
            assert!((joint[0] - joint[1]).abs() < 1e-3, "{joint:?}");
            for _ in 0..2000 {
                let (angle, share): (f64, f64) = (rng.random_range(0.0..6.3), rng.random_range(0.0..0.97));
                let near = &z + &array![angle.cos(), angle.sin()].mapv(|v| v * share * found.distance);
                let joint = odd.log_posterior(near.view());
                assert_eq!(joint[1] > joint[0], found.from == 1, "{z} {near} {}", found.distance);
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_density() {
        let odd = latent(array![[0.3], [-0.2], [0.0]], vec![2, 1], array![[0., 0.], [1., 3.], [4., 1.]]);
        let (z, h) = (array![0.7, 1.1], 1e-5);
        for k in 0..2 {
            let gradient = odd.gradient(z.view(), k);
            for d in 0..2 {
                let mut ends = [z.clone(), z.clone()];
                ends[0][d] -= h;
                ends[1][d] += h;
                let [low, high] = ends.map(|end| odd.log_posterior(end.view())[k]);
                assert!(((high - low) / (2.0 * h) - gradient[d]).abs() < 1e-7);
            }
        }
    }
}
