//! Brings rows to their leaves, sixteen at a time.

use std::ops::Range;

use super::{Block, EXITS, Exit, Test, Trees, stride};
use crate::simd::{Kernel, Lane, Lanes, ZERO};
use crate::transpose::transpose;

/// Rows that go through the first block together: more would not fit the narrower register file.
const PANELS: usize = 2;
/// Bytes that a cache loads at once.
const LINE: usize = 64;
/// So few rows of a block go through it one by one.
const FEW: usize = 3;

/// Rows twice: one after the other, with one of zeros behind them that fills up sixteen; and in panels, sixteen by columns.
pub(super) struct Rows {
    pub n: usize,
    stride: usize,
    by_row: Vec<f32>,  // [n + 1, stride]
    panels: Vec<Lane>, // [n / 16, dim]
}

impl Rows {
    /// Of x `[n, dim]`.
    pub fn of(x: &[f32], dim: usize) -> Self {
        assert!(x.len().is_multiple_of(dim), "whole rows");
        let (n, stride) = (x.len() / dim, dim.next_multiple_of(4));
        let mut by_row = vec![0.0; (n + 1) * stride];
        for (to, from) in by_row.chunks_exact_mut(stride).zip(x.chunks_exact(dim)) {
            to[..dim].copy_from_slice(from);
        }
        let count = if n > FEW { n.div_ceil(16).next_multiple_of(PANELS) } else { 0 };
        let mut panels = vec![ZERO; count * dim];
        for (panel, from) in panels.chunks_exact_mut(dim).zip(x.chunks(16 * dim)) {
            transpose(from, dim, from.len() / dim, dim, panel, 16);
        }
        Self { n, stride, by_row, panels }
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.by_row[row * self.stride..][..self.stride]
    }
}

/// Adds to `sums` `[n + 1, stride]`; the last row is nobody's.
pub(super) struct Sums<'a> {
    pub trees: &'a Trees,
    pub rows: &'a Rows,
    pub sums: &'a mut [f64],
}

/// Rows that have come to an exit: `order[start..start + n]`, then filled up to sixteen.
struct Part {
    exit: Exit,
    start: usize,
    n: usize,
}

/// What is needed on the way.
#[derive(Default)]
struct Scratch {
    all: Vec<u32>,    // the rows in order
    order: Vec<u32>,  // rows by part
    parted: Vec<u32>, // the rows of the part that is sorted
    exits: Vec<u8>,   // of these
    waiting: Vec<Part>,
    panel: Vec<Lane>, // [columns of a block]
}

impl Kernel for Sums<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let n = self.rows.n;
        let mut scratch = Scratch { all: (0..n as u32).collect(), ..Scratch::default() };
        for &root in &self.trees.roots {
            match root.to_block(self.trees) {
                Some(block) if n > FEW => {
                    self.first_exits::<L>(block, &mut scratch.exits);
                    scratch.order.clear();
                    scratch.parted.clone_from(&scratch.all);
                    scratch.sort(block, self.trees, n as u32);
                }
                _ => (0..n).for_each(|row| self.alone(root, row)),
            }
            while let Some(part) = scratch.waiting.pop() {
                if let Some(next) = scratch.waiting.last().and_then(|next| next.exit.to_block(self.trees)) {
                    self.fetch::<L>(next);
                }
                self.go_on::<L>(part, &mut scratch);
            }
        }
    }
}

