//! The distance to the decision boundary is that of the posterior: prior, temperature and covariances count.

use flowgmm_core::{
    Covariance, Mixture, MixtureSpec, MixtureValues,
    analysis::{Latent, boundary_of_latent, gaussian_distances},
    tensor::Place,
};
use ndarray::{Array1, Array2, array};

use crate::{random_mixture, shapes, support::normal_rows};

fn two(log_sigma: Array2<f64>, log_prior: [f64; 2]) -> Mixture {
    let values = MixtureValues {
        means: array![[-2.0, 0.0], [2.0, 0.0]],
        log_sigma,
        log_weight: vec![0.0; 2],
        log_prior: log_prior.to_vec(),
        ..MixtureValues::default()
    };
    Mixture::new(MixtureSpec::fixed(2, 2), &values, &Place::cpu_f64()).unwrap()
}

/// Means at -2 and 2, sigma = 1.5, shares 92 and 8: classes are as probable where 4 x / sigma^2 = log(92 / 8), at
/// x = 1.3738, not at 0.
#[test]
fn uneven_classes_move_the_boundary() {
    let sigma: f64 = 1.5;
    let mixture = two(Array2::from_elem((2, 1), sigma.ln()), [0.92_f64.ln(), 0.08_f64.ln()]);
    let at = sigma * sigma * (0.92_f64 / 0.08).ln() / 4.0;
    let z = array![[at, 3.0], [0.0, -1.0], [at + 0.5, 0.0]];
    let found = boundary_of_latent(&Latent::of(&mixture), z.view());
    let distances: Vec<f64> = found.iter().map(|boundary| boundary.distance).collect();
    for (got, want) in distances.iter().zip([0.0, at, 0.5]) {
        assert!((got - want).abs() < 1e-12, "{distances:?}");
    }
    assert_eq!((found[1].nearest, found[2].nearest), (0, 1), "the sides are those of the posterior");
    // A temperature on the joint density leaves the boundary where it is; one on the likelihood alone moves it.
    let bias: Vec<f64> = mixture.values().log_prior;
    let joint = Latent::new(&mixture, 3.0, bias.iter().map(|b| b / 3.0).collect());
    assert!(boundary_of_latent(&joint, z.view())[0].distance < 1e-12);
    let likelihood = Latent::new(&mixture, 3.0, bias);
    assert!((boundary_of_latent(&likelihood, z.view())[1].distance - 3.0 * at).abs() < 1e-12);
}

/// For even classes it is the paper's formula.
#[test]
fn even_classes_have_the_papers_distance() {
    let rng = &mut semisup::rng(21);
    let values = MixtureValues {
        means: normal_rows(4, 5, rng) * 3.0,
        log_sigma: Array2::zeros((4, 1)),
        log_weight: vec![0.0; 4],
        log_prior: vec![-(4_f64.ln()); 4],
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(MixtureSpec::fixed(5, 4), &values, &Place::cpu_f64()).unwrap();
    let z = normal_rows(50, 5, rng) * 3.0;
    for (z, found) in z.rows().into_iter().zip(boundary_of_latent(&Latent::of(&mixture), z.view())) {
        let d2: Vec<f64> =
            values.means.rows().into_iter().map(|mu| (&mu - &z).mapv(|v| v * v).sum()).collect();
        let mut order: Vec<usize> = (0..4).collect();
        order.sort_by(|&a, &b| d2[a].total_cmp(&d2[b]));
        let apart = (&values.means.row(order[0]) - &values.means.row(order[1])).mapv(|v| v * v).sum().sqrt();
        let want = (d2[order[1]] - d2[order[0]]) / (2.0 * apart);
        assert_eq!([found.nearest, found.second], [order[0], order[1]]);
        assert!((found.distance - want).abs() < 1e-12);
    }
}

/// For any covariances and numbers of Gaussians: the class is that of the posterior, and no random point nearer than the
/// distance is of the second class.
#[test]
fn no_nearer_point_is_of_the_other_class() {
    let rng = &mut semisup::rng(22);
    for spec in shapes().into_iter().filter(|spec| spec.dim == 3) {
        let (mixture, _) = random_mixture(&spec, rng);
        let latent = Latent::of(&mixture);
        let class_of = spec.class_of();
        let z = normal_rows(10, 3, rng) * 2.0;
        for (z, found) in z.rows().into_iter().zip(boundary_of_latent(&latent, z.view())) {
            let posterior = latent.log_posterior(z);
            let best = (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b])).unwrap();
            assert_eq!(class_of[found.nearest], best, "{spec:?}");
            let surface =
                matches!(spec.covariance, Covariance::Full | Covariance::Diagonal) || spec.per_class[0] > 1;
            if found.distance.is_infinite() || surface {
                continue; // a local optimum of a curved boundary may not be the nearest point
            }
            for direction in normal_rows(300, 3, rng).rows() {
                let length = direction.dot(&direction).sqrt();
                let near: Array1<f64> = &z + &(&direction * (0.999 * found.distance / length));
                let posterior = latent.log_posterior(near.view());
                let other = class_of[found.second];
                assert!(posterior[best] > posterior[other], "{spec:?}: {z} {near}");
            }
        }
    }
}

/// Appendix G: squared distances D and 3 D, and posteriors that saturate with D.
#[test]
fn distances_between_gaussian_samples_are_d_and_3d() {
    let rng = &mut semisup::rng(23);
    let found: Vec<_> = [1, 2, 8, 32, 128, 784].map(|dim| gaussian_distances(dim, 2000, rng)).into();
    for at in &found {
        let dim = at.dim as f64;
        assert!((at.own - dim).abs() < 5.0 * at.own_error, "{at:?}");
        assert!((at.other - 3.0 * dim).abs() < 5.0 * at.other_error, "{at:?}");
    }
    assert!(found.windows(2).all(|pair| pair[1].posterior >= pair[0].posterior - 1e-3), "{found:?}");
    assert!(found[0].saturated < 0.2 && found[5].saturated > 0.999, "{found:?}");
}
