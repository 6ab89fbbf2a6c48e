//! Multinomial logistic regression with an L2 penalty, and self-training with it, on matrices.
//!
//! With rows x `[n, dim]`, targets q `[n, K]` (one-hot labels, or soft ones) and weights W `[K, dim]`, b `[K]`:
//!
//! ```text
//! minimise  1/2 |W|^2 + C sum_i -sum_k q_ik log p(k | x_i),    p(. | x) = softmax(W x + b)
//! ```
//!
//! which is convex, by L-BFGS; b is not penalised. For three classes or more this is scikit-learn's problem with the same
//! C; for two, scikit-learn penalises the difference of the two rows of W, and its C is twice ours.
//!
//! Self-training (Yarowsky 1995): fit on the labels, take the predictions that are confident enough as pseudo-labels, fit
//! again, until there are no more of them.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use semisup::metrics::{arg_max, log_sum_exp};
use semisup::{Part, Stopped, Watch};

use super::features::Features;
use super::lbfgs::{minimise, norm};
use super::scikit_learn_c;
use crate::targets::{check_rows, one_hot};
use crate::{Error, Result};

/// Rows of a chunk of parallel work: fixed, so that sums have the same bits on any number of threads.
const CHUNK: usize = 1024;
/// Rounds of self-training at most, as in scikit-learn.
const ROUNDS: usize = 10;

/// A fitted logistic regression on rows of numbers, without class names or preprocessing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Logistic {
    w: Array2<f64>, // [K, dim]
    b: Array1<f64>, // [K]
}

impl Logistic {
    /// Fits rows x `[n, dim]` and targets q `[n, K]` with inverse penalty `c`. A row whose targets sum to w counts as w
    /// rows.
    ///
    /// # Panics
    /// If there is not one row of `q` per row of `x`.
    pub fn fit(x: ArrayView2<f64>, q: ArrayView2<f64>, c: f64) -> Self {
        Self::fit_watched(x, q, c, &()).expect("nobody stops it")
    }

    /// Fits rows x `[n, dim]` with classes y `[n]`. `c` is the inverse of the L2 penalty, as scikit-learn defines it.
    pub fn fit_labels(x: ArrayView2<f64>, y: &[usize], n_classes: usize, c: f64) -> Result<Self> {
        check_rows(x, y, n_classes, None)?;
        let y: Vec<Option<usize>> = y.iter().copied().map(Some).collect();
        Ok(Self::fit(x, one_hot(&y, n_classes).view(), scikit_learn_c(c, n_classes)?))
    }

    /// [`Logistic::fit`], watched: the fraction of the steps it may take, of which it rarely needs all.
    ///
    /// # Panics
    /// As [`Logistic::fit`].
    pub fn fit_watched(
        x: ArrayView2<f64>,
        q: ArrayView2<f64>,
        c: f64,
        watch: &dyn Watch,
    ) -> Result<Self, Stopped> {
        Self::fit_from(None, Features::columns(x), q, c, watch)
    }

    /// [`Logistic::fit`] on columns and groups.
    pub(crate) fn fit_features(features: Features, q: ArrayView2<f64>, c: f64) -> Self {
        Self::fit_from(None, features, q, c, &()).expect("nobody stops it")
    }

    /// [`Logistic::fit`] with a warm start from the solution of a similar problem: the minimum is unique, but is found in
    /// fewer steps.
    fn fit_from(
        near: Option<&Self>,
        x: Features,
        q: ArrayView2<f64>,
        c: f64,
        watch: &dyn Watch,
    ) -> Result<Self, Stopped> {
        assert_eq!(x.n(), q.nrows(), "one target per row");
        let (dim, k) = (x.width(), q.ncols());
        let zero = Array1::zeros(k * (dim + 1));
        let scale = norm(&objective(&zero, x, q, c).1);
        let start = near.map_or(zero, |near| near.w.iter().chain(&near.b).copied().collect());
        let theta = minimise(start, scale, |theta| objective(theta, x, q, c), watch)?;
        let (w, b) = theta.view().split_at(Axis(0), k * dim);
        let w = w.to_owned().into_shape_with_order((k, dim)).expect("k times dim numbers");
        Ok(Self { w, b: b.to_owned() })
    }

