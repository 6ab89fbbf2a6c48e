//! A fitted model is a density over the user's own columns: exp(log p(x)) sums to one over the plane, whatever the
//! units, and the marginal is what its classes add up to.

use std::sync::OnceLock;

use flowgmm::{FitConfig, Model, MultiStart, Prepare};
use ndarray::{Array2, array};
use semisup::{Classifier, SemiSupervised, Toy, metrics};

/// A grid sum of a density with features of about 0.1 at steps of 0.02 is exact far below this; single precision and
/// what lies outside of the box are, too.
const MASS: f64 = 0.01;

fn config(prepare: Prepare) -> FitConfig {
    let mut config = FitConfig::toy();
    config.prepare = prepare;
    config.multi_start = MultiStart { starts: 1, ..config.multi_start };
    config.train.steps = 300;
    config
}

/// Moons in units of our own: stretched by these factors and moved.
const UNITS: [f64; 2] = [10.0, 0.5];
const ORIGIN: [f64; 2] = [100.0, -3.0];

fn moons(units: [f64; 2], origin: [f64; 2]) -> SemiSupervised {
    let data = Toy::Moons.problem(1).train;
    let x = Array2::from_shape_fn((data.n(), 2), |(i, j)| data.x()[[i, j]] * units[j] + origin[j]);
    data.with_rows(x).unwrap()
}

fn scaled() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| fit(&config(Prepare::Scale), &moons([1.0; 2], [0.0; 2]), 3).unwrap())
}

/// The integral of p(x) over a wide box around the moons.
fn check_mass(model: &Model, units: [f64; 2], origin: [f64; 2]) {
    const STEPS: usize = 700;
    let (lo, hi) = ([-6.0, -6.5], [7.0, 7.0]);
    let step = [0, 1].map(|j| (hi[j] - lo[j]) / STEPS as f64);
    let at = |j: usize, i: usize| (lo[j] + (i as f64 + 0.5) * step[j]) * units[j] + origin[j];
    let cell = step[0] * step[1] * units[0] * units[1];
    let mut mass = 0.0;
    for row in 0..STEPS {
        let points = Array2::from_shape_fn((STEPS, 2), |(i, j)| if j == 0 { at(0, i) } else { at(1, row) });
        mass += model.score(points.view()).log_marginal.iter().map(|l| l.exp()).sum::<f64>() * cell;
    }
    assert!((mass - 1.0).abs() < MASS, "p(x) sums to {mass}");
}

#[test]
fn the_density_of_a_trained_model_sums_to_one() {
    check_mass(scaled(), [1.0; 2], [0.0; 2]);
}

#[test]
fn it_does_in_any_units_and_under_any_invertible_preprocessing() {
    for prepare in [Prepare::Standardise, Prepare::Pca { dims: 2, whiten: 1.0 }] {
        let model = fit(&config(prepare), &moons(UNITS, ORIGIN), 3).unwrap();
        assert!(!model.likelihood_is_projected());
        check_mass(&model, UNITS, ORIGIN);
    }
}

#[test]
fn the_model_learnt_the_moons() {
    let (model, test) = (scaled(), Toy::Moons.problem(1).test);
    let accuracy = metrics::accuracy(&model.predict(test.x()), test.y());
    assert!(accuracy > 0.9, "{accuracy}");
    // Rows of the data are likelier than points beside them.
    let mean = |x: &Array2<f64>| {
        let scores = model.score(x.view()).log_marginal;
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let x = test.x().to_owned();
    assert!(mean(&x) > mean(&(&x + &array![0.0, 1.0])) + 1.0);
}

#[test]
fn probabilities_are_normalised_and_samples_belong_to_their_class() {
    let model = scaled();
    let (x, classes) = model.sample(500, None, 0.7, &mut semisup::rng(4));
    let scores = model.score(x.view());
    for row in scores.log_probs.rows() {
        assert!((row.mapv(f64::exp).sum() - 1.0).abs() < 1e-9);
    }
    let accuracy = metrics::accuracy(&metrics::arg_max(scores.log_probs.view()), &classes);
    assert!(accuracy > 0.9, "{accuracy} of the samples are recognised");
    let back = model.decode(model.encode(x.view()).view());
    let worst = (&back - &x).iter().fold(0.0_f64, |worst, v| worst.max(v.abs()));
    assert!(worst < 1e-3, "the round trip of samples, in single precision, is off by {worst}");
    let certificate = model.provenance().certificate.expect("every fit is certified");
    assert!(certificate.round_trip_f64 < 1e-9 && certificate.log_det < 1e-4, "{certificate:?}");
}

/// A model of rescaled columns is the same model: log p differs by the logarithm of the units, exactly.
#[test]
fn units_change_log_p_by_their_logarithm() {
    let units = [1024.0, 0.0625]; // powers of two round nothing
    let recipe = |data: &SemiSupervised| {
        let mut config = flowgmm::Recipe::choose(data, 1).unwrap().config;
        config.prepare = Prepare::PcaStandardised { dims: 2, whiten: 0.5 };
        config.train.steps = 100;
        config
    };
    let (one, other) = (moons([1.0; 2], [0.0; 2]), moons(units, [0.0; 2]));
    let (a, b) = (fit(&recipe(&one), &one, 3).unwrap(), fit(&recipe(&other), &other, 3).unwrap());
    let constant = units.iter().map(|u: &f64| u.ln()).sum::<f64>();
    for (p, q) in a.score(one.x()).log_marginal.iter().zip(b.score(other.x()).log_marginal) {
        assert!((p - q - constant).abs() < 1e-9 * (1.0 + p.abs()), "{p} {q}");
    }
    let typical = a.typicality(&a.score(one.x()).log_marginal);
    let rare = typical.iter().filter(|p| **p < 0.1).count() as f64 / typical.len() as f64;
    assert!((0.05..0.15).contains(&rare), "p-values of training rows are uniform: {rare}");
    assert!(a.typicality(&[-1e9])[0] < 0.01);
}

#[test]
fn calibration_lowers_the_loss_and_keeps_every_decision() {
    let test = Toy::Moons.problem(1).test;
    let before = semisup::Scores::from_log_probs(&scaled().score(test.x()).log_probs, test.y());
    let model = scaled().clone().calibrated(test.x(), test.y());
    let after = semisup::Scores::from_log_probs(&model.score(test.x()).log_probs, test.y());
    assert!(model.temperature() > 0.0 && after.nll <= before.nll + 1e-12, "{} {}", before.nll, after.nll);
    assert_eq!(before.confusion, after.confusion);
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
