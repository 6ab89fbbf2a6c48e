//! What labelled rows teach about probabilities: a temperature and a threshold of prediction sets.
//!
//! The labelled rows are cut into two halves at random. Each half is judged by the temperature and the threshold that
//! the other half has taught, so that no row is judged by its own label; rows without a label by those of all.
//!
//! The threshold works on the probabilities of the model file, which these labels have not touched: so its promise holds.

use flowgmm::Model;
use rand::seq::SliceRandom;
use semisup::{
    metrics::{
        Calibration, Conformal, Coverage, RiskCoverage, arg_max, at_temperature, confidences, coverage,
        fit_temperature_with,
    },
    ndarray::{Array2, ArrayView1, Axis},
};

use super::Seen;

/// Fewer labelled rows cannot say anything.
const LEAST: usize = 20;

/// What they teach.
pub struct Judged {
    /// The labelled rows among those seen.
    pub rows: Vec<usize>,
    pub y: Vec<usize>,
    /// log p of the labelled rows: without any temperature, with that of the model file, and with one learnt here.
    pub log_probs: [Array2<f64>; 3],
    /// Learnt from all labelled rows.
    pub temperature: f64,
    pub raw: Calibration,
    pub stored: Calibration,
    pub calibrated: Calibration,
    pub risk: RiskCoverage,
    pub coverage: Coverage,
    /// Of all labelled rows, for rows without a label.
    pub conformal: Conformal,
    /// Of the other half, for each labelled row.
    thresholds: Vec<Conformal>,
}

impl Judged {
    /// `None` if there are fewer than 20 labelled rows.
    pub fn new(model: &Model, seen: &Seen, alpha: f64, seed: u64) -> Option<Self> {
        let rows: Vec<usize> = (0..seen.rows.n()).filter(|&row| seen.rows.y[row].is_some()).collect();
        if rows.len() < LEAST || model.gmm().n_classes() < 2 {
            return None;
        }
        let y: Vec<usize> = seen.rows.y.iter().flatten().copied().collect();
        let stored = seen.scores.log_probs.select(Axis(0), &rows);
        let logits = seen.scores.log_conditional.select(Axis(0), &rows);
        let prior = model.gmm().mixture().values().log_prior;
        let raw = at_temperature(logits.view(), &prior, 1.0);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.shuffle(&mut semisup::rng(seed));
        let (one, other) = order.split_at(order.len() / 2);
        let mut calibrated = Array2::zeros(raw.dim());
        let mut sets = Array2::from_elem(raw.dim(), false);
        let conformal = Conformal::fit(stored.view(), &y, alpha);
        let mut thresholds = vec![conformal; rows.len()];
        for (teach, judge) in [(one, other), (other, one)] {
            let truth: Vec<usize> = teach.iter().map(|&i| y[i]).collect();
            let pick = |from: &Array2<f64>| from.select(Axis(0), teach);
            let t = fit_temperature_with(pick(&logits).view(), &prior, &truth);
            let threshold = Conformal::fit(pick(&stored).view(), &truth, alpha);
            for &i in judge {
                calibrated.row_mut(i).assign(&warmed(logits.row(i), &prior, t));
                threshold.set(stored.row(i)).into_iter().for_each(|k| sets[[i, k]] = true);
                thresholds[i] = threshold;
            }
        }
        let (confidence, right) = confidences(calibrated.exp().view(), &y);
        Some(Self {
            temperature: fit_temperature_with(logits.view(), &prior, &y),
            raw: Calibration::of(raw.view(), &y),
            stored: Calibration::of(stored.view(), &y),
            calibrated: Calibration::of(calibrated.view(), &y),
            risk: RiskCoverage::of(&confidence, &right),
            coverage: coverage(&sets, &y),
            conformal,
            thresholds,
            log_probs: [raw, stored, calibrated],
            rows,
            y,
        })
    }

    /// Share of labelled rows predicted right.
    pub fn accuracy(&self) -> f64 {
        semisup::metrics::accuracy(&arg_max(self.log_probs[1].view()), &self.y)
    }

    /// Calibrated log p and prediction set of a row that was seen.
    pub fn of(&self, model: &Model, seen: &Seen, row: usize) -> (Vec<f64>, Vec<usize>) {
        let stored = seen.scores.log_probs.row(row);
        match self.rows.binary_search(&row) {
            Ok(i) => (self.log_probs[2].row(i).to_vec(), self.thresholds[i].set(stored)),
            Err(_) => {
                let prior = model.gmm().mixture().values().log_prior;
                let warmed = warmed(seen.scores.log_conditional.row(row), &prior, self.temperature);
                (warmed.to_vec(), self.conformal.set(stored))
            }
        }
    }
}

fn warmed(logits: ArrayView1<f64>, prior: &[f64], t: f64) -> semisup::ndarray::Array1<f64> {
    at_temperature(logits.insert_axis(Axis(0)), prior, t).row(0).to_owned()
}
