//! What training minimises (paper, section 4: eq. 4, 6 and 7; appendix A).
//!
//! Every term is a mean over its rows. One idea, one function: [`expected_nll`] with q = one-hot(y) is the labelled
//! term, with q = one-hot of the other view's prediction it is the consistency of eq. 7, and with q = the
//! posterior held constant it is the M-step of EM.
//!
//! To add a term: a variant of [`TermName`] with its name and label, its weight in [`Objective`] and
//! [`Objective::weight_of`], and its value in `terms.rs`. The compiler asks for the first three, the test
//! `every_term_is_computed_and_recorded` for the last. Histories, checks of the settings and curves follow
//! [`TermName::ALL`].

mod settings;
mod terms;

use burn_tensor::Tensor;

use crate::{model::Densities, tensor::to_vec};

pub use settings::{
    Agreement, Consistency, LabelledTerm, Objective, Scale, SoftTargets, TermName, UnlabelledTerm,
};
pub use terms::{Batch, Term, UnlabelledBatch, total};

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
    // The floor keeps a class that is never predicted from sending an infinite gradient.
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
