//! Many rows through a tree at once.
//!
//! One row after the other is a chain of loads and comparisons, each waiting for the one before. Here all rows go down
//! together: at a node they are parted into those of its left and of its right child, one column at a time, as when the
//! tree was grown. That waits for nothing, and meets every row once on each level of its own path.

use super::nodes::{LEAF, Nodes};

/// Rows of one node that are too few to be parted: each goes its own way.
const FEW: usize = 3;

/// Rows by columns, and the order in which they are parted.
pub(super) struct Descent {
    n: usize,
    columns: Vec<f32>, // [dim, n]
    order: Vec<u32>,   // rows, those of one node side by side
    waiting: Vec<Part>,
}

/// The rows `order[start..end]`, which have come to a node.
#[derive(Clone, Copy)]
struct Part {
    node: usize,
    start: usize,
    end: usize,
}

impl Descent {
    /// Of `n` rows of `dim` columns, `value(row, column)`.
    pub fn new(n: usize, dim: usize, value: impl Fn(usize, usize) -> f32) -> Self {
        let columns = (0..dim).flat_map(|column| (0..n).map(move |row| (row, column)));
        let columns = columns.map(|(row, column)| value(row, column)).collect();
        Self { n, columns, order: vec![0; n], waiting: Vec::new() }
    }

    /// Tells `arrived` the number of each leaf and the rows that fall into it.
    pub fn leaves(&mut self, nodes: &Nodes, tree: usize, mut arrived: impl FnMut(u32, &[u32])) {
        let own = nodes.starts[tree] as usize..nodes.starts[tree + 1] as usize;
        let (features, thresholds) = (&nodes.feature[own.clone()], &nodes.threshold[own.clone()]);
        let next = &nodes.next[own];
        self.order.iter_mut().zip(0..).for_each(|(order, row)| *order = row);
        self.waiting.push(Part { node: 0, start: 0, end: self.n });
        while let Some(Part { mut node, start, mut end }) = self.waiting.pop() {
            while features[node] != LEAF && end - start > FEW {
                let column = &self.columns[features[node] as usize * self.n..][..self.n];
                let rows = &mut self.order[start..end];
                let n_left = part(rows, column, thresholds[node]);
                let right = Part { node: next[node] as usize, start: start + n_left, end };
                match n_left {
                    0 => node = right.node,
                    _ => {
                        node += 1;
                        end = right.start;
                        if right.start < right.end {
                            self.waiting.push(right);
                        }
                    }
                }
            }
            if features[node] == LEAF {
                arrived(next[node], &self.order[start..end]);
                continue;
            }
            for row in &self.order[start..end] {
                let mut at = node;
                while features[at] != LEAF {
                    let value = self.columns[features[at] as usize * self.n + *row as usize];
                    at = if value <= thresholds[at] { at + 1 } else { next[at] as usize };
                }
                arrived(next[at], std::slice::from_ref(row));
            }
        }
    }
}

/// Puts the rows whose value is at most `threshold` first, and returns how many they are.
#[inline]
fn part(rows: &mut [u32], column: &[f32], threshold: f32) -> usize {
    let mut n_left = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        // Exchanged in any case, and counted if it was right: a coin toss that no branch predictor wins.
        rows.swap(at, n_left);
        n_left += usize::from(column[row as usize] <= threshold);
    }
    n_left
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{Forest, TreeSettings};

    /// All rows at once come to the same leaves as one after the other, and each of them once.
    #[test]
    fn rows_together_go_where_each_goes_alone() {
        let x = Array2::from_shape_fn((300, 5), |(i, j)| ((i * 31 + j * 17 + i * i * (j + 1)) % 23) as f64);
        let y: Vec<usize> = (0..300).map(|i| (i * i / 7) % 3).collect();
        let forest = Forest::fit(x.view(), &y, 3, None, &TreeSettings::extra_trees(4), 1).unwrap();
        for n in [0, 1, FEW, FEW + 1, 50, 300] {
            let mut descent = Descent::new(n, 5, |row, column| x[[row, column]] as f32);
            for tree in 0..forest.n_trees() {
                let mut leaves = vec![None; n];
                descent.leaves(&forest.nodes, tree, |leaf, rows| {
                    for &row in rows {
                        assert_eq!(leaves[row as usize].replace(leaf), None, "row {row} came twice");
                    }
                });
                for (row, leaf) in leaves.into_iter().enumerate() {
                    let values: Vec<f32> = x.row(row).iter().map(|&v| v as f32).collect();
                    assert_eq!(leaf, Some(forest.nodes.leaf(tree, &values).number), "row {row} of {n}");
                }
            }
        }
    }
}
