//! Bagged k-means memberships as features, learnt from labelled and unlabelled rows.
//!
//! 30 times k-means is run with a random number of clusters on a random half of the columns. The features of a row are the
//! one-hot memberships of all runs times 3 / sqrt(30), so that two rows in the same cluster of every run share a vector of
//! length 3, and rows that are often together are near each other: a linear model on these features follows the shape of
//! the data that unlabelled rows show.

use ndarray::{Array2, ArrayView2, Axis};
use rand::Rng as _;
use rand::seq::index;
use rayon::prelude::*;
use semisup::Rng;
use serde::{Deserialize, Serialize};

use crate::error::within;
use crate::trees::single;
use crate::{Error, Result};

mod kmeans;
mod regression;

pub use regression::{ClusterLogistic, ClusterRegression, ClusterRegressionModel};

/// Runs of k-means.
const RUNS: usize = 30;
/// The length of the vector of memberships.
const LENGTH: f64 = 3.;
/// Rows that k-means sees at most, drawn at random.
const ROWS: usize = 2000;
/// Lloyd's iterations: few, as the runs shall differ.
const ITERATIONS: usize = 10;
/// Clusters of a run at most; there are at least as many as classes, and five rows for each.
const CLUSTERS: usize = 64;
/// Columns of a run at most: half of them, but not more than time and the size of the model allow.
const COLUMNS: usize = 256;

/// The clusters of all runs. Those read from a file must pass [`ClusterFeatures::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFeatures {
    dim: usize,
    runs: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    columns: Vec<u32>,
    centres: Vec<f32>, // [n_clusters, columns.len()]
}

impl ClusterFeatures {
    /// Clusters of the rows x `[n, dim]`. Run i draws from stream i of the seed.
    pub fn fit(x: ArrayView2<f64>, n_classes: usize, seed: u64) -> Result<Self> {
        within("rows", x.nrows() as f64, x.nrows() > 0, "at least 1")?;
        within("columns", x.ncols() as f64, x.ncols() > 0, "at least 1")?;
        let run = |run: usize| {
            let mut rng = semisup::rng(seed);
            rng.set_stream(run as u64);
            Run::fit(x, n_classes, &mut rng)
        };
        Ok(Self { dim: x.ncols(), runs: (0..RUNS).into_par_iter().map(run).collect() })
    }

    /// The number of columns of x.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of features: clusters of all runs.
    pub fn width(&self) -> usize {
        self.runs.iter().map(Run::n_clusters).sum()
    }

    /// The value of a feature of a row in its cluster; it is 0 outside.
    pub fn value(&self) -> f64 {
        LENGTH / (self.runs.len() as f64).sqrt()
    }

    /// The features of rows, `[n, dim] -> [n, width]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the clusters were fitted to.
    pub fn apply(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let mut features = Array2::zeros((x.nrows(), self.width()));
        for ((row, _), &member) in self.memberships(x).indexed_iter() {
            features[[row, member as usize]] = self.value();
        }
        features
    }

    /// The features of each row that are not 0, one for each run: `[n, runs]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the clusters were fitted to.
    pub fn memberships(&self, x: ArrayView2<f64>) -> Array2<u32> {
        assert_eq!(x.ncols(), self.dim, "columns of clusters");
        let mut members = Array2::zeros((x.nrows(), self.runs.len()));
        let mut offset = 0;
        for (run, mut members) in self.runs.iter().zip(members.columns_mut()) {
            members.iter_mut().zip(run.nearest(x)).for_each(|(member, k)| *member = (offset + k) as u32);
            offset += run.n_clusters();
        }
        members
    }

    /// Checks clusters from a file: columns below `dim`, whole centres of finite numbers.
    pub fn validate(&self, dim: usize) -> Result<()> {
        ensure(dim > 0 && self.dim == dim, || format!("{} columns, expected {dim}", self.dim))?;
        ensure(!self.runs.is_empty(), || "there is no run".into())?;
        for (run, Run { columns, centres }) in self.runs.iter().enumerate() {
            let width = columns.len();
            ensure(width > 0 && columns.iter().all(|&column| (column as usize) < dim), || {
                format!("run {run} has no columns, or one beyond the {dim}")
            })?;
            ensure(!centres.is_empty() && centres.len().is_multiple_of(width), || {
                format!("run {run} has {} numbers for centres of {width}", centres.len())
            })?;
            ensure(centres.iter().all(|number| number.is_finite()), || {
                format!("a centre of run {run} is not finite")
            })?;
        }
        Ok(())
    }
}

impl Run {
    fn fit(x: ArrayView2<f64>, n_classes: usize, rng: &mut Rng) -> Self {
        let n = x.nrows().min(ROWS);
        let rows = sorted(index::sample(rng, x.nrows(), n));
        let width = x.ncols().div_ceil(2).clamp(2, COLUMNS).min(x.ncols());
        let columns = sorted(index::sample(rng, x.ncols(), width));
        let least = n_classes.max(2);
        let k = rng.random_range(least..=CLUSTERS.min(x.nrows() / 5).max(least));
        let drawn = x.select(Axis(0), &rows).select(Axis(1), &columns).mapv(single);
        let centres = kmeans::centres(drawn.view(), k, ITERATIONS, rng);
        let columns = columns.into_iter().map(|column| column as u32).collect();
        Self { columns, centres: centres.iter().copied().collect() }
    }

    fn n_clusters(&self) -> usize {
        self.centres.len() / self.columns.len()
    }

    /// The cluster of each row.
    fn nearest(&self, x: ArrayView2<f64>) -> Vec<usize> {
        let own = |(row, column): (usize, usize)| single(x[[row, self.columns[column] as usize]]);
        let own = Array2::from_shape_fn((x.nrows(), self.columns.len()), own);
        let centres = ArrayView2::from_shape((self.n_clusters(), self.columns.len()), &self.centres)
            .expect("whole centres, as validated");
        kmeans::nearest(own.view(), centres)
    }
}

fn sorted(drawn: index::IndexVec) -> Vec<usize> {
    let mut drawn = drawn.into_vec();
    drawn.sort_unstable();
    drawn
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Damaged { what: "clusters", why: why() }) }
}
