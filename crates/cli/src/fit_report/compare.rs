//! Two ways to fit, judged on the same rows: with the unlabelled rows and without.

use std::collections::BTreeMap;

use flowgmm::FitConfig;
use semisup::{Classifier, Interval, difference_interval, metrics::arg_max};
use serde_json::{Value, json};

use super::{
    Subject,
    held::{self, HeldOut},
};
use crate::{exit::Result, progress::FitProgress};

/// Accuracies on the same rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Different rows.
    pub n: usize,
    /// Learnt from all rows.
    pub all: f64,
    /// Learnt from labelled rows only.
    pub labelled_only: f64,
    /// By logistic regression on the labelled rows.
    pub linear: f64,
    /// What the fit to all rows is ahead of the logistic regression may be, at 95 %.
    pub ahead_of_linear: Interval,
    /// What unlabelled rows add.
    pub difference: f64,
    /// What that may be, at 95 %.
    pub interval: Interval,
    /// Rows that only the fit to all rows got right, and rows that only the other did; means over repeats.
    pub discordant: [f64; 2],
}

impl Comparison {
    /// From predictions of rows `ids`, some perhaps several times; a row counts once, as the mean of its tries.
    fn new(ids: &[usize], y: &[usize], all: &[usize], labelled_only: &[usize], linear: &[usize]) -> Self {
        let mut tries: BTreeMap<usize, f64> = BTreeMap::new();
        ids.iter().for_each(|&id| *tries.entry(id).or_default() += 1.0);
        let n = tries.len();
        let count = |holds: &dyn Fn(usize) -> bool| -> f64 {
            (0..ids.len()).filter(|&i| holds(i)).fold(0.0, |sum, i| sum + 1.0 / tries[&ids[i]])
        };
        let share = |predicted: &[usize]| count(&|i| predicted[i] == y[i]) / n.max(1) as f64;
        let only = |one: &[usize], other: &[usize]| count(&|i| one[i] == y[i] && other[i] != y[i]);
        let discordant = [only(all, labelled_only), only(labelled_only, all)];
        Self {
            n,
            all: share(all),
            labelled_only: share(labelled_only),
            linear: share(linear),
            ahead_of_linear: difference_interval(only(all, linear), only(linear, all), n),
            difference: (discordant[0] - discordant[1]) / n.max(1) as f64,
            interval: difference_interval(discordant[0], discordant[1], n),
            discordant,
        }
    }

    /// On held-out labelled rows.
    pub fn of_held(held: &HeldOut) -> Self {
        let all = arg_max(held.log_probs.view());
        Self::new(&held.rows, &held.y, &all, &held.labelled_only, &held.linear)
    }

    /// `difference`, `low`, `high`, `n` and the accuracies.
    pub fn to_json(self, by: &str) -> Value {
        json!({
            "by": by,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "n": self.n,
            "semi_supervised": self.all,
            "labelled_only": self.labelled_only,
            "logistic_regression": self.linear,
        })
    }
}

/// On the test rows: the model against a fit of full length to the labelled rows only.
pub fn on_test(subject: &Subject, progress: &mut FitProgress) -> Result<Option<Comparison>> {
    let Some(test) = subject.test.filter(|_| !subject.data.unlabelled().is_empty()) else { return Ok(None) };
    let only = subject.data.labelled_only();
    // Calibration changes probabilities, not predictions.
    let config = FitConfig { calibration: None, ..subject.settings.config.clone() };
    progress.call("report, test".into());
    let Some(without) = held::fit(subject, &config, &only, progress)? else { return Ok(None) };
    let ids: Vec<usize> = (0..test.y.len()).collect();
    let (all, without) = (subject.model.predict(test.x.view()), without.predict(test.x.view()));
    Ok(Some(Comparison::new(&ids, &test.y, &all, &without, &held::linear(&only, &test.x)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_once_however_often_it_is_held_out() {
        // Row 7 twice: right by the first both times, by the second once. Row 9 once: right by the second only.
        let found = Comparison::new(&[7, 7, 9], &[1, 1, 0], &[1, 1, 1], &[1, 0, 0], &[0, 0, 0]);
        assert_eq!((found.n, found.discordant), (2, [0.5, 1.0]));
        assert_eq!((found.all, found.labelled_only, found.linear), (0.5, 0.75, 0.5));
        assert_eq!(found.difference, found.all - found.labelled_only);
        assert!(found.interval.low < -0.5 && found.interval.high > 0.3, "two rows say little: {found:?}");
    }
}
