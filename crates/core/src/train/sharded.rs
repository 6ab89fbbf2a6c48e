//! The gradient of a step as an exact sum over shards.
//!
//! Every term of the objective but one is a mean over its rows, so that the loss of a batch is the sum of its parts' losses, each
//! weighted by its share of the rows. Alignment is a function of the mean posterior over the batch,
//!
//! ```text
//! a = -sum_k pi_k log(p_k + 1e-6),  p_k = 1/n sum_i p(k | x_i),      da/dtheta = -sum_k pi_k / (p_k + 1e-6) 1/n sum_i dp(k | x_i)/dtheta
//! ```
//!
//! so that its gradient is a sum over rows, too, once all workers know p: they sum that first. A step takes three reductions: the sum
//! of posteriors `[K]`, the largest magnitudes, and the sum of gradients and terms.

use burn_tensor::Tensor;
use rayon::prelude::*;

use super::{
    Purpose, Reduce, Shards, Trainer, batches::shard_stream, gradients, reduce::FixedPoint,
    shards::ShardBatch, shards::ShardedBatches, trained_values, trainer::Gradient,
};
use crate::{
    Error, Result,
    bijection::{Dropout, NormStatistics},
    model::{Densities, FlowGmm},
    objective::{Objective, Term, TermName},
    tensor::{to_scalar, to_vec},
};

/// Steps between two comparisons of the workers' weights.
const COMPARE_EVERY: usize = 50;
/// What keeps the logarithm of a mean posterior finite, as in [`crate::objective::alignment`].
const FLOOR: f64 = 1e-6;

/// Rows in shards, and who sums over the workers that hold them.
#[derive(Debug)]
pub(super) struct Sharded<'a> {
    pub(super) shards: &'a Shards,
    pub(super) reduce: &'a mut dyn Reduce,
}

/// A shard's part of a step after the forward pass.
struct Forward {
    tracked: FlowGmm,
    /// The terms with their weights, which the shard's share of the rows is already in.
    terms: Vec<Term>,
    /// What the values of the terms count in the batch, by their order.
    shares: Vec<f64>,
    /// p(k | x) summed over the unlabelled rows, with gradients, `[1, K]`.
    posterior: Option<Tensor<2>>,
}

/// A shard's part of a step after the backward pass.
struct Backward {
    gradient: Vec<f32>,               // all trained parameter vectors, one after the other
    terms: Vec<(TermName, f64, f64)>, // value and weighted value, as shares of the batch's
}

