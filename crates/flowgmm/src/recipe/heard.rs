//! What teachers say of labels they were not shown: cross-validation on the labelled rows, and what is learnt from it.

use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{SemiSupervised, fit_temperature, metrics::arg_max, split};

use crate::{
    Result,
    config::Columns,
    teachers::{Guide, Ready, Teacher, per_label, sharpened},
};
use flowgmm_core::train::{Purpose, stream};

/// Rows that are looked at, at most, besides the labelled ones: a graph of this many is quick, and so is a regression
/// on this many.
const GRAPH_ROWS: usize = 6000;
const LINE_ROWS: usize = 1000;
/// Repeats of the cross-validation.
const REPEATS: u64 = 2;
/// The part of an equal share from which a teacher is listened to.
const FAIR: f64 = 0.7;
/// No probability counts as less: one row cannot decide alone.
const LEAST: f64 = 0.02;

/// The rows selection looks at, and how their labels are held out.
pub(super) struct Sample {
    /// Columns made normal where they have to be; labelled rows first.
    pub(super) shaped: Array2<f64>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    n_labelled: usize,
    /// Whether labels say nothing of how common classes are.
    fair: bool,
    /// Folds (labelled rows) of all repeats; `None` if a class has one label only.
    folds: Option<Vec<Vec<usize>>>,
}

impl Sample {
    pub(super) fn new(data: &SemiSupervised, columns: Columns, fair: bool, seed: u64) -> Self {
        let labelled = data.labelled();
        let mut rows = data.unlabelled();
        rows.shuffle(&mut stream(seed, Purpose::Selection, 0));
        rows.truncate(GRAPH_ROWS);
        let n_labelled = labelled.len();
        let rows: Vec<usize> = labelled.into_iter().chain(rows).collect();
        let y: Vec<Option<usize>> = rows.iter().map(|&row| data.y()[row]).collect();
        let known: Vec<usize> = y[..n_labelled].iter().flatten().copied().collect();
        let fewest = data.class_counts().into_iter().min().unwrap_or(0);
        let folds = (fewest >= 2).then(|| {
            let count = fewest.min(5);
            (0..REPEATS)
                .flat_map(|repeat| split::folds(&known, count, &mut stream(seed, Purpose::Folds, repeat)))
                .collect()
        });
        let x = data.x().select(Axis(0), &rows);
        let shaped = semisup::shape(x.view(), &columns.learn(x.view()));
        Self { shaped, y, n_classes: data.n_classes(), n_labelled, fair, folds }
    }

    /// Labels with a fold hidden.
    fn visible(&self, fold: &[usize]) -> Vec<Option<usize>> {
        let mut y = self.y.clone();
        fold.iter().for_each(|&row| y[row] = None);
        y
    }

    /// Asks a teacher for every held-out label; `None` if none can be held out.
    pub(super) fn hear(&self, by: Teacher) -> Result<Option<Heard>> {
        let Some(folds) = &self.folds else { return Ok(None) };
        let n = match by {
            Teacher::LabelSpreading { .. } => self.shaped.nrows(),
            Teacher::SelfTraining { .. } => self.shaped.nrows().min(self.n_labelled + LINE_ROWS),
        };
        let shaped = self.shaped.slice(ndarray::s![..n, ..]);
        let ready = Ready::new(&by, shaped, shaped)?;
        let mut p = Array2::zeros((0, self.n_classes));
        let (mut y, mut rows) = (Vec::new(), Vec::new());
        for fold in folds {
            let visible = self.visible(fold);
            let opinion = ready.opinion(&visible[..n], self.n_classes);
            let opinion = if self.fair { per_label(opinion, &visible[..n]) } else { opinion };
            for &row in fold {
                p.push_row(opinion.row(row)).expect("as many classes");
                y.push(self.y[row].expect("folds are of labelled rows"));
                rows.push(row);
            }
        }
        let sharpness = 1.0 / fit_temperature(p.mapv(|p| p.max(1e-4).ln()).view(), &y).clamp(0.1, 10.0);
        Ok(Some(Heard { by, sharpness, p: sharpened(p, sharpness), y, rows }))
    }
}

/// A teacher's opinions of held-out labels, made as sharp as they deserve.
pub(super) struct Heard {
    pub(super) by: Teacher,
    sharpness: f64,
    p: Array2<f64>, // [held-out labels of all repeats, K]
    y: Vec<usize>,
    rows: Vec<usize>,
}

impl Heard {
    pub(super) fn accuracy(&self) -> f64 {
        semisup::metrics::accuracy(&arg_max(self.p.view()), &self.y)
    }

