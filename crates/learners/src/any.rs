//! Learners behind one type, and by name.

use std::fmt::Debug;

use semisup::{Classifier, Learner, SemiSupervised, Watch};

use crate::{
    ClusterRegression, ConvPiModel, ExpertForest, Experts, ExtraTrees, GaussianMixture, GradientBoosting,
    LabelSpreading, LogisticRegression, M1M2, Mlp, NaiveBayes, NearestNeighbours, PiModel,
    PlainLogisticRegression, RandomForest, RbfLabelSpreading, RowLength, SelfTraining, SpreadKernel,
    Standardised, Svc, Tuned,
};

/// An error of any learner.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A model of any learner.
pub type AnyModel = Box<dyn Classifier + Send + Sync>;

/// A learner whose types of model and error are hidden. Every [`Learner`] with `Debug` is one.
pub trait AnyLearner {
    /// The name in tables and reports.
    fn name(&self) -> String;

    /// All hyper-parameters in one line, for the record: learners with equal lines are equal.
    fn settings(&self) -> String;

    /// Fits a model; see [`Learner::fit`].
    fn fit_any(&self, data: &SemiSupervised, seed: u64) -> Result<AnyModel, AnyError>;

    /// Fits a model, watched; see [`Learner::fit_watched`].
    fn fit_any_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        _watch: &dyn Watch,
    ) -> Result<AnyModel, AnyError> {
        self.fit_any(data, seed)
    }

    /// This learner with another number of training steps, if it is trained in steps; see [`Learner::with_steps`].
    fn stepped(&self, _steps: usize) -> Option<BoxedLearner> {
        None
    }
}

impl<L: Learner + Debug + Send + Sync + 'static> AnyLearner for L
where
    L::Model: Send + Sync + 'static,
    L::Error: Send + Sync + 'static,
{
    fn name(&self) -> String {
        Learner::name(self)
    }

    fn settings(&self) -> String {
        format!("{self:?}")
    }

    fn fit_any(&self, data: &SemiSupervised, seed: u64) -> Result<AnyModel, AnyError> {
        Ok(Box::new(self.fit(data, seed)?))
    }

    fn fit_any_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<AnyModel, AnyError> {
        Ok(Box::new(self.fit_watched(data, seed, watch)?))
    }

    fn stepped(&self, steps: usize) -> Option<BoxedLearner> {
        self.with_steps(steps).map(|learner| Box::new(learner) as BoxedLearner)
    }
}

/// A learner that can be shared.
pub type BoxedLearner = Box<dyn AnyLearner + Send + Sync>;

/// The names [`by_name`] knows. Those that end in `-raw` do not standardise columns.
pub fn names() -> &'static [&'static str] {
    &[
        "knn",
        "knn-raw",
        "knn-unit",
        "logistic-regression",
        "logistic-regression-plain",
        "extra-trees",
        "random-forest",
        "gradient-boosting",
        "svc",
        "cluster-regression",
        "experts",
        "expert-forest",
        "mlp",
        "pi-model",
        "pi-model-conv",
        "m1m2",
        "label-spreading-rbf",
        "label-spreading-knn",
        "label-spreading",
        "label-spreading-raw",
        "self-training",
        "gaussian-mixture",
        "naive-bayes",
    ]
}