impl Trainer<'_> {
    /// The gradient of a step over the shards of all workers.
    pub(super) fn sharded_gradient(
        &self,
        objective: &Objective,
        batches: &mut ShardedBatches,
        reduce: &mut dyn Reduce,
    ) -> Result<Gradient> {
        let step = Step {
            objective,
            fixed: self.state.model.clone().with_statistics(NormStatistics::Batch),
            dropout: self.config.dropout,
            seed: self.seed,
            number: self.state.step,
            progress: self.state.step as f64 / self.config.steps as f64,
        };
        let parts = batches.batches(step.number, &self.state.model.place())?;
        let total = batches.total(step.number);
        let forward: Vec<Forward> =
            parts.into_par_iter().map(|(shard, part)| step.forward(shard, &part)).collect();
        let aligned = match objective.alignment {
            0.0 => None,
            weight => self.mean_posterior(&forward, total, reduce)?.map(|mean| (weight, mean)),
        };
        let n = total.max(1) as f64;
        let backward: Vec<Backward> = forward
            .into_par_iter()
            .map(|part| part.backward(aligned.as_ref().map(|(weight, slope)| (weight / n, &slope.slope[..]))))
            .collect();
        self.sum(backward, aligned.map(|(weight, mean)| (weight, mean.value)), reduce)
    }

    /// The mean posterior over all shards; `None` if there is no unlabelled row.
    fn mean_posterior(
        &self,
        parts: &[Forward],
        n: usize,
        reduce: &mut dyn Reduce,
    ) -> Result<Option<MeanPosterior>> {
        if n == 0 {
            return Ok(None);
        }
        let k = self.rows.n_classes;
        // Probabilities of at most n rows; a posterior that is no number makes the loss no number.
        let point = FixedPoint::new(n as f64);
        let mut sums = vec![0_i64; k + 1];
        for posterior in parts.iter().filter_map(|part| part.posterior.as_ref()) {
            for (at, value) in to_vec(posterior).into_iter().enumerate() {
                match value.is_finite() {
                    true => sums[at] += point.round(value),
                    false => sums[k] = 1,
                }
            }
        }
        reduce.sum(&mut sums).map_err(Error::Workers)?;
        let prior = to_vec(&self.state.model.mixture().log_prior().exp());
        let mean: Vec<f64> = sums[..k].iter().map(|&sum| point.value(sum) / n as f64 + FLOOR).collect();
        let value = -prior.iter().zip(&mean).map(|(pi, p)| pi * p.ln()).sum::<f64>();
        let slope = prior.iter().zip(&mean).map(|(pi, p)| -pi / p).collect();
        Ok(Some(MeanPosterior { value: if sums[k] == 0 { value } else { f64::NAN }, slope }))
    }

    /// The sum over the shards of all workers.
    fn sum(
        &self,
        parts: Vec<Backward>,
        aligned: Option<(f64, f64)>,
        reduce: &mut dyn Reduce,
    ) -> Result<Gradient> {
        let lengths: Vec<usize> =
            trained_values(&self.state.model).iter().map(|theta| theta.dims()[0]).collect();
        let (n, names) = (lengths.iter().sum::<usize>(), TermName::ALL);
        // A maximum of what is no number is no number, and a sum of it as well: infinity says so to all workers.
        let magnitude = |value: f64| if value.is_finite() { value.abs() } else { f64::INFINITY };
        let largest = |values: &mut dyn Iterator<Item = f64>| values.map(magnitude).fold(0.0, f64::max);
        let of_gradients = largest(&mut parts.iter().map(|part| {
            f64::from(
                part.gradient
                    .iter()
                    .fold(0.0f32, |most, g| if g.is_finite() { most.max(g.abs()) } else { f32::INFINITY }),
            )
        }));
        let of_terms =
            largest(&mut parts.iter().flat_map(|part| part.terms.iter().flat_map(|term| [term.1, term.2])));
        let weights = self.state.step.is_multiple_of(COMPARE_EVERY).then(|| self.digest());
        let mut most = vec![of_gradients, of_terms];
        most.extend(weights.into_iter().flat_map(|digest| [digest, -digest]));
        reduce.max(&mut most).map_err(Error::Workers)?;
        if let [_, _, highest, lowest] = most[..]
            && highest != -lowest
        {
            return Err(Error::Workers(format!(
                "their weights differ at step {}. Machines with different instruction sets round differently: give all of them \
                 the same FLOWGMM_SIMD",
                self.state.step
            )));
        }
        if most[..2].iter().any(|m| m.is_infinite()) || aligned.is_some_and(|(_, value)| value.is_nan()) {
            let gradients = lengths.iter().map(|&n| self.state.model.place().vector(vec![0.0; n])).collect();
            return Ok(Gradient { loss: f64::NAN, terms: Vec::new(), gradients });
        }
        let (of_gradients, of_terms) = (FixedPoint::new(most[0]), FixedPoint::new(most[1]));
        let mut sums = vec![0_i64; n + 3 * names.len()];
        for part in &parts {
            sums[..n]
                .par_iter_mut()
                .zip(&part.gradient)
                .with_min_len(4096)
                .for_each(|(sum, g)| *sum += of_gradients.round(f64::from(*g)));
            for (name, value, weighted) in &part.terms {
                let at = n + 3 * names.iter().position(|own| own == name).expect("one of all");
                sums[at] += of_terms.round(*value);
                sums[at + 1] += of_terms.round(*weighted);
                sums[at + 2] += 1;
            }
        }
        reduce.sum(&mut sums).map_err(Error::Workers)?;
        let (gradient, of_names) = sums.split_at(n);
        let mut found: Vec<(TermName, f64, f64)> = names
            .iter()
            .zip(of_names.chunks_exact(3))
            .filter(|(_, sums)| sums[2] > 0)
            .map(|(name, sums)| (*name, of_terms.value(sums[0]), of_terms.value(sums[1])))
            .collect();
        found.extend(aligned.map(|(weight, value)| (TermName::Alignment, value, weight * value)));
        let mut at = 0;
        let place = self.state.model.place();
        let gradients = lengths.iter().map(|&length| {
            let values: Vec<f64> =
                gradient[at..at + length].iter().map(|&sum| of_gradients.value(sum)).collect();
            at += length;
            place.vector(values)
        });
        let gradients = gradients.collect();
        let loss = found.iter().map(|term| term.2).sum();
        Ok(Gradient {
            loss,
            terms: found.into_iter().map(|(name, value, _)| (name, value)).collect(),
            gradients,
        })
    }

    /// A number that differs if the trained parameters do.
    fn digest(&self) -> f64 {
        let mut values = Vec::new();
        for theta in trained_values(&self.state.model) {
            values.extend(to_vec(&theta).into_iter().flat_map(f64::to_le_bytes));
        }
        let bytes = blake3::hash(&values);
        let digits = u64::from_le_bytes(bytes.as_bytes()[..8].try_into().expect("eight bytes"));
        (digits >> 12) as f64 // 52 digits: a whole number of double precision
    }
}

