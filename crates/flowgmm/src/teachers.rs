//! Teachers: quick learners whose predictions on every row guide the start of a fit. They place the means, and unlabelled
//! rows take their predictions as soft targets that fade out.
//!
//! ```text
//! q(k | x) = sum_g w_g p_g(k | x)^(1 / T_g) / sum_k' p_g(k' | x)^(1 / T_g)
//! ```
//!
//! p_g is label spreading in some space, self-training of a logistic regression, a pool of experts or naive Bayes. Some are
//! right more often than they are confident, others confident more often than they are right; the temperature T_g makes
//! them comparable, and the weights w_g say how much each counts. The recipe learns both from labels it holds out.

use std::sync::Arc;

use flowgmm_learners::{
    ClusterFeatures, Experts, NaiveBayes,
    graph::{EdgeWeight, Graph, spread_watched},
    self_training_watched,
};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use semisup::{Classifier as _, Preprocess, Watch, split::evenly_spaced};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    config::Prepare,
    observer::{Observer, Phase, watched},
};

/// A teacher, its temperature and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Teacher {
    /// How it learns.
    pub method: TeacherMethod,
    /// T: the logarithms of its probabilities are divided by it.
    pub temperature: f64,
    /// w: its share of the soft targets.
    pub weight: f64,
}

/// How a teacher learns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum TeacherMethod {
    /// Label spreading over a graph of nearest neighbours.
    LabelSpreading {
        /// The space they are near in; without one, the flow's.
        space: Option<Prepare>,
        /// Neighbours of each row.
        neighbours: usize,
        /// How far labels spread, below 1.
        alpha: f64,
    },
    /// Self-training of a logistic regression on the standardised columns.
    SelfTraining {
        /// Inverse penalty.
        c: f64,
        /// Probability from which a prediction becomes a pseudo-label; above 1, none does.
        threshold: f64,
    },
    /// A pool of supervised experts on the standardised columns: logistic regression, extra trees, a random forest and
    /// logistic regression on cluster memberships.
    Experts {
        /// Trees of each forest.
        n_trees: usize,
    },
    /// Naive Bayes over the levels of the columns, by EM.
    NaiveBayes {
        /// Quantile bins of a column with many values.
        bins: usize,
        /// How much an unlabelled row counts beside a labelled one, from 0 to 1.
        unlabelled_weight: f64,
    },
}

impl TeacherMethod {
    /// The temperature that is expected before any label is held out. Most teachers are right more often than they are sure;
    /// naive Bayes takes columns that say the same for independent evidence, and is sure more often than it is right.
    pub(crate) fn usual_temperature(&self) -> f64 {
        match self {
            Self::NaiveBayes { .. } => 2.0,
            Self::LabelSpreading { .. } | Self::SelfTraining { .. } | Self::Experts { .. } => 0.5,
        }
    }
}

impl Teacher {
    /// A teacher whose probabilities are taken as they are.
    pub fn plain(method: TeacherMethod) -> Self {
        Self { method, temperature: 1.0, weight: 1.0 }
    }
}

/// Unlabelled rows that self-training learns from, at most: it has only K (dim + 1) numbers to learn, and learns again for
/// every fold.
const SELF_TRAINING_ROWS: usize = 3000;

/// Teachers draw the same trees and clusters in every fit.
const EXPERTS_SEED: u64 = 0;

/// Steps of a phase that is counted in percent.
const PERCENT: usize = 100;

/// A teacher with all it needs to learn from other labels again.
#[derive(Clone, Debug)]
pub(crate) enum Ready {
    Graph {
        graph: Graph,
        alpha: f64,
    },
    SelfTraining {
        columns: Arc<Array2<f64>>,
        c: f64,
        threshold: f64,
    },
    /// Clusters do not depend on labels: they are found once.
    Experts {
        columns: Arc<Array2<f64>>,
        clusters: Arc<ClusterFeatures>,
        n_trees: usize,
    },
    NaiveBayes {
        columns: Arc<Array2<f64>>,
        learner: NaiveBayes,
    },
}

