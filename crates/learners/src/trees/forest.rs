//! Forests of classification trees: p(k | x) is the mean over trees of the class shares in the leaf of x.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use flowgmm_kernels::Trees;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1};
use rand::Rng as _;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::{Columns, single};
use super::grow::{Grown, Limits, Rows, grow};
use super::nodes::{Nodes, ensure};
use super::{MaxFeatures, Sampling, TreeSettings};
use crate::Result;
use crate::chunks::in_chunks;
use crate::error::positive;
use crate::targets::check_rows;

/// Values of the rows that go down a tree together: they stay in a second-level cache.
const CHUNK_VALUES: usize = 1 << 16;
const MIN_CHUNK: usize = 512;
const MAX_CHUNK: usize = 2048;
/// Rows that are too few for all trees to be read: each goes its own way.
const FEW: usize = 3;

/// A fitted forest on rows of numbers, without class names. One read from a file must pass [`Forest::validate`] before
/// use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest {
    pub(super) dim: usize,
    pub(super) n_classes: usize,
    pub(super) nodes: Nodes,
    /// Class shares in leaves that are not pure, as they are too small to be split, or their rows have equal values.
    pub(super) mixed: Vec<f32>, // [n_mixed, n_classes]
    #[serde(skip)]
    pub(super) packed: Packed,
}

/// The trees of a forest as they are scored: nothing that the forest does not say, so that all are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed(OnceLock<Arc<Trees>>);

impl PartialEq for Packed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Forest {
    /// Fits rows x `[n, dim]` with classes y `[n]`, each below `n_classes`. `weights` `[n]` are how much each row counts,
    /// 1 if there are none; rows of weight 0 are left out. Tree i draws from stream i of the seed.
    pub fn fit(
        x: ArrayView2<f64>,
        y: &[usize],
        n_classes: usize,
        weights: Option<&[f64]>,
        settings: &TreeSettings,
        seed: u64,
    ) -> Result<Self> {
        let weights = check_rows(x, y, n_classes, weights)?;
        let y: Vec<u32> = y.iter().map(|&k| k as u32).collect();
        Self::fit_drawn(x, n_classes, &weights, settings, seed, |_| Cow::Borrowed(&y))
    }

    /// Fits rows x `[n, dim]` whose classes are uncertain: the class of row i has the distribution q_i of q
    /// `[n, n_classes]`, whose rows sum to 1. Every tree draws the classes anew (multiple imputation, Rubin 1987), so that
    /// the forest is as uncertain as its targets are. Tree i draws from stream i of the seed.
    pub fn fit_soft(
        x: ArrayView2<f64>,
        q: ArrayView2<f64>,
        weights: Option<&[f64]>,
        settings: &TreeSettings,
        seed: u64,
    ) -> Result<Self> {
        let n_classes = q.ncols();
        let most = semisup::metrics::arg_max(q);
        let weights = check_rows(x, &most, n_classes, weights)?;
        Self::fit_drawn(x, n_classes, &weights, settings, seed, |rng| {
            Cow::Owned(q.rows().into_iter().map(|q| drawn(q, rng)).collect())
        })
    }

