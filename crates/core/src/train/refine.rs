//! The last part of training: decisions instead of opinions.
//!
//! Until then an unlabelled row is told what the model thinks of another view of it, if it is sure; a row near the decision
//! boundary is told nothing, or one class and then the other, and stays where it is. Now the model to keep decides on all
//! rows as they are, and these decisions are what they are told, until the next ones: hard EM, appendix A, in the
//! discriminative term. At last views are no longer moved either, so that the model ends with the rows it will be asked
//! about. Rows leave the boundary; accuracy stays about what it was.

use serde::{Deserialize, Serialize};

use super::{Perturbation, Trainer, batches::Batches};

/// When training refines, as fractions of its steps. Only with consistency, whose weight it takes over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refine {
    /// When it decides first.
    pub from: f64,
    /// After what it decides anew.
    pub every: f64,
    /// From when on rows are seen as they are: images unmoved, others without the noise of views.
    pub rest: f64,
}

impl Refine {
    /// Whether the model decides before this step.
    pub(super) fn decides(&self, step: usize, steps: usize) -> bool {
        let first = at(self.from, steps);
        step >= first && (step - first).is_multiple_of(at(self.every, steps).max(1))
    }

    /// Whether views are at rest at this step.
    pub(super) fn rests(&self, step: usize, steps: usize) -> bool {
        step >= at(self.rest, steps)
    }

    pub(crate) fn is_sensible(&self) -> bool {
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
    /// Decides, and changes what batches are made of, if it is time. `at_rest` are views that do not move.
    pub(super) fn refine<'b>(&mut self, batches: &mut Batches<'b>, at_rest: Option<&'b dyn Perturbation>) {
        let Some(refine) = self.refinement() else { return };
        let (step, steps) = (self.state.step, self.config.steps);
        if refine.decides(step, steps) {
            self.state.q = Some(self.decisions());
        }
        if self.state.q.is_some() {
            batches.one_view();
        }
        if refine.rests(step, steps) {
            batches.rest(at_rest);
        }
    }

    /// The refinement, where there is something to decide on.
    fn refinement(&self) -> Option<Refine> {
        let consistent = self.config.objective.consistency.is_some() && self.config.em.is_none();
        self.config.refine.filter(|_| consistent && !self.rows.unlabelled.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_come_at_their_fractions() {
        let refine = Refine { from: 0.6, every: 0.1, rest: 0.75 };
        let decided: Vec<usize> = (0..200).filter(|&step| refine.decides(step, 200)).collect();
        assert_eq!(decided, [120, 140, 160, 180]);
        assert_eq!((0..200).find(|&step| refine.rests(step, 200)), Some(150));
        assert_eq!(
            (0..3).filter(|&step| refine.decides(step, 3)).count(),
            1,
            "a tenth of three steps is one at least"
        );
        assert!(refine.is_sensible() && !Refine { rest: 0.5, ..refine }.is_sensible());
        assert!(!Refine { every: 0.0, ..refine }.is_sensible());
    }
}
