//! Binary trees in flat arrays, and checks of trees from a file.
//!
//! A tree is its nodes in preorder. An inner node sends a row with x_feature <= threshold to the node after it, and
//! other rows to node `next` of its tree; a leaf holds its answer in `next` (a number) or `threshold` (a value). A node
//! takes 12 bytes. Children come after their parents, so that every descent ends.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Stands in place of a feature in a leaf.
pub(super) const LEAF: u32 = u32::MAX;

/// The nodes of one tree that is being grown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tree {
    feature: Vec<u32>,
    threshold: Vec<f32>,
    next: Vec<u32>,
}

impl Tree {
    /// The number of nodes so far, which is the index of the next one.
    pub fn len(&self) -> usize {
        self.feature.len()
    }

    /// Adds a leaf with a number and a value.
    pub fn leaf(&mut self, number: u32, value: f32) {
        self.push(LEAF, value, number);
    }

    /// Adds an inner node. Its left child is added next, its right child is named by [`Tree::set_right`] later.
    pub fn inner(&mut self, feature: u32, threshold: f32) {
        self.push(feature, threshold, 0);
    }

    /// Makes the node that is added next the right child of `parent`.
    pub fn set_right(&mut self, parent: usize) {
        self.next[parent] = self.len() as u32;
    }

    /// Raises the number of every leaf from `least` on by `offset`.
    pub fn shift_numbers(&mut self, least: u32, offset: u32) {
        for (next, feature) in self.next.iter_mut().zip(&self.feature) {
            if *feature == LEAF && *next >= least {
                *next += offset;
            }
        }
    }

    fn push(&mut self, feature: u32, threshold: f32, next: u32) {
        self.feature.push(feature);
        self.threshold.push(threshold);
        self.next.push(next);
    }
}

/// The answer of a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf {
    pub number: u32,
    pub value: f32,
}

/// The nodes of all trees of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nodes {
    /// The first node of each tree, and the number of nodes.
    pub starts: Vec<u64>, // [n_trees + 1]
    pub feature: Vec<u32>,
    pub threshold: Vec<f32>,
    pub next: Vec<u32>,
}

impl Nodes {
    /// No trees.
    pub fn new() -> Self {
        Self { starts: vec![0], feature: Vec::new(), threshold: Vec::new(), next: Vec::new() }
    }

    /// Adds a tree.
    pub fn push(&mut self, tree: Tree) {
        self.feature.extend(tree.feature);
        self.threshold.extend(tree.threshold);
        self.next.extend(tree.next);
        self.starts.push(self.feature.len() as u64);
    }

    /// Adds the first `count` trees of others, the numbers of their leaves raised by `offset` from `least` on. Gives the
    /// largest number that they had before, if it is at least `least`.
    pub fn append(&mut self, others: &Self, count: usize, least: u32, offset: u32) -> Option<u32> {
        let own = 0..others.starts[count] as usize;
        let start = self.feature.len() as u64;
        let mut largest = None;
        for (&feature, &next) in others.feature[own.clone()].iter().zip(&others.next[own.clone()]) {
            let is_raised = feature == LEAF && next >= least;
            largest = if is_raised { largest.max(Some(next)) } else { largest };
            self.next.push(if is_raised { next + offset } else { next });
        }
        self.feature.extend(&others.feature[own.clone()]);
        self.threshold.extend(&others.threshold[own]);
        self.starts.extend(others.starts[1..=count].iter().map(|end| start + end));
        largest
    }

    pub fn n_trees(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn n_nodes(&self) -> usize {
        self.feature.len()
    }

    /// The leaf of a tree that a row falls into.
    pub fn leaf(&self, tree: usize, row: &[f32]) -> Leaf {
        let own = self.starts[tree] as usize..self.starts[tree + 1] as usize;
        let (feature, threshold) = (&self.feature[own.clone()], &self.threshold[own.clone()]);
        let next = &self.next[own];
        let mut at = 0;
        while feature[at] != LEAF {
            // Both children are at hand before the comparison, which is a coin toss that no branch predictor wins.
            let children = [next[at] as usize, at + 1];
            at = children[usize::from(row[feature[at] as usize] <= threshold[at])];
        }
        Leaf { number: next[at], value: threshold[at] }
    }

    /// Checks that every descent over `dim` columns stays inside its tree and ends, and that `is_valid` accepts every
    /// leaf.
    pub fn validate(&self, dim: usize, is_valid: impl Fn(Leaf) -> bool) -> Result<()> {
        let n = self.feature.len();
        ensure(self.threshold.len() == n && self.next.len() == n, || {
            format!("{n} features, {} thresholds, {} children", self.threshold.len(), self.next.len())
        })?;
        let ends = (self.starts.first(), self.starts.last());
        ensure(ends == (Some(&0), Some(&(n as u64))), || format!("the trees do not cover the {n} nodes"))?;
        ensure(self.starts.is_sorted_by(|a, b| a < b), || "a tree has no nodes".into())?;
        for tree in self.starts.windows(2) {
            self.validate_tree(tree[0] as usize, tree[1] as usize, dim, &is_valid)?;
        }
        Ok(())
    }

    fn validate_tree(
        &self,
        start: usize,
        end: usize,
        dim: usize,
        is_valid: impl Fn(Leaf) -> bool,
    ) -> Result<()> {
        for at in start..end {
            let (feature, threshold, next) = (self.feature[at], self.threshold[at], self.next[at]);
            ensure(threshold.is_finite(), || format!("node {at} has the threshold {threshold}"))?;
            if feature == LEAF {
                ensure(is_valid(Leaf { number: next, value: threshold }), || {
                    format!("leaf {at} has no valid answer")
                })?;
                continue;
            }
            ensure((feature as usize) < dim, || format!("node {at} asks for column {feature} of {dim}"))?;
            let right = start + next as usize;
            ensure(at + 1 < end && right > at + 1 && right < end, || {
                format!("node {at} has a child outside of its tree or before itself")
            })?;
        }
        Ok(())
    }
}

/// The check of a stored tree.
pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Damaged { what: "trees", why: why() }) }
}
