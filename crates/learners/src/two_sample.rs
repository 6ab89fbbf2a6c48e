//! A classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017): can a classifier tell generated rows from real ones?
//!
//! ```text
//! real [n, dim], generated [n, dim] -half-> train a classifier -other half-> accuracy, 0.5 if they are alike
//! ```
//!
//! The classifier is the better of two on a part of the training half: a logistic regression on columns and their squares,
//! which detects differences in means and variances, and nearest neighbours, which detect other differences.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate};
use rand::seq::SliceRandom;
use semisup::{Interval, Preprocess, Rng, metrics::arg_max, share_interval};
use serde::Serialize;

use crate::{Logistic, Result, knn};

/// Number of nearest neighbours.
const NEIGHBOURS: usize = 15;
/// Inverse penalty of the logistic regression.
const C: f64 = 0.1;
/// The smallest number of rows of each kind that makes a test.
const FEWEST: usize = 20;

/// The result of a two-sample test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoSample {
    /// Accuracy on held-out rows: 0.5 if the two kinds cannot be told apart.
    pub accuracy: f64,
    /// 95 % interval of the accuracy.
    pub interval: Interval,
    /// Rows it was measured on, half of them real.
    pub n: usize,
    /// The classifier that was used.
    pub classifier: TwoSampleClassifier,
}

/// The classifier of a two-sample test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TwoSampleClassifier {
    /// Logistic regression on columns and their squares.
    Logistic,
    /// Nearest neighbours.
    Neighbours,
}

/// Trains a classifier to tell `generated` from `real` rows, the same number of each; `None` for fewer than 20 of a kind.
///
/// # Panics
/// If the two differ in columns.
pub fn two_sample(
    real: ArrayView2<f64>,
    generated: ArrayView2<f64>,
    rng: &mut Rng,
) -> Result<Option<TwoSample>> {
    assert_eq!(real.ncols(), generated.ncols(), "the same columns");
    let n = real.nrows().min(generated.nrows());
    if n < FEWEST {
        return Ok(None);
    }
    let mut drawn = |x: ArrayView2<f64>| {
        let mut rows: Vec<usize> = (0..x.nrows()).collect();
        rows.shuffle(rng);
        rows.truncate(n);
        x.select(Axis(0), &rows)
    };
    let pool = Pool { real: drawn(real), generated: drawn(generated) };
    let half = n / 2;
    let classifier = [TwoSampleClassifier::Logistic, TwoSampleClassifier::Neighbours]
        .map(|one| pool.accuracy(one, 0..half - half / 4, half - half / 4..half).map(|a| (one, a)))
        .into_iter()
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(one, _)| one)
        .expect("two of them");
    let accuracy = pool.accuracy(classifier, 0..half, half..n)?;
    let n = 2 * (n - half);
    Ok(Some(TwoSample { accuracy, interval: share_interval(accuracy, n), n, classifier }))
}

/// Shuffled rows of both kinds, the same number of each.
struct Pool {
    real: Array2<f64>,
    generated: Array2<f64>,
}

impl Pool {
    /// The accuracy on the rows `test` of each kind after training on the rows `train`.
    fn accuracy(
        &self,
        classifier: TwoSampleClassifier,
        train: std::ops::Range<usize>,
        test: std::ops::Range<usize>,
    ) -> Result<f64> {
        let both = |rows: std::ops::Range<usize>| {
            let part = |x: &Array2<f64>| x.slice_axis(Axis(0), rows.clone().into()).to_owned();
            concatenate![Axis(0), part(&self.real), part(&self.generated)]
        };
        let (n_train, n_test) = (train.len(), test.len());
        let (train, test) = (both(train), both(test));
        let scale = Preprocess::standardise(train.view())?;
        let (train, test) = (scale.apply(train.view()), scale.apply(test.view()));
        let is_real = match classifier {
            TwoSampleClassifier::Logistic => logistic(&train, &test, n_train),
            TwoSampleClassifier::Neighbours => neighbours(&train, &test, n_train),
        };
        let right = is_real.iter().enumerate().filter(|(row, real)| **real == (*row < n_test)).count();
        Ok(right as f64 / is_real.len() as f64)
    }
}

/// Which rows of `test` a logistic regression takes for real; the first `n_real` rows of `train` are.
fn logistic(train: &Array2<f64>, test: &Array2<f64>, n_real: usize) -> Vec<bool> {
    // Clipped at 5 standard deviations, so that outliers do not dominate the squares.
    let features = |x: &Array2<f64>| {
        let x = x.mapv(|v| v.clamp(-5.0, 5.0));
        concatenate![Axis(1), x, x.mapv(|v| v * v)]
    };
    let q = Array2::from_shape_fn((train.nrows(), 2), |(i, k)| f64::from((k == 0) == (i < n_real)));
    let model = Logistic::fit(features(train).view(), q.view(), C);
    arg_max(model.log_probs(features(test).view()).view()).into_iter().map(|k| k == 0).collect()
}

/// Which rows of `test` have more real than generated rows among their nearest neighbours in `train`.
fn neighbours(train: &Array2<f64>, test: &Array2<f64>, n_real: usize) -> Vec<bool> {
    let (index, _) = knn(train.view(), test.view(), NEIGHBOURS);
    let is_real = |near: ArrayView1<usize>| 2 * near.iter().filter(|&&row| row < n_real).count() > near.len();
    index.rows().into_iter().map(is_real).collect()
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;
    use rand_distr::StandardNormal;

    use super::*;

    fn normal(n: usize, seed: u64) -> Array2<f64> {
        let mut rng = semisup::rng(seed);
        Array2::from_shape_simple_fn((n, 3), || rng.sample(StandardNormal))
    }

    fn test(a: &Array2<f64>, b: &Array2<f64>) -> TwoSample {
        two_sample(a.view(), b.view(), &mut semisup::rng(7)).unwrap().unwrap()
    }

    #[test]
    fn rows_of_one_distribution_cannot_be_told_apart() {
        for seed in 0..5 {
            let found = test(&normal(800, 2 * seed), &normal(900, 2 * seed + 1));
            assert_eq!(found.n, 800);
            // The interval holds 0.5 in 19 cases of 20; four standard errors are 0.07.
            assert!((found.accuracy - 0.5).abs() < 0.07, "{found:?}");
        }
    }

    #[test]
    fn shifted_and_stretched_rows_are_told_apart() {
        let shifted = test(&normal(400, 1), &(normal(400, 2) + 4.0));
        assert!(shifted.accuracy > 0.98 && shifted.interval.low > 0.95, "{shifted:?}");
        let stretched = test(&normal(600, 1), &(normal(600, 2) * 3.0));
        assert!(stretched.accuracy > 0.8 && !stretched.interval.contains(0.5), "{stretched:?}");
    }

    /// Same means and variances, other shape: only neighbours can see it.
    #[test]
    fn two_moons_differ_from_a_gaussian_of_their_covariance() {
        let moons = semisup::Toy::Moons.problem(1).train.x().to_owned();
        let scale = Preprocess::pca(moons.view(), 2, 1.0).unwrap();
        let found = test(&scale.apply(moons.view()), &normal(1000, 3).slice_move(ndarray::s![.., ..2]));
        assert_eq!(found.classifier, TwoSampleClassifier::Neighbours);
        assert!(found.interval.low > 0.6, "{found:?}");
    }

    #[test]
    fn a_handful_of_rows_is_no_test() {
        let few = normal(19, 1);
        assert_eq!(two_sample(few.view(), normal(50, 2).view(), &mut semisup::rng(0)).unwrap(), None);
    }
}