    /// Probability of each label.
    fn own(&self) -> Vec<f64> {
        self.p.rows().into_iter().zip(&self.y).map(|(p, &y)| p[y].max(LEAST)).collect()
    }

    /// Whether its labels are more probable, on average over labelled rows by more than `errors` standard errors.
    pub(super) fn beats(&self, other: &Self, errors: f64) -> bool {
        let n = self.rows.iter().max().map_or(0, |&last| last + 1);
        let mut by_row = Array1::<f64>::zeros(n);
        for ((&row, own), others) in self.rows.iter().zip(self.own()).zip(other.own()) {
            by_row[row] += (own / others).ln() / REPEATS as f64;
        }
        by_row.mean().unwrap_or(0.0) > errors * by_row.std(0.0) / (n as f64).sqrt()
    }
}

/// What guides are right about together.
pub(super) struct Together {
    /// Share of held-out labels.
    pub(super) held_out: f64,
    /// Share of rows a model may be expected to be right about. Few labels say little, and the model will have all of
    /// them and the rows besides: ten more labels are imagined, nine of them right.
    pub(super) expected: f64,
}

impl Together {
    pub(super) fn new(heard: &[Heard], guides: &[Guide]) -> Self {
        let mut p = Array2::<f64>::zeros(heard[0].p.dim());
        for guide in guides {
            let own = heard.iter().find(|heard| heard.by == guide.by).expect("guides are among those heard");
            p.scaled_add(guide.weight, &own.p);
        }
        let held_out = semisup::metrics::accuracy(&arg_max(p.view()), &heard[0].y);
        let n = heard[0].y.len() as f64 / REPEATS as f64;
        Self { held_out, expected: (n * held_out + 9.0) / (n + 10.0) }
    }
}

/// Teachers and what they count: the weights that make held-out labels most probable,
///
/// ```text
/// maximise  sum_i log sum_g w_g p_g(y_i) + sum_g log w_g
/// ```
///
/// by EM. The last term, one label's worth of trust for each, keeps few labels from silencing anyone; who gets clearly
/// less than an equal share is left out.
pub(super) fn weighed(heard: &[Heard]) -> Vec<Guide> {
    let own: Vec<Vec<f64>> = heard.iter().map(Heard::own).collect();
    let (g, n) = (heard.len() as f64, own[0].len());
    let mut w = vec![1.0 / g; heard.len()];
    for _ in 0..200 {
        let mut trust = vec![1.0; heard.len()];
        for i in 0..n {
            let total: f64 = own.iter().zip(&w).map(|(own, w)| w * own[i]).sum();
            for ((trust, own), w) in trust.iter_mut().zip(&own).zip(&w) {
                *trust += w * own[i] / total / REPEATS as f64;
            }
        }
        let total: f64 = trust.iter().sum();
        w = trust.into_iter().map(|trust| trust / total).collect();
    }
    let guides = heard.iter().zip(w).filter(|(_, w)| *w >= FAIR / g);
    guides.map(|(heard, weight)| Guide { by: heard.by, sharpness: heard.sharpness, weight }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three teachers of the same labels: one always right, one mostly, one at random.
    fn three() -> Vec<Heard> {
        let n = 60;
        let y: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let rows: Vec<usize> = (0..n).map(|i| i / REPEATS as usize).collect();
        let by = Teacher::SelfTraining { c: 1.0, threshold: 0.75 };
        let heard = |right: fn(usize) -> f64| {
            let p = Array2::from_shape_fn((n, 2), |(i, k)| if k == y[i] { right(i) } else { 1.0 - right(i) });
            Heard { by, sharpness: 1.0, p, y: y.clone(), rows: rows.clone() }
        };
        vec![heard(|_| 0.95), heard(|i| if i % 5 == 0 { 0.3 } else { 0.8 }), heard(|i| [0.6, 0.4][i / 2 % 2])]
    }

    #[test]
    fn trust_goes_to_who_is_right() {
        let heard = three();
        assert!(heard[0].beats(&heard[1], 2.0) && !heard[1].beats(&heard[0], 0.0));
        assert_eq!([heard[0].accuracy(), heard[1].accuracy()], [1.0, 0.8]);
        let guides = weighed(&heard);
        assert!(guides[0].weight > 0.6, "{guides:?}");
        assert!(guides.iter().all(|guide| guide.weight >= FAIR / 3.0));
        assert!(guides.len() < 3, "a random opinion is left out");
    }
}
