//! What teachers predict for labels they were not shown: cross-validation on the labelled rows, and what is learnt from it.

use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{Part, SemiSupervised, Watch, fit_temperature, metrics::arg_max, split};

use crate::{
    Result,
    config::QuantileTransform,
    teachers::{Ready, Teacher, TeacherMethod, balanced, tempered},
};
use flowgmm_core::train::{Purpose, stream};

/// Rows that are looked at, at most, besides the labelled ones: a graph of this many is quick, and so is a regression
/// on this many.
const GRAPH_ROWS: usize = 6000;
const REGRESSION_ROWS: usize = 1000;
/// Repeats of the cross-validation.
const REPEATS: u64 = 2;
/// The part of an equal share from which a teacher is kept.
const LEAST_SHARE: f64 = 0.7;
/// The fraction of a cross-validation after which the teacher can learn from any labels.
const PREPARED: f64 = 0.15;
/// No probability counts as less: one row cannot decide alone.
const LEAST_PROBABILITY: f64 = 0.02;

/// The rows selection looks at, and how their labels are held out.
pub(super) struct Sample {
    /// Columns made normal where they have to be; labelled rows first.
    pub(super) normal: Array2<f64>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    n_labelled: usize,
    /// Whether predictions are corrected for uneven numbers of labels.
    balance: bool,
    /// Folds (labelled rows) of all repeats; `None` if a class has one label only.
    folds: Option<Vec<Vec<usize>>>,
}

impl Sample {
    pub(super) fn new(data: &SemiSupervised, columns: QuantileTransform, balance: bool, seed: u64) -> Self {
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
        let normal = semisup::to_normal_columns(x.view(), &columns.learn(x.view()));
        Self { normal, y, n_classes: data.n_classes(), n_labelled, balance, folds }
    }

    /// Labels with a fold hidden.
    fn visible(&self, fold: &[usize]) -> Vec<Option<usize>> {
        let mut y = self.y.clone();
        fold.iter().for_each(|&row| y[row] = None);
        y
    }

    /// What a teacher predicts for every held-out label; `None` if none can be held out.
    pub(super) fn cross_validate(&self, method: TeacherMethod, watch: &dyn Watch) -> Result<Option<HeldOut>> {
        let Some(folds) = &self.folds else { return Ok(None) };
        let n = match method {
            TeacherMethod::LabelSpreading { .. } | TeacherMethod::Experts { .. } => self.normal.nrows(),
            TeacherMethod::SelfTraining { .. } => self.normal.nrows().min(self.n_labelled + REGRESSION_ROWS),
        };
        let normal = self.normal.slice(ndarray::s![..n, ..]);
        let ready = Ready::new(&method, normal, normal, &Part::new(watch, 0.0..PREPARED))?;
        let mut p = Array2::zeros((0, self.n_classes));
        let (mut y, mut rows) = (Vec::new(), Vec::new());
        let rest = Part::new(watch, PREPARED..1.0);
        for (i, fold) in folds.iter().enumerate() {
            let visible = self.visible(fold);
            let part = Part::of(&rest, i, folds.len());
            let predicted = ready.predict(&visible[..n], self.n_classes, &part)?;
            let predicted = if self.balance { balanced(predicted, &visible[..n]) } else { predicted };
            for &row in fold {
                p.push_row(predicted.row(row)).expect("as many classes");
                y.push(self.y[row].expect("folds are of labelled rows"));
                rows.push(row);
            }
        }
        let temperature = fit_temperature(p.mapv(|p| p.max(1e-4).ln()).view(), &y).clamp(0.1, 10.0);
        Ok(Some(HeldOut { method, temperature, p: tempered(p, temperature), y, rows }))
    }
}

/// A teacher's predictions of held-out labels, at the temperature of least NLL.
pub(super) struct HeldOut {
    pub(super) method: TeacherMethod,
    temperature: f64,
    p: Array2<f64>, // [held-out labels of all repeats, K]
    y: Vec<usize>,
    rows: Vec<usize>,
}

impl HeldOut {
    pub(super) fn accuracy(&self) -> f64 {
        semisup::metrics::accuracy(&arg_max(self.p.view()), &self.y)
    }

    /// The probability given to each label.
    fn own(&self) -> Vec<f64> {
        self.p.rows().into_iter().zip(&self.y).map(|(p, &y)| p[y].max(LEAST_PROBABILITY)).collect()
    }

