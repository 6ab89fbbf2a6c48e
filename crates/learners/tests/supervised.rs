//! Supervised learners against scikit-learn, on what `data/make_supervised.py` wrote down. What is deterministic must be
//! equal but for rounding; forests are compared as means of many trees.

use flowgmm_learners::{
    Boosted, Forest, GradientBoosting, MaxFeatures, PlainLogisticRegression, Sampling, Splitter,
    SupportVectors, TreeSettings,
};
use semisup::ndarray::{Array2, Axis};
use semisup::{Classifier as _, Learner as _, SemiSupervised};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    n_classes: usize,
    x: Vec<Vec<f64>>,
    y: Vec<usize>,
    t: Vec<Vec<f64>>,
    answer: Vec<Vec<f64>>,
    weights: Option<Vec<f64>>,
    #[serde(default)]
    n_trees: usize,
    #[serde(default)]
    rounds: usize,
    #[serde(default)]
    coefficients: Vec<Vec<f64>>,
}

fn cases(name: &str, count: usize) -> Vec<Case> {
    let file: File = serde_json::from_str(include_str!("data/supervised.json")).unwrap();
    let cases: Vec<Case> = file.cases.into_iter().filter(|case| case.name == name).collect();
    assert_eq!(cases.len(), count, "{name}");
    cases
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

fn largest(apart: Array2<f64>) -> f64 {
    apart.fold(0., |largest, apart| f64::max(largest, apart.abs()))
}

/// On one column nothing is drawn. Shares in mixed leaves have 32 bits.
#[test]
fn a_whole_tree() {
    let settings = TreeSettings {
        n_trees: 1,
        splitter: Splitter::Best,
        max_features: MaxFeatures::All,
        sampling: Sampling::AllRows,
        min_samples_leaf: 1,
    };
    for case in cases("tree", 6) {
        let x = matrix(&case.x);
        let tree =
            Forest::fit(x.view(), &case.y, case.n_classes, case.weights.as_deref(), &settings, 1).unwrap();
        let apart = largest(tree.probs(matrix(&case.t).view()) - matrix(&case.answer));
        assert!(apart < 1e-6, "{} classes: {apart}", case.n_classes);
    }
}

/// A mean of 5000 votes has a standard deviation of at most 0.007, the difference of two such means of 0.01: five of
/// these for the largest of 150 differences, and a tenth of them, 0.006, for their mean.
#[test]
fn means_of_many_trees() {
    let forests =
        [("extra trees", TreeSettings::extra_trees(0)), ("random forest", TreeSettings::random_forest(0))];
    for (name, settings) in forests {
        for case in cases(name, 2) {
            let settings = TreeSettings { n_trees: case.n_trees, ..settings };
            let forest =
                Forest::fit(matrix(&case.x).view(), &case.y, case.n_classes, None, &settings, 7).unwrap();
            let apart = forest.probs(matrix(&case.t).view()) - matrix(&case.answer);
            let mean = apart.mapv(f64::abs).mean().unwrap();
            assert!(largest(apart) < 0.05 && mean < 0.01, "{name}: {mean} on average");
        }
    }
}

/// Leaves have values of 32 bits, of which up to 100 are summed.
#[test]
fn gradient_boosting() {
    for case in cases("boosting", 3) {
        let settings = GradientBoosting { rounds: case.rounds, ..GradientBoosting::default() };
        let model =
            Boosted::fit(matrix(&case.x).view(), &case.y, case.n_classes, None, &settings, 1).unwrap();
        let apart = largest(model.log_probs(matrix(&case.t).view()).exp() - matrix(&case.answer));
        assert!(apart < 1e-5, "{} classes: {apart}", case.n_classes);
    }
}

/// Both stop when no condition of optimality is violated by more than their tolerance, ours 1e-5.
#[test]
fn decision_values_of_support_vectors() {
    for case in cases("svc", 3) {
        let model = SupportVectors::fit(matrix(&case.x).view(), &case.y, case.n_classes, 1., 1).unwrap();
        let apart = largest(model.decision_values(matrix(&case.t).view()) - matrix(&case.answer));
        assert!(apart < 1e-4, "{} classes: {apart}", case.n_classes);
    }
}

/// With two classes scikit-learn has one vector of coefficients, the second of ours minus the first. With more, adding a
/// number to all intercepts changes nothing: they are compared around their mean.
#[test]
fn coefficients_of_logistic_regression() {
    for case in cases("logistic", 3) {
        let classes = (0..case.n_classes).map(|k| format!("class {k}")).collect();
        let columns = (0..case.x[0].len()).map(|j| format!("column {j}")).collect();
        let y = case.y.iter().copied().map(Some).collect();
        let data = SemiSupervised::new(matrix(&case.x), y, classes, columns).unwrap();
        let model = PlainLogisticRegression::default().fit(&data, 0).unwrap();
        let apart = largest(model.log_probs(matrix(&case.t).view()).exp() - matrix(&case.answer));
        assert!(apart < 1e-6, "{} classes: {apart}", case.n_classes);
        let (w, b) = (model.logistic().weights(), model.logistic().intercepts().insert_axis(Axis(1)));
        let ours = semisup::ndarray::concatenate(Axis(1), &[w, b]).unwrap();
        let centred = |all: Array2<f64>| &all - &all.mean_axis(Axis(0)).unwrap();
        let theirs = matrix(&case.coefficients);
        let apart = match case.n_classes {
            2 => largest(&ours.row(1) - &ours.row(0) - theirs),
            _ => largest(centred(ours) - centred(theirs)),
        };
        assert!(apart < 1e-5, "{} classes: coefficients differ by {apart}", case.n_classes);
    }
}
