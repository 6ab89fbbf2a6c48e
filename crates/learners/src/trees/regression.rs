//! One regression tree of limited depth, as gradient boosting grows them.
//!
//! A split is the one of largest L R (mean_L - mean_R)^2, with L and R the weights and mean_L and mean_R the mean targets
//! of its sides (Friedman 2001). It is found exactly: columns are sorted once for all trees, and a level of a tree is
//! split in one walk over every column. Columns are walked in random order, which breaks ties between them: with few rows
//! many columns part them equally well, and trees that take different ones are better together.

use rand::seq::SliceRandom as _;
use semisup::Rng;

use super::columns::{Columns, middle};
use super::nodes::Tree;

/// The rows of each column in the order of its values.
pub(super) struct Sorted {
    rows: Vec<u32>, // [dim, n]
}

impl Sorted {
    pub fn of(columns: &Columns) -> Self {
        let mut rows = Vec::with_capacity(columns.dim() * columns.n());
        for feature in 0..columns.dim() {
            let values = columns.column(feature);
            let start = rows.len();
            rows.extend(0..columns.n() as u32);
            rows[start..].sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        }
        Self { rows }
    }

    fn column(&self, feature: usize, n: usize) -> &[u32] {
        &self.rows[feature * n..(feature + 1) * n]
    }
}

/// What a tree shall predict.
pub(super) struct Targets<'a> {
    pub values: &'a [f64],  // [n]
    pub weights: &'a [f64], // [n]; rows of weight 0 are left out
}

/// The shape of a tree, before its leaves have values.
pub(super) struct Shape {
    nodes: Vec<Node>,
    /// The leaf of each row, an index of `nodes`.
    pub leaf_of: Vec<u32>, // [n]
}

#[derive(Clone, Copy, Default)]
struct Node {
    split: Option<Split>,
    children: [u32; 2],
}

#[derive(Clone, Copy)]
struct Split {
    score: f64,
    feature: u32,
    threshold: f32,
}

/// Sums over rows of a node.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: usize,
    weight: f64,
    target: f64,
    square: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, target: f64) {
        self.count += 1;
        self.weight += weight;
        self.target += weight * target;
        self.square += weight * target * target;
    }

    /// Whether the node has rows to part, and targets that differ.
    fn is_open(&self) -> bool {
        let mean = self.target / self.weight;
        self.count >= 2 && self.square / self.weight - mean * mean > f64::EPSILON
    }
}

impl Shape {
    /// Splits level by level, down to `max_depth` levels below the root.
    pub fn grow(
        columns: &Columns,
        sorted: &Sorted,
        targets: &Targets,
        max_depth: usize,
        mut rng: Rng,
    ) -> Self {
        let mut features: Vec<usize> = (0..columns.dim()).collect();
        let mut shape = Self { nodes: vec![Node::default()], leaf_of: vec![0; columns.n()] };
        let mut first = 0; // of the nodes of the level
        for _ in 0..max_depth {
            features.shuffle(&mut rng);
            let splits = shape.splits(first, &features, columns, sorted, targets);
            let end = shape.nodes.len();
            for (node, split) in (first..end).zip(splits) {
                if split.is_some() {
                    let left = shape.nodes.len() as u32;
                    shape.nodes[node] = Node { split, children: [left, left + 1] };
                    shape.nodes.extend([Node::default(), Node::default()]);
                }
            }
            if shape.nodes.len() == end {
                break;
            }
            shape.descend(columns);
            first = end;
        }
        shape
    }

    /// The best split of each node from `first` on; of equally good ones, the one whose column comes first in `features`.
    fn splits(
        &self,
        first: usize,
        features: &[usize],
        columns: &Columns,
        sorted: &Sorted,
        targets: &Targets,
    ) -> Vec<Option<Split>> {
        let mut totals = vec![Sums::default(); self.nodes.len() - first];
        let node_of = |row: usize| (self.leaf_of[row] as usize).checked_sub(first);
        for row in (0..columns.n()).filter(|&row| targets.weights[row] > 0.) {
            if let Some(node) = node_of(row) {
                totals[node].add(targets.weights[row], targets.values[row]);
            }
        }
        let mut best: Vec<Option<Split>> = vec![None; totals.len()];
        for &feature in features {
            let values = columns.column(feature);
            let mut lefts = vec![(Sums::default(), 0.); totals.len()]; // with the last value
            for &row in sorted.column(feature, columns.n()) {
                let row = row as usize;
                let weight = targets.weights[row];
                let Some(node) = node_of(row).filter(|&node| weight > 0. && totals[node].is_open()) else {
                    continue;
                };
                let (left, last) = &mut lefts[node];
                if left.count > 0 && *last < values[row] {
                    let score = gain(left, &totals[node]);
                    if best[node].is_none_or(|best| score > best.score) {
                        let threshold = middle(*last, values[row]);
                        best[node] = Some(Split { score, feature: feature as u32, threshold });
                    }
                }
                left.add(weight, targets.values[row]);
                *last = values[row];
            }
        }
        best
    }

    /// Moves each row to the child of its node.
    fn descend(&mut self, columns: &Columns) {
        for (row, node) in self.leaf_of.iter_mut().enumerate() {
            let at = &self.nodes[*node as usize];
            if let Some(split) = at.split {
                let goes_left = columns.column(split.feature as usize)[row] <= split.threshold;
                *node = at.children[usize::from(!goes_left)];
            }
        }
    }

    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The tree, with a value for each node of which those of leaves are used, `[n_nodes]`.
    pub fn with_values(&self, values: &[f32]) -> Tree {
        let mut tree = Tree::default();
        let mut pending: Vec<(u32, Option<usize>)> = vec![(0, None)];
        while let Some((node, right_of)) = pending.pop() {
            if let Some(parent) = right_of {
                tree.set_right(parent);
            }
            let Node { split, children } = self.nodes[node as usize];
            match split {
                None => tree.leaf(0, values[node as usize]),
                Some(split) => {
                    let at = tree.len();
                    tree.inner(split.feature, split.threshold);
                    pending.extend([(children[1], Some(at)), (children[0], None)]);
                }
            }
        }
        tree
    }
}

/// L R (mean_L - mean_R)^2.
fn gain(left: &Sums, total: &Sums) -> f64 {
    let (l, r) = (left.weight, total.weight - left.weight);
    let difference = left.target / l - (total.target - left.target) / r;
    l * r * difference * difference
}