impl Ready {
    /// Prepares a teacher for rows: `x` in the flow's space, `normal` in the user's columns, skewed ones made normal.
    pub(crate) fn new(
        method: &TeacherMethod,
        x: ArrayView2<f64>,
        normal: ArrayView2<f64>,
        n_classes: usize,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let graph =
            |x: ArrayView2<f64>, k| Graph::symmetric_knn_watched(x, k, EdgeWeight::LocalGaussian, watch);
        Ok(match *method {
            TeacherMethod::LabelSpreading { space: None, neighbours, alpha } => {
                Self::Graph { graph: graph(x, neighbours)?, alpha }
            }
            TeacherMethod::LabelSpreading { space: Some(space), neighbours, alpha } => {
                let x = space.learn(normal)?.apply(normal);
                Self::Graph { graph: graph(x.view(), neighbours)?, alpha }
            }
            TeacherMethod::SelfTraining { c, threshold } => {
                let columns = Arc::new(Preprocess::standardise(normal)?.apply(normal));
                Self::SelfTraining { columns, c, threshold }
            }
            TeacherMethod::Experts { n_trees } => {
                let columns = Arc::new(Preprocess::standardise(normal)?.apply(normal));
                let clusters = experts(n_trees).clusters(columns.view(), n_classes, EXPERTS_SEED)?;
                Self::Experts { columns, clusters: Arc::new(clusters), n_trees }
            }
            TeacherMethod::NaiveBayes { bins, unlabelled_weight } => Self::NaiveBayes {
                columns: Arc::new(normal.to_owned()),
                learner: NaiveBayes { bins, unlabelled_weight, ..NaiveBayes::default() },
            },
        })
    }

    /// p(k | x) of all rows, `[n, K]`, learnt from these labels.
    pub(crate) fn predict(
        &self,
        y: &[Option<usize>],
        n_classes: usize,
        watch: &dyn Watch,
    ) -> Result<Array2<f64>> {
        self.predict_both(y, n_classes, watch).map(|(p, _)| p)
    }

    /// [`Ready::predict`]; and what the experts say before trees make it smoother, if this teacher is the experts.
    fn predict_both(
        &self,
        y: &[Option<usize>],
        n_classes: usize,
        watch: &dyn Watch,
    ) -> Result<(Array2<f64>, Option<Array2<f64>>)> {
        let classes: Vec<String> = (0..n_classes).map(|k| k.to_string()).collect();
        let p = match self {
            Self::Graph { graph, alpha } => spread_watched(graph.clone(), y, n_classes, *alpha, watch)?,
            Self::SelfTraining { columns, c, threshold } => {
                let unlabelled: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_none()).collect();
                // Evenly spaced, so that no order of the rows matters.
                let some = evenly_spaced(unlabelled.len(), SELF_TRAINING_ROWS);
                let some = some.into_iter().map(|at| unlabelled[at]);
                let rows: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).chain(some).collect();
                let known: Vec<Option<usize>> = rows.iter().map(|&row| y[row]).collect();
                let x = columns.select(Axis(0), &rows);
                let (model, _) = self_training_watched(x.view(), &known, n_classes, *c, *threshold, watch)?;
                model.log_probs(columns.view()).exp()
            }
            Self::Experts { columns, clusters, n_trees } => {
                watch.at(0.0)?;
                let pool = experts(*n_trees).fit_rows_with(
                    ClusterFeatures::clone(clusters),
                    columns.view(),
                    y,
                    &classes,
                    EXPERTS_SEED,
                )?;
                let q = pool.probs(columns.view());
                watch.at(0.5)?;
                let smooth =
                    flowgmm_learners::cross_distil(columns.view(), y, q.view(), *n_trees, EXPERTS_SEED)?;
                return Ok((smooth, Some(q)));
            }
            Self::NaiveBayes { columns, learner } => {
                learner.fit_rows(columns.view(), y, &classes, watch)?.log_probs(columns.view()).exp()
            }
        };
        Ok((p, None))
    }
}

