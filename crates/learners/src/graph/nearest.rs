//! Classification by the k nearest labelled rows, each with one vote: p(class | x) = votes of the class / k, as in
//! scikit-learn's `KNeighborsClassifier` with uniform weights. Of classes with equal votes the first wins.
//!
//! A class without a vote has probability 0, so its log probability is minus infinity.

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, SemiSupervised};

use super::knn::knn;
use crate::error::positive;
use crate::{Error, Result};

/// Whether rows are normalised before distances are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLength {
    /// Rows as they are: the L2 distance.
    Kept,
    /// Rows divided by their length, rows of zeros excepted: |a - b|^2 = 2 - 2 cos(a, b).
    Unit,
}

/// The k-nearest-neighbours classifier, which ignores unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestNeighbours {
    /// Number of neighbours; all labelled rows if there are fewer.
    pub k: usize,
    /// Whether rows are normalised first.
    pub length: RowLength,
}

impl Learner for NearestNeighbours {
    type Model = NearestNeighboursModel;
    type Error = Error;

    fn name(&self) -> String {
        match self.length {
            RowLength::Kept => format!("{} nearest neighbours", self.k),
            RowLength::Unit => format!("{} nearest neighbours by angle", self.k),
        }
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<NearestNeighboursModel> {
        positive("neighbours k", self.k)?;
        let labelled = data.labelled_only();
        Ok(NearestNeighboursModel {
            settings: *self,
            x: self.length.of(labelled.x()),
            y: labelled.y().iter().flatten().copied().collect(),
            classes: labelled.classes().to_vec(),
        })
    }
}

/// A fitted k-nearest-neighbours classifier: the labelled rows.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestNeighboursModel {
    settings: NearestNeighbours,
    x: Array2<f64>, // [n_l, dim]
    y: Vec<usize>,  // [n_l]
    classes: Vec<String>,
}

impl NearestNeighboursModel {
    /// The share of votes of each class, `[n, n_classes]`.
    pub fn probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let (index, _) = knn(self.x.view(), self.settings.length.of(x).view(), self.settings.k);
        let mut votes = Array2::zeros((x.nrows(), self.classes.len()));
        index.indexed_iter().for_each(|((query, _), &row)| votes[[query, self.y[row]]] += 1.);
        votes / index.ncols() as f64
    }
}

impl Classifier for NearestNeighboursModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.probs(x).ln()
    }
}

impl RowLength {
    fn of(self, x: ArrayView2<f64>) -> Array2<f64> {
        let mut x = x.to_owned();
        if self == RowLength::Unit {
            for mut row in x.rows_mut() {
                let length = row.dot(&row).sqrt();
                row.mapv_inplace(|v| if length > 0. { v / length } else { v });
            }
        }
        x
    }
}
