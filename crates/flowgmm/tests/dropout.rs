//! Dropout and dequantisation: what training adds by chance, and scoring never sees.

use flowgmm::{Dequantise, Engine, FitConfig, Fitter, Model, Prepare};
use ndarray::{Array2, Axis};
use rand::Rng as _;
use semisup::{SemiSupervised, Toy};

fn short(dropout: f64) -> FitConfig {
    let mut config = FitConfig::toy();
    config.architecture.depth = 3;
    config.architecture.hidden = vec![16, 16];
    config.train.steps = 60;
    config.train.dropout = dropout;
    config
}

fn log_p(model: &Model, x: &Array2<f64>) -> Vec<f64> {
    model.score(x.view()).log_marginal
}

#[test]
fn dropout_is_a_function_of_the_seed_and_of_training_alone() {
    let data = Toy::Moons.problem(1).train;
    let x = data.x().to_owned();
    let [with, again, without] = [0.5, 0.5, 0.0].map(|share| fit(&short(share), &data, 3).unwrap());
    assert_eq!(log_p(&with, &x), log_p(&again, &x), "the same seed, the same model");
    assert_ne!(log_p(&with, &x), log_p(&without, &x));
    let other = fit(&short(0.5), &data, 4).unwrap();
    assert_ne!(log_p(&with, &x), log_p(&other, &x));
}

/// The kernels have no dropout, so all engines train by the same operations; Adam and the mixture round differently.
#[test]
fn engines_agree_on_dropout() {
    let data = Toy::Moons.problem(1).train;
    let x = data.x().to_owned();
    let config = short(0.5);
    let by = |engine| log_p(&Fitter::new(&config, &data, 3).engine(engine).run(&mut ()).unwrap(), &x);
    let (fused, composed) = (by(Engine::Fused), by(Engine::Composed));
    let apart = fused.iter().zip(&composed).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-2, "after 60 steps in single precision: {apart}");
}

#[test]
fn a_fit_with_dropout_learns() {
    let problem = Toy::Moons.problem(1);
    let mut config = short(0.2);
    config.train.steps = 800;
    let model = fit(&config, &problem.train, 0).unwrap();
    let predicted = semisup::Classifier::predict(&model, problem.test.x());
    let accuracy = semisup::metrics::accuracy(&predicted, problem.test.y());
    assert!(accuracy > 0.9, "{accuracy}");
}

/// Two equal columns of ten levels: all that can be known of a row is one of ten, so that
/// E_u log p(x + u) <= -log 10 for any density. Spread in training, a flow comes near that; unspread, it spikes on the
/// levels and has nothing between them.
#[test]
fn spread_values_get_probabilities_and_unspread_ones_spikes() {
    let rng = &mut semisup::rng(5);
    let levels: Vec<f64> = (0..600).map(|_| f64::from(rng.random_range(0..10))).collect();
    let x = Array2::from_shape_fn((600, 2), |(i, _)| levels[i]);
    let y = (0..600).map(|i| (i < 40).then(|| usize::from(levels[i] > 4.5))).collect();
    let names = vec!["a".to_string(), "b".to_string()];
    let data =
        SemiSupervised::new(x.clone(), y, names.clone(), names).unwrap().with_steps(vec![Some(1.0); 2]);
    let spread = x.mapv(|v| v + rng.random_range(-0.5..0.5));
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let trained = |dequantise| {
        let mut config = FitConfig::toy();
        config.prepare = Prepare::Standardise;
        config.dequantise = dequantise;
        config.teachers = Vec::new();
        config.train.steps = 600;
        (config.train.noise, config.train.view_noise) = (0.0, 0.0);
        let model = fit(&config, &data, 1).unwrap();
        (mean(log_p(&model, &x)), mean(log_p(&model, &spread)))
    };
    let bound = -10f64.ln();
    let (_, uniform) = trained(Dequantise::Uniform);
    // The sample's own mean may exceed the law's by chance: 600 rows of spread at most 1.
    assert!(uniform > bound - 1.5 && uniform < bound + 0.1, "{uniform} against {bound}");
    let (on, between) = trained(Dequantise::Off);
    assert!(on > bound + 1.0 && between < uniform - 5.0, "{on} on the levels, {between} between");
}

#[test]
fn steps_change_nothing_in_rows_without_them() {
    let data = Toy::Moons.problem(1).train;
    let off = short(0.0);
    let mut on = off.clone();
    on.dequantise = Dequantise::Uniform;
    let x = data.x().select(Axis(0), &[0, 1, 2]);
    let [on, off] = [on, off].map(|config| log_p(&fit(&config, &data, 3).unwrap(), &x));
    assert_eq!(on, off);
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
