//! The placements of means.

use flowgmm_core::{Error, Means, centroids};
use ndarray::{Array1, Array2, array, s};

fn place_means(means: Means, n_classes: usize, dim: usize) -> Result<Array2<f64>, Error> {
    let (z, q) = (Array2::zeros((0, dim)), Array2::zeros((0, n_classes)));
    means.place(n_classes, dim, z.view(), q.view(), &mut semisup::rng(8))
}

#[test]
fn ring_means_are_evenly_on_a_circle() {
    let means = place_means(Means::Ring { r: 2.5 }, 5, 4).unwrap();
    for k in 0..5 {
        let (x, y) = (means[[k, 0]], means[[k, 1]]);
        assert!((x.hypot(y) - 2.5).abs() < 1e-12);
        let turn = y.atan2(x).rem_euclid(std::f64::consts::TAU) / std::f64::consts::TAU;
        assert!((turn - k as f64 / 5.0).abs() < 1e-12, "{turn}");
    }
    assert!(means.slice(s![.., 2..]).iter().all(|&v| v == 0.0));
    assert_eq!(place_means(Means::Ring { r: 1.0 }, 2, 1).unwrap(), array![[1.0], [-1.0]]);
}

#[test]
fn antipodal_means_are_two_and_as_far_apart_as_asked() {
    for dim in [1, 2, 9] {
        let means = place_means(Means::Antipodal { distance: 7.5 }, 2, dim).unwrap();
        let apart = (&means.row(0) - &means.row(1)).mapv(|v| v * v).sum().sqrt();
        assert!((apart - 7.5).abs() < 1e-12);
        assert_eq!(means.row(0), means.row(1).mapv(|v| -v));
    }
    for n_classes in [1, 3] {
        let refused = place_means(Means::Antipodal { distance: 7.5 }, n_classes, 2);
        assert!(matches!(refused, Err(Error::Config(ref why)) if why.contains("two classes")), "{refused:?}");
    }
}

#[test]
fn random_means_have_the_scale_asked_for() {
    let means = place_means(Means::Random { r: 3.0 }, 100, 100).unwrap();
    let variance = means.mapv(|v| v * v).sum() / 1e4;
    assert!((variance / 9.0 - 1.0).abs() < 0.06, "4 standard errors of 10000 squares are 0.057; {variance}");
    assert!(means.sum().abs() / 1e4 < 0.12, "4 standard errors of the mean");
    assert_eq!(means, place_means(Means::Random { r: 3.0 }, 100, 100).unwrap(), "the seed decides");
    assert_ne!(
        means,
        Means::Random { r: 3.0 }.place(100, 100, means.view(), means.view(), &mut semisup::rng(9)).unwrap()
    );
}

#[test]
fn centroids_are_weighted_and_scaled_around_their_centre() {
    let z = array![[0.0, 0.0], [2.0, 0.0], [4.0, 8.0], [9.0, 9.0]];
    let q = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
    let own = array![[1.0, 0.0], [4.0, 8.0]];
    assert_eq!(centroids(z.view(), q.view()), own);
    let wide = Means::Centroids { r: 3.0 }.place(2, 2, z.view(), q.view(), &mut semisup::rng(0)).unwrap();
    let centre: Array1<f64> = array![2.5, 4.0];
    assert_eq!(wide, (&own - &centre) * 3.0 + &centre);
    // Soft weights count; a class without rows gets the overall mean.
    let soft = array![[0.5, 0.0], [1.5, 0.0], [0.0, 0.0], [0.0, 0.0]];
    let means = centroids(z.view(), soft.view());
    assert_eq!(means.row(0), array![1.5, 0.0]);
    assert_eq!(means.row(1), array![15.0 / 4.0, 17.0 / 4.0]);
}
