//! The classic learners against scikit-learn, on what `data/make_sklearn.py` wrote down: the same predictions,
//! and the same probabilities within 1e-6. Both sides iterate, so the last digits are not theirs to promise;
//! votes of neighbours are counts and must be equal but for rounding.

use flowgmm_learners::{LabelSpreading, Logistic, NearestNeighbours, RowLength, SpreadKernel, self_training};
use semisup::metrics::arg_max;
use semisup::ndarray::Array2;
use semisup::{Learner as _, SemiSupervised};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    settings: Settings,
    n_classes: usize,
    x: Vec<Vec<f64>>,
    y: Vec<i64>, // -1 where there is no label
    t: Vec<Vec<f64>>,
    probs: Vec<Vec<f64>>,
    training: Option<Vec<Vec<f64>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings {
    k: usize,
    unit: bool,
    c: f64,
    alpha: f64,
    gamma: f64,
    n_neighbors: usize,
    threshold: f64,
}

impl Case {
    fn data(&self) -> SemiSupervised {
        let classes = (0..self.n_classes).map(|k| format!("class {k}")).collect();
        let columns = (0..self.x[0].len()).map(|j| format!("column {j}")).collect();
        SemiSupervised::new(matrix(&self.x), self.labels(), classes, columns).unwrap()
    }

    fn labels(&self) -> Vec<Option<usize>> {
        self.y.iter().map(|&y| usize::try_from(y).ok()).collect()
    }

    /// Ours for new rows and for the training rows against theirs.
    fn check(&self, probs: &Array2<f64>, training: &Array2<f64>, tolerance: f64) {
        self.agree("new rows", probs, &matrix(&self.probs), tolerance);
        if let Some(theirs) = &self.training {
            self.agree("training rows", training, &matrix(theirs), tolerance);
        }
    }

    fn agree(&self, which: &str, ours: &Array2<f64>, theirs: &Array2<f64>, tolerance: f64) {
        let apart = (ours - theirs).fold(0., |apart: f64, d| apart.max(d.abs()));
        assert!(apart <= tolerance, "{}, {which}: {apart:e} apart", self.name);
        assert_eq!(arg_max(ours.view()), arg_max(theirs.view()), "{}, {which}", self.name);
    }
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

fn cases(name: &str, expected: usize) -> Vec<Case> {
    let file: File = serde_json::from_str(include_str!("data/sklearn.json")).unwrap();
    let cases: Vec<Case> = file.cases.into_iter().filter(|case| case.name == name).collect();
    assert_eq!(cases.len(), expected, "cases of {name}");
    cases
}

#[test]
fn nearest_neighbours() {
    for case in cases("neighbours", 3) {
        let length = if case.settings.unit { RowLength::Unit } else { RowLength::Kept };
        let learner = NearestNeighbours { k: case.settings.k, length };
        let model = learner.fit(&case.data(), 0).unwrap();
        case.check(&model.probs(matrix(&case.t).view()), &Array2::zeros((0, 0)), 1e-15);
    }
}

#[test]
fn logistic_regression() {
    for case in cases("logistic", 4) {
        let q = Array2::from_shape_fn((case.y.len(), case.n_classes), |(i, k)| {
            f64::from(u8::from(case.y[i] == k as i64))
        });
        let x = matrix(&case.x);
        let model = Logistic::fit(x.view(), q.view(), case.settings.c);
        let probs = |x: &Array2<f64>| model.log_probs(x.view()).exp();
        case.check(&probs(&matrix(&case.t)), &probs(&x), 1e-6);
    }
}

#[test]
fn label_spreading() {
    let check = |case: Case, kernel: SpreadKernel| {
        let model = LabelSpreading { kernel, alpha: case.settings.alpha }.fit(&case.data(), 0).unwrap();
        case.check(&model.probs(matrix(&case.t).view()), &model.training_probs(), 1e-6);
    };
    for case in cases("spreading rbf", 2) {
        let gamma = case.settings.gamma;
        check(case, SpreadKernel::Rbf { gamma });
    }
    for case in cases("spreading knn", 3) {
        let k = case.settings.n_neighbors;
        check(case, SpreadKernel::Knn { k });
    }
}

#[test]
fn self_training_by_logistic_regression() {
    for case in cases("self-training", 3) {
        let x = matrix(&case.x);
        let (model, p) = self_training(x.view(), &case.labels(), case.n_classes, 1., case.settings.threshold);
        case.check(&model.log_probs(matrix(&case.t).view()).exp(), &p, 1e-6);
    }
}
