//! Classes that are not equally common.

use flowgmm::{FitConfig, Prior, Recipe};
use ndarray::Array2;
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
    drawn(labels, 2000, 1)
}

fn drawn(labels: [usize; 2], n: usize, seed: u64) -> (SemiSupervised, Vec<usize>) {
    let (x, y) = rows(n, seed);
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
    assert_eq!(pseudo_count, 4.0, "two labels of each class");
    config.train.steps = 300;
    // The flow's own rule shows what the prior is for.
    config.forest = None;
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
    // Unsure teachers' mean is nearer to a half than the truth.
    assert!((0.68..0.97).contains(&share), "nine of ten rows are common, not {share}");
    assert!(estimated > uniform + 0.01, "{estimated} against {uniform}");
}

/// Shares are what the teachers find, as far as there are labels to trust them by.
#[test]
fn shares_of_few_labels_stay_near_even_ones() {
    let share = |labels: [usize; 2]| {
        let (data, _) = problem(labels);
        let model = quick(&data, 0);
        model.class_shares()[0]
    };
    let (few, many) = (share([2, 2]), share([40, 40]));
    // Even if teachers gave every row to one class: (4 * 1 + 4 * 0.5) / 8.
    assert!(few <= 0.75, "{few} by four labels");
    assert!(many > 0.68, "{many} by eighty labels");
}

/// 95% intervals hold the true share in nearly all of 20 draws: 16 or fewer would have a chance below 1% if they held it in
/// 95% of all draws.
#[test]
fn intervals_hold_the_true_shares() {
    let covered = |labels: [usize; 2]| {
        let holds = (0..20).map(|seed| {
            let (data, _) = drawn(labels, 400, 100 + seed);
            let model = quick(&data, seed);
            let [[low, high], _] = model.class_share_intervals() else { panic!("two classes") };
            // The flow has hardly begun to learn; even so, thirty labels tell something.
            assert!(labels[0] < 15 || high - low < 0.9, "{low} to {high}");
            usize::from(*low <= 0.9 && 0.9 <= *high)
        });
        holds.sum::<usize>()
    };
    for labels in [[5, 5], [15, 15]] {
        let held = covered(labels);
        assert!(held > 16, "{held} of 20 with {labels:?} labels");
    }
    // Labels as they come: one of ten is rare.
    let (data, _) = problem([45, 5]);
    let intervals = quick(&data, 0).class_share_intervals().to_vec();
    assert!(
        (intervals[0][0] - 0.786).abs() < 1e-3 && (intervals[0][1] - 0.957).abs() < 1e-3,
        "{intervals:?}"
    );
    let (mut config, even) = (FitConfig::toy(), problem([5, 5]).0);
    config.train.steps = 5;
    assert!(
        fit(&config, &even, 0).expect("a fit").class_share_intervals().is_empty(),
        "shares that are assumed"
    );
}

/// A fit of the recipe's that looks at class shares and little else.
fn quick(data: &SemiSupervised, seed: u64) -> flowgmm::Model {
    let mut config = Recipe::choose(data, seed).expect("labels of both classes").config;
    (config.train.steps, config.calibration) = (20, None);
    config.forest = Some(flowgmm::ForestConfig { n_trees: 20 });
    fit(&config, data, seed).expect("a fit")
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

/// Temperature changes how sure predictions are, never which class they are, whatever the prior.
#[test]
fn a_temperature_keeps_every_prediction() {
    let (data, y) = problem([40, 40]);
    let mut config = FitConfig::toy();
    config.train.steps = 50;
    config.calibration = None;
    config.architecture.prior = Prior::Given(vec![0.8, 0.2]);
    let model = fit(&config, &data, 0).expect("a fit");
    let before = model.predict(data.x());
    assert!(before.contains(&0) && before.contains(&1), "both classes are predicted");
    // Labels that have nothing to do with the rows make the best temperature a high one.
    let shuffled: Vec<usize> = (0..y.len()).map(|i| usize::from(i % 5 == 0)).collect();
    let model = model.calibrated(data.x(), &shuffled);
    assert!(model.temperature() > 3.0, "{}", model.temperature());
    assert_eq!(model.predict(data.x()), before);
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