fn experts(n_trees: usize) -> Experts {
    Experts { n_trees, ..Experts::default() }
}

/// The teachers of a problem.
pub(crate) struct Teachers {
    ready: Vec<(Teacher, Ready)>,
    n_classes: usize,
    /// Whether predictions are corrected for uneven numbers of labels.
    balanced: bool,
}

impl Teachers {
    pub(crate) fn new(
        teachers: &[Teacher],
        n_classes: usize,
        x: ArrayView2<f64>,
        normal: ArrayView2<f64>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let ready = teachers.iter().map(|teacher| {
            let phase = match teacher.method {
                TeacherMethod::LabelSpreading { .. } => Phase::Neighbours,
                TeacherMethod::SelfTraining { .. }
                | TeacherMethod::Experts { .. }
                | TeacherMethod::NaiveBayes { .. } => Phase::Preprocessing,
            };
            let ready = watched(observer, &phase, x.nrows(), |watch| {
                Ready::new(&teacher.method, x, normal, n_classes, watch)
            });
            Ok((*teacher, ready?))
        });
        Ok(Self { ready: ready.collect::<Result<_>>()?, n_classes, balanced: false })
    }

    /// Corrects predictions for uneven numbers of labels: labels may have been asked for where they were missing.
    pub(crate) fn balanced(mut self) -> Self {
        self.balanced = true;
        self
    }

    /// What the teachers predict from these labels, or `None` without teachers.
    pub(crate) fn predict(&self, y: &[Option<usize>], observer: &mut dyn Observer) -> Result<Option<Taught>> {
        let total: f64 = self.ready.iter().map(|(teacher, _)| teacher.weight).sum();
        let mut sum: Option<Taught> = None;
        for (teacher, ready) in &self.ready {
            let phase = match ready {
                Ready::Graph { .. } => Phase::LabelSpreading,
                Ready::SelfTraining { .. } | Ready::Experts { .. } | Ready::NaiveBayes { .. } => {
                    Phase::SelfTraining
                }
            };
            let (p, raw) =
                watched(observer, &phase, PERCENT, |watch| ready.predict_both(y, self.n_classes, watch))?;
            let raw = raw.unwrap_or_else(|| tempered(p.clone(), teacher.temperature));
            let p = if self.balanced { balanced(p, y) } else { p };
            let (p, weight) = (tempered(p, teacher.temperature), teacher.weight / total);
            let part = Taught { targets: p * weight, for_trees: raw * weight };
            sum = Some(match sum {
                None => part,
                Some(sum) => {
                    Taught { targets: sum.targets + part.targets, for_trees: sum.for_trees + part.for_trees }
                }
            });
        }
        Ok(sum)
    }
}

/// What teachers predict of all rows: weighted means of their probabilities.
#[derive(Clone, Debug)]
pub(crate) struct Taught {
    /// p(k | x) for the flow: smooth along the data, balanced over classes and sharpened, `[n, K]`.
    pub(crate) targets: Array2<f64>,
    /// p(k | x) for the forest, whose trees smooth and average by themselves, `[n, K]`.
    pub(crate) for_trees: Array2<f64>,
}

/// Predictions p(k | x) from n_k labels of each class, as though every class had as many: p_k / n_k, normalised. Teachers
/// expect classes to be as common as their labels are. Comes before the temperature, which would amplify the imbalance.
pub(crate) fn balanced(mut p: Array2<f64>, y: &[Option<usize>]) -> Array2<f64> {
    let mut counts = vec![0_usize; p.ncols()];
    y.iter().flatten().for_each(|&k| counts[k] += 1);
    if counts.iter().all(|n| *n == counts[0]) {
        return p;
    }
    let share: Array1<f64> = counts.iter().map(|&n| 1.0 / n.max(1) as f64).collect();
    p *= &share;
    p.rows_mut().into_iter().for_each(|mut row| row /= row.sum());
    p
}