    /// Whether labels are more probable than under another teacher, on average over labelled rows by more than `errors`
    /// standard errors.
    pub(super) fn beats(&self, other: &Self, errors: f64) -> bool {
        let n = self.rows.iter().max().map_or(0, |&last| last + 1);
        let mut by_row = Array1::<f64>::zeros(n);
        for ((&row, own), others) in self.rows.iter().zip(self.own()).zip(other.own()) {
            by_row[row] += (own / others).ln() / REPEATS as f64;
        }
        by_row.mean().unwrap_or(0.0) > errors * by_row.std(0.0) / (n as f64).sqrt()
    }
}

/// How often the weighted teachers are right together.
pub(super) struct Together {
    /// Share of held-out labels.
    pub(super) held_out: f64,
    /// Expected accuracy of the model. Few labels say little, and the model will have all of them and the rows besides:
    /// a Beta prior of nine hits and one miss is added.
    pub(super) expected: f64,
}

impl Together {
    pub(super) fn new(held_out: &[HeldOut], teachers: &[Teacher]) -> Self {
        let mut p = Array2::<f64>::zeros(held_out[0].p.dim());
        for teacher in teachers {
            let own = held_out.iter().find(|found| found.method == teacher.method);
            p.scaled_add(teacher.weight, &own.expect("teachers were cross-validated").p);
        }
        let accuracy = semisup::metrics::accuracy(&arg_max(p.view()), &held_out[0].y);
        let n = held_out[0].y.len() as f64 / REPEATS as f64;
        Self { held_out: accuracy, expected: (n * accuracy + 9.0) / (n + 10.0) }
    }
}

/// Teachers and their weights: those that make held-out labels most probable,
///
/// ```text
/// maximise  sum_i log sum_g w_g p_g(y_i) + sum_g log w_g
/// ```
///
/// by EM. The last term, a pseudo-count of one label for each teacher, keeps few labels from silencing any; a teacher that
/// gets clearly less than an equal share is left out.
pub(super) fn weighted(held_out: &[HeldOut]) -> Vec<Teacher> {
    let own: Vec<Vec<f64>> = held_out.iter().map(HeldOut::own).collect();
    let (g, n) = (held_out.len() as f64, own[0].len());
    let mut w = vec![1.0 / g; held_out.len()];
    for _ in 0..200 {
        let mut mass = vec![1.0; held_out.len()];
        for i in 0..n {
            let total: f64 = own.iter().zip(&w).map(|(own, w)| w * own[i]).sum();
            for ((mass, own), w) in mass.iter_mut().zip(&own).zip(&w) {
                *mass += w * own[i] / total / REPEATS as f64;
            }
        }
        let total: f64 = mass.iter().sum();
        w = mass.into_iter().map(|mass| mass / total).collect();
    }
    let kept = held_out.iter().zip(w).filter(|(_, w)| *w >= LEAST_SHARE / g);
    let teacher = |(found, weight): (&HeldOut, f64)| Teacher {
        method: found.method,
        temperature: found.temperature,
        weight,
    };
    kept.map(teacher).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three teachers of the same labels: one always right, one mostly, one at random.
    fn three() -> Vec<HeldOut> {
        let n = 60;
        let y: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let rows: Vec<usize> = (0..n).map(|i| i / REPEATS as usize).collect();
        let method = TeacherMethod::SelfTraining { c: 1.0, threshold: 0.75 };
        let held_out = |right: fn(usize) -> f64| {
            let p = Array2::from_shape_fn((n, 2), |(i, k)| if k == y[i] { right(i) } else { 1.0 - right(i) });
            HeldOut { method, temperature: 1.0, p, y: y.clone(), rows: rows.clone() }
        };
        vec![
            held_out(|_| 0.95),
            held_out(|i| if i % 5 == 0 { 0.3 } else { 0.8 }),
            held_out(|i| [0.6, 0.4][i / 2 % 2]),
        ]
    }

    #[test]
    fn weight_goes_to_the_teacher_that_is_right() {
        let found = three();
        assert!(found[0].beats(&found[1], 2.0) && !found[1].beats(&found[0], 0.0));
        assert_eq!([found[0].accuracy(), found[1].accuracy()], [1.0, 0.8]);
        let teachers = weighted(&found);
        assert!(teachers[0].weight > 0.6, "{teachers:?}");
        assert!(teachers.iter().all(|teacher| teacher.weight >= LEAST_SHARE / 3.0));
        assert!(teachers.len() < 3, "a random teacher is left out");
    }
}
