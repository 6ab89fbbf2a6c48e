//! Quick opinions on the class of every row, which guide the start of a fit: they place the means, and unlabelled rows
//! take them as soft targets that fade out.
//!
//! ```text
//! q(k | x) = sum_g w_g p_g(k | x)^gamma_g / sum_k' p_g(k' | x)^gamma_g
//! ```
//!
//! p_g is label spreading in some space, or self-training of a logistic regression. The first is right more often than
//! it is sure, the second is sure more often than it is right; the sharpness gamma_g makes them comparable, and the
//! weights w_g say whom to trust. The recipe learns both from labels it holds out.

use std::sync::Arc;

use flowgmm_learners::{
    graph::{EdgeWeight, Graph, spread},
    self_training,
};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use semisup::Preprocess;
use serde::{Deserialize, Serialize};

use crate::{Result, config::Prepare};

/// Who has an opinion, how sharp it is made, and what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guide {
    /// Who.
    pub by: Teacher,
    /// gamma: the power its probabilities are raised to.
    pub sharpness: f64,
    /// w: its share of the opinion.
    pub weight: f64,
}

/// A quick learner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Teacher {
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
        /// Probability from which a prediction becomes a label.
        threshold: f64,
    },
}

impl Guide {
    /// A teacher taken at its word.
    pub fn plain(by: Teacher) -> Self {
        Self { by, sharpness: 1.0, weight: 1.0 }
    }
}

/// Rows without a label that self-training learns from, at most: it has only K (dim + 1) numbers to learn, and is asked
/// again for every fold.
const LINE_ROWS: usize = 3000;

/// A teacher with all it needs to be asked again with other labels.
#[derive(Clone, Debug)]
pub(crate) enum Ready {
    Graph { graph: Graph, alpha: f64 },
    Lines { columns: Arc<Array2<f64>>, c: f64, threshold: f64 },
}

impl Ready {
    /// Lets a teacher see the rows: `x` in the flow's space, `shaped` with their columns made normal.
    pub(crate) fn new(by: &Teacher, x: ArrayView2<f64>, shaped: ArrayView2<f64>) -> Result<Self> {
        let graph = |x: ArrayView2<f64>, k| Graph::symmetric_knn(x, k, EdgeWeight::LocalGaussian);
        Ok(match *by {
            Teacher::LabelSpreading { space: None, neighbours, alpha } => {
                Self::Graph { graph: graph(x, neighbours), alpha }
            }
            Teacher::LabelSpreading { space: Some(space), neighbours, alpha } => {
                let x = space.learn(shaped)?.apply(shaped);
                Self::Graph { graph: graph(x.view(), neighbours), alpha }
            }
            Teacher::SelfTraining { c, threshold } => {
                let columns = Arc::new(Preprocess::standardise(shaped)?.apply(shaped));
                Self::Lines { columns, c, threshold }
            }
        })
    }

    /// p(k | x) of all rows, `[n, K]`, from these labels.
    pub(crate) fn opinion(&self, y: &[Option<usize>], n_classes: usize) -> Array2<f64> {
        match self {
            Self::Graph { graph, alpha } => spread(graph.clone(), y, n_classes, *alpha),
            Self::Lines { columns, c, threshold } => {
                let unlabelled: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_none()).collect();
                let count = unlabelled.len().min(LINE_ROWS);
                // Evenly spread, so that no order of the rows matters.
                let spread = (0..count).map(|i| unlabelled[i * unlabelled.len() / count]);
                let rows: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).chain(spread).collect();
                let known: Vec<Option<usize>> = rows.iter().map(|&row| y[row]).collect();
                let x = columns.select(Axis(0), &rows);
                let (model, _) = self_training(x.view(), &known, n_classes, *c, *threshold);
                model.log_probs(columns.view()).exp()
            }
        }
    }
}

/// The guides of a problem.
pub(crate) struct Guides {
    ready: Vec<(Guide, Ready)>,
    n_classes: usize,
    /// Whether opinions are held to be of as many labels of every class.
    fair: bool,
}

impl Guides {
    pub(crate) fn new(
        guides: &[Guide],
        n_classes: usize,
        x: ArrayView2<f64>,
        shaped: ArrayView2<f64>,
    ) -> Result<Self> {
        let ready = guides.iter().map(|guide| Ok((*guide, Ready::new(&guide.by, x, shaped)?)));
        Ok(Self { ready: ready.collect::<Result<_>>()?, n_classes, fair: false })
    }

    /// Opinions as though every class had as many labels: labels may have been asked for where they were missing.
    pub(crate) fn fair_to_classes(mut self) -> Self {
        self.fair = true;
        self
    }

