//! The problem of semi-supervised classification, without any model: the data, how they are split, preprocessed and
//! scored, and the traits of a learner.
//!
//! ```text
//! SemiSupervised { x [n, dim], y: Option<class> per row } -Preprocess-> x'
//!   -Learner::fit-> Classifier -log_probs [n, n_classes]-> Scores
//! ```
//!
//! | what | where |
//! |---|---|
//! | rows with some or all labels, checked | [`Examples`], [`SemiSupervised`], [`Labelled`], [`Problem`] |
//! | what a method offers | [`Learner`], [`Classifier`] |
//! | progress of long work, and stopping it | [`Watch`] |
//! | maps of columns to a common scale, and back | [`Preprocess`], [`Monotone`] |
//! | stratified splits, folds, evenly spaced rows | [`split`] |
//! | accuracy, calibration, conformal sets, detection | [`metrics`], [`Interval`] |
//! | problems that need no file | [`Toy`], [`digits`] |
//! | eigenvalues, Cholesky's factor | [`linalg`] |
//!
//! Randomness is always an argument, [`Rng`]; the same seed gives the same bits on any number of threads.
//!
//! A learner from scratch, the nearest class mean of the labelled rows, fitted and scored:
//!
//! ```
//! use semisup::ndarray::{Array2, ArrayView2};
//! use semisup::{Classifier, Learner, Scores, SemiSupervised, Toy, metrics::log_softmax};
//!
//! struct NearestMean;
//! struct Means { mu: Array2<f64>, classes: Vec<String> } // mu [n_classes, dim]
//!
//! impl Learner for NearestMean {
//!     type Model = Means;
//!     type Error = semisup::Error;
//!
//!     fn name(&self) -> String {
//!         "nearest mean".into()
//!     }
//!
//!     fn fit(&self, data: &SemiSupervised, _seed: u64) -> semisup::Result<Means> {
//!         let mut mu = Array2::zeros((data.n_classes(), data.dim()));
//!         for (x, y) in data.x().rows().into_iter().zip(data.y()) {
//!             if let Some(k) = *y {
//!                 mu.row_mut(k).scaled_add(1. / data.class_counts()[k] as f64, &x);
//!             }
//!         }
//!         Ok(Means { mu, classes: data.classes().to_vec() })
//!     }
//! }
//!
//! impl Classifier for Means {
//!     fn classes(&self) -> &[String] {
//!         &self.classes
//!     }
//!
//!     fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
//!         let logit = |(row, k)| -(&x.row(row) - &self.mu.row(k)).mapv(|d: f64| d * d).sum();
//!         log_softmax(Array2::from_shape_fn((x.nrows(), self.mu.nrows()), logit).view())
//!     }
//! }
//!
//! let problem = Toy::Moons.problem(1); // 1000 points, 10 of them labelled
//! assert_eq!((problem.train.n(), problem.train.labelled().len()), (1000, 10));
//! let model = NearestMean.fit(&problem.train, 1)?;
//! let scores = Scores::from_log_probs(&model.log_probs(problem.test.x()), problem.test.y());
//! assert!(scores.accuracy > 0.7);
//! # Ok::<(), semisup::Error>(())
//! ```

mod data;
mod digits;
mod error;
mod image_shape;
mod interval;
mod learner;
pub mod linalg;
pub mod metrics;
mod preprocess;
pub mod split;
mod toy;
mod watch;

pub use data::{Examples, Labelled, Problem, SemiSupervised};
pub use digits::{digits, digits_problem};
pub use error::Error;
pub use image_shape::ImageShape;
pub use interval::{Interval, difference_interval, share_interval};
pub use learner::{Classifier, Learner};
pub use metrics::{Scores, fit_temperature};
pub use ndarray;
pub use preprocess::{
    Monotone, Preprocess, PreprocessParts, ProjectionParts, normal_quantile, to_normal_columns,
};
pub use toy::Toy;
pub use watch::{Part, Stopped, Watch};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The random generator of the project: portable, and seeded by the caller.
pub type Rng = rand_chacha::ChaCha8Rng;

/// A generator with this seed.
pub fn rng(seed: u64) -> Rng {
    rand::SeedableRng::seed_from_u64(seed)
}
