//! What decides a fit, as plain data: preprocessing, architecture, graph, starts, training. And what makes no sense.

use ndarray::{ArrayView1, ArrayView2};
use semisup::{Monotone, Preprocess, Stopped, Watch};
use serde::{Deserialize, Serialize};

use flowgmm_core::{Architecture, rule, train::TrainConfig};

use crate::{
    Result,
    teachers::{Teacher, TeacherMethod},
};

/// How the user's columns are made ready for the flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Prepare {
    /// As they are.
    Raw,
    /// Each column to mean 0 and variance 1.
    Standardise,
    /// All columns by one factor, to mean variance 1.
    Scale,
    /// Pixel values 0 to 255 to the middles of their cells in [0, 1].
    Pixels,
    /// The leading principal directions, coordinate j divided by sd_j^whiten.
    Pca {
        /// Directions kept, at most.
        dims: usize,
        /// 0 keeps relative variances, 1 whitens.
        whiten: f64,
    },
    /// The leading principal directions of columns brought to variance 1 first, coordinate j divided by sd_j^whiten.
    PcaStandardised {
        /// Directions kept, at most.
        dims: usize,
        /// 0 keeps relative variances, 1 whitens.
        whiten: f64,
    },
}

/// Which columns a quantile transform makes normal before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuantileTransform {
    /// None.
    #[default]
    Off,
    /// Those with a long tail or with one value in many rows.
    Skewed,
    /// All with at least three values.
    All,
}

/// What training makes of values that lie on a grid, such as counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dequantise {
    /// It takes them as they are.
    Off,
    /// It spreads them over their step by uniform noise, anew in every batch.
    Uniform,
}

/// Several short starts, of which the best goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiStart {
    /// Number of starts; 1 trains right away.
    pub starts: usize,
    /// Length of a short start as a fraction of the full run.
    pub fraction: f64,
    /// Folds of the labelled cross-validation.
    pub folds: usize,
}

/// How sure a model may be: what its temperature is learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Calibration {
    /// Short runs without each fold of the labels: the model is as sure of unlabelled rows, on average, as those runs were
    /// right on the labels they did not see.
    Folds {
        /// Folds of the labelled rows.
        folds: usize,
        /// Length of a short run as a fraction of the full one.
        fraction: f64,
    },
    /// The temperature at which the model is as sure of unlabelled rows, on average, as it is expected to be right.
    Expected {
        /// Share of rows expected to be right.
        accuracy: f64,
    },
}

/// Experts beside the flow, whose probabilities are averaged with its own: trees, logistic regression and naive Bayes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForestConfig {
    /// Number of trees.
    pub n_trees: usize,
}

/// Everything that decides a fit, but the data and the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitConfig {
    /// Which columns are made normal.
    pub quantile_transform: QuantileTransform,
    /// Values on a grid.
    pub dequantise: Dequantise,
    /// Preprocessing.
    pub prepare: Prepare,
    /// Flow and mixture.
    pub architecture: Architecture,
    /// Teachers that guide the start.
    pub teachers: Vec<Teacher>,
    /// Starts.
    pub multi_start: MultiStart,
    /// Calibration of the flow's probabilities.
    pub calibration: Option<Calibration>,
    /// The experts beside the flow; without them, predictions are the flow's own Bayes rule.
    #[serde(default)]
    pub forest: Option<ForestConfig>,
    /// Unlabelled rows that everything but training sees, about, where rows are in shards (`train.shards`): schema, preprocessing,
    /// teachers, calibration. 50,000 if absent.
    #[serde(default)]
    pub sample: Option<usize>,
    /// Training.
    pub train: TrainConfig,
}

impl QuantileTransform {
    /// The maps of the columns of x `[n, dim]`.
    pub fn learn(&self, x: ArrayView2<f64>) -> Vec<Option<Monotone>> {
        self.learn_watched(x, &()).expect("nobody stops it")
    }

    /// [`QuantileTransform::learn`], watched: the fraction of the columns that are looked at.
    pub(crate) fn learn_watched(
        &self,
        x: ArrayView2<f64>,
        watch: &dyn Watch,
    ) -> std::result::Result<Vec<Option<Monotone>>, Stopped> {
        let wanted = |column: ArrayView1<f64>| match self {
            Self::Off => false,
            Self::Skewed => is_skewed(column),
            Self::All => true,
        };
        let map = |column: ArrayView1<f64>| {
            wanted(column).then(|| Monotone::to_normal(column.iter().copied())).flatten()
        };
        let columns = x.columns().into_iter().enumerate();
        let maps = columns.map(|(j, column)| {
            watch.at(j as f64 / x.ncols() as f64)?;
            Ok(map(column))
        });
        maps.collect()
    }
}

/// Whether a column has a long tail (skewness above 2 in size), or one value in three rows of ten.
fn is_skewed(column: ArrayView1<f64>) -> bool {
    let n = column.len() as f64;
    let mean = column.sum() / n;
    let moment = |power: i32| column.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / n;
    let mut sorted = column.to_vec();
    sorted.sort_by(f64::total_cmp);
    let longest = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
    let skewness = moment(3) / moment(2).powf(1.5);
    skewness.abs() > 2.0 || longest as f64 > 0.3 * n
}

