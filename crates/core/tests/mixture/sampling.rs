//! Samples follow the mixture.

use flowgmm_core::{Covariance, Mixture, MixtureSpec, MixtureValues, Trainable, tensor::Place};
use ndarray::{Array2, ArrayView1, Axis, array};

use crate::{random_mixture, shapes};

#[test]
fn samples_follow_the_mixture() {
    const N: usize = 20_000;
    let spec = MixtureSpec {
        dim: 2,
        per_class: vec![2, 1],
        covariance: Covariance::Diagonal,
        trainable: Trainable::default(),
    };
    let values = MixtureValues {
        means: array![[-4.0, 0.0], [4.0, 1.0], [0.0, 9.0]],
        log_sigma: array![[0.5, 1.0], [1.0, 0.25], [2.0, 0.5]].mapv(f64::ln),
        log_weight: [0.25_f64, 0.75, 1.0].map(f64::ln).to_vec(),
        log_prior: [0.3_f64, 0.7].map(f64::ln).to_vec(),
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(spec, &values, &Place::cpu()).unwrap();
    for temperature in [1.0, 0.5] {
        let (z, classes) = mixture.sample(N, None, temperature, &mut semisup::rng(5));
        let share = classes.iter().filter(|&&k| k == 0).count() as f64 / N as f64;
        assert!((share - 0.3).abs() < 0.015, "4 standard errors of a share are 0.013; got {share}");
        // The Gaussians are far apart: the nearest mean is the one a row came from.
        let of = |c: usize| -> Vec<usize> {
            let nearest = |row: ArrayView1<f64>| {
                let square = |c: usize| (&row - &values.means.row(c)).mapv(|v| v * v).sum();
                (0..3).min_by(|&a, &b| square(a).total_cmp(&square(b))).expect("three")
            };
            (0..N).filter(|&row| nearest(z.row(row)) == c).collect()
        };
        for c in 0..3 {
            let rows = of(c);
            assert!(
                rows.iter().all(|&row| classes[row] == usize::from(c == 2)),
                "classes are those of Gaussians"
            );
            let expected = [0.3 * 0.25, 0.3 * 0.75, 0.7][c];
            assert!((rows.len() as f64 / N as f64 - expected).abs() < 0.015, "weight of Gaussian {c}");
            check_moments(&z.select(Axis(0), &rows), &values, c, temperature);
        }
    }
    let (_, classes) = mixture.sample(50, Some(1), 1.0, &mut semisup::rng(6));
    assert_eq!(classes, [1; 50]);
}

/// Mean and standard deviation within five standard errors.
fn check_moments(z: &Array2<f64>, values: &MixtureValues, c: usize, temperature: f64) {
    let n = z.nrows() as f64;
    for j in 0..z.ncols() {
        let sigma = temperature * values.log_sigma[[c, j]].exp();
        let mean = z.column(j).sum() / n;
        let std = (z.column(j).mapv(|v| (v - mean).powi(2)).sum() / n).sqrt();
        assert!((mean - values.means[[c, j]]).abs() < 5.0 * sigma / n.sqrt(), "mean {mean}");
        assert!((std / sigma - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "sigma {std} is not {sigma}");
    }
}

#[test]
fn the_coldest_samples_are_the_means() {
    let rng = &mut semisup::rng(7);
    let spec = MixtureSpec { trainable: Trainable::default(), ..shapes()[7].clone() };
    let (mixture, values) = random_mixture(&spec, rng);
    let (z, classes) = mixture.sample(200, None, 0.0, rng);
    for (row, &class) in z.rows().into_iter().zip(&classes) {
        let own = (0..spec.n_components()).filter(|&c| spec.class_of()[c] == class);
        assert!(own.into_iter().any(|c| values.means.row(c) == row), "{row} is no mean of class {class}");
    }
}

/// Mean and every entry of the covariance T^2 Sigma, within five standard errors: those of a product of two normals of
/// standard deviations s and t are at most sqrt(2) s t / sqrt(n).
#[test]
fn samples_of_correlated_gaussians_have_their_covariance() {
    const N: usize = 40_000;
    let rng = &mut semisup::rng(8);
    for covariance in [Covariance::Full, Covariance::Tied] {
        let spec = MixtureSpec { dim: 3, per_class: vec![1, 1], covariance, trainable: Trainable::default() };
        let (mixture, values) = random_mixture(&spec, rng);
        for (class, temperature) in [(0, 1.0), (1, 0.25)] {
            let (z, _) = mixture.sample(N, Some(class), temperature, rng);
            let mean = z.mean_axis(Axis(0)).unwrap();
            let apart = &z - &mean;
            let got = apart.t().dot(&apart) / N as f64;
            let want = values.covariance(class) * temperature.powi(2);
            for i in 0..3 {
                let error = 5.0 * (want[[i, i]] / N as f64).sqrt();
                assert!((mean[i] - values.means[[class, i]]).abs() < error, "mean {i} of class {class}");
                for j in 0..3 {
                    let error = 5.0 * (2.0 * want[[i, i]] * want[[j, j]] / N as f64).sqrt();
                    let gap = (got[[i, j]] - want[[i, j]]).abs();
                    assert!(gap < error, "{covariance:?} T = {temperature} [{i}, {j}]: {gap} of {error}");
                }
            }
        }
    }
}
