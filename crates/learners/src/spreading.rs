//! Label spreading as a learner, and its model, which also classifies rows that were not there.
//!
//! Fitting solves F = alpha S F + (1 - alpha) Y on the graph of all rows, with S = D^-1/2 W D^-1/2, W a
//! kernel without its diagonal and D its column sums, and divides each row of F by its sum. A new row x takes
//! the weighted vote of the training rows:
//!
//! ```text
//! p(k | x) = sum_i w(x, x_i) F_ik / sum_i w(x, x_i) sum_k F_ik
//! ```
//!
//! Rows that no label reaches have F = 0 and no vote; where nobody votes, p is uniform. Two of the kernels and
//! their weights are scikit-learn's `LabelSpreading`.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::graph::{
    EdgeWeight, Graph, Neighbours, iterate, least_positive, local_gaussian, one_hot, solve, to_distributions,
};
use crate::knn;
use semisup::{Classifier, Error, Learner, Result, SemiSupervised};

/// Most rows that [`SpreadKernel::Rbf`] takes: its dense matrix then has half a gigabyte.
pub const RBF_ROWS: usize = 8000;

/// Which rows are near each other, and how near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpreadKernel {
    /// Rows are joined if one is among the `k` nearest others of the other, with weight exp(-d^2 / (sigma_i
    /// sigma_j)), sigma the distance to the k-th. A new row asks its `k` nearest rows, with the same weights.
    LocalGaussian {
        /// Number of neighbours.
        k: usize,
    },
    /// scikit-learn's `kernel="knn"`: arrows of weight 1 from each row to its `k` nearest, of which it is one
    /// itself. A new row asks its `k` nearest rows, with weight 1.
    Knn {
        /// Number of neighbours, the row itself counted: at least 2 to have one.
        k: usize,
    },
    /// scikit-learn's `kernel="rbf"`: exp(-gamma d^2) between all rows, hence for [`RBF_ROWS`] at most.
    Rbf {
        /// The inverse squared width.
        gamma: f64,
    },
}

/// Label spreading (Zhou et al. 2004).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelSpreading {
    /// The graph.
    pub kernel: SpreadKernel,
    /// How much a row listens to others rather than to its own label, in [0, 1).
    pub alpha: f64,
}

impl Default for LabelSpreading {
    /// Ten locally scaled neighbours and alpha = 0.99, as in [`crate::label_spreading`].
    fn default() -> Self {
        Self { kernel: SpreadKernel::LocalGaussian { k: 10 }, alpha: 0.99 }
    }
}

impl LabelSpreading {
    fn check(&self, n: usize) -> Result<()> {
        if !(0. ..1.).contains(&self.alpha) {
            return Err(Error::Setting { name: "alpha", found: self.alpha, expected: "in [0, 1)" });
        }
        match self.kernel {
            SpreadKernel::LocalGaussian { k: 0 } | SpreadKernel::Knn { k: 0 } => {
                Err(Error::Setting { name: "neighbours k", found: 0., expected: "at least 1" })
            }
            SpreadKernel::Rbf { gamma } if !(gamma >= 0. && gamma.is_finite()) => {
                Err(Error::Setting { name: "gamma", found: gamma, expected: "a number from 0" })
            }
            SpreadKernel::Rbf { .. } if n > RBF_ROWS => Err(Error::TooManyRows {
                method: "label spreading with an RBF kernel",
                found: n,
                limit: RBF_ROWS,
                hint: "use nearest neighbours instead, or fewer unlabelled rows",
            }),
            _ => Ok(()),
        }
    }
}

impl Learner for LabelSpreading {
    type Model = SpreadModel;
    type Error = Error;

    fn name(&self) -> String {
        match self.kernel {
            SpreadKernel::LocalGaussian { k } => format!("label spreading, {k} scaled neighbours"),
            SpreadKernel::Knn { k } => format!("label spreading, {k} neighbours"),
            SpreadKernel::Rbf { gamma } => format!("label spreading, RBF {gamma}"),
        }
    }

    fn fit(&self, data: &SemiSupervised, _seed: u64) -> Result<SpreadModel> {
        self.check(data.n())?;
        let (x, n_classes) = (data.x(), data.n_classes());
        let mut sigma = Vec::new();
        let mut f = match self.kernel {
            SpreadKernel::LocalGaussian { k } => {
                let near = Neighbours::of_rows(x, k);
                sigma = near.local_scales();
                let graph = Graph::symmetric(&near, EdgeWeight::LocalGaussian, &sigma);
                solve(graph, data.y(), n_classes, self.alpha)
            }
            SpreadKernel::Knn { k } => {
                let s = Graph::directed_knn(x, k).normalised();
                iterate(|f| s.times(f), &one_hot(data.y(), n_classes), self.alpha)
            }
            SpreadKernel::Rbf { gamma } => {
                let s = dense(x, gamma);
                iterate(|f| product(&s, f), &one_hot(data.y(), n_classes), self.alpha)
            }
        };
        f.rows_mut().into_iter().for_each(|mut row| row /= if row.sum() > 0. { row.sum() } else { 1. });
        Ok(SpreadModel { kernel: self.kernel, x: x.to_owned(), sigma, f, classes: data.classes().to_vec() })
    }
}

/// The training rows with what was spread to them.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadModel {
    kernel: SpreadKernel,
    x: Array2<f64>,  // [n, dim]
    sigma: Vec<f64>, // [n], scales of LocalGaussian, else empty
    f: Array2<f64>,  // [n, n_classes], rows of sum 1, or 0 where no label came
    classes: Vec<String>,
}

