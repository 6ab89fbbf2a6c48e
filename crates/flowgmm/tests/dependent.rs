//! Columns that determine each other: full one-hot columns sum to one, a column is there twice, another never varies.
//! Densities stay finite and sane, and say whether they are those of the projected row.

use flowgmm::{FitConfig, Model, Prepare, Recipe};
use flowgmm_data::{Cells, Column, Encoding, Frame, Labels, Schema, labels};
use rand::Rng as _;
use semisup::{Classifier, SemiSupervised, metrics};

const CITIES: [&str; 4] = ["Oslo", "Rome", "Bonn", "Lima"];
const COLOURS: [&str; 3] = ["red", "green", "blue"];
const SHAPES: [&str; 5] = ["disc", "cube", "cone", "ring", "star"];

/// 300 rows of two classes; the class shows in the city, in the shape and in the weight.
fn table() -> (Frame, Vec<usize>) {
    let rng = &mut semisup::rng(11);
    let n = 300;
    let truth: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let mut pick = |of: &'static [&'static str], k: usize| {
        let at =
            if rng.random_range(0.0..1.0) < 0.7 { k * (of.len() / 2) } else { rng.random_range(0..of.len()) };
        Some(of[at])
    };
    let city: Vec<_> = truth.iter().map(|&k| pick(&CITIES, k)).collect();
    let colour: Vec<_> = truth.iter().map(|_| pick(&COLOURS, 0)).collect();
    let shape: Vec<_> = truth.iter().map(|&k| pick(&SHAPES, k)).collect();
    let weight: Vec<f64> = truth.iter().map(|&k| k as f64 * 2.0 + rng.random_range(-1.0..1.0)).collect();
    let label: Vec<_> =
        truth.iter().enumerate().map(|(i, &k)| (i < 24).then_some(["no", "yes"][k])).collect();
    let texts = |cells: Vec<Option<&str>>| Cells::from_texts(cells.into_iter().collect());
    let columns = [
        ("city", texts(city)),
        ("colour", texts(colour)),
        ("shape", texts(shape)),
        ("unit", texts(vec![Some("kg"); n])),
        ("weight", Cells::Numbers(weight.clone())),
        ("weight again", Cells::Numbers(weight)),
        ("y", texts(label)),
    ];
    let columns = columns.map(|(name, cells)| Column { name: name.into(), cells }).to_vec();
    (Frame::new("table", columns, (1..=n as u64).collect()).unwrap(), truth)
}

fn data() -> (SemiSupervised, Vec<usize>) {
    let (frame, truth) = table();
    let schema = Schema::infer(&frame, Some("y"), &[]).unwrap();
    let encoding = Encoding::learn(&schema, &frame).unwrap();
    let Labels { y, classes, .. } = labels(&frame, "y", &[]).unwrap();
    let x = encoding.apply(&frame).unwrap().x;
    assert_eq!(encoding.dim(), 4 + 3 + 5 + 2, "a level is a dimension, a constant none");
    let data = SemiSupervised::new(x, y, classes, encoding.feature_names()).unwrap();
    (data.with_steps(encoding.steps()), truth)
}

/// What holds of every model of these rows.
fn check(name: &str, model: &Model, data: &SemiSupervised, truth: &[usize], accuracy: f64) {
    let scores = model.score(data.x());
    assert!(scores.log_probs.iter().chain(&scores.log_marginal).all(|v| v.is_finite()), "{name}");
    let (low, high) =
        scores.log_marginal.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    assert!(high - low < 200.0 && high < 200.0, "{name}: log p from {low} to {high}");
    let right = metrics::accuracy(&model.predict(data.x()), truth);
    assert!(right >= accuracy, "{name}: {right}");
    let (rows, _) = model.sample(50, None, 1.0, &mut semisup::rng(1));
    assert!(rows.iter().all(|v| v.is_finite() && v.abs() < 100.0), "{name}");
}

#[test]
fn the_automatic_recipe_drops_what_is_determined_and_says_so() {
    let (data, truth) = data();
    let mut config = Recipe::choose(&data, 0).unwrap().config;
    config.train.steps = 300;
    let model = fit(&config, &data, 0).unwrap();
    // 14 dimensions, of which three one-hot sums and the column that is there twice determine one each.
    assert_eq!(model.gmm().dim(), 10);
    assert!(model.likelihood_is_projected(), "no density where columns determine each other");
    check("recipe", &model, &data, &truth, 0.85);
}

#[test]
fn no_whitening_blows_up_a_direction_without_variance() {
    let (data, truth) = data();
    for whiten in [0.0, 0.5, 1.0] {
        for prepare in [Prepare::Pca { dims: 32, whiten }, Prepare::PcaStandardised { dims: 32, whiten }] {
            let mut config = FitConfig::table(&data);
            (config.prepare, config.train.steps) = (prepare, 200);
            let model = fit(&config, &data, 0).unwrap();
            assert_eq!(model.gmm().dim(), 10, "{prepare:?}");
            let x = model.preprocess().apply(data.x());
            assert!(x.iter().all(|v| v.abs() < 30.0), "{prepare:?}");
            check(&format!("{prepare:?}"), &model, &data, &truth, 0.8);
        }
    }
}

#[test]
fn fewer_directions_than_there_are_leave_a_density_of_the_whole_row() {
    let (data, truth) = data();
    let mut config = FitConfig::table(&data);
    (config.prepare, config.train.steps) = (Prepare::PcaStandardised { dims: 6, whiten: 0.0 }, 200);
    let model = fit(&config, &data, 0).unwrap();
    assert!(!model.likelihood_is_projected());
    check("six directions", &model, &data, &truth, 0.75);
}

/// Without a projection the flow itself sees columns that determine each other, and the noise of training is what
/// bounds its density there.
#[test]
fn standardised_columns_that_determine_each_other_stay_finite() {
    let (data, truth) = data();
    let mut config = FitConfig::table(&data);
    (config.prepare, config.train.steps) = (Prepare::Standardise, 300);
    check("standardised", &fit(&config, &data, 0).unwrap(), &data, &truth, 0.8);
    let mut paper = FitConfig::paper(&data);
    paper.train.steps = 100;
    let model = fit(&paper, &data, 0).unwrap();
    let scores = model.score(data.x());
    assert!(
        scores.log_probs.iter().chain(&scores.log_marginal).all(|v| v.is_finite()),
        "the paper's settings"
    );
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
