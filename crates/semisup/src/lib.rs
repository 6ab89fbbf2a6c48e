//! The problem of semi-supervised classification, without any model: what the data are, how they are split,
//! preprocessed and scored, and what a learner has to offer.
//!
//! ```text
//! SemiSupervised { x [n, dim], y: Option<class> per row } -Preprocess-> x'
//!   -Learner::fit-> Classifier -log_probs [n, n_classes]-> Scores
//! ```
//!
//! Randomness is always an argument, [`Rng`]; the same seed gives the same bits at any number of threads.
//!
//! ```
//! use semisup::Toy;
//!
//! let problem = Toy::Moons.problem(1); // 1000 points, 10 of them labelled
//! let labelled = problem.train.labelled_only();
//! assert_eq!((problem.train.n(), labelled.n()), (1000, 10));
//! ```

mod data;
mod digits;
mod error;
mod image_shape;
mod interval;
mod learner;
mod linalg;
pub mod metrics;
mod preprocess;
pub mod split;
mod toy;

pub use data::{Examples, Labelled, Problem, SemiSupervised};
pub use digits::{digits, digits_problem};
pub use error::Error;
pub use image_shape::ImageShape;
pub use interval::{Interval, difference_interval, share_interval};
pub use learner::{Classifier, Learner};
pub use metrics::{Scores, fit_temperature};
pub use ndarray;
pub use preprocess::{Monotone, Preprocess, normal_quantile, shape};
pub use toy::Toy;

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The one random generator of the project: named, portable, seeded by the caller.
pub type Rng = rand_chacha::ChaCha8Rng;

/// The generator that starts from `seed`.
pub fn rng(seed: u64) -> Rng {
    rand::SeedableRng::seed_from_u64(seed)
}