    /// q `[n, K]`, or `None` without guides.
    pub(crate) fn opinion(&self, y: &[Option<usize>]) -> Option<Array2<f64>> {
        let total: f64 = self.ready.iter().map(|(guide, _)| guide.weight).sum();
        let opinions = self.ready.iter().map(|(guide, ready)| {
            let p = ready.opinion(y, self.n_classes);
            let p = if self.fair { per_label(p, y) } else { p };
            let p = sharpened(p, guide.sharpness);
            p * (guide.weight / total)
        });
        opinions.reduce(|a, b| a + b)
    }
}

/// Opinions p(k | x) from n_k labels of each class, held to be of as many of every class: p_k / n_k, normalised. Teachers
/// expect classes to be as common as their labels are. Comes before sharpening, which would sharpen that, too.
pub(crate) fn per_label(mut p: Array2<f64>, y: &[Option<usize>]) -> Array2<f64> {
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

/// p^gamma, its rows normalised.
pub(crate) fn sharpened(mut p: Array2<f64>, gamma: f64) -> Array2<f64> {
    for mut row in p.rows_mut() {
        let most = row.fold(0.0f64, |a, &b| a.max(b));
        if most > 0.0 {
            row.mapv_inplace(|p| (p / most).powf(gamma));
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
    fn sharpening_keeps_order_and_mass() {
        let p = array![[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]];
        assert_eq!(sharpened(p.clone(), 1.0), p);
        let sharp = sharpened(p.clone(), 2.0);
        assert!((sharp[[0, 0]] - 0.25 / 0.38).abs() < 1e-12 && (sharp.row(0).sum() - 1.0).abs() < 1e-12);
        assert_eq!(sharp.row(1).to_vec(), [1.0, 0.0, 0.0]);
        assert!((sharpened(p, 0.0)[[0, 2]] - 1.0 / 3.0).abs() < 1e-12, "without sharpness, no opinion");
    }

    /// Between two clusters, where four labels of one class face one of the other.
    #[test]
    fn more_labels_of_a_class_do_not_make_it_more_common() {
        let x = Array2::from_shape_fn((21, 1), |(i, _)| i as f64);
        let mut y = [None; 21];
        y[..4].fill(Some(0));
        y[20] = Some(1);
        let by = Teacher::LabelSpreading { space: None, neighbours: 2, alpha: 0.9 };
        let guides = |sharpness| {
            let guide = Guide { by, sharpness, weight: 1.0 };
            Guides::new(&[guide], 2, x.view(), x.view()).expect("rows in a line")
        };
        let ask = |guides: Guides| guides.opinion(&y).expect("one guide");
        let (plain, fair) = (ask(guides(1.0)), ask(guides(1.0).fair_to_classes()));
        assert!(fair[[12, 1]] > plain[[12, 1]] + 0.05, "{} {}", fair[[12, 1]], plain[[12, 1]]);
        let ratio = |p: &Array2<f64>| p[[12, 1]] / p[[12, 0]];
        assert!((ratio(&fair) / ratio(&plain) - 4.0).abs() < 1e-9);
        let (plain, fair) = (ask(guides(3.0)), ask(guides(3.0).fair_to_classes()));
        assert!((ratio(&fair) / ratio(&plain) - 64.0).abs() < 1e-6, "what is sharpened is fair already");
        let mut even = y;
        even[1..4].fill(None);
        let ask = |guides: Guides| guides.opinion(&even).expect("one guide");
        assert_eq!(ask(guides(2.0).fair_to_classes()), ask(guides(2.0)), "even labels change nothing");
    }

    #[test]
    fn opinions_are_weighed() {
        let x = array![[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]];
        let y = [Some(0), None, Some(1), None];
        let spreading = Teacher::LabelSpreading { space: None, neighbours: 1, alpha: 0.5 };
        let lines = Teacher::SelfTraining { c: 1.0, threshold: 2.0 };
        let ask = |guides: &[Guide]| {
            Guides::new(guides, 2, x.view(), x.view()).expect("two rows of each class").opinion(&y)
        };
        let of = |by, weight| Guide { by, sharpness: 1.0, weight };
        let (a, b) = (ask(&[of(spreading, 7.0)]).expect("one"), ask(&[of(lines, 1.0)]).expect("one"));
        let both = ask(&[of(spreading, 3.0), of(lines, 1.0)]).expect("two");
        assert!(a[[1, 0]] > 0.9 && b[[1, 0]] < 0.9, "they must differ for this to test anything");
        assert!((&both - &(0.75 * &a + 0.25 * &b)).iter().all(|d| d.abs() < 1e-12));
        assert!(ask(&[]).is_none());
    }
}
