//! The terms of the objective for one batch.

use burn_tensor::Tensor;

use super::{
    Agreement, Consistency, LabelledTerm, Objective, Scale, TermName, UnlabelledTerm, alignment,
    cross_entropy, expected_nll, marginal_nll, predictions, squared_difference,
};
use crate::{
    model::{Densities, FlowGmm},
    tensor::{log_normalise, one_hot},
};

/// The rows of one step.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Labelled rows, `[n_l, dim]`.
    pub x_l: Tensor<2>,
    /// Their labels.
    pub y_l: Vec<usize>,
    /// Unlabelled rows, if there are any.
    pub unlabelled: Option<UnlabelledBatch>,
}

/// Unlabelled rows of one step.
#[derive(Clone, Debug)]
pub struct UnlabelledBatch {
    /// The view that is trained on, x', `[n_u, dim]`.
    pub x: Tensor<2>,
    /// The other view x'', if consistency is on.
    pub other_view: Option<Tensor<2>>,
    /// Teacher predictions, `[n_u, K]`.
    pub soft_targets: Option<Tensor<2>>,
    /// EM's responsibilities, or the hard pseudo-labels of a refinement, `[n_u, K]`.
    pub responsibilities: Option<Tensor<2>>,
}

/// A term of the loss: its name, weight and value `[1, 1]`.
#[derive(Clone, Debug)]
pub struct Term {
    /// Which term.
    pub name: TermName,
    /// Weight at this step.
    pub weight: f64,
    /// Mean over its rows.
    pub value: Tensor<2>,
}

impl Term {
    fn new(name: TermName, weight: f64, rows: Tensor<2>) -> Self {
        Self { name, weight, value: rows.mean_dim(0) }
    }
}

/// sum weight * value, `[1]`.
pub fn total(terms: &[Term]) -> Tensor<1> {
    let weighted: Vec<Tensor<2>> = terms.iter().map(|t| t.value.clone() * t.weight).collect();
    let sum = weighted.into_iter().reduce(|a, b| a + b).expect("an objective has at least one term");
    sum.reshape([1])
}

/// Densities of rows that carry gradients.
pub(crate) type Tracked<'a> = dyn FnMut(Tensor<2>) -> Densities + 'a;

impl Objective {
    /// The terms for one batch. `model` carries gradients; `fixed` is the same model without them.
    pub fn terms(
        &self,
        model: &FlowGmm,
        fixed: &FlowGmm,
        batch: &Batch,
        prior: &Tensor<2>,
        progress: f64,
    ) -> Vec<Term> {
        self.terms_by(&mut |x| model.densities(x), fixed, batch, prior, progress)
    }

    /// The terms for one batch by densities that carry gradients but need not be the model's own, as with dropout.
    pub(crate) fn terms_by(
        &self,
        densities: &mut Tracked,
        fixed: &FlowGmm,
        batch: &Batch,
        prior: &Tensor<2>,
        progress: f64,
    ) -> Vec<Term> {
        self.terms_of(densities, fixed, batch, Some(prior), progress).0
    }

    /// The terms, and the tempered densities of the unlabelled rows. Without a prior there is no alignment: it is the one term that
    /// is no mean over rows, and of a part of a batch it says nothing. Such a part may lack labelled or unlabelled rows, and then
    /// has no terms of these.
    pub(crate) fn terms_of(
        &self,
        densities: &mut Tracked,
        fixed: &FlowGmm,
        batch: &Batch,
        prior: Option<&Tensor<2>>,
        progress: f64,
    ) -> (Vec<Term>, Option<Densities>) {
        let n_l = batch.y_l.len();
        let x = match &batch.unlabelled {
            None => batch.x_l.clone(),
            Some(u) if n_l == 0 => u.x.clone(),
            Some(u) => Tensor::cat(vec![batch.x_l.clone(), u.x.clone()], 0),
        };
        let n = x.dims()[0];
        let all = densities(x); // one pass for all rows
        let mut terms = Vec::new();
        if n_l > 0 {
            let q = one_hot(&batch.y_l, fixed.n_classes(), &fixed.place());
            terms = self.labelled_terms(&all.rows(0, n_l), q);
        }
        let unlabelled = batch.unlabelled.as_ref().map(|rows| {
            let unlabelled = all.rows(n_l, n - n_l);
            self.unlabelled_terms(&mut terms, &unlabelled, rows, densities, fixed, prior, progress)
        });
        (terms, unlabelled)
    }