    /// A forest whose trees have the classes that `classes` gives them.
    fn fit_drawn<'y>(
        x: ArrayView2<f64>,
        n_classes: usize,
        weights: &[f64],
        settings: &TreeSettings,
        seed: u64,
        classes: impl Fn(&mut semisup::Rng) -> Cow<'y, [u32]> + Sync,
    ) -> Result<Self> {
        positive("n_trees", settings.n_trees)?;
        positive("min_samples_leaf", settings.min_samples_leaf)?;
        let columns = Columns::of(x);
        let limits = Limits {
            splitter: settings.splitter,
            max_features: settings.max_features.of(x.ncols()),
            min_leaf: settings.min_samples_leaf,
        };
        let grown: Vec<Grown> = (0..settings.n_trees)
            .into_par_iter()
            .map(|tree| {
                let mut rng = semisup::rng(seed);
                rng.set_stream(tree as u64);
                let y = classes(&mut rng);
                let weights = settings.sampling.draw(weights, &mut rng);
                grow(&Rows { columns: &columns, y: &y, n_classes }, &weights, limits, rng)
            })
            .collect();
        let mut forest = Self {
            dim: x.ncols(),
            n_classes,
            nodes: Nodes::new(),
            mixed: Vec::new(),
            packed: Packed::default(),
        };
        grown.into_iter().for_each(|grown| forest.push(grown));
        forest.check_exact()?;
        Ok(forest)
    }

    /// A forest of the first trees of several: so many of each, which may be none, but not of all. A tree has one vote,
    /// whichever it comes from.
    ///
    /// # Panics
    /// If there is no tree, or forests do not have the same columns and classes.
    pub fn joined(parts: &[(&Self, usize)]) -> Result<Self> {
        let (first, _) = parts.first().expect("a forest");
        let mut nodes = Nodes::new();
        let mut mixed: Vec<f32> = Vec::new();
        let k = first.n_classes;
        for (forest, count) in parts {
            assert_eq!((forest.dim, forest.n_classes), (first.dim, k), "columns and classes of forests");
            // Leaves are numbered in the order of their trees.
            let last = nodes.append(&forest.nodes, *count, k as u32, (mixed.len() / k) as u32);
            let used = last.map_or(0, |number| number as usize + 1 - k);
            mixed.extend(&forest.mixed[..used * k]);
        }
        assert!(nodes.n_trees() > 0, "a tree");
        let joined = Self { dim: first.dim, n_classes: k, nodes, mixed, packed: Packed::default() };
        joined.check_exact()?;
        Ok(joined)
    }

    fn push(&mut self, Grown { mut tree, mixed }: Grown) {
        tree.shift_numbers(self.n_classes as u32, (self.mixed.len() / self.n_classes) as u32);
        self.nodes.push(tree);
        self.mixed.extend(mixed);
    }

    /// p(k | x) of rows, `[n, n_classes]`; 0 for a class in no leaf of the row.
    ///
    /// # Panics
    /// If x does not have as many columns as the forest was fitted to.
    pub fn probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim, "columns of a forest");
        if x.nrows() <= FEW {
            let mut probs = Array2::zeros((x.nrows(), self.n_classes));
            for (row, p) in x.rows().into_iter().zip(probs.rows_mut()) {
                self.walk(row, p);
            }
            return probs;
        }
        let packed = self.packed();
        let chunk = (CHUNK_VALUES / self.dim).clamp(MIN_CHUNK, MAX_CHUNK);
        in_chunks(x, chunk, self.n_classes, |x| {
            let values: Vec<f32> = x.iter().map(|&value| single(value)).collect();
            let mut probs = Array2::from_shape_vec((x.nrows(), self.n_classes), packed.sums(&values))
                .expect("a sum for each class");
            probs.rows_mut().into_iter().for_each(normalise);
            probs
        })
    }

    /// p(k | x) of one row, which goes down one tree after the other: the numbers of many rows together, to the last bit.
    fn walk(&self, row: ArrayView1<f64>, mut p: ArrayViewMut1<f64>) {
        let k = self.n_classes;
        let values: Vec<f32> = row.iter().map(|&value| single(value)).collect();
        for tree in 0..self.nodes.n_trees() {
            let leaf = self.nodes.leaf(tree, &values).number as usize;
            match leaf.checked_sub(k) {
                None => p[leaf] += 1.,
                Some(mixed) => {
                    let shares = &self.mixed[mixed * k..(mixed + 1) * k];
                    p.iter_mut().zip(shares).for_each(|(p, &share)| *p += f64::from(share));
                }
            }
        }
        normalise(p);
    }

    /// The trees as they are scored, made of the others once.
    pub(super) fn packed(&self) -> &Trees {
        self.packed.0.get_or_init(|| {
            let k = self.n_classes;
            let pure = (0..k * k).map(|at| if at / k == at % k { 1. } else { 0. });
            let shares: Vec<f32> = pure.chain(self.mixed.iter().copied()).collect();
            let mut trees = Trees::new(self.dim, k, &shares);
            for tree in self.nodes.starts.windows(2) {
                let own = tree[0] as usize..tree[1] as usize;
                let nodes = &self.nodes;
                trees.push(&nodes.feature[own.clone()], &nodes.threshold[own.clone()], &nodes.next[own]);
            }
            Arc::new(trees)
        })
    }

    /// p(k | x) of rows, `[n, n_classes]`, all above 0: half a tree more, whose leaves hold all classes alike.
    ///
    /// # Panics
    /// If x does not have as many columns as the forest was fitted to.
    pub fn smoothed(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let (n, k) = (self.n_trees() as f64, self.n_classes as f64);
        self.probs(x).mapv(|p| (n * p + 0.5 / k) / (n + 0.5))
    }

    /// Checks a forest from a file: trees of `dim` columns whose leaves hold valid distributions over `n_classes`.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        let sizes = (self.dim, self.n_classes);
        ensure(dim > 0 && n_classes > 0 && sizes == (dim, n_classes), || {
            format!("{} columns and {} classes, expected {dim} and {n_classes}", self.dim, self.n_classes)
        })?;
        ensure(self.mixed.len().is_multiple_of(n_classes), || "class shares of leaves are cut short".into())?;
        for (leaf, shares) in self.mixed.chunks_exact(n_classes).enumerate() {
            let sum: f32 = shares.iter().sum();
            let valid = shares.iter().all(|share| (0. ..=1.).contains(share)) && (sum - 1.).abs() < 1e-3;
            ensure(valid, || format!("the class shares {leaf} are no distribution"))?;
        }
        let numbers = n_classes + self.mixed.len() / n_classes;
        self.nodes.validate(dim, |leaf| (leaf.number as usize) < numbers)?;
        ensure(self.nodes.n_trees() > 0, || "there are none".into())
    }

    /// The number of trees.
    pub fn n_trees(&self) -> usize {
        self.nodes.n_trees()
    }

    /// The number of nodes of all trees, leaves included; a node takes 12 bytes.
    pub fn n_nodes(&self) -> usize {
        self.nodes.n_nodes()
    }
}

