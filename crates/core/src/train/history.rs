//! What happened during training, one record per epoch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::objective::TermName;

/// Means over an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Passes over the unlabelled rows so far.
    pub epoch: usize,
    /// Steps so far.
    pub step: usize,
    /// The loss.
    pub loss: f64,
    /// Its terms, unweighted.
    pub terms: BTreeMap<TermName, f64>,
    /// Global norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the last step.
    pub rate: f64,
    /// Accuracy on the labelled training rows at the end of the epoch.
    pub labelled_accuracy: f64,
}

/// All records, and the sums of the one being written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Finished epochs.
    pub epochs: Vec<EpochRecord>,
    steps: usize,
    loss: f64,
    norm: f64,
    rate: f64,
    terms: BTreeMap<TermName, (f64, usize)>,
}

impl History {
    /// Whether this can be the history of so many steps.
    pub(crate) fn is_of(&self, step: usize) -> bool {
        let ordered = self.epochs.is_sorted_by(|a, b| a.step < b.step);
        ordered && self.steps <= step && self.epochs.last().is_none_or(|last| last.step <= step)
    }

    /// Adds the loss of a step, the norm of its gradient, its learning rate and its terms.
    pub(crate) fn add(
        &mut self,
        loss: f64,
        norm: f64,
        rate: f64,
        terms: impl Iterator<Item = (TermName, f64)>,
    ) {
        self.steps += 1;
        self.loss += loss;
        self.norm += norm;
        self.rate = rate;
        for (name, value) in terms {
            let sum = self.terms.entry(name).or_default();
            *sum = (sum.0 + value, sum.1 + 1);
        }
    }

    /// Ends the epoch's record.
    pub(crate) fn close(
        &mut self,
        step: usize,
        steps_per_epoch: usize,
        labelled_accuracy: f64,
    ) -> EpochRecord {
        let n = self.steps.max(1) as f64;
        let terms = std::mem::take(&mut self.terms);
        let record = EpochRecord {
            epoch: step / steps_per_epoch,
            step,
            loss: self.loss / n,
            terms: terms.into_iter().map(|(name, (sum, n))| (name, sum / n as f64)).collect(),
            gradient_norm: self.norm / n,
            rate: self.rate,
            labelled_accuracy,
        };
        (self.steps, self.loss, self.norm) = (0, 0.0, 0.0);
        self.epochs.push(record.clone());
        record
    }
}
