//! The last part of training takes rows off the decision boundary, and leaves everything else as it was.

use flowgmm::{
    FitConfig, Model,
    analysis::boundary,
    objective::{Agreement, Consistency},
    train::Refine,
};
use ndarray::{Array2, ArrayView2};
use rand::Rng as _;
use rand_distr::StandardNormal;
use semisup::{Classifier, SemiSupervised, Toy, metrics::accuracy};

/// Two round clouds that overlap: many rows are near any boundary between them.
fn clouds() -> (SemiSupervised, Vec<usize>) {
    let rng = &mut semisup::rng(7);
    let truth: Vec<usize> = (0..600).map(|row| row % 2).collect();
    let x = Array2::from_shape_fn((600, 2), |(row, column)| {
        let middle = if column == 0 { 3.0 * truth[row] as f64 } else { 0.0 };
        let noise: f64 = rng.sample(StandardNormal);
        middle + noise
    });
    let y = truth.iter().enumerate().map(|(row, &class)| (row < 20).then_some(class)).collect();
    let names = |kind: &str| (0..2).map(|i| format!("{kind}{i}")).collect();
    (SemiSupervised::new(x, y, names("class"), names("column")).unwrap(), truth)
}

fn config(refine: Option<Refine>) -> FitConfig {
    let mut config = FitConfig::toy();
    config.teachers.clear();
    config.train.steps = 600;
    config.train.objective.soft_targets = None;
    config.train.objective.unlabelled = 0.05;
    config.train.view_noise = 0.5;
    config.train.objective.temperature = 4.0;
    config.train.objective.consistency =
        Some(Consistency { agreement: Agreement::CrossEntropy { confidence: 0.95 }, weight: 2.0, ramp: 0.2 });
    config.train.refine = refine;
    config
}

const REFINE: Refine = Refine { from: 0.6, every: 0.1, rest: 0.75 };

/// Share of rows nearer to the boundary than this, in standard deviations.
fn near(model: &Model, x: ArrayView2<f64>, than: f64) -> f64 {
    let found = boundary(model.gmm(), model.preprocess().apply(x).view());
    found.iter().filter(|row| row.distance < than).count() as f64 / found.len() as f64
}

#[test]
fn rows_leave_the_boundary() {
    let (data, truth) = clouds();
    let plain = fit(&config(None), &data, 0).unwrap();
    let refined = fit(&config(Some(REFINE)), &data, 0).unwrap();
    let (before, after) = (near(&plain, data.x(), 1.0), near(&refined, data.x(), 1.0));
    let right = |model: &Model| accuracy(&model.predict(data.x()), &truth);
    assert!(before > 0.05, "there must be rows to leave: {before}");
    assert!(after < 0.8 * before, "{after} of {before}");
    assert!(right(&refined) > right(&plain) - 0.02, "{} {}", right(&refined), right(&plain));
}

/// Without consistency there is nothing to take over, without unlabelled rows nothing to decide.
#[test]
fn only_what_is_consistent_is_refined() {
    let problem = Toy::Moons.problem(3);
    let mut plain = config(None);
    plain.train.steps = 20;
    plain.train.objective.consistency = None;
    let mut refined = plain.clone();
    refined.train.refine = Some(REFINE);
    let z = |config: &FitConfig, data| fit(config, data, 0).unwrap().encode(problem.test.x());
    assert_eq!(z(&plain, &problem.train), z(&refined, &problem.train));
    let labelled = problem.train.labelled_only();
    let consistency = config(None).train.objective.consistency;
    (plain.train.objective.consistency, refined.train.objective.consistency) = (consistency, consistency);
    assert_eq!(z(&plain, &labelled), z(&refined, &labelled));
    assert_ne!(z(&plain, &problem.train), z(&refined, &problem.train), "else this tests nothing");
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
