//! Classes that are not equally common.

use flowgmm::{FitConfig, Prior, Recipe};
use ndarray::{Array2, Axis};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use semisup::{Classifier, SemiSupervised, metrics::accuracy};

/// Rows of two round Gaussians, nine of ten in the first, which overlap.
fn rows(n: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let y: Vec<usize> = (0..n).map(|i| usize::from(i % 10 == 9)).collect();
    (Array2::from_shape_fn((n, 2), |(i, j)| normal() + if j == 0 { 2.4 * y[i] as f64 } else { 0.0 }), y)
}

/// The first `labels[k]` rows of class k have a label.
fn problem(labels: [usize; 2]) -> (SemiSupervised, Vec<usize>) {
    let (x, y) = rows(2000, 1);
    let mut left = labels;
    let seen = y.iter().map(|&k| {
        let labelled = left[k] > 0;
        left[k] -= usize::from(labelled);
        labelled.then_some(k)
    });
    let names = |of: [&str; 2]| of.map(String::from).to_vec();
    let data = SemiSupervised::new(x, seen.collect(), names(["common", "rare"]), names(["a", "b"]));
    (data.expect("a sound problem"), y)
}

#[test]
fn even_labels_of_uneven_rows() {
    let (data, _) = problem([40, 40]);
    let mut config = Recipe::choose(&data, 0).expect("labels of both classes").config;
    let Prior::Estimated { pseudo_count } = config.architecture.prior else {
        panic!("labels are even: {:?}", config.architecture.prior)
    };
    assert!((pseudo_count - 0.1).abs() < 1e-12, "2 K^2 / n = 2 * 4 / 80");
    config.train.steps = 300;
    let (x, y) = rows(2000, 2);
    let right = |config: &FitConfig| {
        let model = fit(config, &data, 0).expect("a fit");
        let log_prior = model.gmm().mixture().values().log_prior;
        (accuracy(&model.predict(x.view()), &y), log_prior[0].exp())
    };
    let (estimated, share) = right(&config);
    config.architecture.prior = Prior::Uniform;
    let (uniform, half) = right(&config);
    assert!((half - 0.5).abs() < 1e-6);
    assert!((0.75..0.97).contains(&share), "nine of ten rows are common, not {share}");
    assert!(estimated > uniform + 0.02, "{estimated} against {uniform}");
}

#[test]
fn uneven_labels_are_believed() {
    let (data, _) = problem([45, 5]);
    let config = Recipe::choose(&data, 0).expect("labels of both classes").config;
    assert_eq!(config.architecture.prior, Prior::Given(vec![46.0 / 52.0, 6.0 / 52.0]));
    let all = data.select(&data.labelled()).expect("labelled rows");
    let only = Recipe::choose(&all, 0).expect("labels of both classes").config;
    assert_eq!(only.architecture.prior, config.architecture.prior, "the labels decide alone");
}

/// Temperature leaves the prior alone: at a high one, probabilities are the prior, not a coin's.
#[test]
fn the_prior_is_not_tempered() {
    let (data, y) = problem([40, 40]);
    let mut config = FitConfig::toy();
    config.train.steps = 50;
    config.calibration = None;
    config.architecture.prior = Prior::Given(vec![0.8, 0.2]);
    let model = fit(&config, &data, 0).expect("a fit");
    // Labels that have nothing to do with the rows make the best temperature a high one.
    let shuffled: Vec<usize> = (0..y.len()).map(|i| usize::from(i % 5 == 0)).collect();
    let model = model.calibrated(data.x(), &shuffled);
    assert!(model.temperature() > 3.0, "{}", model.temperature());
    let mean = model.log_probs(data.x()).exp().mean_axis(Axis(0)).expect("rows");
    assert!((mean[0] - 0.8).abs() < 0.08, "{mean}");
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
