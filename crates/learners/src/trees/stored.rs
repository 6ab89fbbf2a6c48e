//! A forest as arrays of 32-bit numbers, for a file of tensors.
//!
//! Whole numbers up to 2^24 are exact in 32 bits; a forest that would need larger ones is not made.

use super::forest::{Forest, Packed};
use super::nodes::{LEAF, Nodes, ensure};
use crate::{Error, Result};

/// The largest whole number up to which all are exact.
const EXACT: u64 = 1 << 24;

/// The names of the arrays, in the order of [`Forest::to_arrays`].
pub const FOREST_ARRAYS: [&str; 5] = ["sizes", "feature", "threshold", "next", "shares"];

impl Forest {
    /// The trees as arrays, in the order of [`FOREST_ARRAYS`]: nodes of each tree, then of every node its column (-1 of a
    /// leaf), threshold and next node, and the class shares of mixed leaves.
    pub fn to_arrays(&self) -> [Vec<f32>; 5] {
        let nodes = &self.nodes;
        let whole = |v: &u32| if *v == LEAF { -1. } else { *v as f32 };
        [
            nodes.starts.windows(2).map(|tree| (tree[1] - tree[0]) as f32).collect(),
            nodes.feature.iter().map(whole).collect(),
            nodes.threshold.clone(),
            nodes.next.iter().map(|&v| v as f32).collect(),
            self.mixed.clone(),
        ]
    }

    /// A forest from its arrays, checked for `dim` columns and `n_classes`.
    pub fn from_arrays(arrays: [Vec<f32>; 5], dim: usize, n_classes: usize) -> Result<Self> {
        let [sizes, feature, threshold, next, mixed] = arrays;
        let mut starts = vec![0];
        for &size in &sizes {
            starts.push(starts[starts.len() - 1] + u64::from(whole(size)?));
        }
        let feature = feature.iter().map(|&v| if v == -1. { Ok(LEAF) } else { whole(v) });
        let nodes = Nodes {
            starts,
            feature: feature.collect::<Result<_>>()?,
            threshold,
            next: next.iter().map(|&v| whole(v)).collect::<Result<_>>()?,
        };
        let forest = Self { dim, n_classes, nodes, mixed, packed: Packed::default() };
        forest.validate(dim, n_classes)?;
        forest.packed();
        Ok(forest)
    }

    /// Whether all numbers of the forest are exact in 32 bits.
    pub(super) fn check_exact(&self) -> Result<()> {
        let largest = self.nodes.next.iter().copied().max().unwrap_or(0);
        ensure(u64::from(largest) < EXACT, || "too many leaves for a file".into())
    }
}

/// A whole number that was stored in 32 bits.
fn whole(value: f32) -> Result<u32> {
    if value >= 0. && value < EXACT as f32 && value.fract() == 0. {
        return Ok(value as u32);
    }
    Err(Error::Damaged { what: "trees", why: format!("{value} stands where a whole number is expected") })
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::TreeSettings;

    #[test]
    fn a_forest_comes_back_from_its_arrays_and_damage_is_found() {
        let x = Array2::from_shape_fn((40, 3), |(i, j)| ((i * 7 + j * 13) % 11) as f64);
        let q = Array2::from_shape_fn((40, 2), |(i, k)| if (i % 3 == 0) == (k == 0) { 0.8 } else { 0.2 });
        let settings = TreeSettings { min_samples_leaf: 2, ..TreeSettings::extra_trees(5) };
        let forest = Forest::fit_soft(x.view(), q.view(), None, &settings, 1).unwrap();
        let arrays = forest.to_arrays();
        assert_eq!(Forest::from_arrays(arrays.clone(), 3, 2).unwrap(), forest);
        for (array, name) in FOREST_ARRAYS.iter().enumerate() {
            let mut spoilt = arrays.clone();
            spoilt[array][0] = f32::NAN;
            assert!(Forest::from_arrays(spoilt, 3, 2).is_err(), "{name}");
            let mut short = arrays.clone();
            short[array].pop();
            assert!(Forest::from_arrays(short, 3, 2).is_err(), "{name}");
        }
        assert!(Forest::from_arrays(arrays.clone(), 1, 2).is_err(), "a column that is not there");
    }
}
