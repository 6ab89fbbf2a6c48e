//! Gradient boosting of the multinomial deviance (Friedman 2001), as scikit-learn's `GradientBoostingClassifier`.
//!
//! Scores f_k(x) start from the logarithms of the class shares. A round fits one regression tree per class to the
//! residuals r_ik = [y_i = k] - p_k(x_i), p = softmax(f), and adds to f_k, in each leaf,
//!
//! ```text
//! learning_rate (K - 1)/K  sum_i r_ik / sum_i p_ik (1 - p_ik)
//! ```
//!
//! With two classes there is one tree a round, for f_1 with f_0 = 0, and no factor (K - 1)/K.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use semisup::metrics::log_softmax;
use semisup::{Classifier, Learner, SemiSupervised};
use serde::{Deserialize, Serialize};

use super::columns::{Columns, single};
use super::nodes::{Nodes, Tree, ensure};
use super::regression::{Shape, Sorted, Targets};
use crate::chunks::in_chunks;
use crate::error::{positive, within};
use crate::targets::{check_rows, labelled};
use crate::{Error, Result};

/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;

/// Gradient boosting of regression trees, which ignores unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientBoosting {
    /// Number of rounds, each of one tree per class (one tree if there are two classes).
    pub rounds: usize,
    /// The share of each tree's prediction that is added.
    pub learning_rate: f64,
    /// Levels of a tree below its root.
    pub max_depth: usize,
}

impl Default for GradientBoosting {
    /// 100 rounds of trees of depth 3, learning rate 0.1, as in scikit-learn.
    fn default() -> Self {
        Self { rounds: 100, learning_rate: 0.1, max_depth: 3 }
    }
}

impl Learner for GradientBoosting {
    type Model = BoostedModel;
    type Error = Error;

    fn name(&self) -> String {
        "gradient boosting".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<BoostedModel> {
        let (x, y) = labelled(data);
        let boosted = Boosted::fit(x.view(), &y, data.n_classes(), None, self, seed)?;
        Ok(BoostedModel { boosted, classes: data.classes().to_vec() })
    }
}

/// Fitted gradient boosting with the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostedModel {
    boosted: Boosted,
    classes: Vec<String>,
}

impl BoostedModel {
    /// The trees.
    pub fn boosted(&self) -> &Boosted {
        &self.boosted
    }
}

impl Classifier for BoostedModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.boosted.log_probs(x)
    }
}

/// Fitted gradient boosting on rows of numbers, without class names. One read from a file must pass
/// [`Boosted::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boosted {
    dim: usize,
    start: Vec<f64>, // [n_classes], the scores before the first round
    nodes: Nodes,    // the trees of a round are neighbours
}

impl Boosted {
    /// Fits rows x `[n, dim]` with classes y `[n]`, each below `n_classes`. `weights` `[n]` are how much each row counts,
    /// 1 if there are none. The seed breaks ties between columns.
    pub fn fit(
        x: ArrayView2<f64>,
        y: &[usize],
        n_classes: usize,
        weights: Option<&[f64]>,
        settings: &GradientBoosting,
        seed: u64,
    ) -> Result<Self> {
        settings.check()?;
        within("classes", n_classes as f64, n_classes >= 2, "at least 2")?;
        let weights = check_rows(x, y, n_classes, weights)?;
        let columns = Columns::of(x);
        let sorted = Sorted::of(&columns);
        let mut boosted = Self { dim: x.ncols(), start: start(y, n_classes, &weights), nodes: Nodes::new() };
        let mut f = Array2::from_shape_fn((x.nrows(), n_classes), |(_, k)| boosted.start[k]);
        for round in 0..settings.rounds {
            let p = log_softmax(f.view()).exp();
            let fit = |k: usize| {
                let of_class: Vec<f64> = p.column(k).to_vec();
                let is_class = |row: usize| f64::from(u8::from(y[row] == k));
                let residuals: Vec<f64> =
                    of_class.iter().enumerate().map(|(row, p)| is_class(row) - p).collect();
                let targets = Targets { values: &residuals, weights: &weights };
                let mut rng = semisup::rng(seed);
                rng.set_stream((round * n_classes + k) as u64);
                let shape = Shape::grow(&columns, &sorted, &targets, settings.max_depth, rng);
                let values = settings.steps(&shape, &targets, &of_class, n_classes);
                (shape, values)
            };
            let grown: Vec<(Shape, Vec<f32>)> = boosted.scored().into_par_iter().map(fit).collect();
            for (k, (shape, values)) in boosted.scored().zip(grown) {
                let leaves = shape.leaf_of.iter().map(|&leaf| f64::from(values[leaf as usize]));
                f.column_mut(k).iter_mut().zip(leaves).for_each(|(f, step)| *f += step);
                let tree: Tree = shape.with_values(&values);
                boosted.nodes.push(tree);
            }
        }
        Ok(boosted)
    }

