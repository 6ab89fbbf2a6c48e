//! What FlowGMM is compared with: the paper's baselines, and those users would try first, behind the traits of
//! [`semisup`].
//!
//! | learner | of | uses unlabelled rows |
//! |---|---|---|
//! | [`LogisticRegression`] | the paper | no |
//! | [`Mlp`]: three hidden layers, dropout | the paper | no |
//! | [`PiModel`] | Laine and Aila 2017, the paper | yes |
//! | [`M1M2`]: variational auto-encoders | Kingma et al. 2014, the paper | yes |
//! | [`RbfLabelSpreading`], [`LabelSpreading`] | Zhou et al. 2004, the paper | yes |
//! | [`SelfTraining`] | Yarowsky 1995, scikit-learn | yes |
//! | [`NearestNeighbours`] | the paper | no |
//! | [`GaussianMixture`] | a flow that is the identity | yes |
//!
//! [`Standardised`], [`Tuned`] and [`Ensemble`] make learners of learners. [`by_name`] gives each with settings that
//! need no care, as an [`AnyLearner`], whose types are hidden.
//!
//! ```
//! use semisup::{Scores, Toy};
//!
//! let problem = Toy::Moons.problem(1);
//! let learner = flowgmm_learners::by_name("label-spreading").unwrap();
//! let model = learner.fit_any(&problem.train, 1).unwrap();
//! let scores = Scores::from_log_probs(&model.log_probs(problem.test.x()), problem.test.y());
//! assert!(scores.accuracy > 0.9, "{}", scores.accuracy);
//! ```

mod adam;
mod any;
mod error;
pub mod graph;
mod linear;
mod logistic;
mod loss;
mod m1m2;
mod mixture;
mod mlp;
mod nearest;
mod net;
mod pi;
mod rbf;
mod spreading;
mod train;
mod two_sample;
mod wrap;

pub use any::{AnyError, AnyLearner, AnyModel, BoxedLearner, by_name, names};
pub use error::Error;
pub use graph::{knn, label_spreading};
pub use linear::{LinearModel, LogisticRegression, SelfTraining};
pub use logistic::{Logistic, self_training};
pub use m1m2::{M1M2, M1M2Model, VaeStage};
pub use mixture::{Covariance, GaussianMixture, GaussianMixtureModel};
pub use mlp::{Mlp, NetModel};
pub use nearest::{NearestNeighbours, NearestNeighboursModel, RowLength};
pub use pi::PiModel;
pub use rbf::RbfLabelSpreading;
pub use spreading::{LabelSpreading, RBF_ROWS, SpreadKernel, SpreadModel};
pub use two_sample::{Judge, TwoSample, two_sample};
pub use wrap::{Ensemble, EnsembleModel, Standardised, StandardisedModel, Tuned};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
