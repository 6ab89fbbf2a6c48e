//! Label spreading (Zhou et al. 2004): the labels there are spread over a graph of all rows.
//!
//! With W a kernel between rows without its diagonal, D its column sums, S = D^-1/2 W D^-1/2 and Y the one-hot labels (0
//! where there is none), `[n, K]`, F solves F = alpha S F + (1 - alpha) Y. A row of F divided by its sum is p(k | x_i). A
//! new row x takes the weighted vote of the training rows:
//!
//! ```text
//! p(k | x) = sum_i w(x, x_i) F_ik / sum_i w(x, x_i) sum_k F_ik
//! ```
//!
//! Rows that no label reaches have F = 0 and no vote; without votes, p is uniform. Two of the kernels and their weights
//! are those of scikit-learn's `LabelSpreading`.

use ndarray::{Array2, ArrayView2, Zip};
use semisup::{Classifier, Learner, Part, SemiSupervised, Stopped, Watch};

use super::knn::knn;
use super::neighbours::{Neighbours, least_positive, local_gaussian};
use super::solve::{conjugate_gradients, iterate, to_distributions};
use super::{EdgeWeight, Graph, dense};
use crate::error::{positive, within};
use crate::targets::one_hot;
use crate::{Error, Result};

/// The largest number of rows that [`SpreadKernel::Rbf`] takes: its dense matrix is then half a gigabyte.
pub const RBF_ROWS: usize = 8000;

/// The fraction of a fit that the search for neighbours takes, of many rows.
const SEARCH: f64 = 0.8;

/// The residual of conjugate gradients on graphs: in some rows F is 1e-6 only, and still its ratios between classes must be right.
const RESIDUAL: f64 = 1e-10;

/// The kernel: which rows are joined, and with which weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpreadKernel {
    /// Rows are joined if one is among the `k` nearest others of the other, with weight exp(-d^2 / (sigma_i
    /// sigma_j)), sigma the distance to the k-th. A new row takes the votes of its `k` nearest rows, with the same weights.
    LocalGaussian {
        /// Number of neighbours.
        k: usize,
    },
    /// scikit-learn's `kernel="knn"`: directed edges of weight 1 from each row to its `k` nearest, of which it is one
    /// itself. A new row takes the votes of its `k` nearest rows, with weight 1.
    Knn {
        /// Number of neighbours, the row itself counted: at least 2 to have one.
        k: usize,
    },
    /// scikit-learn's `kernel="rbf"`: exp(-gamma d^2) between all rows, hence for at most [`RBF_ROWS`] rows.
    Rbf {
        /// The inverse squared width.
        gamma: f64,
    },
}

/// Label spreading (Zhou et al. 2004) as a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelSpreading {
    /// The kernel.
    pub kernel: SpreadKernel,
    /// The weight of the neighbours' labels against the row's own label, in [0, 1).
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
        within("alpha", self.alpha, (0. ..1.).contains(&self.alpha), "in [0, 1)")?;
        match self.kernel {
            SpreadKernel::LocalGaussian { k } | SpreadKernel::Knn { k } => positive("neighbours k", k),
            SpreadKernel::Rbf { gamma } => {
                within("gamma", gamma, gamma >= 0. && gamma.is_finite(), "a number from 0")?;
                if n <= RBF_ROWS {
                    return Ok(());
                }
                Err(Error::TooManyRows {
                    method: "label spreading with an RBF kernel",
                    found: n,
                    limit: RBF_ROWS,
                    hint: "use nearest neighbours instead, or fewer unlabelled rows",
                })
            }
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

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<SpreadModel> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, _seed: u64, watch: &dyn Watch) -> Result<SpreadModel> {
        self.check(data.n())?;
        let (x, n_classes) = (data.x(), data.n_classes());
        let (search, spreading) = (Part::new(watch, 0.0..SEARCH), Part::new(watch, SEARCH..1.));
        let mut sigma = Vec::new();
        let mut f = match self.kernel {
            SpreadKernel::LocalGaussian { k } => {
                let near = Neighbours::of_rows(x, k, &search)?;
                sigma = near.local_scales();
                let graph = Graph::symmetric(&near, EdgeWeight::LocalGaussian, &sigma);
                solve(graph, data.y(), n_classes, self.alpha, &spreading)?
            }
            SpreadKernel::Knn { k } => {
                let s = Graph::directed_knn(x, k, &search)?.normalised();
                iterate(|f| s.times(f), &one_hot(data.y(), n_classes), self.alpha, &spreading)?
            }
            SpreadKernel::Rbf { gamma } => {
                let s = dense::normalised(x, gamma);
                dense::spread(&s, one_hot(data.y(), n_classes) * (1. - self.alpha), self.alpha, watch)?
            }
        };
        f.rows_mut().into_iter().for_each(|mut row| row /= if row.sum() > 0. { row.sum() } else { 1. });
        Ok(SpreadModel { kernel: self.kernel, x: x.to_owned(), sigma, f, classes: data.classes().to_vec() })
    }
}

/// The training rows with the labels that were spread to them.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadModel {
    kernel: SpreadKernel,
    x: Array2<f64>,  // [n, dim]
    sigma: Vec<f64>, // [n], local scales of LocalGaussian, else empty
    f: Array2<f64>,  // [n, n_classes], rows of sum 1, or 0 where no label reaches
    classes: Vec<String>,
}

