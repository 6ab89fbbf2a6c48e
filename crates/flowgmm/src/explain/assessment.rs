//! What labels say about a model's probabilities, by cross-fitting on held-out halves: a temperature and the threshold of
//! prediction sets.
//!
//! The labelled rows are split into two random halves. Temperature and threshold are fitted to one half and assessed on
//! the other, then the other way round, so that no row is assessed with its own label. Rows without a label get those
//! fitted to all labelled rows.
//!
//! The threshold applies to the probabilities of the model as it is stored, which these labels have not touched; this is
//! what the conformal guarantee needs.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::seq::SliceRandom;
use semisup::metrics::{
    CalibrationErrors, Conformal, Coverage, RiskCoverage, arg_max, at_temperature, confidences, coverage,
    fit_temperature_near,
};

use super::subject::Seen;
use crate::Model;

/// Fewer labelled rows say too little.
pub(super) const LEAST: usize = 20;

/// What labels say about probabilities.
pub(super) struct Assessment {
    /// The labelled rows among those seen.
    rows: Vec<usize>,
    /// log pi_k of the model.
    bias: Vec<f64>,
    pub(super) y: Vec<usize>,
    /// log p(k | x) of the labelled rows: at temperature 1, at that of the model, and at the cross-fitted one.
    pub(super) log_probs: [Array2<f64>; 3],
    /// Fitted to all labelled rows.
    pub(super) temperature: f64,
    pub(super) as_trained: CalibrationErrors,
    pub(super) as_stored: CalibrationErrors,
    pub(super) calibrated: CalibrationErrors,
    pub(super) risk: RiskCoverage,
    pub(super) coverage: Coverage,
    /// Fitted to all labelled rows, for rows without a label.
    pub(super) conformal: Conformal,
    /// Fitted to the other half, for each labelled row.
    thresholds: Vec<Conformal>,
}

impl Assessment {
    /// `None` if there are fewer than 20 labelled rows, or fewer than two classes.
    pub(super) fn new(model: &Model, seen: &Seen, alpha: f64, seed: u64) -> Option<Self> {
        let rows = seen.labelled();
        if rows.len() < LEAST || model.gmm().n_classes() < 2 {
            return None;
        }
        let y: Vec<usize> = seen.rows.y.iter().flatten().copied().collect();
        let stored = seen.predictions.log_probs.select(Axis(0), &rows);
        let logits = seen.predictions.logits.select(Axis(0), &rows);
        let (bias, near) = (model.logit_bias(), model.temperature());
        let raw = at_temperature(logits.view(), &bias, 1.0);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.shuffle(&mut semisup::rng(seed));
        let (one, other) = order.split_at(order.len() / 2);
        let mut calibrated = Array2::zeros(raw.dim());
        let mut sets = Array2::from_elem(raw.dim(), false);
        let conformal = Conformal::fit(stored.view(), &y, alpha);
        let mut thresholds = vec![conformal; rows.len()];
        for (fitted, held_out) in [(one, other), (other, one)] {
            let truth: Vec<usize> = fitted.iter().map(|&i| y[i]).collect();
            let pick = |from: &Array2<f64>| from.select(Axis(0), fitted);
            let t = fit_temperature_near(pick(&logits).view(), &bias, &truth, near);
            let threshold = Conformal::fit(pick(&stored).view(), &truth, alpha);
            for &i in held_out {
                calibrated.row_mut(i).assign(&tempered(logits.row(i), &bias, t));
                threshold.set(stored.row(i)).into_iter().for_each(|k| sets[[i, k]] = true);
                thresholds[i] = threshold;
            }
        }
        let (confidence, right) = confidences(calibrated.exp().view(), &y);
        Some(Self {
            temperature: fit_temperature_near(logits.view(), &bias, &y, near),
            as_trained: CalibrationErrors::of(raw.view(), &y),
            as_stored: CalibrationErrors::of(stored.view(), &y),
            calibrated: CalibrationErrors::of(calibrated.view(), &y),
            risk: RiskCoverage::of(&confidence, &right),
            coverage: coverage(&sets, &y),
            conformal,
            thresholds,
            log_probs: [raw, stored, calibrated],
            bias,
            rows,
            y,
        })
    }

    /// Share of labelled rows predicted right.
    pub(super) fn accuracy(&self) -> f64 {
        semisup::metrics::accuracy(&arg_max(self.log_probs[1].view()), &self.y)
    }

    /// Calibrated log p(k | x) and prediction set of a row.
    pub(super) fn of_row(&self, seen: &Seen, row: usize) -> (Vec<f64>, Vec<usize>) {
        let stored = seen.predictions.log_probs.row(row);
        match self.rows.binary_search(&row) {
            Ok(i) => (self.log_probs[2].row(i).to_vec(), self.thresholds[i].set(stored)),
            Err(_) => {
                let logits = seen.predictions.logits.row(row);
                let calibrated = tempered(logits, &self.bias, self.temperature);
                (calibrated.to_vec(), self.conformal.set(stored))
            }
        }
    }
}

fn tempered(logits: ArrayView1<f64>, bias: &[f64], t: f64) -> Array1<f64> {
    at_temperature(logits.insert_axis(Axis(0)), bias, t).row(0).to_owned()
}
