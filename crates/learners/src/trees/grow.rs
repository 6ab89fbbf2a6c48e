//! One classification tree, grown until its leaves are pure or too small to be split.
//!
//! A split of a node sends rows with x_j <= t left. It is the one of largest
//!
//! ```text
//! sum_k L_k^2 / L + sum_k R_k^2 / R,    L_k, R_k the weight of class k on each side, L = sum_k L_k
//! ```
//!
//! among the candidates, which is the one of least Gini impurity. Columns are drawn without replacement until
//! `max_features` have been tried and at least one of them was not constant in the node (scikit-learn's rule).

use std::ops::Range;

use rand::Rng as _;
use semisup::Rng;

use super::Splitter;
use super::columns::{Columns, middle, sort_key};
use super::nodes::Tree;

/// Labelled rows.
pub(super) struct Rows<'a> {
    pub columns: &'a Columns,
    pub y: &'a [u32], // [n]
    pub n_classes: usize,
}

/// A tree with the class distributions of its mixed leaves: a leaf of number k < n_classes is pure, one of number
/// n_classes + i has the distribution i.
pub(super) struct Grown {
    pub tree: Tree,
    pub mixed: Vec<f32>, // [n_mixed, n_classes]
}

struct Split {
    score: f64,
    feature: u32,
    threshold: f32,
}

/// What bounds the splits of a tree.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub splitter: Splitter,
    /// Columns that are tried for a split.
    pub max_features: usize,
    /// Rows of a leaf, at least.
    pub min_leaf: usize,
}

struct Grower<'a> {
    data: &'a Rows<'a>,
    weights: &'a [f64], // [n]
    limits: Limits,
    rows: Vec<u32>,     // a node owns a range of it
    features: Vec<u32>, // [dim], in the order of the last draws
    total: Vec<f64>,    // [n_classes], of the node
    left: Vec<f64>,     // [n_classes]
    sorted: Vec<u64>,   // sort key and row
    rng: Rng,
}

/// Grows a tree from the rows whose weight is above 0. There must be one.
pub(super) fn grow(data: &Rows, weights: &[f64], limits: Limits, rng: Rng) -> Grown {
    let rows: Vec<u32> = (0..data.columns.n() as u32).filter(|&row| weights[row as usize] > 0.).collect();
    let zeros = vec![0.; data.n_classes];
    let mut grower = Grower {
        data,
        weights,
        limits,
        rows,
        features: (0..data.columns.dim() as u32).collect(),
        total: zeros.clone(),
        left: zeros,
        sorted: Vec::new(),
        rng,
    };
    grower.grow()
}

