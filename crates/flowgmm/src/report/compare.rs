//! Two fits judged on the same rows: one with the unlabelled rows, one without.

use std::collections::BTreeMap;

use semisup::{Classifier, Interval, difference_interval, metrics::arg_max};
use serde::Serialize;

use super::{held_out, held_out::HeldOut, subject::Subject};
use crate::{
    error::Result,
    observer::{Observer, Phase},
};

/// Accuracies on the same rows, and their differences. Intervals are at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Number of different rows.
    pub n: usize,
    /// Accuracy of the fit to all rows.
    pub semi_supervised: f64,
    /// Accuracy of the fit to the labelled rows alone.
    pub labelled_only: f64,
    /// Accuracy of logistic regression on the labelled rows.
    pub logistic_regression: f64,
    /// The lead of the fit to all rows over logistic regression.
    pub lead_over_logistic: Interval,
    /// What the unlabelled rows add to the accuracy.
    pub difference: f64,
    /// The interval of that difference.
    pub interval: Interval,
    /// Rows that only the fit to all rows classified correctly, and rows that only the fit to the labelled rows did; means
    /// over repeats.
    pub discordant: [f64; 2],
}

/// Classes predicted for the same rows, each `[m]`.
struct Predicted<'a> {
    semi_supervised: &'a [usize],
    labelled_only: &'a [usize],
    logistic: &'a [usize],
}

impl Comparison {
    /// From predictions of rows `ids`, some perhaps several times; a row counts once, as the mean of its predictions.
    fn new(ids: &[usize], y: &[usize], predicted: &Predicted) -> Self {
        let mut times: BTreeMap<usize, f64> = BTreeMap::new();
        ids.iter().for_each(|&id| *times.entry(id).or_default() += 1.0);
        let n = times.len();
        let count = |holds: &dyn Fn(usize) -> bool| -> f64 {
            (0..ids.len()).filter(|&i| holds(i)).fold(0.0, |sum, i| sum + 1.0 / times[&ids[i]])
        };
        let share = |predicted: &[usize]| count(&|i| predicted[i] == y[i]) / n.max(1) as f64;
        let only = |one: &[usize], other: &[usize]| count(&|i| one[i] == y[i] && other[i] != y[i]);
        let Predicted { semi_supervised, labelled_only, logistic } = *predicted;
        let discordant = [only(semi_supervised, labelled_only), only(labelled_only, semi_supervised)];
        let lead = [only(semi_supervised, logistic), only(logistic, semi_supervised)];
        Self {
            n,
            semi_supervised: share(semi_supervised),
            labelled_only: share(labelled_only),
            logistic_regression: share(logistic),
            lead_over_logistic: difference_interval(lead[0], lead[1], n),
            difference: (discordant[0] - discordant[1]) / n.max(1) as f64,
            interval: difference_interval(discordant[0], discordant[1], n),
            discordant,
        }
    }

    /// On held-out labelled rows.
    pub(super) fn of_held_out(held: &HeldOut) -> Self {
        let predicted = Predicted {
            semi_supervised: &arg_max(held.log_probs.view()),
            labelled_only: &held.labelled_only,
            logistic: &held.logistic,
        };
        Self::new(&held.rows, &held.y, &predicted)
    }

    /// On the test rows: the model against a fit of full length to the labelled rows alone.
    pub(super) fn on_test_rows(subject: &Subject, observer: &mut dyn Observer) -> Result<Option<Self>> {
        let data = subject.data();
        let Some(test) = subject.test.as_ref().filter(|_| !data.unlabelled().is_empty()) else {
            return Ok(None);
        };
        let only = data.labelled_only();
        observer.phase(&Phase::Comparing, None);
        let config = &subject.settings().config;
        let Some(without) = subject.refit(config, &only, observer)? else { return Ok(None) };
        let predicted = Predicted {
            semi_supervised: &arg_max(test.log_probs.view()),
            labelled_only: &without.predict(test.x.view()),
            logistic: &held_out::logistic(&only, &test.x)?,
        };
        let ids: Vec<usize> = (0..test.y.len()).collect();
        Ok(Some(Self::new(&ids, &test.y, &predicted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_once_however_often_it_is_held_out() {
        // Row 7 twice: the first is correct both times, the second once. Row 9 once: only the second is correct.
        let predicted =
            Predicted { semi_supervised: &[1, 1, 1], labelled_only: &[1, 0, 0], logistic: &[0, 0, 0] };
        let found = Comparison::new(&[7, 7, 9], &[1, 1, 0], &predicted);
        assert_eq!((found.n, found.discordant), (2, [0.5, 1.0]));
        let accuracies = [found.semi_supervised, found.labelled_only, found.logistic_regression];
        assert_eq!(accuracies, [0.5, 0.75, 0.5]);
        assert_eq!(found.difference, found.semi_supervised - found.labelled_only);
        assert!(found.interval.low < -0.5 && found.interval.high > 0.3, "two rows say little: {found:?}");
    }
}