    /// Units of the likelihoods.
    fn unit(&self, dim: usize) -> f64 {
        match self.scale {
            Scale::Total => 1.0,
            Scale::PerDimension => 1.0 / dim as f64,
        }
    }

    fn labelled_terms(&self, labelled: &Densities, q: Tensor<2>) -> Vec<Term> {
        let mut terms = Vec::new();
        if self.labelled != 0.0 {
            let nll = expected_nll(labelled, q.clone());
            let nll = match self.labelled_term {
                LabelledTerm::Conditional => nll,
                LabelledTerm::Joint => nll - (labelled.log_prior.clone() * q.clone()).sum_dim(1),
            };
            let unit = self.unit(labelled.z.dims()[1]);
            terms.push(Term::new(TermName::Labelled, self.labelled * unit, nll));
        }
        if self.cross_entropy != 0.0 {
            let rows = cross_entropy(&self.tempered(labelled), q);
            terms.push(Term::new(TermName::CrossEntropy, self.cross_entropy, rows));
        }
        terms
    }

    /// Adds the terms of unlabelled rows, and returns their tempered densities.
    #[allow(clippy::too_many_arguments)] // all that `terms_of` takes, passed on
    fn unlabelled_terms(
        &self,
        terms: &mut Vec<Term>,
        unlabelled: &Densities,
        rows: &UnlabelledBatch,
        densities: &mut Tracked,
        fixed: &FlowGmm,
        prior: Option<&Tensor<2>>,
        progress: f64,
    ) -> Densities {
        let unit = self.unit(fixed.dim());
        if self.unlabelled != 0.0 {
            let nll = match (&rows.responsibilities, self.unlabelled_term) {
                (Some(q), UnlabelledTerm::Em) => expected_nll(unlabelled, q.clone()),
                _ => marginal_nll(unlabelled),
            };
            terms.push(Term::new(TermName::Unlabelled, self.unlabelled * unit, nll));
        }
        let discriminative = self.tempered(unlabelled);
        if let Some(consistency) = &self.consistency {
            if let (Some(labels), UnlabelledTerm::Marginal) = (&rows.responsibilities, self.unlabelled_term) {
                let rows = cross_entropy(&discriminative, labels.clone());
                terms.push(Term::new(TermName::Consistency, consistency.weight, rows));
            }
            if let Some(other) = &rows.other_view {
                let weight = consistency.weight * (progress / consistency.ramp.max(1e-12)).min(1.0);
                let (rows, unit) =
                    self.disagreement(consistency, unlabelled, &discriminative, other, densities, fixed);
                terms.push(Term::new(TermName::Consistency, weight * unit, rows));
            }
        }
        if let Some(prior) = prior
            && self.alignment != 0.0
        {
            let row = alignment(&discriminative, prior.clone());
            terms.push(Term::new(TermName::Alignment, self.alignment, row));
        }
        if let (Some(soft), Some(q)) = (&self.soft_targets, &rows.soft_targets)
            && progress < soft.until
        {
            let weight = soft.weight * (1.0 - progress / soft.until);
            let rows = cross_entropy(&discriminative, q.clone());
            terms.push(Term::new(TermName::SoftTargets, weight, rows));
        }
        discriminative
    }

