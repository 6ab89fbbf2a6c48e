use proptest::prelude::*;
use rand::{Rng, SeedableRng};

use super::*;
use crate::simd::{FORCED, levels};

/// A tree in preorder.
#[derive(Default)]
struct Nodes {
    feature: Vec<u32>,
    threshold: Vec<f32>,
    next: Vec<u32>,
}

impl Nodes {
    /// A random tree with `n` leaves; `lean` is the share of leaves that go left.
    fn random(n: usize, lean: f64, dim: usize, n_leaves: usize, rng: &mut impl Rng) -> Self {
        let mut tree = Self::default();
        let mut waiting = vec![(n, None)];
        while let Some((n, right_of)) = waiting.pop() {
            let at = tree.feature.len() as u32;
            if let Some(parent) = right_of {
                tree.next[parent as usize] = at;
            }
            let (feature, next) = match n {
                1 => (LEAF, rng.random_range(0..n_leaves as u32)),
                _ => (rng.random_range(0..dim as u32), 0),
            };
            tree.feature.push(feature);
            // Coarse, so that rows lie on thresholds.
            tree.threshold.push(f32::from(rng.random_range(-4_i8..5)) / 2.0);
            tree.next.push(next);
            if n > 1 {
                let left = ((n as f64 * lean) as usize).clamp(1, n - 1);
                waiting.push((n - left, Some(at)));
                waiting.push((left, None));
            }
        }
        tree
    }

    /// The leaf of a row, node by node.
    fn leaf(&self, x: &[f32]) -> usize {
        let mut at = 0;
        while self.feature[at] != LEAF {
            let left = x[self.feature[at] as usize] <= self.threshold[at];
            at = if left { at + 1 } else { self.next[at] as usize };
        }
        self.next[at] as usize
    }
}

fn bits(sums: &[f64]) -> Vec<u64> {
    sums.iter().map(|sum| sum.to_bits()).collect()
}

/// Sums at every level, of all rows and of rows alone, are those of walks from node to node, to the last bit.
fn check(n: usize, dim: usize, width: usize, sizes: &[usize], lean: f64, seed: u64) {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let n_leaves = 9;
    let values: Vec<f32> = (0..n_leaves * width).map(|_| rng.random()).collect();
    let mut x: Vec<f32> = (0..n * dim).map(|_| f32::from(rng.random_range(-5_i8..6)) / 2.0).collect();
    for (at, odd) in [f32::NAN, f32::INFINITY, f32::MIN, -0.0].into_iter().enumerate() {
        x.iter_mut().skip(at).step_by(31).take(1).for_each(|x| *x = odd);
    }
    let nodes: Vec<Nodes> =
        sizes.iter().map(|&size| Nodes::random(size, lean, dim, n_leaves, &mut rng)).collect();
    let mut trees = Trees::new(dim, width, &values);
    nodes.iter().for_each(|tree| trees.push(&tree.feature, &tree.threshold, &tree.next));
    let mut wanted = vec![0.0; n * width];
    for (x, sums) in x.chunks_exact(dim).zip(wanted.chunks_exact_mut(width)) {
        for tree in &nodes {
            let values = &values[tree.leaf(x) * width..][..width];
            sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
        }
    }
    for level in levels() {
        FORCED.set(Some(level));
        assert_eq!(bits(&trees.sums(&x)), bits(&wanted), "{level:?}, {n} rows of {dim}, {sizes:?}");
        for (row, (x, wanted)) in x.chunks_exact(dim).zip(wanted.chunks_exact(width)).enumerate().step_by(7) {
            assert_eq!(bits(&trees.sums(x)), bits(wanted), "{level:?}, row {row} alone");
        }
    }
    FORCED.set(None);
}

#[test]
fn trees_of_any_size_bring_any_number_of_rows_to_their_leaves() {
    // One leaf, one block with one word and with two, two and three levels of blocks.
    for sizes in [&[1][..], &[2, 3], &[32, 33, 64], &[65, 700], &[5000]] {
        for n in [0, 1, 3, 4, 16, 33, 250] {
            check(n, 5, 2, sizes, 0.4, 1);
        }
    }
    check(3000, 20, 3, &[900, 1, 64], 0.5, 2);
}

/// Every node has a leaf on its left: as deep as a tree can be, and each block leads to one other.
#[test]
fn a_chain_is_a_tree() {
    check(100, 3, 2, &[2000], 0.0, 3);
    check(100, 3, 2, &[2000], 1.0, 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sums_are_those_of_single_walks(
        n in 0_usize..80, dim in 1_usize..40, width in 1_usize..9, size in 1_usize..300, lean in 0.0..1.0, seed: u64,
    ) {
        check(n, dim, width, &[size, 17], lean, seed);
    }
}

#[test]
#[should_panic(expected = "column and children")]
fn a_child_before_its_parent_is_refused() {
    Trees::new(1, 1, &[0.0]).push(&[0, LEAF, LEAF], &[0.0; 3], &[0, 0, 0]);
}

#[test]
#[should_panic(expected = "has values")]
fn a_leaf_without_values_is_refused() {
    Trees::new(1, 1, &[0.0]).push(&[LEAF], &[0.0], &[1]);
}
