//! Refinement: hard pseudo-labels for all unlabelled rows in the last part of training.
//!
//! Until then the target of an unlabelled row is the prediction for another view of it, if that is confident; a row near
//! the decision boundary has no target, or changing ones, and stays there. During refinement the averaged model labels
//! all unperturbed rows every so often, and these pseudo-labels are the targets until the next ones: hard EM (appendix
//! A) in the discriminative term. At the end rows are no longer perturbed either, so that training ends on rows as they
//! are when they are predicted. Rows leave the boundary; accuracy stays about what it was.

use serde::{Deserialize, Serialize};

use super::{Observer, Perturbation, Trainer, batches::Batches};
use crate::Result;

/// When training refines, as fractions of its steps. Only with consistency, whose weight it takes over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refine {
    /// When rows get their first pseudo-labels.
    pub from: f64,
    /// The time between two pseudo-labellings.
    pub every: f64,
    /// When perturbation ends: from then on images are not moved, and other rows have no noise of views.
    pub rest: f64,
}

impl Refine {
    /// Whether rows get new pseudo-labels before this step.
    pub(super) fn relabels(&self, step: usize, steps: usize) -> bool {
        let first = at(self.from, steps);
        step >= first && (step - first).is_multiple_of(at(self.every, steps).max(1))
    }

    /// Whether rows are unperturbed at this step.
    pub(super) fn is_unperturbed(&self, step: usize, steps: usize) -> bool {
        step >= at(self.rest, steps)
    }

    pub(crate) fn is_valid(&self) -> bool {
        let fraction = |v: f64| (0.0..=1.0).contains(&v);
        fraction(self.from)
            && fraction(self.rest)
            && self.every > 0.0
            && self.every <= 1.0
            && self.rest >= self.from
    }
}

fn at(fraction: f64, steps: usize) -> usize {
    (fraction * steps as f64).round() as usize
}

impl Trainer<'_> {
    /// Gives rows new pseudo-labels and ends perturbation when it is time. `unmoved` are views that do not move.
    pub(super) fn refine<'b>(
        &mut self,
        batches: &mut Batches<'b>,
        unmoved: Option<&'b dyn Perturbation>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Some(refine) = self.refinement() else { return Ok(()) };
        let (step, steps) = (self.state.step, self.config.steps);
        if refine.relabels(step, steps) {
            self.state.q = Some(self.pseudo_labels(observer)?);
        }
        if self.state.q.is_some() {
            batches.one_view();
        }
        if refine.is_unperturbed(step, steps) {
            batches.replace_perturbation(unmoved);
        }
        Ok(())
    }

    /// The refinement, where there are unlabelled rows to refine.
    fn refinement(&self) -> Option<Refine> {
        let consistent = self.config.objective.consistency.is_some() && self.config.em.is_none();
        self.config.refine.filter(|_| consistent && !self.rows.unlabelled.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_labels_come_at_their_fractions() {
        let refine = Refine { from: 0.6, every: 0.1, rest: 0.75 };
        let relabelled: Vec<usize> = (0..200).filter(|&step| refine.relabels(step, 200)).collect();
        assert_eq!(relabelled, [120, 140, 160, 180]);
        assert_eq!((0..200).find(|&step| refine.is_unperturbed(step, 200)), Some(150));
        assert_eq!(
            (0..3).filter(|&step| refine.relabels(step, 3)).count(),
            1,
            "a tenth of three steps is one at least"
        );
        assert!(refine.is_valid() && !Refine { rest: 0.5, ..refine }.is_valid());
        assert!(!Refine { every: 0.0, ..refine }.is_valid());
    }
}
