//! The problem of semi-supervised classification, without any model: what the data are, how they are
//! encoded, split, preprocessed and scored, and what a learner has to offer.
//!
//! ```text
//! Frame -Schema-> Encoding -> SemiSupervised { x [n, dim], y: Option<class> per row }
//!       -Preprocess-> x' -Learner::fit-> Classifier -log_probs [n, n_classes]-> Scores
//! ```
//!
//! Randomness is always an argument, [`Rng`]; the same seed gives the same bits at any number of threads.
//!
//! ```
//! use semisup::{Scores, Toy, label_spreading};
//!
//! let problem = Toy::Moons.problem(1); // 1000 points, 10 of them labelled
//! let q = label_spreading(problem.train.x(), problem.train.y(), 2, 10, 0.99);
//! assert_eq!(q.dim(), (1000, 2));
//! let labelled = problem.train.labelled_only();
//! assert_eq!(labelled.n(), 10);
//! # let log_probs = label_spreading(labelled.x(), labelled.y(), 2, 3, 0.5).ln();
//! # let y: Vec<usize> = labelled.y().iter().map(|y| y.unwrap()).collect();
//! # assert!(Scores::from_log_probs(&log_probs, &y).accuracy > 0.5);
//! ```

mod data;
mod digits;
pub mod encode;
mod error;
mod frame;
pub mod graph;
mod interval;
mod learner;
mod linalg;
mod logistic;
pub mod metrics;
mod mixture;
mod nearest;
mod picture;
mod preprocess;
pub mod schema;
pub mod split;
mod spreading;
mod toy;
mod two_sample;

pub use data::{Examples, Labelled, Problem, SemiSupervised};
pub use digits::{digits, digits_problem};
pub use encode::{Encoded, Encoding, Feature, Likelihood, Role};
pub use error::Error;
pub use frame::{Cells, Column, Frame, Texts, number_text, read_number};
pub use graph::{knn, label_spreading};
pub use interval::{Interval, difference_interval, share_interval};
pub use learner::{Classifier, Learner};
pub use logistic::{Logistic, self_training};
pub use metrics::{Scores, fit_temperature};
pub use mixture::{Covariance, GaussianMixture, GaussianMixtureModel};
pub use ndarray;
pub use nearest::{NearestNeighbours, NearestNeighboursModel, RowLength};
pub use picture::{Layout, Picture};
pub use preprocess::{Monotone, Preprocess, normal_quantile, shape};
pub use schema::{Kind, KindName, Labels, Schema, labels, labels_of};
pub use spreading::{LabelSpreading, RBF_ROWS, SpreadKernel, SpreadModel};
pub use toy::Toy;
pub use two_sample::{Judge, TwoSample, two_sample};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The one random generator of the project: named, portable, seeded by the caller.
pub type Rng = rand_chacha::ChaCha8Rng;

/// The generator that starts from `seed`.
pub fn rng(seed: u64) -> Rng {
    rand::SeedableRng::seed_from_u64(seed)
}