impl SpreadModel {
    /// p(y = k | row) of the training rows, `[n, n_classes]`; uniform where no label reaches.
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
            SpreadKernel::Rbf { gamma } => dense::votes(self.x.view(), &self.f, x, gamma),
        })
    }

    /// Votes of the k nearest rows; `weight` is a function of the squared distance, the row, and the squared distance of
    /// the k-th.
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
}

impl Classifier for SpreadModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.probs(x).ln()
    }
}

/// p(y = k | row), `[n, n_classes]`, of rows of which some have a label: label spreading over `k` locally scaled
/// neighbours with 0 <= `alpha` < 1 (0.99 is usual). Rows that no label reaches are uniform.
pub fn label_spreading(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    n_classes: usize,
    k: usize,
    alpha: f64,
) -> Array2<f64> {
    spread(Graph::symmetric_knn(x, k, EdgeWeight::LocalGaussian), y, n_classes, alpha)
}

/// p(y = k | vertex), `[n, n_classes]`, by label spreading on a given symmetric graph; see [`label_spreading`].
///
/// # Panics
/// If `alpha` is not in [0, 1) or there is not one `y` per vertex.
pub fn spread(graph: Graph, y: &[Option<usize>], n_classes: usize, alpha: f64) -> Array2<f64> {
    spread_watched(graph, y, n_classes, alpha, &()).expect("nobody stops it")
}

/// [`spread`], watched: how far the solver is from its start to its tolerance, in digits.
///
/// # Panics
/// As [`spread`].
pub fn spread_watched(
    graph: Graph,
    y: &[Option<usize>],
    n_classes: usize,
    alpha: f64,
    watch: &dyn Watch,
) -> std::result::Result<Array2<f64>, Stopped> {
    Ok(to_distributions(solve(graph, y, n_classes, alpha, watch)?))
}

/// F `[n, n_classes]` of a symmetric graph, not yet normalised. I - alpha S is positive definite, so that conjugate
/// gradients solve (I - alpha S) F = (1 - alpha) Y.
fn solve(
    graph: Graph,
    y: &[Option<usize>],
    n_classes: usize,
    alpha: f64,
    watch: &dyn Watch,
) -> std::result::Result<Array2<f64>, Stopped> {
    assert!((0. ..1.).contains(&alpha), "alpha must be in [0, 1)");
    assert_eq!(graph.n(), y.len(), "one label or None per vertex");
    let s = graph.normalised();
    let system = |v: &Array2<f64>| {
        let mut out = s.times(v);
        Zip::from(&mut out).and(v).for_each(|out, v| *out = v - alpha * *out);
        out
    };
    let f = conjugate_gradients(system, one_hot(y, n_classes) * (1. - alpha), RESIDUAL, watch)?;
    Ok(f.mapv_into(|f| f.max(0.)))
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use semisup::{Toy, metrics};

    use super::*;

    /// On a line 0 - 1 - 2 with unit weights: F against a dense solution by hand.
    #[test]
    fn spreading_solves_its_equation() {
        let line = Graph::symmetric_knn(array![[0.], [1.], [2.1]].view(), 1, EdgeWeight::One);
        assert_eq!(line.edges(1).collect::<Vec<_>>(), [(0, 1.), (2, 1.)]);
        let f = spread(line, &[Some(0), None, Some(1)], 2, 0.5);
        // By symmetry the middle is even; with s = 1/sqrt 2, F_0 = (1 - a)(1 + a^2 s^2 / (1 - a^2)) for its
        // own label and (1 - a) a^2 s^2 / (1 - a^2) for the other: 7/6 against 1/6.
        assert!((f[[1, 0]] - 0.5).abs() < 1e-9);
        assert!((f[[0, 0]] - 7. / 8.).abs() < 1e-9, "{f}");
        assert!((f[[2, 1]] - 7. / 8.).abs() < 1e-9);
    }

    #[test]
    fn ten_labels_suffice_for_moons() {
        for seed in 0..5 {
            let mut rng = semisup::rng(seed);
            let full = Toy::Moons.sample(1000, &mut rng);
            let data = full.reveal(&semisup::split::stratified(full.y(), 2, 5, &mut rng)).unwrap();
            let f = label_spreading(data.x(), data.y(), 2, 10, 0.99);
            assert!(f.rows().into_iter().all(|row| (row.sum() - 1.).abs() < 1e-12));
            let accuracy = metrics::accuracy(&metrics::arg_max(f.view()), full.y());
            assert!(accuracy >= 0.98, "seed {seed}: {accuracy}");
        }
    }

    #[test]
    fn unreachable_and_coinciding_rows() {
        let x = array![[0.], [0.], [0.], [0.1], [9.], [9.], [9.], [9.]];
        let y = [Some(0), None, None, Some(1), None, None, None, None];
        let f = label_spreading(x.view(), &y, 2, 2, 0.5);
        assert!(f.iter().all(|p| p.is_finite()));
        assert_eq!(f.row(5).to_vec(), [0.5, 0.5], "no label reaches the other component");
        assert!(f[[1, 0]] > 0.6 && f[[2, 0]] > 0.6 && f[[3, 1]] > 0.6, "{f}");
    }

    #[test]
    fn same_bits_at_any_thread_count() {
        let toy = Toy::Pinwheel.problem(4).train;
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| label_spreading(toy.x(), toy.y(), 5, 10, 0.99))
        };
        assert_eq!(run(1), run(3));
    }
}