impl SpreadModel {
    /// p(y = k | row) of the training rows, `[n, n_classes]`; uniform where no label came.
    pub fn training_probs(&self) -> Array2<f64> {
        to_distributions(self.f.clone())
    }

    /// p(y = k | x) of new rows, `[n, n_classes]`.
    pub fn probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        to_distributions(match self.kernel {
            SpreadKernel::LocalGaussian { k } => {
                let least = least_positive(&self.sigma);
                self.votes_of_nearest(x, k, |squared, row, farthest| {
                    let sigma = if farthest > 0. { farthest.sqrt() } else { least };
                    local_gaussian(squared, sigma, self.sigma[row])
                })
            }
            SpreadKernel::Knn { k } => self.votes_of_nearest(x, k, |_, _, _| 1.),
            SpreadKernel::Rbf { gamma } => self.votes_of_all(x, gamma),
        })
    }

    /// Votes of the k nearest rows, `weight` being a function of the squared distance, the row, and the squared
    /// distance of the last of them.
    fn votes_of_nearest(
        &self,
        x: ArrayView2<f64>,
        k: usize,
        weight: impl Fn(f64, usize, f64) -> f64,
    ) -> Array2<f64> {
        let (index, squared) = knn(self.x.view(), x, k);
        let mut votes = Array2::zeros((x.nrows(), self.classes.len()));
        for ((query, rank), &row) in index.indexed_iter() {
            let farthest = squared[[query, squared.ncols() - 1]];
            let weight = weight(squared[[query, rank]], row, farthest);
            votes.row_mut(query).scaled_add(weight, &self.f.row(row));
        }
        votes
    }

    /// Votes of all rows. The nearest has weight 1, so that a row far from all still has a nearest.
    fn votes_of_all(&self, x: ArrayView2<f64>, gamma: f64) -> Array2<f64> {
        let distances = Distances::to(self.x.view());
        in_pieces(x, |piece| {
            let mut weights = distances.squared(piece);
            weights.rows_mut().into_iter().for_each(|mut row| {
                let least = row.fold(f64::INFINITY, |least, &squared| least.min(squared));
                row.mapv_inplace(|squared| (-gamma * (squared - least)).exp());
            });
            weights.dot(&self.f)
        })
    }
}

impl Classifier for SpreadModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.probs(x).ln()
    }
}

/// S of the RBF kernel, `[n, n]`.
fn dense(x: ArrayView2<f64>, gamma: f64) -> Array2<f64> {
    let distances = Distances::to(x);
    let mut s = in_pieces(x, |piece| distances.squared(piece).mapv_into(|squared| (-gamma * squared).exp()));
    s.diag_mut().fill(0.);
    let root: Array1<f64> = s.sum_axis(Axis(0)).mapv(|degree| if degree > 0. { degree.sqrt() } else { 1. });
    s /= &root;
    s /= &root.insert_axis(Axis(1));
    s
}

/// s f, in pieces of rows.
fn product(s: &Array2<f64>, f: &Array2<f64>) -> Array2<f64> {
    in_pieces(s.view(), |piece| piece.dot(f))
}

/// What `f` makes of each piece of rows, one below the other.
fn in_pieces(x: ArrayView2<f64>, f: impl Fn(ArrayView2<f64>) -> Array2<f64> + Sync + Send) -> Array2<f64> {
    const PIECE: usize = 256;
    let pieces: Vec<ArrayView2<f64>> = x.axis_chunks_iter(Axis(0), PIECE).collect();
    let made: Vec<Array2<f64>> = pieces.into_par_iter().map(f).collect();
    let views: Vec<ArrayView2<f64>> = made.iter().map(|made| made.view()).collect();
    ndarray::concatenate(Axis(0), &views).expect("pieces have the same columns")
}

/// Squared distances to fixed rows by one matrix product, |a - b|^2 = |a|^2 - 2 a.b + |b|^2. Rows are centred first:
/// far from the origin the three terms would cancel.
struct Distances {
    centre: Array1<f64>,  // [dim]
    rows: Array2<f64>,    // [n, dim], centred
    lengths: Array1<f64>, // [n], squared
}

impl Distances {
    fn to(x: ArrayView2<f64>) -> Self {
        let centre = x.mean_axis(Axis(0)).expect("there are rows");
        let rows = &x - &centre;
        let lengths = squared_lengths(&rows);
        Self { centre, rows, lengths }
    }

    /// From each of these rows, `[m, n]`.
    fn squared(&self, from: ArrayView2<f64>) -> Array2<f64> {
        let from = &from - &self.centre;
        let mut squared = from.dot(&self.rows.t());
        squared *= -2.;
        squared += &self.lengths;
        squared += &squared_lengths(&from).insert_axis(Axis(1));
        squared.mapv_into(|squared| squared.max(0.))
    }
}

fn squared_lengths(rows: &Array2<f64>) -> Array1<f64> {
    rows.map_axis(Axis(1), |row| row.dot(&row))
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    /// Far from the origin and of very different columns, the product is as good as the sum of squares.
    #[test]
    fn distances_by_a_product_are_distances() {
        let mut rng = semisup::rng(1);
        let scale = [1e-3, 1., 40.];
        let mut rows = |n| {
            Array2::from_shape_fn((n, 3), |(_, j)| 1e6 * scale[j] + scale[j] * rng.random_range(-1.0..1.0))
        };
        let (x, from) = (rows(300), rows(7));
        let found = Distances::to(x.view()).squared(from.view());
        for ((i, j), &found) in found.indexed_iter() {
            let direct: f64 = from.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!((found - direct).abs() < 1e-9 * (1. + direct), "{i} {j}: {found} {direct}");
        }
    }
}
