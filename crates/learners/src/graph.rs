//! Nearest neighbours, their graph, and label spreading on it (Zhou et al. 2004): the classic answer to
//! semi-supervised learning, as a baseline and as a source of pseudo-labels.
//!
//! With W the symmetric kNN graph, S = D^-1/2 W D^-1/2 and Y the one-hot labels (0 where unlabelled), `[n,
//! K]`: (I - alpha S) F = (1 - alpha) Y. The matrix is positive definite, so conjugate gradients solve it.
//! [`crate::LabelSpreading`] makes of it a classifier of new rows.

use ndarray::{Array2, ArrayView2, Axis, Zip};
use rayon::prelude::*;

mod cells;
mod knn;
mod neighbours;
mod solve;

pub use knn::knn;
pub(crate) use neighbours::{Neighbours, least_positive, local_gaussian};
use solve::{PIECE, conjugate_gradients};
pub(crate) use solve::{iterate, one_hot, to_distributions};

/// How much an edge of the graph counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeWeight {
    /// All edges 1.
    One,
    /// exp(-d^2 / (sigma_i sigma_j)), sigma_i the distance of i to its k-th neighbour (Zelnik-Manor and
    /// Perona 2004): adapts to the local density, so that no width must be chosen.
    LocalGaussian,
}

/// A graph in compressed rows: the edges of i are `neighbours[offsets[i]..offsets[i + 1]]`, ascending, none
/// of them to i itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    offsets: Vec<usize>, // [n + 1]
    neighbours: Vec<u32>,
    weights: Vec<f64>,
}

impl Graph {
    /// Joins i and j if one is among the `k` nearest neighbours of the other, x `[n, dim]`.
    pub fn symmetric_knn(x: ArrayView2<f64>, k: usize, weight: EdgeWeight) -> Self {
        let near = Neighbours::of_rows(x, k);
        Self::symmetric(&near, weight, &near.local_scales())
    }

    /// Joins i and j if one is a neighbour of the other, with the scale of distances around each row.
    pub(crate) fn symmetric(near: &Neighbours, weight: EdgeWeight, sigma: &[f64]) -> Self {
        let (starts, arrows) = near.reversed();
        let mut graph = Self::empty();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for i in 0..near.n() {
            row.clear();
            row.extend(near.of(i).map(|(j, squared)| (j as u32, squared)));
            row.extend(&arrows[starts[i]..starts[i + 1]]);
            row.sort_unstable_by_key(|&(j, _)| j);
            row.dedup_by_key(|&mut (j, _)| j);
            graph.push(row.iter().map(|&(j, squared)| match weight {
                EdgeWeight::One => (j, 1.),
                EdgeWeight::LocalGaussian => (j, local_gaussian(squared, sigma[i], sigma[j as usize])),
            }));
        }
        graph
    }

    /// Arrows of weight 1 from each row to those of its `k` nearest rows, itself counted, that are others.
    pub(crate) fn directed_knn(x: ArrayView2<f64>, k: usize) -> Self {
        let (index, _) = knn(x, x, k);
        let mut graph = Self::empty();
        for (i, nearest) in index.rows().into_iter().enumerate() {
            let mut row: Vec<u32> = nearest.iter().filter(|&&j| j != i).map(|&j| j as u32).collect();
            row.sort_unstable();
            graph.push(row.into_iter().map(|j| (j, 1.)));
        }
        graph
    }

    fn empty() -> Self {
        Self { offsets: vec![0], neighbours: Vec::new(), weights: Vec::new() }
    }

    /// Adds a vertex.
    fn push(&mut self, edges: impl Iterator<Item = (u32, f64)>) {
        for (j, weight) in edges {
            self.neighbours.push(j);
            self.weights.push(weight);
        }
        self.offsets.push(self.neighbours.len());
    }

    /// Number of vertices.
    pub fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbours of vertex i, ascending, with their weights.
    pub fn edges(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.offsets[i]..self.offsets[i + 1];
        self.neighbours[row.clone()].iter().map(|&j| j as usize).zip(self.weights[row].iter().copied())
    }

    /// S = D^-1/2 W D^-1/2, with D the weight that arrives at a vertex, 1 where none does. The eigenvalues lie
    /// in the unit circle, since W D^-1 spreads each vertex's one unit over others.
    pub(crate) fn normalised(mut self) -> Self {
        let mut degree = vec![0.; self.n()];
        for (&j, weight) in self.neighbours.iter().zip(&self.weights) {
            degree[j as usize] += weight;
        }
        degree.iter_mut().filter(|degree| **degree == 0.).for_each(|degree| *degree = 1.);
        for i in 0..self.n() {
            for edge in self.offsets[i]..self.offsets[i + 1] {
                self.weights[edge] /= degree[i].sqrt() * degree[self.neighbours[edge] as usize].sqrt();
            }
        }
        self
    }

    /// W v for all columns of v `[n, K]`.
    pub(crate) fn times(&self, v: &Array2<f64>) -> Array2<f64> {
        let mut out = Array2::zeros(v.dim());
        let pieces: Vec<_> = out.axis_chunks_iter_mut(Axis(0), PIECE).enumerate().collect();
        pieces.into_par_iter().for_each(|(piece, mut out)| {
            for (i, mut out) in out.rows_mut().into_iter().enumerate() {
                for (j, weight) in self.edges(piece * PIECE + i) {
                    out.scaled_add(weight, &v.row(j));
                }
            }
        });
        out
    }
}

/// p(y = k | row), `[n, n_classes]`, from the labels there are: spreading over `k` locally scaled neighbours
/// with 0 <= `alpha` < 1 (0.99 is usual). Rows that no label reaches are uniform.
pub fn label_spreading(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    n_classes: usize,
    k: usize,
    alpha: f64,
) -> Array2<f64> {
    spread(Graph::symmetric_knn(x, k, EdgeWeight::LocalGaussian), y, n_classes, alpha)
}

/// Label spreading on a given graph; see [`label_spreading`].
///
/// # Panics
/// If `alpha` is not in [0, 1) or there is not one `y` per vertex.
pub fn spread(graph: Graph, y: &[Option<usize>], n_classes: usize, alpha: f64) -> Array2<f64> {
    to_distributions(solve(graph, y, n_classes, alpha))
}

/// F `[n, n_classes]` of a symmetric graph, not yet normalised.
pub(crate) fn solve(graph: Graph, y: &[Option<usize>], n_classes: usize, alpha: f64) -> Array2<f64> {
    assert!((0. ..1.).contains(&alpha), "alpha must be in [0, 1)");
    assert_eq!(graph.n(), y.len(), "one label or None per vertex");
    let s = graph.normalised();
    let system = |v: &Array2<f64>| {
        let mut out = s.times(v);
        Zip::from(&mut out).and(v).for_each(|out, v| *out = v - alpha * *out);
        out
    };
    conjugate_gradients(system, one_hot(y, n_classes) * (1. - alpha)).mapv_into(|f| f.max(0.))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use semisup::{Toy, metrics};

    #[test]
    fn graph_is_symmetric_and_local() {
        let x = Toy::Pinwheel.sample(300, &mut semisup::rng(1));
        let graph = Graph::symmetric_knn(x.x(), 7, EdgeWeight::LocalGaussian);
        for i in 0..graph.n() {
            assert!(graph.edges(i).count() >= 7);
            for (j, w) in graph.edges(i) {
                assert!(i != j && w > 0. && w <= 1.);
                assert!(graph.edges(j).any(|back| back == (i, w)), "{i} - {j}");
            }
        }
    }

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