/// A learner by its name, with settings that need no tuning by hand:
///
/// | name | learner | columns |
/// |---|---|---|
/// | knn, knn-raw | k nearest labelled rows, k of 1, 3, 5, 9 by cross-validation | standardised, raw |
/// | knn-unit | k nearest labelled rows by angle, as in the paper | standardised, then each row normalised to length 1 |
/// | logistic-regression | C of 1, 0.1, 0.01, 10 by cross-validation | standardised |
/// | logistic-regression-plain | C = 1, as scikit-learn's default | standardised |
/// | extra-trees, random-forest | 500 trees, otherwise scikit-learn's defaults | raw |
/// | gradient-boosting | scikit-learn's defaults, see [`GradientBoosting`] | raw |
/// | svc | RBF kernel, C = 1, gamma by scikit-learn's rule `scale` | standardised |
/// | cluster-regression | logistic regression on columns and bagged k-means memberships, C = 1 | standardised |
/// | experts | mean of logistic-regression-plain, extra-trees, random-forest and cluster-regression | standardised |
/// | expert-forest | trees on all rows, classes of unlabelled ones drawn from the predictions of experts | raw |
/// | mlp, pi-model | the paper's nets, see [`Mlp`], [`PiModel`] | standardised |
/// | pi-model-conv | the Pi-model of images, see [`ConvPiModel`] | pixels |
/// | m1m2 | variational auto-encoders, see [`M1M2`] | standardised; pixels as probabilities |
/// | label-spreading-rbf | RBF kernel between at most 2000 rows, alpha 0.8, width of 16, 64, 4 by cross-validation | standardised |
/// | label-spreading-knn | scikit-learn's graph of 10 neighbours, alpha 0.9 | standardised |
/// | label-spreading, label-spreading-raw | graph of 10 locally scaled neighbours, alpha 0.99 | standardised, raw |
/// | self-training | of logistic regression, C = 1, threshold 0.75, as in scikit-learn | standardised |
/// | gaussian-mixture | full covariances by EM; invariant to the scale of columns | raw |
/// | naive-bayes | columns independent within a class, values or 5 quantile bins, by EM | raw |
/// | paper-knn/K | the paper's kNN, K from 1 to 20 | each row normalised to length 1 |
/// | paper-label-spreading-rbf/GAMMA/ALPHA | kernel exp(-gamma sin^2) between as many rows as a dense matrix holds | each row normalised to length 1 |
/// | paper-label-spreading-knn/K/ALPHA | scikit-learn's graph of K neighbours | each row normalised to length 1 |
/// | paper-pi-model/RATE | [`PiModel`] with the paper's consistency weight of 30 | standardised |
pub fn by_name(name: &str) -> Option<BoxedLearner> {
    Some(match name {
        "knn" => Box::new(Standardised(nearest(RowLength::Kept))),
        "knn-raw" => Box::new(nearest(RowLength::Kept)),
        "knn-unit" => Box::new(Standardised(nearest(RowLength::Unit))),
        "logistic-regression" => Box::new(tuned([1., 0.1, 0.01, 10.].map(|c| LogisticRegression { c }))),
        "logistic-regression-plain" => Box::new(Standardised(PlainLogisticRegression::default())),
        "extra-trees" => Box::new(ExtraTrees::default()),
        "random-forest" => Box::new(RandomForest::default()),
        "gradient-boosting" => Box::new(GradientBoosting::default()),
        "svc" => Box::new(Standardised(Svc::default())),
        "cluster-regression" => Box::new(Standardised(ClusterRegression::default())),
        "experts" => Box::new(Standardised(Experts::default())),
        "expert-forest" => Box::new(ExpertForest::default()),
        "mlp" => Box::new(Mlp::default()),
        "pi-model" => Box::new(PiModel::default()),
        "pi-model-conv" => Box::new(ConvPiModel::default()),
        "m1m2" => Box::new(M1M2::default()),
        "label-spreading-rbf" => {
            let spreading = |width| RbfLabelSpreading { width, alpha: 0.8, rows: 2000 };
            Box::new(Standardised(tuned([16., 64., 4.].map(spreading))))
        }
        "label-spreading-knn" => {
            Box::new(Standardised(LabelSpreading { kernel: SpreadKernel::Knn { k: 11 }, alpha: 0.9 }))
        }
        "label-spreading" => Box::new(Standardised(LabelSpreading::default())),
        "label-spreading-raw" => Box::new(LabelSpreading::default()),
        "self-training" => Box::new(SelfTraining::default()),
        "gaussian-mixture" => Box::new(GaussianMixture::default()),
        "naive-bayes" => Box::new(NaiveBayes::default()),
        _ => return crate::unit::by_name(name),
    })
}

fn nearest(length: RowLength) -> Tuned<NearestNeighbours> {
    tuned([1, 3, 5, 9].map(|k| NearestNeighbours { k, length }))
}

/// Five folds over candidates, of which the first is the default.
fn tuned<L, const N: usize>(candidates: [L; N]) -> Tuned<L> {
    let mut others = candidates.into_iter();
    let default = others.next().expect("a default");
    Tuned { default, others: others.collect(), folds: 5 }
}