impl Sums<'_> {
    /// Asks for what a block is made of: all trees together are larger than a second-level cache.
    #[inline(always)]
    fn fetch<L: Lanes>(&self, block: &Block) {
        let [first, second] = self.trees.tests(block);
        first.iter().chain(second).step_by(LINE / size_of::<Test>()).for_each(|test| {
            L::prefetch(std::ptr::from_ref(test).cast());
        });
        self.trees.exits(block).iter().step_by(LINE / size_of::<Exit>()).for_each(|exit| {
            L::prefetch(std::ptr::from_ref(exit).cast());
        });
    }

    /// The exits of all rows from a tree's first block.
    #[inline(always)]
    fn first_exits<L: Lanes>(&self, block: &Block, exits: &mut Vec<u8>) {
        let dim = self.trees.dim;
        exits.resize(self.rows.panels.len() / dim * 16, 0);
        let panels = self.rows.panels.chunks_exact(PANELS * dim);
        for (panels, exits) in panels.zip(exits.chunks_exact_mut(PANELS * 16)) {
            let panels: [&[Lane]; PANELS] = std::array::from_fn(|i| &panels[i * dim..][..dim]);
            let [first, second] = self.trees.tests(block);
            // SAFETY: a panel has a lane for each column, and tests are made of columns below `dim`.
            let words =
                [first, second].map(|tests| unsafe { open::<L, PANELS>(tests, panels, Test::column) });
            for (panel, exits) in exits.chunks_exact_mut(16).enumerate() {
                let lowest = lowest::<L>([words[0][panel], words[1][panel]]);
                exits.iter_mut().zip(lowest).for_each(|(to, bit)| *to = bit as u8);
            }
        }
    }

    /// Brings a part to its leaves, or sorts it by the exits of its block.
    #[inline(always)]
    fn go_on<L: Lanes>(&mut self, Part { exit, start, n }: Part, scratch: &mut Scratch) {
        let rows = start..start + n;
        match exit.to_block(self.trees) {
            Some(block) if n > FEW && block.last => self.leaves::<L>(block, rows, scratch),
            Some(block) if n > FEW => {
                self.exits::<L>(block, rows, scratch);
                scratch.order.truncate(start);
                return scratch.sort(block, self.trees, self.rows.n as u32);
            }
            _ => scratch.order[rows].iter().for_each(|&row| self.alone(exit, row as usize)),
        }
        scratch.order.truncate(start);
    }

    /// Rows of a block whose exits are leaves.
    #[inline(always)]
    fn leaves<L: Lanes>(&mut self, block: &Block, rows: Range<usize>, scratch: &mut Scratch) {
        let exits = self.trees.exits(block);
        for at in rows.step_by(16) {
            let rows: &[u32; 16] = scratch.order[at..at + 16].try_into().expect("sixteen");
            let leaves = self.sixteen::<L>(block, rows, &mut scratch.panel).map(|bit| exits[bit as usize].0);
            rows.iter().zip(leaves).for_each(|(&row, leaf)| self.add(row, leaf));
        }
    }

    /// The exits of rows of another block, into the scratch.
    #[inline(always)]
    fn exits<L: Lanes>(&mut self, block: &Block, rows: Range<usize>, scratch: &mut Scratch) {
        scratch.parted.clear();
        scratch.parted.extend_from_slice(&scratch.order[rows.clone()]);
        scratch.exits.clear();
        for at in rows.step_by(16) {
            let rows: &[u32; 16] = scratch.order[at..at + 16].try_into().expect("sixteen");
            let bits = self.sixteen::<L>(block, rows, &mut scratch.panel);
            scratch.exits.extend(bits.map(|bit| bit as u8));
        }
    }

    /// The exits of sixteen rows, anywhere.
    #[inline(always)]
    fn sixteen<L: Lanes>(&self, block: &Block, rows: &[u32; 16], panel: &mut Vec<Lane>) -> [u32; 16] {
        let fours = &self.trees.fours[block.fours[0] as usize..block.fours[1] as usize];
        panel.resize(panel.len().max(4 * fours.len()), ZERO);
        let starts = rows.map(|row| self.rows.row(row as usize).as_ptr());
        for (to, &four) in panel.chunks_exact_mut(4).zip(fours) {
            let to = to.try_into().expect("four lanes");
            // SAFETY: `row` gave whole rows, which are as long as the columns rounded up to a multiple of four, and `four` is
            // the number of a group of four columns among them.
            unsafe { L::four_columns(&starts.map(|start| start.add(4 * four as usize)), to) };
        }
        let [first, second] = self.trees.tests(block);
        // SAFETY: the panel has four lanes for each of the block's groups of columns, whose lanes its tests name.
        let open = |tests| unsafe { open::<L, 1>(tests, [panel.as_slice()], Test::lane) }[0];
        match second.is_empty() {
            true => bits::<L>(open(first)).map(u32::trailing_zeros),
            false => lowest::<L>([open(first), open(second)]),
        }
    }

    /// Brings a row to its leaf without others.
    #[inline(always)]
    fn alone(&mut self, mut exit: Exit, row: usize) {
        loop {
            let Some(block) = exit.to_block(self.trees) else { return self.add(row as u32, exit.0) };
            let x = self.rows.row(row);
            let words = self.trees.tests(block).map(|tests| {
                tests.iter().fold(u32::MAX, |open, test| {
                    let below = x[test.column()] <= test.threshold;
                    open & std::hint::select_unpredictable(below, u32::MAX, test.kept)
                })
            });
            exit = self.trees.exits(block)[lowest_of(words) as usize];
        }
    }

    /// Adds the values of a leaf to a row's.
    #[inline(always)]
    fn add(&mut self, row: u32, leaf: u32) {
        match stride(self.trees.width) {
            2 => self.add_some::<2>(row, leaf),
            4 => self.add_some::<4>(row, leaf),
            stride => {
                let values = &self.trees.values[leaf as usize * stride..][..stride];
                let to = &mut self.sums[row as usize * stride..][..stride];
                to.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
            }
        }
    }

    #[inline(always)]
    fn add_some<const STRIDE: usize>(&mut self, row: u32, leaf: u32) {
        let to = &mut self.sums.as_chunks_mut::<STRIDE>().0[row as usize];
        let from = self.trees.values.as_chunks::<STRIDE>().0[leaf as usize];
        *to = std::array::from_fn(|k| to[k] + f64::from(from[k]));
    }
}

