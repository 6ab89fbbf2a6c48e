//! Learners that compare rows by distance: nearest neighbours, their graph, and label spreading on it.
//!
//! | module | holds |
//! |---|---|
//! | `knn`, `cells` | exact search for the k nearest rows |
//! | `nearest` | [`NearestNeighbours`], the k-nearest-neighbours classifier |
//! | `neighbours` | the neighbours of each row, and the local scale of distances |
//! | here | [`Graph`], the sparse graph of neighbours |
//! | `solve` | the linear system of label spreading |
//! | `spreading` | [`LabelSpreading`] and [`label_spreading`] |
//! | `dense`, `rbf` | the RBF kernel between all rows, and [`RbfLabelSpreading`] with it |

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use semisup::{Stopped, Watch};

mod cells;
mod dense;
mod knn;
mod nearest;
mod neighbours;
mod rbf;
mod solve;
mod spreading;

pub use knn::{knn, knn_watched};
pub use nearest::{NearestNeighbours, NearestNeighboursModel, RowLength};
use neighbours::{Neighbours, local_gaussian};
pub use rbf::RbfLabelSpreading;
use solve::CHUNK;
pub use spreading::{
    LabelSpreading, RBF_ROWS, SpreadKernel, SpreadModel, label_spreading, spread, spread_watched,
};

/// The weights of the edges of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeWeight {
    /// All edges 1.
    One,
    /// exp(-d^2 / (sigma_i sigma_j)), sigma_i the distance of i to its k-th neighbour (Zelnik-Manor and
    /// Perona 2004): adapts to the local density, so that no width has to be chosen.
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
    /// The graph of rows x `[n, dim]` that joins i and j if one is among the `k` nearest neighbours of the other.
    pub fn symmetric_knn(x: ArrayView2<f64>, k: usize, weight: EdgeWeight) -> Self {
        Self::symmetric_knn_watched(x, k, weight, &()).expect("nobody stops it")
    }

    /// [`Graph::symmetric_knn`], watched: the fraction of the rows whose neighbours are found.
    pub fn symmetric_knn_watched(
        x: ArrayView2<f64>,
        k: usize,
        weight: EdgeWeight,
        watch: &dyn Watch,
    ) -> Result<Self, Stopped> {
        let near = Neighbours::of_rows(x, k, watch)?;
        Ok(Self::symmetric(&near, weight, &near.local_scales()))
    }

    /// Joins i and j if one is a neighbour of the other; `sigma` is the local scale of distances around each row.
    fn symmetric(near: &Neighbours, weight: EdgeWeight, sigma: &[f64]) -> Self {
        let (starts, edges) = near.reversed();
        let mut graph = Self::empty();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for i in 0..near.n() {
            row.clear();
            row.extend(near.of(i).map(|(j, squared)| (j as u32, squared)));
            row.extend(&edges[starts[i]..starts[i + 1]]);
            row.sort_unstable_by_key(|&(j, _)| j);
            row.dedup_by_key(|&mut (j, _)| j);
            graph.push(row.iter().map(|&(j, squared)| match weight {
                EdgeWeight::One => (j, 1.),
                EdgeWeight::LocalGaussian => (j, local_gaussian(squared, sigma[i], sigma[j as usize])),
            }));
        }
        graph
    }

    /// Directed edges of weight 1 from each row to its `k` nearest rows, the row itself counted but not joined.
    fn directed_knn(x: ArrayView2<f64>, k: usize, watch: &dyn Watch) -> Result<Self, Stopped> {
        let (index, _) = knn_watched(x, x, k, watch)?;
        let mut graph = Self::empty();
        for (i, nearest) in index.rows().into_iter().enumerate() {
            let mut row: Vec<u32> = nearest.iter().filter(|&&j| j != i).map(|&j| j as u32).collect();
            row.sort_unstable();
            graph.push(row.into_iter().map(|j| (j, 1.)));
        }
        Ok(graph)
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

    /// S = D^-1/2 W D^-1/2, with D the sum of the weights of incoming edges, 1 where there are none. The eigenvalues of S
    /// lie in the unit circle, since the columns of W D^-1 sum to at most 1.
    fn normalised(mut self) -> Self {
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
    fn times(&self, v: &Array2<f64>) -> Array2<f64> {
        let mut out = Array2::zeros(v.dim());
        let chunks: Vec<_> = out.axis_chunks_iter_mut(Axis(0), CHUNK).enumerate().collect();
        chunks.into_par_iter().for_each(|(chunk, mut out)| {
            for (i, mut out) in out.rows_mut().into_iter().enumerate() {
                for (j, weight) in self.edges(chunk * CHUNK + i) {
                    out.scaled_add(weight, &v.row(j));
                }
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use semisup::Toy;

    use super::*;

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
}
