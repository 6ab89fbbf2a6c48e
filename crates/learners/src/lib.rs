//! Classical semi-supervised learners and the baselines of the FlowGMM paper, behind the traits
//! [`Learner`](semisup::Learner) and [`Classifier`](semisup::Classifier) of [`semisup`].
//!
//! | module | learner | reference | uses unlabelled rows |
//! |---|---|---|---|
//! | [`graph`] | [`NearestNeighbours`] | the paper | no |
//! | | [`LabelSpreading`], [`RbfLabelSpreading`] | Zhou et al. 2004, the paper | yes |
//! | [`linear`] | [`LogisticRegression`] | the paper | no |
//! | | [`SelfTraining`] | Yarowsky 1995, scikit-learn | yes |
//! | [`trees`] | [`ExtraTrees`], [`RandomForest`] | Geurts et al. 2006, Breiman 2001, scikit-learn | no |
//! | | [`GradientBoosting`] | Friedman 2001, scikit-learn | no |
//! | [`svm`] | [`Svc`]: support vector classification, RBF kernel | Fan et al. 2005, libsvm | no |
//! | [`clusters`] | [`ClusterRegression`]: logistic regression on columns and bagged k-means memberships | | yes |
//! | [`pool`] | [`Experts`]: the mean of logistic regression, forests and cluster regression | | yes |
//! | [`distilled`] | [`ExpertForest`]: trees on rows whose classes are drawn from the experts' predictions | | yes |
//! | [`nets`] | [`Mlp`]: three hidden layers, dropout | the paper | no |
//! | | [`PiModel`] | Laine and Aila 2017, the paper | yes |
//! | | [`ConvPiModel`] of images | Laine and Aila 2017 | yes |
//! | [`generative`] | [`GaussianMixture`] in data space, by EM | FlowGMM with the identity for a flow | yes |
//! | | [`NaiveBayes`] over levels of columns, by EM | Nigam et al. 2000 | yes |
//! | | [`M1M2`]: variational auto-encoders | Kingma et al. 2014, the paper | yes |
//!
//! [`meta`] builds learners from learners: [`Standardised`], [`Tuned`], [`Ensemble`]. [`by_name`] gives each learner with
//! default settings as an [`AnyLearner`], which hides its types. [`two_sample`] asks whether a classifier can tell
//! generated rows from real ones.
//!
//! Results have the same bits for the same data and seed, on any number of threads.
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

mod any;
mod chunks;
pub mod clusters;
pub mod distilled;
mod error;
pub mod generative;
pub mod graph;
pub mod linear;
pub mod meta;
pub mod nets;
pub mod pool;
mod scorecard;
pub mod svm;
mod targets;
pub mod trees;
mod two_sample;
mod unit;

pub use any::{AnyError, AnyLearner, AnyModel, BoxedLearner, by_name, names};
pub use clusters::{ClusterFeatures, ClusterLogistic, ClusterRegression, ClusterRegressionModel};
pub use distilled::{ExpertForest, ExpertForestModel, cross_distil, distil};
pub use error::Error;
pub use generative::{
    CovarianceType, GaussianMixture, GaussianMixtureModel, M1M2, M1M2Model, NaiveBayes, NaiveBayesModel,
    VaeStage,
};
pub use graph::{
    LabelSpreading, NearestNeighbours, NearestNeighboursModel, RBF_ROWS, RbfLabelSpreading, RowLength,
    SpreadKernel, SpreadModel, knn, knn_watched, label_spreading,
};
pub use linear::{
    LinearModel, Logistic, LogisticRegression, PlainLogisticModel, PlainLogisticRegression, SelfTraining,
    self_training, self_training_watched,
};
pub use meta::{Ensemble, EnsembleModel, Standardised, StandardisedModel, Tuned};
pub use nets::{ConvPiModel, ConvPiNet, Mlp, NetModel, PiModel, PiViews};
pub use pool::{Expert, ExpertPool, Experts};
pub use scorecard::{SCORECARD_ARRAYS, Scorecard};
pub use svm::{SVC_ROWS, SupportVectors, Svc, SvcModel};
pub use trees::{
    Boosted, BoostedModel, ExtraTrees, FOREST_ARRAYS, Forest, ForestModel, GradientBoosting, MaxFeatures,
    RandomForest, Sampling, Splitter, TreeSettings,
};
pub use two_sample::{TwoSample, TwoSampleClassifier, two_sample};
pub use unit::{UnitRows, UnitRowsModel, names as paper_names};

/// What a fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