    /// The consistency loss of each row, `[n_u, 1]`, and its unit.
    fn disagreement(
        &self,
        consistency: &Consistency,
        unlabelled: &Densities,
        discriminative: &Densities,
        other: &Tensor<2>,
        densities: &mut Tracked,
        fixed: &FlowGmm,
    ) -> (Tensor<2>, f64) {
        let (k, place) = (fixed.n_classes(), fixed.place());
        match consistency.agreement {
            Agreement::Likelihood => {
                let y = predictions(&fixed.densities(other.clone()));
                (expected_nll(unlabelled, one_hot(&y, k, &place)), self.unit(fixed.dim()))
            }
            Agreement::SquaredDifference => {
                let other = self.tempered(&densities(other.clone()));
                (squared_difference(discriminative, &other), 1.0)
            }
            Agreement::CrossEntropy { confidence } => {
                let n_u = other.dims()[0];
                let other = self.tempered(&fixed.densities(other.clone())).log_posterior();
                let (top, _) = other.clone().max_dim_with_indices(1);
                let hot = other.greater_equal(top.clone().expand([n_u, k])).float().cast(place.dtype);
                let confident = top.greater_equal_scalar(confidence.ln()).float().cast(place.dtype);
                (cross_entropy(discriminative, hot * confident), 1.0)
            }
        }
    }

    /// Densities whose posterior is softened by the temperature; for the discriminative terms only.
    fn tempered(&self, densities: &Densities) -> Densities {
        if self.temperature == 1.0 {
            return densities.clone();
        }
        // Normalising first keeps the logits small: log p(x) itself may be in the thousands.
        Densities {
            z: densities.z.clone(),
            log_conditional: log_normalise(densities.log_joint()) / self.temperature,
            log_prior: densities.log_prior.zeros_like(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{
        bijection::{Form, Init},
        flow::{Flow, FlowSpec},
        mixture::{Mixture, MixtureSpec, MixtureValues},
        objective::SoftTargets,
        tensor::{Place, to_scalar},
        train::History,
    };

    fn model(place: &Place) -> FlowGmm {
        let spec = FlowSpec::couplings(2, 2, &[4], Form::ScaleThenShift);
        let flow = Flow::new(spec, Init::Random, &mut semisup::rng(0), place).unwrap();
        let values = MixtureValues {
            means: Array2::from_shape_fn((2, 2), |(k, j)| (k + j) as f64),
            log_sigma: Array2::zeros((2, 1)),
            log_weight: vec![0.0; 2],
            log_prior: vec![0.0; 2],
            ..MixtureValues::default()
        };
        FlowGmm::new(flow, Mixture::new(MixtureSpec::fixed(2, 2), &values, place).unwrap()).unwrap()
    }

    /// An objective with every term switched on gives every term a value and a place in the history, and its weights
    /// are those that the settings are checked by.
    #[test]
    fn every_term_is_computed_and_recorded() {
        let place = Place::cpu_f64();
        let model = model(&place);
        let rows = |n: usize| place.matrix((0..2 * n).map(|i| i as f64 / 5.0).collect(), [n, 2]);
        let q = place.matrix(vec![0.25, 0.75, 0.5, 0.5, 1.0, 0.0], [3, 2]);
        let unlabelled = UnlabelledBatch {
            x: rows(3),
            other_view: Some(rows(3)),
            soft_targets: Some(q),
            responsibilities: None,
        };
        let batch = Batch { x_l: rows(2), y_l: vec![0, 1], unlabelled: Some(unlabelled) };
        let consistency = Consistency { agreement: Agreement::SquaredDifference, weight: 1.0, ramp: 0.0 };
        let objective = Objective {
            cross_entropy: 1.0,
            alignment: 1.0,
            consistency: Some(consistency),
            soft_targets: Some(SoftTargets { weight: 1.0, until: 1.0 }),
            ..Objective::likelihood()
        };
        let prior = model.mixture().log_prior().exp();
        let terms = objective.terms(&model, &model, &batch, &prior, 0.5);
        let mut history = History::default();
        history.add(0.0, 0.0, 0.0, terms.iter().map(|term| (term.name, to_scalar(&term.value))));
        let record = history.close(1, 1, 1.0);
        for &term in TermName::ALL {
            assert!(objective.weight_of(term) > 0.0, "{term} has no weight");
            assert!(record.terms.get(&term).is_some_and(|value| value.is_finite()), "{term} is not recorded");
        }
    }
}
