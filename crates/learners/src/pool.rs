//! A pool of experts: the mean of the probabilities of learners that err differently.
//!
//! ```text
//! p(k | x) = (1 - epsilon) mean_m p_m(k | x) + epsilon / K,    epsilon = 1/2 / (n_l + 1)
//! ```
//!
//! with n_l the number of labelled rows: no class has probability 0, not even one that no labelled row has.

use ndarray::{Array2, ArrayView2, Axis};
use rand::Rng as _;
use semisup::{Classifier, Learner, SemiSupervised};
use serde::{Deserialize, Serialize};

use crate::clusters::{ClusterFeatures, ClusterLogistic};
use crate::linear::Logistic;
use crate::trees::{Forest, TreeSettings};
use crate::{Error, Result};

/// A pool of logistic regression, extra trees, a random forest and cluster regression. It does not standardise columns: see [`Standardised`](crate::Standardised).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Number of trees of each forest.
    pub n_trees: usize,
    /// The inverse of the L2 penalty of both regressions, as scikit-learn defines it.
    pub c: f64,
}

impl Default for Experts {
    /// 500 trees in each forest, c = 1.
    fn default() -> Self {
        Self { n_trees: 500, c: 1. }
    }
}

impl Learner for Experts {
    type Model = ExpertPool;
    type Error = Error;

    fn name(&self) -> String {
        "experts".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<ExpertPool> {
        self.fit_rows(data.x(), data.y(), data.classes(), seed)
    }
}

impl Experts {
    /// Fits rows x `[n, dim]`, of which some have a class in y `[n]`, an index of `classes`. A class may have no row.
    pub fn fit_rows(
        &self,
        x: ArrayView2<f64>,
        y: &[Option<usize>],
        classes: &[String],
        seed: u64,
    ) -> Result<ExpertPool> {
        self.fit_rows_with(self.clusters(x, classes.len(), seed)?, x, y, classes, seed)
    }

    /// The clusters of rows x `[n, dim]`. They do not depend on labels, so that fits to the same rows can share them.
    pub fn clusters(&self, x: ArrayView2<f64>, n_classes: usize, seed: u64) -> Result<ClusterFeatures> {
        ClusterFeatures::fit(x, n_classes, Seeds::of(seed).clusters)
    }

    /// [`Experts::fit_rows`] with the [`Experts::clusters`] of these rows and this seed.
    pub fn fit_rows_with(
        &self,
        clusters: ClusterFeatures,
        x: ArrayView2<f64>,
        y: &[Option<usize>],
        classes: &[String],
        seed: u64,
    ) -> Result<ExpertPool> {
        let k = classes.len();
        let rows: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).collect();
        let labelled = x.select(Axis(0), &rows);
        let labels: Vec<usize> = y.iter().flatten().copied().collect();
        let seeds = Seeds::of(seed);
        let forest = |settings: TreeSettings, seed: u64| {
            Forest::fit(labelled.view(), &labels, k, None, &settings, seed)
        };
        let members = vec![
            Expert::LogisticRegression(Logistic::fit_labels(labelled.view(), &labels, k, self.c)?),
            Expert::ExtraTrees(forest(TreeSettings::extra_trees(self.n_trees), seeds.extra_trees)?),
            Expert::RandomForest(forest(TreeSettings::random_forest(self.n_trees), seeds.random_forest)?),
            Expert::ClusterRegression(ClusterLogistic::fit_with(clusters, x, y, k, self.c)?),
        ];
        let uniform = 0.5 / (labels.len() as f64 + 1.);
        Ok(ExpertPool { dim: x.ncols(), classes: classes.to_vec(), uniform, members })
    }
}

/// What each expert draws from.
struct Seeds {
    extra_trees: u64,
    random_forest: u64,
    clusters: u64,
}

impl Seeds {
    fn of(seed: u64) -> Self {
        let mut rng = semisup::rng(seed);
        Self { extra_trees: rng.random(), random_forest: rng.random(), clusters: rng.random() }
    }
}

/// A fitted expert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expert {
    /// Logistic regression.
    LogisticRegression(Logistic),
    /// Extremely randomised trees.
    ExtraTrees(Forest),
    /// A random forest.
    RandomForest(Forest),
    /// Logistic regression on columns and cluster memberships.
    ClusterRegression(ClusterLogistic),
}

impl Expert {
    /// The name in tables and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LogisticRegression(_) => "logistic regression",
            Self::ExtraTrees(_) => "extra trees",
            Self::RandomForest(_) => "random forest",
            Self::ClusterRegression(_) => "cluster regression",
        }
    }

    /// p(k | x) of rows, `[n, n_classes]`; a forest may give 0.
    ///
    /// # Panics
    /// If x does not have as many columns as the expert was fitted to.
    pub fn probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        match self {
            Self::LogisticRegression(logistic) => logistic.log_probs(x).exp(),
            Self::ExtraTrees(forest) | Self::RandomForest(forest) => forest.probs(x),
            Self::ClusterRegression(regression) => regression.log_probs(x).exp(),
        }
    }

    fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        match self {
            Self::LogisticRegression(logistic) => logistic.validate(dim, n_classes),
            Self::ExtraTrees(forest) | Self::RandomForest(forest) => forest.validate(dim, n_classes),
            Self::ClusterRegression(regression) => regression.validate(dim, n_classes),
        }
    }
}

/// Fitted experts whose probabilities are averaged. A pool read from a file must pass [`ExpertPool::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpertPool {
    dim: usize,
    classes: Vec<String>,
    uniform: f64, // epsilon
    members: Vec<Expert>,
}

impl ExpertPool {
    /// [`Experts`] with default settings, fitted to data whose columns are encoded and standardised.
    pub fn fit(data: &SemiSupervised, seed: u64) -> Result<Self> {
        Experts::default().fit(data, seed)
    }

    /// The members.
    pub fn members(&self) -> &[Expert] {
        &self.members
    }

    /// p(k | x) of rows by the whole pool, `[n, n_classes]`, all above 0.
    ///
    /// # Panics
    /// If x does not have as many columns as the pool was fitted to.
    pub fn probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let (count, k) = (self.members.len() as f64, self.classes.len());
        let mut sum = Array2::zeros((x.nrows(), k));
        self.members.iter().for_each(|member| sum += &member.probs(x));
        sum * ((1. - self.uniform) / count) + self.uniform / k as f64
    }

    /// Checks a pool from a file: members of `dim` columns for `n_classes`.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        let damaged = |why: String| Err(Error::Damaged { what: "experts", why });
        if self.dim != dim || self.classes.len() != n_classes {
            let found = (self.dim, self.classes.len());
            return damaged(format!(
                "{} columns and {} classes, expected {dim} and {n_classes}",
                found.0, found.1
            ));
        }
        if self.members.is_empty() {
            return damaged("there are none".into());
        }
        if !(self.uniform > 0. && self.uniform < 1.) {
            return damaged(format!("the uniform part is {}, expected between 0 and 1", self.uniform));
        }
        self.members.iter().try_for_each(|member| member.validate(dim, n_classes))
    }
}

impl Classifier for ExpertPool {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.probs(x).ln()
    }
}