/// p^(1 / T), its rows normalised.
pub(crate) fn tempered(mut p: Array2<f64>, temperature: f64) -> Array2<f64> {
    let power = 1.0 / temperature;
    for mut row in p.rows_mut() {
        let most = row.fold(0.0f64, |a, &b| a.max(b));
        if most > 0.0 {
            row.mapv_inplace(|p| (p / most).powf(power));
        }
        let mass = row.sum();
        row /= mass;
    }
    p
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_temperature_keeps_order_and_mass() {
        let p = array![[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]];
        assert_eq!(tempered(p.clone(), 1.0), p);
        let sharp = tempered(p.clone(), 0.5);
        assert!((sharp[[0, 0]] - 0.25 / 0.38).abs() < 1e-12 && (sharp.row(0).sum() - 1.0).abs() < 1e-12);
        assert_eq!(sharp.row(1).to_vec(), [1.0, 0.0, 0.0]);
        assert!((tempered(p, 1e12)[[0, 2]] - 1.0 / 3.0).abs() < 1e-9, "hot enough, all classes are alike");
    }

    /// Between two clusters, where four labels of one class face one of the other.
    #[test]
    fn more_labels_of_a_class_do_not_make_it_more_common() {
        let x = Array2::from_shape_fn((21, 1), |(i, _)| i as f64);
        let mut y = [None; 21];
        y[..4].fill(Some(0));
        y[20] = Some(1);
        let method = TeacherMethod::LabelSpreading { space: None, neighbours: 2, alpha: 0.9 };
        let teachers = |temperature| {
            let teacher = Teacher { method, temperature, weight: 1.0 };
            Teachers::new(&[teacher], 2, x.view(), x.view(), &mut ()).expect("rows in a line")
        };
        let ask = |teachers: Teachers| teachers.predict(&y, &mut ()).unwrap().expect("one teacher").targets;
        let (plain, fair) = (ask(teachers(1.0)), ask(teachers(1.0).balanced()));
        assert!(fair[[12, 1]] > plain[[12, 1]] + 0.05, "{} {}", fair[[12, 1]], plain[[12, 1]]);
        let ratio = |p: &Array2<f64>| p[[12, 1]] / p[[12, 0]];
        assert!((ratio(&fair) / ratio(&plain) - 4.0).abs() < 1e-9);
        let (plain, fair) = (ask(teachers(1.0 / 3.0)), ask(teachers(1.0 / 3.0).balanced()));
        assert!((ratio(&fair) / ratio(&plain) - 64.0).abs() < 1e-6, "balanced before the temperature");
        let mut even = y;
        even[1..4].fill(None);
        let ask =
            |teachers: Teachers| teachers.predict(&even, &mut ()).unwrap().expect("one teacher").targets;
        assert_eq!(ask(teachers(0.5).balanced()), ask(teachers(0.5)), "even labels change nothing");
    }

    #[test]
    fn predictions_are_weighted() {
        let x = array![[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]];
        let y = [Some(0), None, Some(1), None];
        let spreading = TeacherMethod::LabelSpreading { space: None, neighbours: 1, alpha: 0.5 };
        let logistic = TeacherMethod::SelfTraining { c: 1.0, threshold: 2.0 };
        let ask = |teachers: &[Teacher]| {
            let teachers = Teachers::new(teachers, 2, x.view(), x.view(), &mut ());
            teachers
                .expect("two rows of each class")
                .predict(&y, &mut ())
                .unwrap()
                .map(|taught| taught.targets)
        };
        let of = |method, weight| Teacher { method, temperature: 1.0, weight };
        let (a, b) = (ask(&[of(spreading, 7.0)]).expect("one"), ask(&[of(logistic, 1.0)]).expect("one"));
        let both = ask(&[of(spreading, 3.0), of(logistic, 1.0)]).expect("two");
        assert!(a[[1, 0]] > 0.9 && b[[1, 0]] < 0.9, "they must differ for this to test anything");
        assert!((&both - &(0.75 * &a + 0.25 * &b)).iter().all(|d| d.abs() < 1e-12));
        assert!(ask(&[]).is_none());
    }
}