impl Scratch {
    /// Lets rows wait by their exits from a block: those of an exit side by side, filled up by `nobody`.
    fn sort(&mut self, block: &Block, trees: &Trees, nobody: u32) {
        let mut ends = [0_usize; EXITS];
        let exits = &self.exits[..self.parted.len()];
        exits.iter().for_each(|&exit| ends[usize::from(exit) % EXITS] += 1);
        let mut start = self.order.len();
        // The last to wait is the first to go on: blocks are met in the order of their memory.
        for (bit, end) in ends.iter_mut().enumerate().rev() {
            let n = *end;
            *end = start;
            if n > 0 {
                self.waiting.push(Part { exit: trees.exits(block)[bit], start, n });
                start += n.next_multiple_of(16);
            }
        }
        self.order.resize(start, nobody);
        for (&row, &exit) in self.parted.iter().zip(exits) {
            let end = &mut ends[usize::from(exit) % EXITS];
            self.order[*end] = row;
            *end += 1;
        }
    }
}

/// The exits, of 32, that stay open to each row of `M` panels.
///
/// # Safety
/// Every panel has the lanes that `lane` names.
#[inline(always)]
unsafe fn open<L: Lanes, const M: usize>(
    tests: &[Test],
    panels: [&[Lane]; M],
    lane: impl Fn(&Test) -> usize,
) -> [L::V; M] {
    let mut open = [L::splat(f32::from_bits(u32::MAX)); M];
    for test in tests {
        let lane = lane(test);
        for (open, panel) in open.iter_mut().zip(panels) {
            // SAFETY: the caller's promise.
            let x = L::load(unsafe { panel.get_unchecked(lane) });
            *open = L::clear_above(*open, x, test.threshold, test.kept);
        }
    }
    open
}

#[inline(always)]
fn bits<L: Lanes>(v: L::V) -> [u32; 16] {
    let mut lane = ZERO;
    L::store(v, &mut lane);
    lane.0.map(f32::to_bits)
}

/// The exit of each of sixteen rows.
#[inline(always)]
fn lowest<L: Lanes>([first, second]: [L::V; 2]) -> [u32; 16] {
    let (first, second) = (bits::<L>(first), bits::<L>(second));
    std::array::from_fn(|row| lowest_of([first[row], second[row]]))
}

#[inline(always)]
fn lowest_of([first, second]: [u32; 2]) -> u32 {
    (u64::from(first) | u64::from(second) << 32).trailing_zeros()
}