/// Divides sums over trees by their number, but for the rounding of shares.
fn normalise(mut sums: ArrayViewMut1<f64>) {
    let total = sums.sum();
    sums /= total;
}

/// A class drawn from a distribution.
fn drawn(q: ArrayView1<f64>, rng: &mut semisup::Rng) -> u32 {
    let mut left = rng.random::<f64>() * q.sum();
    let passed = q.iter().take_while(|&&q| {
        left -= q;
        left >= 0.
    });
    passed.count().min(q.len() - 1) as u32
}

impl MaxFeatures {
    fn of(self, dim: usize) -> usize {
        match self {
            Self::Sqrt => ((dim as f64).sqrt() as usize).max(1),
            Self::All => dim,
        }
    }
}

impl Sampling {
    /// How much each row counts in one tree. At least one row counts.
    fn draw(self, weights: &[f64], rng: &mut semisup::Rng) -> Vec<f64> {
        match self {
            Self::AllRows => weights.to_vec(),
            Self::Bootstrap => {
                let counting: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.).collect();
                let mut drawn = vec![0.; weights.len()];
                for _ in &counting {
                    let row = counting[rng.random_range(0..counting.len())];
                    drawn[row] += weights[row];
                }
                drawn
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;

    #[test]
    fn joined_forests_vote_tree_by_tree() {
        let x = Array2::from_shape_fn((60, 3), |(i, j)| ((i * 7 + j * 13 + i * i) % 19) as f64);
        let y: Vec<usize> = (0..60).map(|i| (i / 7) % 2).collect();
        let fit = |n_trees, seed| {
            let settings = TreeSettings { min_samples_leaf: 3, ..TreeSettings::extra_trees(n_trees) };
            Forest::fit(x.view(), &y, 2, None, &settings, seed).unwrap()
        };
        let (a, b) = (fit(6, 1), fit(9, 2));
        let joined = Forest::joined(&[(&a, 6), (&b, 3)]).unwrap();
        joined.validate(3, 2).unwrap();
        // Tree i of a seed does not depend on how many there are.
        let expected = (6. * fit(6, 1).probs(x.view()) + 3. * fit(3, 2).probs(x.view())) / 9.;
        let apart = (joined.probs(x.view()) - expected).fold(0f64, |a, &b| a.max(b.abs()));
        assert!(apart < 1e-6 && joined.n_trees() == 9, "{apart}");
        assert_eq!(Forest::joined(&[(&a, 0), (&b, 9)]).unwrap().probs(x.view()), b.probs(x.view()));
    }

    #[test]
    fn a_row_alone_has_the_bits_that_it_has_among_others() {
        let x = Array2::from_shape_fn((300, 5), |(i, j)| ((i * 31 + j * 17 + i * i * (j + 1)) % 23) as f64);
        let y: Vec<usize> = (0..300).map(|i| (i * i / 7) % 3).collect();
        let settings = TreeSettings { min_samples_leaf: 4, ..TreeSettings::extra_trees(20) };
        let forest = Forest::fit(x.view(), &y, 3, None, &settings, 1).unwrap();
        assert!(!forest.mixed.is_empty(), "some leaves must hold several classes");
        let all = forest.probs(x.view());
        for n in 1..=FEW + 1 {
            for first in (0..300 - n).step_by(7) {
                let rows = s![first..first + n, ..];
                assert_eq!(forest.probs(x.slice(rows)), all.slice(rows), "rows {first} to {}", first + n);
            }
        }
    }
}
