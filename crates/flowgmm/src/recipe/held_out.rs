//! What teachers predict for labels they were not shown: cross-validation on the labelled rows, and what is learnt from it.

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{
    Part, SemiSupervised, Watch,
    metrics::{arg_max, fit_temperature_near},
    split,
};

use crate::{
    Result,
    config::QuantileTransform,
    teachers::{Ready, Teacher, TeacherMethod, balanced, tempered},
};
use flowgmm_core::train::{Purpose, stream};

/// Rows that are looked at, at most, besides the labelled ones: a graph of this many is quick, and so are experts on this
/// many.
const GRAPH_ROWS: usize = 6000;
const EXPERTS_ROWS: usize = 1000;
/// Folds of the cross-validation, and its repeats: those of quick teachers, and of experts.
const FOLDS: usize = 5;
const REPEATS: usize = 2;
const EXPERTS_REPEATS: usize = 1;
/// The fraction of a cross-validation after which the teacher can learn from any labels.
const PREPARED: f64 = 0.15;
/// No probability counts as less: one row cannot decide alone.
const LEAST_PROBABILITY: f64 = 0.02;
/// How much of a label's likelihood counts for the weights of teachers.
const POWER: f64 = 0.3;

/// The rows selection looks at, and how their labels are held out.
pub(super) struct Sample {
    /// Columns made normal where they have to be; labelled rows first.
    pub(super) normal: Array2<f64>,
    y: Vec<Option<usize>>,
    n_classes: usize,
    n_labelled: usize,
    /// Whether predictions are corrected for uneven numbers of labels.
    balance: bool,
    /// Folds (labelled rows) of all repeats, one repeat after the other; `None` if no label can be held out.
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
        let folds: Vec<Vec<usize>> = (0..REPEATS as u64)
            .flat_map(|repeat| split::folds(&known, FOLDS, &mut stream(seed, Purpose::Folds, repeat)))
            .collect();
        let folds = (!folds.is_empty()).then_some(folds);
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
        let (n, repeats) = match method {
            TeacherMethod::LabelSpreading { .. } => (self.normal.nrows(), REPEATS),
            TeacherMethod::SelfTraining { .. }
            | TeacherMethod::Experts { .. }
            | TeacherMethod::NaiveBayes { .. } => {
                (self.normal.nrows().min(self.n_labelled + EXPERTS_ROWS), EXPERTS_REPEATS)
            }
        };
        let folds = &folds[..folds.len() / REPEATS * repeats];
        let normal = self.normal.slice(ndarray::s![..n, ..]);
        let ready = Ready::new(&method, normal, normal, self.n_classes, &Part::new(watch, 0.0..PREPARED))?;
        let mut p = Array2::zeros((0, self.n_classes));
        let mut y = Vec::new();
        let rest = Part::new(watch, PREPARED..1.0);
        for (i, fold) in folds.iter().enumerate() {
            let visible = self.visible(fold);
            let part = Part::of(&rest, i, folds.len());
            let predicted = ready.predict(&visible[..n], self.n_classes, &part)?;
            let predicted = if self.balance { balanced(predicted, &visible[..n]) } else { predicted };
            for &row in fold {
                p.push_row(predicted.row(row)).expect("as many classes");
                y.push(self.y[row].expect("folds are of labelled rows"));
            }
        }
        let logits = p.mapv(|p| p.max(1e-4).ln());
        let bias = vec![0.0; self.n_classes];
        let temperature =
            fit_temperature_near(logits.view(), &bias, &y, method.usual_temperature()).clamp(0.1, 10.0);
        Ok(Some(HeldOut { method, temperature, p: tempered(p, temperature), y, repeats }))
    }
}

/// A teacher's predictions of held-out labels, at the temperature of least NLL.
pub(super) struct HeldOut {
    pub(super) method: TeacherMethod,
    temperature: f64,
    p: Array2<f64>, // [held-out labels of all repeats, K]
    y: Vec<usize>,
    repeats: usize,
}

impl HeldOut {
    pub(super) fn accuracy(&self) -> f64 {
        semisup::metrics::accuracy(&arg_max(self.p.view()), &self.y)
    }

