//! Decision trees on the labelled rows: extremely randomised trees, random forests and gradient boosting.
//!
//! | module | holds |
//! |---|---|
//! | here | the learners [`ExtraTrees`] and [`RandomForest`], and the settings of their trees |
//! | `grow` | one classification tree |
//! | `forest` | [`Forest`]: many of them |
//! | `regression`, `boosting` | regression trees, and [`GradientBoosting`] with them |
//! | `stored` | a forest as arrays of a file |
//! | `nodes`, `columns` | trees as flat arrays; rows in 32-bit precision, by columns |
//!
//! Forests score many rows with [`flowgmm_kernels::Trees`].
//!
//! Trees ask only for the order of values in a column, so no learner here standardises columns. Values are compared in
//! 32-bit precision, as in scikit-learn.

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, SemiSupervised};

use crate::targets::labelled;
use crate::{Error, Result};

mod boosting;
mod columns;
mod forest;
mod grow;
mod nodes;
mod regression;
mod stored;

pub use boosting::{Boosted, BoostedModel, GradientBoosting};
pub(crate) use columns::single;
pub use forest::Forest;
pub use stored::FOREST_ARRAYS;

/// Candidate thresholds of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitter {
    /// All thresholds of a drawn column.
    Best,
    /// One threshold, drawn uniformly between the least and the largest value of the column in the node (Geurts et al.
    /// 2006).
    Random,
}

/// How many columns are drawn for a split (scikit-learn's `max_features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxFeatures {
    /// The square root of their number, rounded down.
    Sqrt,
    /// All.
    All,
}

/// The rows of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// All labelled rows.
    AllRows,
    /// As many draws with replacement as there are labelled rows.
    Bootstrap,
}

/// How the trees of a [`Forest`] are grown. They are grown until no leaf can be split without leaving fewer rows than
/// `min_samples_leaf` on a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeSettings {
    /// Number of trees.
    pub n_trees: usize,
    /// Candidate thresholds of a split.
    pub splitter: Splitter,
    /// How many columns are drawn for a split.
    pub max_features: MaxFeatures,
    /// The rows of each tree.
    pub sampling: Sampling,
    /// Rows of a leaf, at least (scikit-learn's `min_samples_leaf`).
    pub min_samples_leaf: usize,
}

impl TreeSettings {
    /// Extremely randomised trees (Geurts et al. 2006) with scikit-learn's defaults.
    pub fn extra_trees(n_trees: usize) -> Self {
        let (splitter, sampling) = (Splitter::Random, Sampling::AllRows);
        Self { n_trees, splitter, max_features: MaxFeatures::Sqrt, sampling, min_samples_leaf: 1 }
    }

    /// A random forest (Breiman 2001) with scikit-learn's defaults.
    pub fn random_forest(n_trees: usize) -> Self {
        let (splitter, sampling) = (Splitter::Best, Sampling::Bootstrap);
        Self { n_trees, splitter, max_features: MaxFeatures::Sqrt, sampling, min_samples_leaf: 1 }
    }
}

/// Extremely randomised trees, which ignore unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraTrees {
    /// Number of trees.
    pub n_trees: usize,
}

/// A random forest, which ignores unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomForest {
    /// Number of trees.
    pub n_trees: usize,
}

impl Default for ExtraTrees {
    /// 500 trees; scikit-learn's default is 100.
    fn default() -> Self {
        Self { n_trees: 500 }
    }
}

impl Default for RandomForest {
    /// 500 trees; scikit-learn's default is 100.
    fn default() -> Self {
        Self { n_trees: 500 }
    }
}

impl Learner for ExtraTrees {
    type Model = ForestModel;
    type Error = Error;

    fn name(&self) -> String {
        "extra trees".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ForestModel> {
        ForestModel::fit(data, &TreeSettings::extra_trees(self.n_trees), seed)
    }
}

impl Learner for RandomForest {
    type Model = ForestModel;
    type Error = Error;

    fn name(&self) -> String {
        "random forest".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ForestModel> {
        ForestModel::fit(data, &TreeSettings::random_forest(self.n_trees), seed)
    }
}

/// A fitted forest with the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestModel {
    forest: Forest,
    classes: Vec<String>,
}

impl ForestModel {
    fn fit(data: &SemiSupervised, settings: &TreeSettings, seed: u64) -> Result<Self> {
        let (x, y) = labelled(data);
        let forest = Forest::fit(x.view(), &y, data.n_classes(), None, settings, seed)?;
        Ok(Self { forest, classes: data.classes().to_vec() })
    }

    /// The trees.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }
}

impl Classifier for ForestModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Minus infinity for a class in no leaf of the row.
    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.forest.probs(x).ln()
    }
}
