//! Nearest neighbours, their graph, and label spreading on it (Zhou et al. 2004): the classic answer to
//! semi-supervised learning, as a baseline and as a source of pseudo-labels.
//!
//! With W the symmetric kNN graph, S = D^-1/2 W D^-1/2 and Y the one-hot labels (0 where unlabelled), `[n,
//! K]`: (I - alpha S) F = (1 - alpha) Y. The matrix is positive definite, so conjugate gradients solve it.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;

mod cells;
mod knn;

pub use knn::knn;

/// How much an edge of the graph counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeWeight {
    /// All edges 1.
    One,
    /// exp(-d^2 / (sigma_i sigma_j)), sigma_i the distance of i to its k-th neighbour (Zelnik-Manor and
    /// Perona 2004): adapts to the local density, so that no width must be chosen.
    LocalGaussian,
}

/// A symmetric graph in compressed rows: the edges of i are `neighbours[offsets[i]..offsets[i + 1]]`,
/// ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    offsets: Vec<usize>, // [n + 1]
    neighbours: Vec<usize>,
    weights: Vec<f64>,
}

impl Graph {
    /// Joins i and j if one is among the `k` nearest neighbours of the other, x `[n, dim]`.
    pub fn symmetric_knn(x: ArrayView2<f64>, k: usize, weight: EdgeWeight) -> Self {
        let directed = neighbours_of_rows(x, k);
        let sigma = local_scales(&directed);
        let mut edges: Vec<Vec<(usize, f64)>> = directed.clone();
        for (i, neighbours) in directed.iter().enumerate() {
            for &(j, squared) in neighbours {
                edges[j].push((i, squared));
            }
        }
        let mut graph = Graph { offsets: vec![0], neighbours: Vec::new(), weights: Vec::new() };
        for (i, mut row) in edges.into_iter().enumerate() {
            row.sort_unstable_by_key(|&(j, _)| j);
            row.dedup_by_key(|&mut (j, _)| j);
            for (j, squared) in row {
                graph.neighbours.push(j);
                graph.weights.push(match weight {
                    EdgeWeight::One => 1.,
                    EdgeWeight::LocalGaussian if squared == 0. => 1.,
                    EdgeWeight::LocalGaussian => (-squared / (sigma[i] * sigma[j])).exp(),
                });
            }
            graph.offsets.push(graph.neighbours.len());
        }
        graph
    }

    /// Number of vertices.
    pub fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbours of vertex i, ascending, with their weights.
    pub fn edges(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.offsets[i]..self.offsets[i + 1];
        self.neighbours[row.clone()].iter().copied().zip(self.weights[row].iter().copied())
    }

    /// S = D^-1/2 W D^-1/2, the eigenvalues of which lie in [-1, 1]. A vertex without weight keeps a zero
    /// row.
    fn normalised(mut self) -> Self {
        let degree: Vec<f64> = (0..self.n()).map(|i| self.edges(i).map(|(_, w)| w).sum()).collect();
        for i in 0..self.n() {
            for edge in self.offsets[i]..self.offsets[i + 1] {
                let scale = (degree[i] * degree[self.neighbours[edge]]).sqrt();
                self.weights[edge] = if scale > 0. { self.weights[edge] / scale } else { 0. };
            }
        }
        self
    }

    fn times(&self, v: &Array1<f64>) -> Array1<f64> {
        (0..self.n()).map(|i| self.edges(i).map(|(j, w)| w * v[j]).sum()).collect()
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
    assert!((0. ..1.).contains(&alpha), "alpha must be in [0, 1)");
    assert_eq!(graph.n(), y.len(), "one label or None per vertex");
    let s = graph.normalised();
    let columns: Vec<Array1<f64>> = (0..n_classes)
        .into_par_iter()
        .map(|k| {
            let seeds = y.iter().map(|y| if *y == Some(k) { 1. - alpha } else { 0. }).collect();
            conjugate_gradients(|v| v - alpha * s.times(v), seeds)
        })
        .collect();
    let mut f = Array2::from_shape_fn((y.len(), n_classes), |(i, k)| columns[k][i].max(0.));
    for mut row in f.rows_mut() {
        let mass = row.sum();
        row.mapv_inplace(|f| if mass > 0. { f / mass } else { 1. / n_classes as f64 });
    }
    f
}

/// Solves A x = b for positive definite A to a residual of 1e-10 |b|: some rows get a share of 1e-6 only and
/// still want their ratio right.
fn conjugate_gradients(a: impl Fn(&Array1<f64>) -> Array1<f64>, b: Array1<f64>) -> Array1<f64> {
    const TOLERANCE: f64 = 1e-10;
    const MAX_STEPS: usize = 10_000; // alpha = 0.99 takes about a hundred
    let mut x = Array1::zeros(b.len());
    let mut residual = b;
    let mut direction = residual.clone();
    let mut squared = residual.dot(&residual);
    let enough = TOLERANCE * TOLERANCE * squared;
    for _ in 0..MAX_STEPS {
        if squared <= enough {
            break;
        }
        let image = a(&direction);
        let step = squared / direction.dot(&image);
        x.scaled_add(step, &direction);
        residual.scaled_add(-step, &image);
        let before = std::mem::replace(&mut squared, residual.dot(&residual));
        direction = &residual + (squared / before) * &direction;
    }
    x
}

/// The k nearest other rows of each row, with squared distances.
fn neighbours_of_rows(x: ArrayView2<f64>, k: usize) -> Vec<Vec<(usize, f64)>> {
    let (index, squared) = knn(x, x, k + 1);
    let rows = index.rows().into_iter().zip(squared.rows()).enumerate();
    // A row need not be its own first neighbour: others may coincide with it.
    rows.map(|(i, (index, squared))| {
        let others = index.iter().copied().zip(squared.iter().copied()).filter(|&(j, _)| j != i);
        others.take(k).collect()
    })
    .collect()
}

/// Distance to the last neighbour; where that is 0 (duplicates), the smallest positive one of all rows.
fn local_scales(neighbours: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let sigma: Vec<f64> =
        neighbours.iter().map(|row| row.last().map_or(0., |(_, squared)| squared.sqrt())).collect();
    let least = sigma.iter().copied().filter(|&sigma| sigma > 0.).fold(f64::INFINITY, f64::min);
    sigma.into_iter().map(|sigma| if sigma > 0. { sigma } else { least }).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::{Toy, metrics};

    #[test]
    fn graph_is_symmetric_and_local() {
        let x = Toy::Pinwheel.sample(300, &mut crate::rng(1));
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
            let mut rng = crate::rng(seed);
            let full = Toy::Moons.sample(1000, &mut rng);
            let data = full.reveal(&crate::split::stratified(full.y(), 2, 5, &mut rng)).unwrap();
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