    /// The probability given to each label.
    fn own(&self) -> Vec<f64> {
        self.p.rows().into_iter().zip(&self.y).map(|(p, &y)| p[y].max(LEAST_PROBABILITY)).collect()
    }
}

/// How much each candidate counts after the held-out labels, given how much it counted before: its posterior probability, if
/// one of them is right.
pub(super) fn posterior(held_out: &[HeldOut], prior: &[f64]) -> Vec<f64> {
    posterior_of_power(held_out, prior, 1.0)
}

/// [`posterior`] with the likelihood raised to a power.
fn posterior_of_power(held_out: &[HeldOut], prior: &[f64], power: f64) -> Vec<f64> {
    let evidence =
        |found: &HeldOut| power * found.own().iter().map(|p| p.ln()).sum::<f64>() / found.repeats as f64;
    let logs: Vec<f64> =
        held_out.iter().zip(prior).map(|(found, prior)| prior.ln() + evidence(found)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mass: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let total: f64 = mass.iter().sum();
    mass.into_iter().map(|mass| mass / total).collect()
}

/// How often the weighted teachers are right together on labels that were held out, in the repeats that all of them saw.
pub(super) fn together(held_out: &[HeldOut], teachers: &[Teacher]) -> f64 {
    let n = held_out.iter().map(|found| found.y.len()).min().unwrap_or(0);
    let mut p = Array2::<f64>::zeros((n, held_out[0].p.ncols()));
    for (found, teacher) in held_out.iter().zip(teachers) {
        p.scaled_add(teacher.weight, &found.p.slice(ndarray::s![..n, ..]));
    }
    semisup::metrics::accuracy(&arg_max(p.view()), &held_out[0].y[..n])
}

/// Teachers and how much each counts: by how much it was trusted before, and by the probability it gives to held-out
/// labels,
///
/// ```text
/// w_g ~ trust_g prod_i p_g(y_i)^(POWER / repeats)
/// ```
///
/// The power is below 1 because labels of one problem, predicted from each other, are not independent: ten of them
/// hardly move the weights, fifty can turn them.
pub(super) fn weighted(held_out: &[HeldOut], trust: &[f64]) -> Vec<Teacher> {
    let weights = posterior_of_power(held_out, trust, POWER);
    let teacher = |(found, weight): (&HeldOut, f64)| Teacher {
        method: found.method,
        temperature: found.temperature,
        weight,
    };
    held_out.iter().zip(weights).map(teacher).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three teachers of the same labels: one always right, one mostly, one at random.
    fn three() -> Vec<HeldOut> {
        let n = 60;
        let y: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let method = TeacherMethod::SelfTraining { c: 1.0, threshold: 0.75 };
        let held_out = |right: fn(usize) -> f64| {
            let p = Array2::from_shape_fn((n, 2), |(i, k)| if k == y[i] { right(i) } else { 1.0 - right(i) });
            HeldOut { method, temperature: 1.0, p, y: y.clone(), repeats: 1 }
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
        assert_eq!([found[0].accuracy(), found[1].accuracy()], [1.0, 0.8]);
        let weights =
            |trust: &[f64]| weighted(&found, trust).iter().map(|teacher| teacher.weight).collect::<Vec<_>>();
        let even = weights(&[1.0; 3]);
        assert!(even[0] > 0.8 && even[1] > even[2] && even[2] > 0.0, "{even:?}");
        let few: Vec<HeldOut> = found
            .iter()
            .map(|found| HeldOut {
                p: found.p.slice(ndarray::s![..4, ..]).to_owned(),
                y: found.y[..4].to_vec(),
                ..*found
            })
            .collect();
        let believed = weighted(&few, &[1.0, 1.0, 8.0]);
        assert!(believed[2].weight > 0.5, "{believed:?}: four labels do not turn what is believed");
        let posterior = posterior(&found, &[0.2, 0.4, 0.4]);
        assert!(posterior[0] > 0.95 && (posterior.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{posterior:?}");
    }
}