impl Grower<'_> {
    fn grow(&mut self) -> Grown {
        let (mut tree, mut mixed) = (Tree::default(), Vec::new());
        let mut pending: Vec<(Range<usize>, Option<usize>)> = vec![(0..self.rows.len(), None)];
        while let Some((node, right_of)) = pending.pop() {
            if let Some(parent) = right_of {
                tree.set_right(parent);
            }
            self.count(node.clone());
            let pure = self.pure_class();
            let splits = pure.is_none() && node.len() >= 2 * self.limits.min_leaf;
            let split = if splits { self.split(node.clone()) } else { None };
            match (pure, split) {
                (Some(k), _) => tree.leaf(k as u32, 0.),
                (None, Some(split)) => {
                    let at = tree.len();
                    tree.inner(split.feature, split.threshold);
                    let middle = self.partition(node.clone(), &split);
                    pending.push((middle..node.end, Some(at)));
                    pending.push((node.start..middle, None));
                }
                (None, None) => {
                    tree.leaf((self.data.n_classes + mixed.len() / self.data.n_classes) as u32, 0.);
                    let sum: f64 = self.total.iter().sum();
                    mixed.extend(self.total.iter().map(|weight| (weight / sum) as f32));
                }
            }
        }
        Grown { tree, mixed }
    }

    /// Sums the weights of the classes in a node.
    fn count(&mut self, node: Range<usize>) {
        self.total.fill(0.);
        for &row in &self.rows[node] {
            self.total[self.data.y[row as usize] as usize] += self.weights[row as usize];
        }
    }

    /// The only class of the node.
    fn pure_class(&self) -> Option<usize> {
        let mut present = self.total.iter().enumerate().filter(|(_, weight)| **weight > 0.);
        let first = present.next()?.0;
        present.next().is_none().then_some(first)
    }

    /// The best candidate; None if all columns are constant in the node, or leave too few rows on a side.
    fn split(&mut self, node: Range<usize>) -> Option<Split> {
        let mut best: Option<Split> = None;
        let (mut undrawn, mut tried) = (self.features.len(), 0);
        while undrawn > 0 && (tried < self.limits.max_features || best.is_none()) {
            let drawn = self.rng.random_range(0..undrawn);
            undrawn -= 1;
            tried += 1;
            self.features.swap(drawn, undrawn);
            let feature = self.features[undrawn];
            let candidate = match self.limits.splitter {
                Splitter::Random => self.random_split(node.clone(), feature),
                Splitter::Best => self.best_split(node.clone(), feature),
            };
            if let Some(candidate) = candidate
                && best.as_ref().is_none_or(|best| candidate.score > best.score)
            {
                best = Some(candidate);
            }
        }
        best
    }

    /// A threshold drawn between the least and the largest value; None if it leaves too few rows on a side.
    fn random_split(&mut self, node: Range<usize>, feature: u32) -> Option<Split> {
        let (values, rows) = (self.data.columns.column(feature as usize), &self.rows[node]);
        let (mut least, mut largest) = (f32::MAX, f32::MIN);
        for &row in rows {
            let value = values[row as usize];
            least = least.min(value);
            largest = largest.max(value);
        }
        if least == largest {
            return None;
        }
        let (from, to) = (f64::from(least), f64::from(largest));
        let drawn = (from + (to - from) * self.rng.random::<f64>()) as f32;
        let threshold = if drawn < largest { drawn } else { least };
        self.left.fill(0.);
        let mut n_left = 0;
        for &row in rows {
            let (row, k) = (row as usize, self.data.y[row as usize] as usize);
            let left = values[row] <= threshold;
            n_left += usize::from(left);
            self.left[k] += if left { self.weights[row] } else { 0. };
        }
        if n_left.min(rows.len() - n_left) < self.limits.min_leaf {
            return None;
        }
        let (mut l, mut r, mut l2, mut r2) = (0., 0., 0., 0.);
        for (left, total) in self.left.iter().zip(&self.total) {
            let right = total - left;
            l += left;
            r += right;
            l2 += left * left;
            r2 += right * right;
        }
        Some(Split { score: l2 / l + r2 / r, feature, threshold })
    }

    /// The best of all thresholds between two values.
    fn best_split(&mut self, node: Range<usize>, feature: u32) -> Option<Split> {
        let values = self.data.columns.column(feature as usize);
        self.sorted.clear();
        let keyed = self.rows[node]
            .iter()
            .map(|&row| u64::from(sort_key(values[row as usize])) << 32 | u64::from(row));
        self.sorted.extend(keyed);
        self.sorted.sort_unstable();
        self.left.fill(0.);
        let (mut l, mut l2) = (0., 0.);
        let mut r: f64 = self.total.iter().sum();
        let mut r2: f64 = self.total.iter().map(|weight| weight * weight).sum();
        let mut best: Option<Split> = None;
        let (n, least) = (self.sorted.len(), self.limits.min_leaf);
        for (before, pair) in self.sorted.windows(2).enumerate() {
            let (row, after) = (pair[0] as u32 as usize, pair[1] as u32 as usize);
            let (weight, k) = (self.weights[row], self.data.y[row] as usize);
            let right = self.total[k] - self.left[k];
            l2 += weight * (2. * self.left[k] + weight);
            r2 -= weight * (2. * right - weight);
            l += weight;
            r -= weight;
            self.left[k] += weight;
            if values[row] < values[after] && before + 1 >= least && n - before > least {
                let score = l2 / l + r2 / r;
                if best.as_ref().is_none_or(|best| score > best.score) {
                    let threshold = middle(values[row], values[after]);
                    best = Some(Split { score, feature, threshold });
                }
            }
        }
        best
    }

    /// Brings the rows that go left to the front of the node; the first of the others.
    fn partition(&mut self, node: Range<usize>, split: &Split) -> usize {
        let values = self.data.columns.column(split.feature as usize);
        let mut middle = node.start;
        for at in node {
            if values[self.rows[at] as usize] <= split.threshold {
                self.rows.swap(at, middle);
                middle += 1;
            }
        }
        middle
    }
}