    /// W, `[K, dim]`.
    pub fn weights(&self) -> ArrayView2<'_, f64> {
        self.w.view()
    }

    /// b, `[K]`.
    pub fn intercepts(&self) -> ArrayView1<'_, f64> {
        self.b.view()
    }

    /// Checks that a regression from a file is one of `dim` columns and `n_classes`. Its numbers are finite: others are
    /// refused when it is read.
    pub fn validate(&self, dim: usize, n_classes: usize) -> Result<()> {
        if self.w.dim() == (n_classes, dim) {
            return Ok(());
        }
        let (found_classes, found) = self.w.dim();
        let why = format!("{found} columns and {found_classes} classes, expected {dim} and {n_classes}");
        Err(Error::Damaged { what: "weights of logistic regression", why })
    }

    /// log p(k | x) of rows, `[n, K]`.
    pub fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let mut out = x.dot(&self.w.t()) + &self.b;
        out.rows_mut().into_iter().for_each(|mut row| {
            let log_sum = log_sum_exp(row.view());
            row -= log_sum;
        });
        out
    }
}

/// What a file holds of a logistic regression.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    weights: Vec<f64>, // W, [K, dim] row by row
    intercepts: Vec<f64>,
}

impl From<Logistic> for Stored {
    fn from(model: Logistic) -> Self {
        Self { weights: model.w.iter().copied().collect(), intercepts: model.b.to_vec() }
    }
}

impl TryFrom<Stored> for Logistic {
    type Error = Error;

    fn try_from(Stored { weights, intercepts }: Stored) -> Result<Self> {
        let (k, n) = (intercepts.len(), weights.len());
        let damaged = |why: String| Error::Damaged { what: "weights of logistic regression", why };
        if k == 0 || n == 0 || n % k != 0 {
            return Err(damaged(format!("{n} weights for {k} classes")));
        }
        // Sums of products with rows must be finite, too.
        if !weights.iter().chain(&intercepts).all(|number| number.abs() < 1e100) {
            return Err(damaged("a weight is not finite, or beyond 1e100".into()));
        }
        let w = Array2::from_shape_vec((k, n / k), weights).expect("whole rows");
        Ok(Self { w, b: intercepts.into() })
    }
}

/// Self-training from the labels there are: predictions of probability at least `threshold` become pseudo-labels, in ten
/// rounds at most. Gives the last model and its p(k | x) of all rows, `[n, n_classes]`.
pub fn self_training(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    n_classes: usize,
    c: f64,
    threshold: f64,
) -> (Logistic, Array2<f64>) {
    self_training_watched(x, y, n_classes, c, threshold, &()).expect("nobody stops it")
}

/// [`self_training`], watched: the fraction of the rounds it may take, of which it rarely needs all.
pub fn self_training_watched(
    x: ArrayView2<f64>,
    y: &[Option<usize>],
    n_classes: usize,
    c: f64,
    threshold: f64,
    watch: &dyn Watch,
) -> Result<(Logistic, Array2<f64>), Stopped> {
    let mut y = y.to_vec();
    let mut round = 0;
    let mut before = None;
    loop {
        let rows: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).collect();
        let labels: Vec<Option<usize>> = rows.iter().map(|&row| y[row]).collect();
        let q = one_hot(&labels, n_classes);
        let shown = x.select(Axis(0), &rows);
        let part = Part::of(watch, round, ROUNDS + 1);
        let model = Logistic::fit_from(before.as_ref(), Features::columns(shown.view()), q.view(), c, &part)?;
        let p = model.log_probs(x).exp();
        let best = arg_max(p.view());
        let confident: Vec<usize> =
            (0..y.len()).filter(|&row| y[row].is_none() && p[[row, best[row]]] >= threshold).collect();
        if confident.is_empty() || round == ROUNDS {
            return Ok((model, p));
        }
        round += 1;
        before = Some(model);
        confident.into_iter().for_each(|row| y[row] = Some(best[row]));
    }
}

