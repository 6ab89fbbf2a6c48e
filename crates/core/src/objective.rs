//! What training minimises (paper, section 4: eq. 4, 6 and 7; appendix A).
//!
//! Every term is a mean over its rows. One idea, one function: [`expected_nll`] with q = one-hot(y) is the labelled
//! term, with q = one-hot of the other view's prediction it is the consistency of eq. 7, and with q = the
//! posterior held constant it is the M-step of EM.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{
    model::{Densities, FlowGmm},
    tensor::{log_normalise, one_hot, to_vec},
};

/// -sum_k q_k log p(x | k) per row, `[n, 1]`, for responsibilities q `[n, K]`.
pub fn expected_nll(densities: &Densities, q: Tensor<2>) -> Tensor<2> {
    (densities.log_conditional.clone() * q).sum_dim(1).neg()
}

/// -log p(x) per row, `[n, 1]`: the unlabelled term of eq. 4.
pub fn marginal_nll(densities: &Densities) -> Tensor<2> {
    densities.log_marginal().neg()
}

/// -sum_k q_k log p(k | x) per row, `[n, 1]`: the discriminative term, for hard or soft targets q.
pub fn cross_entropy(densities: &Densities, q: Tensor<2>) -> Tensor<2> {
    (densities.log_posterior() * q).sum_dim(1).neg()
}

/// ||p(. | x') - p(. | x'')||^2 per row, `[n, 1]`: the squared-difference consistency of eq. 6.
pub fn squared_difference(one: &Densities, other: &Densities) -> Tensor<2> {
    (one.log_posterior().exp() - other.log_posterior().exp()).square().sum_dim(1)
}

/// -sum_k pi_k log mean_n p(k | x_n), `[1, 1]`: pulls the average posterior to the class prior.
pub fn alignment(densities: &Densities, prior: Tensor<2>) -> Tensor<2> {
    // The floor keeps a class nobody predicts from sending an infinite gradient.
    let average = densities.log_posterior().exp().mean_dim(0).add_scalar(1e-6);
    (average.log() * prior).sum_dim(1).neg()
}

/// The Bayes decision for each row (eq. 5), without gradient.
pub fn predictions(densities: &Densities) -> Vec<usize> {
    let k = densities.log_conditional.dims()[1];
    to_vec(&densities.log_joint()).chunks_exact(k).map(argmax).collect()
}

fn argmax(row: &[f64]) -> usize {
    row.iter().enumerate().fold(0, |best, (k, v)| if *v > row[best] { k } else { best })
}

/// Whether the labelled likelihood counts the prior of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labelled {
    /// log pi_y + log p(x | y): eq. 4.
    Joint,
    /// log p(x | y) alone: the authors' tabular code.
    Conditional,
}

/// How unlabelled rows enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlabelled {
    /// -log p(x), eq. 4.
    Marginal,
    /// Appendix A: -sum_k q_k log p(x | k) with q held constant since the last E-step.
    Em,
}

/// Units of the likelihood terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Nats per row, as in the paper.
    Total,
    /// Nats per row and dimension, so that all terms are of one size.
    PerDimension,
}

/// Which consistency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Agreement {
    /// Eq. 7: -log p(x' | y'').
    Likelihood,
    /// Eq. 6: the squared difference of the posteriors.
    SquaredDifference,
    /// -log p(y'' | x') where p(y'' | x'') is at least `confidence`.
    CrossEntropy {
        /// Rows whose other view is less certain do not count.
        confidence: f64,
    },
}

/// Two views of an unlabelled row should be of one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// Which measure of agreement.
    pub agreement: Agreement,
    /// Its final weight.
    pub weight: f64,
    /// Fraction of training over which the weight rises linearly from 0.
    pub ramp: f64,
}

/// Soft targets from outside the model (a label-spreading graph), fading out early in training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftTargets {
    /// Weight at the start.
    pub weight: f64,
    /// Fraction of training after which it is 0.
    pub until: f64,
}

/// The weighted sum of terms that training minimises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Weight of the labelled likelihood.
    pub labelled: f64,
    /// What it contains.
    pub labelled_term: Labelled,
    /// Weight of the unlabelled likelihood.
    pub unlabelled: f64,
    /// Its form.
    pub unlabelled_term: Unlabelled,
    /// Units of the likelihoods.
    pub scale: Scale,
    /// Weight of the posterior cross-entropy on labelled rows: 0 is fully generative.
    pub cross_entropy: f64,
    /// Temperature by which posterior logits are divided in the discriminative terms.
    pub temperature: f64,
    /// Agreement of two views of unlabelled rows.
    pub consistency: Option<Consistency>,
    /// Weight of the distribution alignment.
    pub alignment: f64,
    /// Guidance by soft targets.
    pub soft_targets: Option<SoftTargets>,
}

