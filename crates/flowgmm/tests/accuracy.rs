//! The default settings solve the demo's problems: accuracy on fresh draws, and what unlabelled rows add to it.
//!
//! Two draws of each problem, with a little room below the figures of `experiments/results/core.json` (five draws):
//! a test should fail when learning breaks, not when one draw is unlucky.

use flowgmm::{FitConfig, Recipe};
use semisup::{Classifier, Problem, Toy, digits_problem, metrics::accuracy};

const SEEDS: [u64; 2] = [200, 201];

/// Mean test accuracy with all rows and with the labelled ones alone.
fn mean(problem: impl Fn(u64) -> (Problem, FitConfig)) -> (f64, f64) {
    let runs = SEEDS.map(|seed| {
        let (Problem { train, test }, config) = problem(seed);
        let score =
            |data| accuracy(&fit(&config, data, seed).expect("it trains").predict(test.x()), test.y());
        (score(&train), score(&train.labelled_only()))
    });
    let n = SEEDS.len() as f64;
    (runs.iter().map(|r| r.0).sum::<f64>() / n, runs.iter().map(|r| r.1).sum::<f64>() / n)
}

#[test]
fn toys_are_solved_and_unlabelled_points_help() {
    // the least accuracy, and the least gain over the labels alone
    let bars = [
        (Toy::Moons, 0.995, 0.01),
        (Toy::Circles, 0.98, 0.05),
        (Toy::EightGaussians, 0.98, 0.0),
        (Toy::Pinwheel, 0.97, 0.03),
    ];
    for (toy, least, gain) in bars {
        let (all, labelled) = mean(|seed| (toy.problem(seed), FitConfig::toy()));
        assert!(all >= least, "{toy}: {all}");
        assert!(all - labelled >= gain, "{toy}: {all} with unlabelled points, {labelled} without");
    }
}

#[test]
fn fifty_labelled_digits_are_enough_with_the_unlabelled_ones() {
    let (all, labelled) = mean(|seed| {
        let problem = digits_problem(5, seed);
        let config = Recipe::choose(&problem.train, 0).unwrap().config;
        (problem, config)
    });
    assert!(all >= 0.89, "{all}");
    assert!(all - labelled >= 0.03, "{all} with unlabelled digits, {labelled} without");
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &semisup::SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
