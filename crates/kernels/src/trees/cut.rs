//! Cuts a tree into blocks.

use std::collections::BinaryHeap;

use super::{Block, EXITS, Exit, LEAF, Test, Trees};

/// Leaves below an exit that are not cut any further: as many exits as one word has bits.
const FEW_LEAVES: u32 = 32;

/// A tree in preorder that was checked, and the number of leaves below each node.
pub(super) struct Cut<'a> {
    feature: &'a [u32],
    threshold: &'a [f32],
    next: &'a [u32],
    leaves: Vec<u32>,
}

impl<'a> Cut<'a> {
    /// # Panics
    /// If a column, a child or a leaf is not there.
    pub fn new(
        feature: &'a [u32],
        threshold: &'a [f32],
        next: &'a [u32],
        dim: usize,
        n_leaves: usize,
    ) -> Self {
        let n = feature.len();
        assert!(
            n > 0 && threshold.len() == n && next.len() == n,
            "as many thresholds and children as columns"
        );
        let mut leaves = vec![1; n];
        for at in (0..n).rev() {
            let to = next[at] as usize;
            if feature[at] == LEAF {
                assert!(to < n_leaves, "a leaf has values");
                continue;
            }
            assert!(
                (feature[at] as usize) < dim && to > at + 1 && to < n,
                "a node has a column and children"
            );
            leaves[at] = leaves[at + 1] + leaves[to];
        }
        Self { feature, threshold, next, leaves }
    }

    /// Adds the tree's blocks to `trees`; where its rows begin.
    pub fn blocks(&self, trees: &mut Trees) -> Exit {
        if self.feature[0] == LEAF {
            return Exit::leaf(self.next[0]);
        }
        let root = Exit::block(trees.blocks.len());
        // Blocks are numbered as they are found, and found in the order in which they are cut.
        let (mut found, mut at) = (vec![0], 0);
        let first = trees.blocks.len();
        while let Some(&node) = found.get(at) {
            let block = self.block(node, trees, first, &mut found);
            trees.blocks.push(block);
            at += 1;
        }
        root
    }

    /// The block that begins at a node; the nodes where others begin are added to `found`.
    fn block(&self, root: usize, trees: &mut Trees, first: usize, found: &mut Vec<usize>) -> Block {
        let (mut inner, exits) = self.parts(root);
        inner.sort_unstable();
        let mut fours: Vec<u32> = inner.iter().map(|&node| self.feature[node] / 4).collect();
        fours.sort_unstable();
        fours.dedup();
        let begin = [trees.tests.len(), trees.fours.len(), trees.exits.len()].map(|at| at as u32);
        self.add_tests(&inner, &exits, &fours, 0, trees);
        let split = trees.tests.len() as u32;
        self.add_tests(&inner, &exits, &fours, 1, trees);
        trees.fours.extend(fours);
        let mut last = true;
        for node in exits {
            trees.exits.push(if self.feature[node] == LEAF {
                Exit::leaf(self.next[node])
            } else {
                last = false;
                found.push(node);
                Exit::block(first + found.len() - 1)
            });
        }
        let [tests, fours, exits] = begin;
        Block {
            tests: [tests, trees.tests.len() as u32],
            split,
            fours: [fours, trees.fours.len() as u32],
            exits: [exits, trees.exits.len() as u32],
            last,
        }
    }

    /// The inner nodes and the exits of the block that begins at a node; exits from left to right. The largest parts are cut
    /// first, so that those behind the exits are alike.
    fn parts(&self, root: usize) -> (Vec<usize>, Vec<usize>) {
        let whole = self.leaves[root] as usize <= EXITS;
        let enough = if whole { 1 } else { FEW_LEAVES };
        let mut open = BinaryHeap::from([(self.leaves[root], root)]);
        let mut inner = Vec::new();
        while open.len() < EXITS && open.peek().is_some_and(|&(leaves, _)| leaves > enough) {
            let Some((_, node)) = open.pop() else { break };
            inner.push(node);
            for child in [node + 1, self.next[node] as usize] {
                open.push((self.leaves[child], child));
            }
        }
        // In preorder a node on the left comes first.
        let mut exits: Vec<usize> = open.into_iter().map(|(_, node)| node).collect();
        exits.sort_unstable();
        (inner, exits)
    }

    /// The tests of nodes that close exits of a word.
    fn add_tests(&self, inner: &[usize], exits: &[usize], fours: &[u32], word: usize, trees: &mut Trees) {
        for &node in inner {
            // Below the left child are the nodes up to the right one.
            let before = |end: usize| exits.partition_point(|&exit| exit < end);
            let left = before(node)..before(self.next[node] as usize);
            let bits = left.filter(|exit| exit / 32 == word).fold(0, |bits, exit| bits | 1 << (exit % 32));
            if bits == 0 {
                continue;
            }
            let column = self.feature[node];
            // A block has fewer than 64 nodes: its lanes are numbered in a byte.
            let lane = 4 * fours.partition_point(|&four| four < column / 4) as u32 + column % 4;
            trees.tests.push(Test {
                threshold: self.threshold[node],
                kept: !bits,
                place: column << 8 | lane,
            });
        }
    }
}