/// What the shards of a step have in common.
struct Step<'a> {
    objective: &'a Objective,
    fixed: FlowGmm,
    dropout: f64,
    seed: u64,
    number: usize,
    progress: f64,
}

impl Step<'_> {
    fn forward(&self, shard: usize, part: &ShardBatch) -> Forward {
        let tracked = self.fixed.tracked();
        let (objective, fixed) = (self.objective, &self.fixed);
        let (mut terms, unlabelled) = if self.dropout == 0.0 {
            objective.terms_of(&mut |x| tracked.densities(x), fixed, &part.batch, None, self.progress)
        } else {
            let rng = shard_stream(self.seed, Purpose::Dropout, shard, self.number as u64);
            let mut dropout = Dropout::new(self.dropout, rng);
            let mut densities = |x: Tensor<2>| tracked.densities_with_dropout(x, &mut dropout);
            objective.terms_of(&mut densities, fixed, &part.batch, None, self.progress)
        };
        let share = |term: &Term| match term.name {
            TermName::Labelled | TermName::CrossEntropy => part.labelled,
            TermName::Unlabelled | TermName::Consistency | TermName::Alignment | TermName::SoftTargets => {
                part.unlabelled
            }
        };
        let shares: Vec<f64> = terms.iter().map(share).collect();
        terms.iter_mut().zip(&shares).for_each(|(term, share)| term.weight *= share);
        let sum = |densities: Densities| densities.log_posterior().exp().sum_dim(0);
        let posterior = unlabelled.filter(|_| objective.alignment != 0.0).map(sum);
        Forward { tracked, terms, shares, posterior }
    }
}

/// The mean posterior of a step.
struct MeanPosterior {
    /// Alignment: -sum_k pi_k log p_k.
    value: f64,
    /// Its derivative by each p_k, `[K]`.
    slope: Vec<f64>,
}

impl Forward {
    /// The gradient; `alignment` is the weight of a row's posterior in it, and the slope of each class.
    fn backward(self, alignment: Option<(f64, &[f64])>) -> Backward {
        let terms: Vec<(TermName, f64, f64)> = self
            .terms
            .iter()
            .zip(&self.shares)
            .map(|(term, share)| {
                let value = to_scalar(&term.value);
                (term.name, share * value, term.weight * value)
            })
            .collect();
        let mut parts: Vec<Tensor<2>> =
            self.terms.iter().map(|term| term.value.clone() * term.weight).collect();
        if let (Some((weight, slope)), Some(posterior)) = (alignment, &self.posterior) {
            let place = crate::tensor::Place::of(posterior);
            let slope = place.matrix(slope.iter().map(|s| s * weight).collect(), [1, slope.len()]);
            parts.push((posterior.clone() * slope).sum_dim(1));
        }
        let Some(loss) = parts.into_iter().reduce(|a, b| a + b) else {
            return Backward { gradient: Vec::new(), terms };
        };
        let gradients = gradients(&self.tracked, &loss.reshape([1]));
        let mut gradient = Vec::with_capacity(gradients.iter().map(|g| g.dims()[0]).sum());
        for vector in gradients {
            gradient.extend(vector.try_into_vec_as::<f32>().expect("a device that works can be read"));
        }
        Backward { gradient, terms }
    }
}
