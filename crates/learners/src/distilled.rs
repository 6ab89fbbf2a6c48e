//! A forest distilled from experts: one set of trees that says of new rows what several learners say together.
//!
//! Experts who saw labels and unlabelled rows give every row a distribution q(k | x). Extremely randomised trees are grown
//! on all rows, and every tree draws the classes of the unlabelled ones from q anew:
//!
//! ```text
//! y_i = the label of a labelled row,    y_i ~ q(. | x_i) of an unlabelled one,    p(k | x) = mean over trees of leaf shares
//! ```
//!
//! Trees on hundreds of rows follow the shape of the data, where trees on ten labels see ten points; and as the classes are
//! drawn, not taken as certain (multiple imputation), the forest stays as uncertain as the experts were.

use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use semisup::{Classifier, Learner, Preprocess, SemiSupervised, split::evenly_spaced};

use crate::trees::{Forest, TreeSettings};
use crate::{Error, Experts, Result};

/// Unlabelled rows that trees are grown on, at most: more make the model larger, and hardly better.
const ROWS: usize = 3000;
/// How much a labelled row counts beside an unlabelled one.
const LABEL_WEIGHT: f64 = 10.;
/// Rows of a leaf, at least, where classes are drawn: one drawn class is no evidence.
const MIN_LEAF: usize = 2;

/// Fits trees to rows x `[n, dim]` whose classes are y `[n]`, or, where there is none, have the distribution in q
/// `[n, n_classes]`.
pub fn distil(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    q: ArrayView2<f64>,
    n_trees: usize,
    seed: u64,
) -> Result<Forest> {
    let (labelled, unlabelled): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|&row| y[row].is_some());
    let some = evenly_spaced(unlabelled.len(), ROWS).into_iter().map(|at| unlabelled[at]);
    let rows: Vec<usize> = labelled.into_iter().chain(some).collect();
    let mut targets = q.select(Axis(0), &rows);
    let mut weights = vec![1.; rows.len()];
    for ((&row, mut target), weight) in rows.iter().zip(targets.rows_mut()).zip(&mut weights) {
        if let Some(k) = y[row] {
            target.fill(0.);
            target[k] = 1.;
            *weight = LABEL_WEIGHT;
        }
    }
    let min_samples_leaf = if unlabelled.is_empty() { 1 } else { MIN_LEAF };
    let settings = TreeSettings { min_samples_leaf, ..TreeSettings::extra_trees(n_trees) };
    Forest::fit_soft(x.select(Axis(0), &rows).view(), targets.view(), Some(&weights), &settings, seed)
}

/// What trees say of rows x `[n, dim]` that they were not grown on: the rows are cut in halves, and each half is predicted by a
/// forest distilled from the other and from the labelled rows (cross-fitting). The predictions q `[n, n_classes]` of
/// experts become smoother along the data; labelled rows keep theirs.
pub fn cross_distil(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    q: ArrayView2<f64>,
    n_trees: usize,
    seed: u64,
) -> Result<Array2<f64>> {
    let (labelled, mut unlabelled): (Vec<usize>, Vec<usize>) =
        (0..y.len()).partition(|&row| y[row].is_some());
    // Whatever order the rows came in, both halves are alike.
    unlabelled.shuffle(&mut semisup::rng(seed));
    let halves: [Vec<usize>; 2] =
        [0, 1].map(|half| unlabelled.iter().copied().skip(half).step_by(2).collect());
    let mut smooth = q.to_owned();
    for (half, rows) in halves.iter().enumerate() {
        let others: Vec<usize> = labelled.iter().chain(&halves[1 - half]).copied().collect();
        let classes: Vec<Option<usize>> = others.iter().map(|&row| y[row]).collect();
        let targets = q.select(Axis(0), &others);
        let forest =
            distil(x.select(Axis(0), &others).view(), &classes, targets.view(), n_trees, seed + half as u64)?;
        let predicted = forest.smoothed(x.select(Axis(0), rows).view());
        for (&row, p) in rows.iter().zip(predicted.rows()) {
            smooth.row_mut(row).assign(&p);
        }
    }
    Ok(smooth)
}

/// [`Experts`] on standardised columns, and a forest distilled from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertForest {
    /// The experts.
    pub experts: Experts,
    /// Number of trees of the forest.
    pub n_trees: usize,
}

impl Default for ExpertForest {
    /// [`Experts`] of 200 trees each, and 200 trees.
    fn default() -> Self {
        Self { experts: Experts { n_trees: 200, ..Experts::default() }, n_trees: 200 }
    }
}

impl Learner for ExpertForest {
    type Model = ExpertForestModel;
    type Error = Error;

    fn name(&self) -> String {
        "expert forest".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ExpertForestModel> {
        let scaled = Preprocess::standardise(data.x())?.apply(data.x());
        let pool = self.experts.fit_rows(scaled.view(), data.y(), data.classes(), seed)?;
        let forest = distil(data.x(), data.y(), pool.probs(scaled.view()).view(), self.n_trees, seed)?;
        Ok(ExpertForestModel { forest, classes: data.classes().to_vec() })
    }
}

/// A fitted [`ExpertForest`].
#[derive(Clone, Debug, PartialEq)]
pub struct ExpertForestModel {
    forest: Forest,
    classes: Vec<String>,
}

impl Classifier for ExpertForestModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.forest.smoothed(x).ln()
    }
}
