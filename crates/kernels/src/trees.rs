//! Decision trees on many rows: for each row the sum, over all trees, of the values of the leaf that it falls into.
//!
//! A node sends a row with x_j <= t left. Down a tree node by node, each load waits for the one before. Here a tree is cut
//! into blocks of at most 64 exits, which are leaves or lead to another block, and a row meets all nodes of a block in any
//! order (QuickScorer, Lucchese et al. 2015):
//!
//! ```text
//! open = all exits;   for every node with not x_j <= t:  open &= !(exits below its left child);   exit = lowest bit of open
//! ```
//!
//! Sixteen rows do that at once, without a branch. Then rows are sorted by exit, so that sixteen rows of one block are
//! together again. Every row's sum is taken in the order of the trees and in double precision, so that its bits depend
//! neither on the rows beside it nor on the instruction set.

mod cut;
mod route;

use cut::Cut;
use route::Rows;

use crate::simd::dispatch;

/// Exits of a block at most: the bits of two words.
const EXITS: usize = 64;

/// Stands in place of a column in a leaf.
const LEAF: u32 = u32::MAX;

/// Where a row goes on: the number of a leaf, or that of a block with the highest bit set.
#[derive(Clone, Copy, Debug)]
struct Exit(u32);

impl Exit {
    const BLOCK: u32 = 1 << 31;

    fn leaf(number: u32) -> Self {
        assert!(number < Self::BLOCK, "that many leaves have no numbers");
        Self(number)
    }

    fn block(number: usize) -> Self {
        assert!(number < Self::BLOCK as usize, "that many blocks have no numbers");
        Self(number as u32 | Self::BLOCK)
    }

    /// The block that it leads to.
    #[inline(always)]
    fn to_block(self, trees: &Trees) -> Option<&Block> {
        (self.0 >= Self::BLOCK).then(|| &trees.blocks[(self.0 & !Self::BLOCK) as usize])
    }
}

/// A node as its block asks it.
#[derive(Clone, Copy, Debug)]
struct Test {
    threshold: f32,
    /// The exits, of 32, that are not below its left child.
    kept: u32,
    /// Its column, and in the lowest byte the place of that among those that the block reads.
    place: u32,
}

/// Columns at most, as 24 bits name them.
const COLUMNS: usize = 1 << 24;

impl Test {
    #[inline(always)]
    fn column(&self) -> usize {
        (self.place >> 8) as usize
    }

    #[inline(always)]
    fn lane(&self) -> usize {
        (self.place & 255) as usize
    }
}

/// A part of a tree: all numbers are places in the vectors of [`Trees`].
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The tests that close exits of the first word, and of the second from `split` on.
    tests: [u32; 2],
    split: u32,
    /// Groups of four columns that it reads.
    fours: [u32; 2],
    exits: [u32; 2],
    /// Whether all exits are leaves.
    last: bool,
}

/// Trees, and the values of their leaves.
///
/// ```
/// use flowgmm_kernels::Trees;
/// // x_1 <= 0.5 ? leaf 0 : leaf 1, in preorder; u32::MAX stands for the column of a leaf.
/// let mut trees = Trees::new(2, 1, &[10.0, 20.0]);
/// trees.push(&[1, u32::MAX, u32::MAX], &[0.5, 0.0, 0.0], &[2, 0, 1]);
/// assert_eq!(trees.sums(&[9.0, 0.5, 9.0, 0.6]), [10.0, 20.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Trees {
    dim: usize,
    width: usize,
    values: Vec<f32>, // [leaves, stride]
    roots: Vec<Exit>,
    blocks: Vec<Block>,
    tests: Vec<Test>,
    fours: Vec<u32>,
    exits: Vec<Exit>,
}

impl Trees {
    /// No trees, of rows `[dim]`; leaf i has `width` values from `values[i * width]`.
    ///
    /// # Panics
    /// Unless `dim` and `width` are positive, `dim` is at most 2^24, and `width` divides the numbers that there are.
    pub fn new(dim: usize, width: usize, values: &[f32]) -> Self {
        assert!((1..=COLUMNS).contains(&dim), "columns of trees, got {dim}");
        assert!(width > 0 && values.len().is_multiple_of(width), "the shape of leaves' values");
        let stride = stride(width);
        let mut padded = vec![0.0; values.len() / width * stride];
        for (to, from) in padded.chunks_exact_mut(stride).zip(values.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
        }
        let (roots, blocks, tests, fours, exits) = Default::default();
        Self { dim, width, values: padded, roots, blocks, tests, fours, exits }
    }

    /// Adds a tree of nodes in preorder: an inner node asks column `feature`, its left child is the node after it, and its
    /// right child node `next`; a leaf has the column `u32::MAX`, and its values' number in `next`.
    ///
    /// # Panics
    /// If a column, a child or a leaf is not there.
    pub fn push(&mut self, feature: &[u32], threshold: &[f32], next: &[u32]) {
        let cut = Cut::new(feature, threshold, next, self.dim, self.values.len() / stride(self.width));
        let root = cut.blocks(self);
        self.roots.push(root);
    }

    /// The sums of rows x `[n, dim]`, `[n, width]`.
    ///
    /// # Panics
    /// If x is no whole number of rows.
    pub fn sums(&self, x: &[f32]) -> Vec<f64> {
        let rows = Rows::of(x, self.dim);
        let stride = stride(self.width);
        let mut sums = vec![0.0; (rows.n + 1) * stride];
        dispatch(route::Sums { trees: self, rows: &rows, sums: &mut sums });
        sums.truncate(rows.n * stride);
        if stride > self.width {
            sums = sums.chunks_exact(stride).flat_map(|row| &row[..self.width]).copied().collect();
        }
        sums
    }

    #[inline(always)]
    fn tests(&self, block: &Block) -> [&[Test]; 2] {
        let [start, end] = block.tests.map(|at| at as usize);
        let split = block.split as usize;
        [&self.tests[start..split], &self.tests[split..end]]
    }

    #[inline(always)]
    fn exits(&self, block: &Block) -> &[Exit] {
        &self.exits[block.exits[0] as usize..block.exits[1] as usize]
    }
}

/// The room of a leaf's values: an even number, that two may be added at once.
fn stride(width: usize) -> usize {
    width.next_multiple_of(2)
}

#[cfg(test)]
mod tests;