impl Objective {
    /// Eq. 4 with means over rows instead of sums, and nothing else.
    pub fn likelihood() -> Self {
        Self {
            labelled: 1.0,
            labelled_term: Labelled::Joint,
            unlabelled: 1.0,
            unlabelled_term: Unlabelled::Marginal,
            scale: Scale::Total,
            cross_entropy: 0.0,
            temperature: 1.0,
            consistency: None,
            alignment: 0.0,
            soft_targets: None,
        }
    }
}

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
    /// Soft targets, `[n_u, K]`.
    pub soft: Option<Tensor<2>>,
    /// EM's responsibilities, or what a refinement decided, `[n_u, K]`.
    pub responsibilities: Option<Tensor<2>>,
}

/// A term of the loss: its name, weight and value `[1, 1]`.
#[derive(Clone, Debug)]
pub struct Term {
    /// Name, as in the history.
    pub name: &'static str,
    /// Weight at this step.
    pub weight: f64,
    /// Mean over its rows.
    pub value: Tensor<2>,
}

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

    /// The same for densities that carry gradients and need not be quite the model's own, as with dropout.
    pub(crate) fn terms_by(
        &self,
        densities: &mut dyn FnMut(Tensor<2>) -> Densities,
        fixed: &FlowGmm,
        batch: &Batch,
        prior: &Tensor<2>,
        progress: f64,
    ) -> Vec<Term> {
        let k = fixed.n_classes();
        let place = fixed.place();
        let unit = match self.scale {
            Scale::Total => 1.0,
            Scale::PerDimension => 1.0 / fixed.dim() as f64,
        };
        let n_l = batch.y_l.len();
        let x = match &batch.unlabelled {
            None => batch.x_l.clone(),
            Some(u) => Tensor::cat(vec![batch.x_l.clone(), u.x.clone()], 0),
        };
        let n = x.dims()[0];
        let all = densities(x); // one pass for all rows
        let labelled = all.rows(0, n_l);
        let mut terms = Vec::new();
        let mut add = |name: &'static str, weight: f64, rows: Tensor<2>| {
            terms.push(Term { name, weight, value: rows.mean_dim(0) });
        };

        let q = one_hot(&batch.y_l, k, &place);
        if self.labelled != 0.0 {
            let nll = expected_nll(&labelled, q.clone());
            let nll = match self.labelled_term {
                Labelled::Conditional => nll,
                Labelled::Joint => nll - (labelled.log_prior.clone() * q.clone()).sum_dim(1),
            };
            add("labelled", self.labelled * unit, nll);
        }
        if self.cross_entropy != 0.0 {
            add("cross_entropy", self.cross_entropy, cross_entropy(&self.tempered(&labelled), q));
        }

        if let Some(rows) = &batch.unlabelled {
            let unlabelled = all.rows(n_l, n - n_l);
            if self.unlabelled != 0.0 {
                let nll = match (&rows.responsibilities, self.unlabelled_term) {
                    (Some(q), Unlabelled::Em) => expected_nll(&unlabelled, q.clone()),
                    _ => marginal_nll(&unlabelled),
                };
                add("unlabelled", self.unlabelled * unit, nll);
            }
            let discriminative = self.tempered(&unlabelled);
            if let (Some(consistency), Some(decided), Unlabelled::Marginal) =
                (&self.consistency, &rows.responsibilities, self.unlabelled_term)
            {
                add("consistency", consistency.weight, cross_entropy(&discriminative, decided.clone()));
            }
            if let (Some(consistency), Some(other)) = (&self.consistency, &rows.other_view) {
                let weight = consistency.weight * (progress / consistency.ramp.max(1e-12)).min(1.0);
                match consistency.agreement {
                    Agreement::Likelihood => {
                        let y = predictions(&fixed.densities(other.clone()));
                        add("consistency", weight * unit, expected_nll(&unlabelled, one_hot(&y, k, &place)));
                    }
                    Agreement::SquaredDifference => {
                        let other = self.tempered(&densities(other.clone()));
                        add("consistency", weight, squared_difference(&discriminative, &other));
                    }
                    Agreement::CrossEntropy { confidence } => {
                        let other = self.tempered(&fixed.densities(other.clone())).log_posterior();
                        let (top, _) = other.clone().max_dim_with_indices(1);
                        let hot =
                            other.greater_equal(top.clone().expand([n - n_l, k])).float().cast(place.dtype);
                        let sure = top.greater_equal_scalar(confidence.ln()).float().cast(place.dtype);
                        add("consistency", weight, cross_entropy(&discriminative, hot * sure));
                    }
                }
            }
            if self.alignment != 0.0 {
                add("alignment", self.alignment, alignment(&discriminative, prior.clone()));
            }
            if let (Some(soft), Some(q)) = (&self.soft_targets, &rows.soft)
                && progress < soft.until
            {
                let weight = soft.weight * (1.0 - progress / soft.until);
                add("soft_targets", weight, cross_entropy(&discriminative, q.clone()));
            }
        }
        terms
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

/// sum weight * value, `[1]`.
pub fn total(terms: &[Term]) -> Tensor<1> {
    let weighted: Vec<Tensor<2>> = terms.iter().map(|t| t.value.clone() * t.weight).collect();
    let sum = weighted.into_iter().reduce(|a, b| a + b).expect("an objective has at least one term");
    sum.reshape([1])
}
