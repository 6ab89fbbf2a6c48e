//! Support vector classification with the RBF kernel on the labelled rows (libsvm's C-SVC, scikit-learn's `SVC`).
//!
//! One two-class machine f_ij for each pair of classes i < j, positive where it says i. A class collects soft votes
//!
//! ```text
//! v_i(x) = sum_{j != i} clip(f_ij(x), -1, 1),    f_ji = -f_ij,    p(k | x) = softmax(v(x) / T)
//! ```
//!
//! Beyond the margin a soft vote is libsvm's vote. T is fitted to the votes of held-out rows in five folds. Platt's
//! sigmoids, a slope and an offset per pair, are not used: with a handful of labels they often turn the decision round.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use semisup::metrics::log_softmax;
use semisup::{Classifier, Learner, SemiSupervised, fit_temperature, rng, split};
use serde::{Deserialize, Serialize};

use crate::chunks::in_chunks;
use crate::error::within;
use crate::targets::{check_rows, labelled};
use crate::{Error, Result};

mod kernel;
mod smo;

use kernel::{gram, rbf, scale_gamma};

/// The most labelled rows: the kernel between all of them is kept in memory.
pub const SVC_ROWS: usize = 10_000;
/// Folds for the temperature.
const FOLDS: usize = 5;
/// Rows of a chunk of parallel work.
const CHUNK: usize = 256;

/// An RBF support vector classifier, which ignores unlabelled rows. It does not standardise columns: see
/// [`Standardised`](crate::Standardised).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svc {
    /// The inverse of the penalty; gamma is scikit-learn's `scale`.
    pub c: f64,
}

impl Default for Svc {
    /// c = 1, as in scikit-learn.
    fn default() -> Self {
        Self { c: 1. }
    }
}

impl Learner for Svc {
    type Model = SvcModel;
    type Error = Error;

    fn name(&self) -> String {
        "support vector machine".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<SvcModel> {
        let (x, y) = labelled(data);
        let machines = SupportVectors::fit(x.view(), &y, data.n_classes(), self.c, seed)?;
        Ok(SvcModel { machines, classes: data.classes().to_vec() })
    }
}

/// A fitted support vector classifier with the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct SvcModel {
    machines: SupportVectors,
    classes: Vec<String>,
}

impl SvcModel {
    /// The machines.
    pub fn machines(&self) -> &SupportVectors {
        &self.machines
    }
}

impl Classifier for SvcModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.machines.log_probs(x)
    }
}

/// Two-class machines of all pairs of classes on rows of numbers, without class names. Machines read from a file must
/// pass [`SupportVectors::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportVectors {
    dim: usize,
    n_classes: usize,
    gamma: f64,
    temperature: f64,
    rows: Vec<f64>, // [n_support, dim]
    pairs: Vec<Pair>,
}

/// f_ij; pairs are in the order (0, 1), (0, 2), .. (1, 2), ..
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    support: Vec<u32>, // indices of rows
    coefficients: Vec<f64>,
    rho: f64,
}

impl SupportVectors {
    /// Fits rows x `[n, dim]` with classes y `[n]`, each below `n_classes`. The seed deals rows to folds.
    pub fn fit(x: ArrayView2<f64>, y: &[usize], n_classes: usize, c: f64, seed: u64) -> Result<Self> {
        within("c", c, c > 0. && c.is_finite(), "a number above 0")?;
        within("classes", n_classes as f64, n_classes >= 2, "at least 2")?;
        check_rows(x, y, n_classes, None)?;
        if x.nrows() > SVC_ROWS {
            let hint = "keep fewer labels, or choose a learner of trees";
            let (method, found, limit) = ("a support vector machine", x.nrows(), SVC_ROWS);
            return Err(Error::TooManyRows { method, found, limit, hint });
        }
        let gamma = scale_gamma(x);
        let kernel = gram(x, gamma);
        let all: Vec<usize> = (0..y.len()).collect();
        let temperature = held_out_temperature(&kernel, y, n_classes, c, seed);
        let fitted = fit_pairs(&kernel, &all, y, n_classes, c);
        let mut kept: Vec<usize> =
            fitted.iter().flat_map(|pair| &pair.support).map(|&row| row as usize).collect();
        kept.sort_unstable();
        kept.dedup();
        let renumber = |pair: Pair| Pair {
            support: pair
                .support
                .iter()
                .map(|&row| kept.partition_point(|&k| k < row as usize) as u32)
                .collect(),
            ..pair
        };
        let rows = x.select(Axis(0), &kept).iter().copied().collect();
        let pairs = fitted.into_iter().map(renumber).collect();
        Ok(Self { dim: x.ncols(), n_classes, gamma, temperature, rows, pairs })
    }

    /// f_ij of rows for all pairs i < j, (0, 1), (0, 2), .. (1, 2), ..: `[n, K (K - 1) / 2]`, positive for i.
    ///
    /// # Panics
    /// If x does not have as many columns as the machines were fitted to.
    pub fn decision_values(&self, x: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(x.ncols(), self.dim, "columns of support vectors");
        let support = ArrayView2::from_shape((self.rows.len() / self.dim, self.dim), &self.rows)
            .expect("whole rows, as validated");
        in_chunks(x, CHUNK, self.pairs.len(), |x| {
            let kernel = rbf(x, support, self.gamma);
            Array2::from_shape_fn((x.nrows(), self.pairs.len()), |(row, pair)| {
                self.pairs[pair].value(|at| kernel[[row, at]])
            })
        })
    }

