//! What FlowGMM is compared with: the paper's baselines, and those users would try first, behind the traits of
//! [`semisup`].
//!
//! | learner | of | uses unlabelled rows |
//! |---|---|---|
//! | [`LogisticRegression`] | the paper | no |
//! | [`Mlp`]: three hidden layers, dropout | the paper | no |
//! | [`PiModel`] | Laine and Aila 2017, the paper | yes |
//! | [`M1M2`]: variational auto-encoders | Kingma et al. 2014, the paper | yes |
//! | [`RbfLabelSpreading`], [`semisup::LabelSpreading`] | Zhou et al. 2004, the paper | yes |
//! | [`SelfTraining`] | Yarowsky 1995, scikit-learn | yes |
//! | [`semisup::NearestNeighbours`] | the paper | no |
//! | [`semisup::GaussianMixture`] | a flow that is the identity | yes |
//!
//! [`Standardised`], [`Tuned`] and [`Ensemble`] make learners of learners. [`by_name`] gives each with settings that
//! need no care, as an [`AnyLearner`], whose types are hidden.
//!
//! ```
//! use semisup::{Scores, Toy};
//!
//! let problem = Toy::Moons.problem(1);
//! let learner = flowgmm_rivals::by_name("label-spreading").unwrap();
//! let model = learner.fit_any(&problem.train, 1).unwrap();
//! let scores = Scores::from_log_probs(&model.log_probs(problem.test.x()), problem.test.y());
//! assert!(scores.accuracy > 0.9, "{}", scores.accuracy);
//! ```

mod adam;
mod any;
mod error;
mod linear;
mod loss;
mod m1m2;
mod mlp;
mod net;
mod pi;
mod rbf;
mod train;
mod wrap;

pub use any::{AnyError, AnyLearner, AnyModel, BoxedLearner, by_name, names};
pub use error::Error;
pub use linear::{LinearModel, LogisticRegression, SelfTraining};
pub use m1m2::{M1M2, M1M2Model, VaeStage};
pub use mlp::{Mlp, NetModel};
pub use pi::PiModel;
pub use rbf::RbfLabelSpreading;
pub use wrap::{Ensemble, EnsembleModel, Standardised, StandardisedModel, Tuned};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
