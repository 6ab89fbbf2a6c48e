//! The experts beside the flow, as they are fitted, before held-out labels say how much each counts.
//!
//! ```text
//! labels, teachers' predictions ─→ trees distilled from them
//! labels                        ─→ a random forest, extra trees, logistic regression in the flow's space
//! labels, all rows              ─→ naive Bayes, by EM
//! ```

use flowgmm_learners::{Forest, Logistic, NaiveBayes, Scorecard, TreeSettings};
use ndarray::{Array2, ArrayView2};
use semisup::split::evenly_spaced;

use crate::{
    Result,
    prepared::{Prepared, Shown},
};

/// How many times fewer trees the forests on labels alone have than the distilled one.
const FEWER: usize = 2;
/// Labels that the forests on labels alone see, at most: their trees grow with them, and so would the model's file.
const LABELS: usize = 10_000;
/// The inverse penalty of the regression, as scikit-learn's default.
const C: f64 = 1.0;

/// Experts, fitted to the same labels.
pub(super) struct Experts {
    /// Distilled trees, a random forest and extra trees.
    pub forests: [Forest; 3],
    pub regression: Logistic,
    pub naive_bayes: Scorecard,
}

/// p(k | x) of the experts, each `[n, K]`.
#[derive(Clone)]
pub(super) struct ExpertProbs {
    pub forests: [Array2<f64>; 3],
    pub regression: Array2<f64>,
    pub naive_bayes: Array2<f64>,
}

impl Experts {
    /// Learns from the labels that are shown; the distilled forest has `n_trees`.
    pub fn fit(problem: &Prepared, shown: &Shown, n_trees: usize, seed: u64) -> Result<Self> {
        let (rows, y) = problem.visible(shown);
        let k = problem.n_classes();
        let some = evenly_spaced(rows.len(), LABELS);
        let x = problem.user_rows(&some.iter().map(|&at| rows[at]).collect::<Vec<_>>());
        let some: Vec<usize> = some.into_iter().map(|at| y[at]).collect();
        let forest =
            |settings: TreeSettings, seed: u64| Forest::fit(x.view(), &some, k, None, &settings, seed);
        let fewer = n_trees.div_ceil(FEWER);
        let forests = [
            problem.forest(shown, n_trees, seed)?,
            forest(TreeSettings::random_forest(fewer), seed)?,
            forest(TreeSettings::extra_trees(fewer), seed)?,
        ];
        let regression = Logistic::fit_labels(problem.x_of(&rows).view(), &y, k, C)?;
        let naive_bayes = problem.naive_bayes(&NaiveBayes::default(), shown)?.scorecard();
        Ok(Self { forests, regression, naive_bayes })
    }

    /// What they say of rows, in the user's columns and in the flow's.
    pub fn probs(&self, x: ArrayView2<f64>, prepared: ArrayView2<f64>) -> ExpertProbs {
        ExpertProbs {
            forests: self.forests.each_ref().map(|forest| forest.smoothed(x)),
            regression: self.regression.log_probs(prepared).exp(),
            naive_bayes: self.naive_bayes.log_probs(x).exp(),
        }
    }
}

impl ExpertProbs {
    /// Of no rows.
    pub fn none(n_classes: usize) -> Self {
        let none = || Array2::zeros((0, n_classes));
        Self { forests: std::array::from_fn(|_| none()), regression: none(), naive_bayes: none() }
    }

    /// Adds other rows.
    pub fn append(&mut self, others: Self) {
        let Self { forests, regression, naive_bayes } = self;
        let own = forests.iter_mut().chain([regression, naive_bayes]);
        for (own, others) in
            own.zip(others.forests.into_iter().chain([others.regression, others.naive_bayes]))
        {
            own.append(ndarray::Axis(0), others.view()).expect("as many classes");
        }
    }
}