    /// log p(k | x) of rows, `[n, n_classes]`.
    ///
    /// # Panics
    /// If x does not have as many columns as the machines were fitted to.
    pub fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        log_softmax((soft_votes(&self.decision_values(x), self.n_classes) / self.temperature).view())
    }

    /// Checks machines from a file: one for each pair of `n_classes`, over rows of `dim` finite numbers.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        let sizes = (self.dim, self.n_classes);
        ensure(dim > 0 && n_classes >= 2 && sizes == (dim, n_classes), || {
            format!("{} columns and {} classes, expected {dim} and {n_classes}", self.dim, self.n_classes)
        })?;
        ensure(self.rows.len().is_multiple_of(dim), || "a row is cut short".into())?;
        ensure(self.pairs.len() == n_classes * (n_classes - 1) / 2, || {
            format!("{} machines for {n_classes} classes", self.pairs.len())
        })?;
        for scale in [self.gamma, self.temperature] {
            ensure(scale.is_normal() && scale > 0., || format!("a scale is {scale}"))?;
        }
        let n_support = self.rows.len() / dim;
        for pair in &self.pairs {
            ensure(pair.support.len() == pair.coefficients.len(), || "a coefficient is missing".into())?;
            let inside = pair.support.iter().all(|&row| (row as usize) < n_support);
            ensure(inside, || format!("a machine asks for a row beyond the {n_support}"))?;
        }
        let numbers = self.pairs.iter().flat_map(|pair| pair.coefficients.iter().chain([&pair.rho]));
        // Their sums must be finite, too.
        let finite = self.rows.iter().chain(numbers).all(|number| number.abs() < 1e100);
        ensure(finite, || "a number is not finite, or beyond 1e100".into())
    }
}

impl Pair {
    /// f of a row, by its kernel with row i.
    fn value(&self, kernel: impl Fn(usize) -> f64) -> f64 {
        let terms = self.support.iter().zip(&self.coefficients).map(|(&row, c)| c * kernel(row as usize));
        terms.sum::<f64>() - self.rho
    }
}

/// The machines of all pairs, of `rows` alone.
fn fit_pairs(kernel: &Array2<f32>, rows: &[usize], y: &[usize], n_classes: usize, c: f64) -> Vec<Pair> {
    let pairs: Vec<(usize, usize)> =
        (0..n_classes).flat_map(|i| (i + 1..n_classes).map(move |j| (i, j))).collect();
    let fit = |(i, j): (usize, usize)| {
        let own: Vec<usize> = rows.iter().copied().filter(|&row| y[row] == i || y[row] == j).collect();
        let signs: Vec<f64> = own.iter().map(|&row| if y[row] == i { 1. } else { -1. }).collect();
        match (signs.contains(&1.), signs.contains(&-1.)) {
            (true, true) => {
                let machine = smo::solve(kernel, &own, &signs, c);
                let used = own.iter().zip(machine.coefficients).filter(|(_, c)| *c != 0.);
                let (support, coefficients) = used.map(|(&row, c)| (row as u32, c)).unzip();
                Pair { support, coefficients, rho: machine.rho }
            }
            // A class without rows loses against one with rows.
            (first, second) => {
                let rho = f64::from(u8::from(second)) - f64::from(u8::from(first));
                Pair { support: Vec::new(), coefficients: Vec::new(), rho }
            }
        }
    };
    pairs.into_par_iter().map(fit).collect()
}

/// The sum over other classes of clipped decision values, `[n, K (K - 1) / 2] -> [n, K]`.
fn soft_votes(decisions: &Array2<f64>, n_classes: usize) -> Array2<f64> {
    let mut votes = Array2::zeros((decisions.nrows(), n_classes));
    for (decisions, mut votes) in decisions.rows().into_iter().zip(votes.rows_mut()) {
        let mut pair = 0;
        for i in 0..n_classes {
            for j in i + 1..n_classes {
                let vote = decisions[pair].clamp(-1., 1.);
                votes[i] += vote;
                votes[j] -= vote;
                pair += 1;
            }
        }
    }
    votes
}

/// The temperature of the votes of rows that the machines have not seen; 1 if no row can be held out. A row at the
/// margin is at most as certain as so many correct held-out rows allow, (n + 1) / (n + 2).
fn held_out_temperature(kernel: &Array2<f32>, y: &[usize], n_classes: usize, c: f64, seed: u64) -> f64 {
    let folds = split::folds(y, FOLDS, &mut rng(seed));
    let (mut decisions, mut truth) = (Vec::new(), Vec::new());
    for fold in &folds {
        let shown: Vec<usize> = (0..y.len()).filter(|row| fold.binary_search(row).is_err()).collect();
        let pairs = fit_pairs(kernel, &shown, y, n_classes, c);
        for &row in fold {
            decisions.extend(pairs.iter().map(|pair| pair.value(|at| f64::from(kernel[[row, at]]))));
            truth.push(y[row]);
        }
    }
    if truth.is_empty() {
        return 1.;
    }
    let width = decisions.len() / truth.len();
    let decisions = Array2::from_shape_vec((truth.len(), width), decisions).expect("a value for each pair");
    let least = 2. / (truth.len() as f64 + 1.).ln();
    fit_temperature(soft_votes(&decisions, n_classes).view(), &truth).max(least)
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Damaged { what: "support vectors", why: why() }) }
}