    /// The classes that have trees: the second of two, or all.
    fn scored(&self) -> std::ops::Range<usize> {
        let n_classes = self.start.len();
        if n_classes == 2 { 1..2 } else { 0..n_classes }
    }

    /// log p(k | x) of rows, `[n, n_classes]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the model was fitted to.
    pub fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim, "columns of boosted trees");
        in_chunks(x, CHUNK, self.start.len(), |x| {
            let rows: Vec<f32> = x.iter().map(|&value| single(value)).collect();
            let mut f = Array2::from_shape_fn((x.nrows(), self.start.len()), |(_, k)| self.start[k]);
            for tree in 0..self.nodes.n_trees() {
                let k = self.scored().start + tree % self.scored().len();
                for (row, f) in rows.chunks_exact(self.dim).zip(f.column_mut(k)) {
                    *f += f64::from(self.nodes.leaf(tree, row).value);
                }
            }
            log_softmax(f.view())
        })
    }

    /// Checks a model from a file: whole rounds of trees of `dim` columns for `n_classes`.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        ensure(dim > 0 && self.dim == dim, || format!("{} columns, expected {dim}", self.dim))?;
        ensure(n_classes >= 2 && self.start.len() == n_classes, || {
            format!("{} classes, expected {n_classes}", self.start.len())
        })?;
        ensure(self.start.iter().all(|score| score.is_finite()), || "a first score is not finite".into())?;
        self.nodes.validate(dim, |_| true)?;
        ensure(self.nodes.n_trees().is_multiple_of(self.scored().len()), || "a round is not complete".into())
    }
}

impl GradientBoosting {
    fn check(&self) -> Result<()> {
        positive("rounds", self.rounds)?;
        positive("max_depth", self.max_depth)?;
        let rate = self.learning_rate;
        within("learning_rate", rate, rate > 0. && rate.is_finite(), "a number above 0")
    }

    /// What each node adds to the score of its rows, `[n_nodes]`: one step of Newton's method.
    fn steps(&self, shape: &Shape, targets: &Targets, p: &[f64], n_classes: usize) -> Vec<f32> {
        /// Below this curvature a leaf is certain, and its step 0.
        const CERTAIN: f64 = 1e-150;
        let mut sums = vec![(0., 0.); shape.n_nodes()];
        for (row, &leaf) in shape.leaf_of.iter().enumerate() {
            let (slope, curvature) = &mut sums[leaf as usize];
            *slope += targets.weights[row] * targets.values[row];
            *curvature += targets.weights[row] * p[row] * (1. - p[row]);
        }
        let factor = if n_classes == 2 { 1. } else { (n_classes - 1) as f64 / n_classes as f64 };
        let step = |(slope, curvature): (f64, f64)| match curvature < CERTAIN {
            true => 0.,
            false => single(self.learning_rate * factor * slope / curvature),
        };
        sums.into_iter().map(step).collect()
    }
}

/// Logarithms of the class shares; with two classes, relative to the first. A class without rows counts as a millionth.
fn start(y: &[usize], n_classes: usize, weights: &[f64]) -> Vec<f64> {
    let mut shares = vec![0.; n_classes];
    y.iter().zip(weights).for_each(|(&k, weight)| shares[k] += weight);
    let sum: f64 = weights.iter().sum();
    let logs: Vec<f64> = shares.iter().map(|share| (share / sum).max(1e-6).ln()).collect();
    let base = if n_classes == 2 { logs[0] } else { 0. };
    logs.iter().map(|log| log - base).collect()
}