/// The penalised loss and its gradient at theta = (W, b).
fn objective(theta: &Array1<f64>, x: Features, q: ArrayView2<f64>, c: f64) -> (f64, Array1<f64>) {
    let (dim, k) = (x.width(), q.ncols());
    let (w, b) = theta.view().split_at(Axis(0), k * dim);
    let w = w.into_shape_with_order((k, dim)).expect("k times dim numbers");
    let chunks: Vec<(f64, Array2<f64>, Array1<f64>)> = (0..x.n().div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(x.n());
            let (x, q) = (x.slice(rows.clone()), q.slice(s![rows, ..]));
            let mut residual = x.logits(w, b); // logits, then p - q
            let mut loss = 0.0;
            for (mut row, q) in residual.rows_mut().into_iter().zip(q.rows()) {
                let log_sum = log_sum_exp(row.view());
                let mass = q.sum();
                loss += mass * log_sum - row.dot(&q);
                row.mapv_inplace(|logit| mass * (logit - log_sum).exp());
                row -= &q;
            }
            (loss, x.weighted_sum(&residual), residual.sum_axis(Axis(0)))
        })
        .collect();
    let mut gradient = theta.clone();
    gradient.slice_mut(s![k * dim..]).fill(0.0);
    let mut loss = 0.5 * w.iter().map(|v| v * v).sum::<f64>();
    for (chunk, gw, gb) in chunks {
        loss += c * chunk;
        let flat = gw.into_shape_with_order(k * dim).expect("k times dim numbers");
        gradient.slice_mut(s![..k * dim]).scaled_add(c, &flat);
        gradient.slice_mut(s![k * dim..]).scaled_add(c, &gb);
    }
    (loss, gradient)
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::Rng as _;

    use super::*;

    fn problem(n: usize) -> (Array2<f64>, Vec<usize>) {
        let mut rng = semisup::rng(4);
        let y: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let centre = [[0., 0.], [3., 0.], [0., 3.]];
        let x = Array2::from_shape_fn((n, 2), |(i, j)| centre[y[i]][j] + rng.random_range(-1.0..1.0));
        (x, y)
    }

    fn one_hot(y: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((y.len(), 3), |(i, k)| f64::from(y[i] == k))
    }

    #[test]
    fn the_gradient_agrees_with_differences_and_vanishes_at_the_minimum() {
        let (x, y) = problem(50);
        let q = one_hot(&y);
        let theta = Array1::from_shape_fn(9, |i| 0.1 * i as f64 - 0.4);
        let (_, gradient) = objective(&theta, Features::columns(x.view()), q.view(), 0.7);
        for i in 0..9 {
            let moved = |h: f64| {
                let mut theta = theta.clone();
                theta[i] += h;
                objective(&theta, Features::columns(x.view()), q.view(), 0.7).0
            };
            let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient[i] - numeric).abs() < 1e-6 * (1. + numeric.abs()), "{i}");
        }
        let of = |theta: &Array1<f64>| objective(theta, Features::columns(x.view()), q.view(), 0.7);
        let best = minimise(theta, 1.0, of, &()).unwrap();
        let (_, gradient) = of(&best);
        assert!(gradient.iter().all(|g| g.abs() < 1e-3), "{gradient}");
    }

    #[test]
    fn linearly_separable_classes_are_separated() {
        let (x, y) = problem(90);
        let model = Logistic::fit(x.view(), one_hot(&y).view(), 10.);
        assert_eq!(arg_max(model.log_probs(x.view()).view()), y);
        let sum = model.log_probs(array![[50., -80.]].view()).exp().sum();
        assert!((sum - 1.).abs() < 1e-12);
    }

    #[test]
    fn self_training_spreads_three_labels_over_three_clusters() {
        let (x, y) = problem(300);
        let known: Vec<Option<usize>> = y.iter().enumerate().map(|(i, &y)| (i < 3).then_some(y)).collect();
        let (_, p) = self_training(x.view(), &known, 3, 1., 0.75);
        let right = arg_max(p.view()).iter().zip(&y).filter(|(a, b)| a == b).count();
        assert!(right > 285, "{right}");
    }
}