impl Prepare {
    /// Learns the preprocessing from rows.
    pub fn learn(&self, x: ArrayView2<f64>) -> Result<Preprocess> {
        Ok(match *self {
            Self::Raw => Preprocess::identity(x.ncols()),
            Self::Standardise => Preprocess::standardise(x)?,
            Self::Scale => Preprocess::scale(x)?,
            Self::Pixels => Preprocess::pixels(x.ncols()),
            Self::Pca { dims, whiten } => Preprocess::pca(x, dims.min(x.ncols()), whiten)?,
            Self::PcaStandardised { dims, whiten } => {
                Preprocess::pca_standardised(x, dims.min(x.ncols()), whiten)?
            }
        })
    }
}

impl FitConfig {
    /// Checks every number for sense, so that a typo is a message and not a strange model.
    pub fn validate(&self) -> Result<()> {
        let mut rules = self.architecture.rules();
        rules.extend(self.train.rules());
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if let Prepare::Pca { dims, whiten } | Prepare::PcaStandardised { dims, whiten } = self.prepare {
            rules.push(("prepare.dims", dims > 0, "at least 1"));
            rules.push(("prepare.whiten", whiten.is_finite(), "a finite number"));
        }
        for teacher in &self.teachers {
            rules.push(("teachers.temperature", positive(teacher.temperature), "a positive number"));
            rules.push(("teachers.weight", positive(teacher.weight), "a positive number"));
            match teacher.method {
                TeacherMethod::LabelSpreading { neighbours, alpha, .. } => {
                    rules.push(("teachers.neighbours", neighbours > 0, "at least 1"));
                    rules.push(("teachers.alpha", (0.0..1.0).contains(&alpha), "at least 0, below 1"));
                }
                TeacherMethod::SelfTraining { c, threshold } => {
                    rules.push(("teachers.c", positive(c), "a positive number"));
                    rules.push(("teachers.threshold", positive(threshold), "a positive number"));
                }
                TeacherMethod::Experts { n_trees } => {
                    rules.push(("teachers.n_trees", n_trees > 0, "at least 1"));
                }
                TeacherMethod::NaiveBayes { bins, unlabelled_weight } => {
                    rules.push(("teachers.bins", (2..=256).contains(&bins), "from 2 to 256"));
                    let holds = (0.0..=1.0).contains(&unlabelled_weight);
                    rules.push(("teachers.unlabelled_weight", holds, "from 0 to 1"));
                }
            }
        }
        let MultiStart { starts, fraction, folds } = self.multi_start;
        rules.push(("multi_start.starts", (1..=1000).contains(&starts), "between 1 and 1000"));
        rules.push(("multi_start.fraction", positive(fraction) && fraction <= 1.0, "above 0, at most 1"));
        rules.push(("multi_start.folds", starts == 1 || folds >= 2, "at least 2"));
        match self.calibration {
            None => {}
            Some(Calibration::Folds { folds, fraction }) => {
                rules.push(("calibration.folds", folds >= 2, "at least 2"));
                rules.push((
                    "calibration.fraction",
                    positive(fraction) && fraction <= 1.0,
                    "above 0, at most 1",
                ));
            }
            Some(Calibration::Expected { accuracy }) => {
                rules.push((
                    "calibration.accuracy",
                    positive(accuracy) && accuracy <= 1.0,
                    "above 0, at most 1",
                ));
            }
        }
        if let Some(ForestConfig { n_trees }) = self.forest {
            rules.push(("forest.n_trees", (1..=10_000).contains(&n_trees), "between 1 and 10000"));
        }
        rules.push(("sample", self.sample.is_none_or(|rows| rows > 0), "at least 1"));
        let image = self.architecture.image.is_none();
        rules.push(("train.shards", image || self.train.shards.is_none(), "absent for images"));
        rule::check(rules)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipes_are_valid_and_nonsense_is_named() {
        assert!(FitConfig::toy().validate().is_ok());
        type Spoil = fn(&mut FitConfig);
        let spoilt: [(&str, Spoil); 11] = [
            ("train.dropout", |c| c.train.dropout = 1.0),
            ("train.batch_labelled", |c| c.train.batch_labelled = 0),
            ("teachers.alpha", |c| {
                c.teachers = vec![Teacher::plain(TeacherMethod::LabelSpreading {
                    space: None,
                    neighbours: 5,
                    alpha: 1.0,
                })]
            }),
            ("train.objective ", |c| {
                c.train.objective.labelled = 0.0;
                c.train.objective.cross_entropy = 0.0;
            }),
            ("architecture.sigma", |c| c.architecture.sigma = 0.0),
            ("train.ema", |c| c.train.ema = Some(f64::NAN)),
            ("train.schedule.peak", |c| c.train.schedule.peak = -1.0),
            ("train.schedule.warm_up", |c| c.train.schedule.warm_up = 2.0),
            ("train.objective.temperature", |c| c.train.objective.temperature = 0.0),
            ("architecture.per_class", |c| c.architecture.per_class = 0),
            ("prepare.dims", |c| c.prepare = Prepare::Pca { dims: 0, whiten: 0.0 }),
        ];
        for (name, spoil) in spoilt {
            let mut config = FitConfig::toy();
            spoil(&mut config);
            let message = config.validate().expect_err(name).to_string();
            assert!(message.contains(name), "{message} does not name {name}");
        }
    }
}
