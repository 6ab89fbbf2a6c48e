//! The nearest other rows of each row, and the local scale of distances around it.

use ndarray::{Array2, ArrayView2};

use semisup::{Stopped, Watch};

use super::knn::knn_watched;

/// The k nearest other rows of each of n rows, or fewer if there are not so many.
pub(super) struct Neighbours {
    index: Array2<usize>, // [n, k + 1], one of them the row itself unless k + 1 others coincide with it
    squared: Array2<f64>,
    k: usize,
}

impl Neighbours {
    pub fn of_rows(x: ArrayView2<f64>, k: usize, watch: &dyn Watch) -> Result<Self, Stopped> {
        let (index, squared) = knn_watched(x, x, k + 1, watch)?;
        Ok(Self { index, squared, k })
    }

    pub fn n(&self) -> usize {
        self.index.nrows()
    }

    /// The neighbours of row i with their squared distances, nearest first.
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let all = self.index.row(i).into_iter().zip(self.squared.row(i));
        all.map(|(&j, &squared)| (j, squared)).filter(move |&(j, _)| j != i).take(self.k)
    }

    /// The rows that have row j among their neighbours, ascending, in compressed rows: offsets `[n + 1]`, and rows with
    /// squared distances.
    pub fn reversed(&self) -> (Vec<usize>, Vec<(u32, f64)>) {
        let mut offsets = vec![0; self.n() + 1];
        let all = || (0..self.n()).flat_map(|i| self.of(i).map(move |(j, squared)| (i, j, squared)));
        all().for_each(|(_, j, _)| offsets[j + 1] += 1);
        for j in 0..self.n() {
            offsets[j + 1] += offsets[j];
        }
        let mut next = offsets.clone();
        let mut edges = vec![(0, 0.); offsets[self.n()]];
        for (i, j, squared) in all() {
            edges[next[j]] = (i as u32, squared);
            next[j] += 1;
        }
        (offsets, edges)
    }

    /// The distance of each row to its k-th neighbour; where that is 0 (duplicates), the smallest positive one of all rows.
    pub fn local_scales(&self) -> Vec<f64> {
        let farthest = |i: usize| self.of(i).last().map_or(0., |(_, squared)| squared.sqrt());
        let mut sigma: Vec<f64> = (0..self.n()).map(farthest).collect();
        let least = least_positive(&sigma);
        sigma.iter_mut().filter(|sigma| **sigma == 0.).for_each(|sigma| *sigma = least);
        sigma
    }
}

/// The smallest positive number, or infinity.
pub(super) fn least_positive(sigma: &[f64]) -> f64 {
    sigma.iter().copied().filter(|&sigma| sigma > 0.).fold(f64::INFINITY, f64::min)
}

/// exp(-d^2 / (sigma_i sigma_j)), 1 for rows that coincide whatever the scales.
pub(super) fn local_gaussian(squared: f64, sigma_i: f64, sigma_j: f64) -> f64 {
    if squared == 0. { 1. } else { (-squared / (sigma_i * sigma_j)).exp() }
}
