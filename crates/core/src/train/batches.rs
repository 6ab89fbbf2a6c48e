//! Which rows a step sees, and with which noise.
//!
//! Everything here is a pure function of (seed, step): a run that is resumed at step t sees exactly the rows and
//! the noise it would have seen, and a checkpoint holds neither data order nor generator state, only t.

use std::sync::Arc;

use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use semisup::Rng;

use super::{Perturbation, TrainingMatrix};
use crate::{
    Result,
    objective::{Batch, UnlabelledBatch},
    tensor::Place,
};

/// What a random stream is for; streams of one seed never overlap.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Fresh parameters.
    Parameters = 1,
    /// The order of labelled rows.
    LabelledOrder = 2,
    /// The order of unlabelled rows.
    UnlabelledOrder = 3,
    /// Noise and views of a step's rows.
    Noise = 4,
    /// Folds of a cross-validation.
    Folds = 5,
    /// The placement of means.
    Means = 6,
    /// The rows that settings are chosen on.
    Selection = 7,
    /// Dropout of a step.
    Dropout = 8,
    /// The rows that are kept from training, to tell what is typical.
    Typicality = 9,
}

/// The generator for one purpose at one step or epoch of a run.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> Rng {
    let mut rng = semisup::rng(seed);
    rng.set_stream(((purpose as u64) << 48) | index);
    rng
}

/// The generator of a shard for one purpose at one step or pass of a run.
pub(super) fn shard_stream(seed: u64, purpose: Purpose, shard: usize, index: u64) -> Rng {
    stream(seed, purpose, (shard as u64 + 1) << 32 | index)
}

/// Endless passes over rows, shuffled again for each pass.
#[derive(Clone, Debug)]
pub(super) struct Order {
    seed: u64,
    purpose: Purpose,
    /// The shard whose rows these are, in a sharded run.
    shard: Option<usize>,
    n: usize,
    batch: usize,
    /// The last shuffled pass, kept because neighbouring steps share it.
    cached: Option<(u64, Vec<usize>)>,
}

impl std::fmt::Debug for Purpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stream {}", *self as u64)
    }
}

impl Order {
    pub(super) fn new(seed: u64, purpose: Purpose, n: usize, batch: usize) -> Self {
        Self { seed, purpose, shard: None, n, batch: batch.min(n), cached: None }
    }

    /// Passes over the `n` rows of a shard.
    pub(super) fn of_shard(seed: u64, purpose: Purpose, shard: usize, n: usize, batch: usize) -> Self {
        Self { shard: Some(shard), ..Self::new(seed, purpose, n, batch) }
    }

    /// Row numbers of step `step`.
    pub(super) fn rows(&mut self, step: usize) -> Vec<usize> {
        let first = step as u64 * self.batch as u64;
        (first..first + self.batch as u64).map(|i| self.row(i)).collect()
    }

    fn row(&mut self, i: u64) -> usize {
        let (pass, slot) = (i / self.n as u64, (i % self.n as u64) as usize);
        if self.cached.as_ref().is_none_or(|(cached, _)| *cached != pass) {
            let mut order: Vec<usize> = (0..self.n).collect();
            order.shuffle(&mut match self.shard {
                None => stream(self.seed, self.purpose, pass),
                Some(shard) => shard_stream(self.seed, self.purpose, shard, pass),
            });
            self.cached = Some((pass, order));
        }
        self.cached.as_ref().expect("just filled").1[slot]
    }
}

/// The rows of a semi-supervised problem in the model's own space, and what is known about their classes.
#[derive(Clone, Debug)]
pub struct TrainingRows {
    /// Labelled rows.
    pub labelled: TrainingMatrix,
    /// Their classes.
    pub y: Vec<usize>,
    /// Unlabelled rows; runs on the same rows share them.
    pub unlabelled: Arc<TrainingMatrix>,
    /// What teachers predict for unlabelled rows.
    pub soft_targets: Option<TaughtRows>,
    /// Number of classes.
    pub n_classes: usize,
}

/// Unlabelled rows that teachers predicted: all of them, or a sample.
#[derive(Clone, Debug)]
pub struct TaughtRows {
    /// Positions among the unlabelled rows, ascending, `[n_t]`.
    pub rows: Vec<usize>,
    /// The predictions, `[n_t, K]`.
    pub q: Vec<f32>,
}

/// How the rows of a step are perturbed.
#[derive(Clone, Copy, Debug)]
pub struct Noise<'a> {
    /// Standard deviation of Gaussian noise on rows that nothing else perturbs.
    pub sigma: f64,
    /// Perturbs labelled rows.
    pub labelled: Option<&'a dyn Perturbation>,
    /// Perturbs unlabelled rows.
    pub unlabelled: Option<&'a dyn Perturbation>,
    /// Whether unlabelled rows have a second view.
    pub two_views: bool,
}

/// Composes the batch of each step.
#[derive(Debug)]
pub struct Batches<'a> {
    rows: &'a TrainingRows,
    labelled: Order,
    unlabelled: Order,
    /// The order of the taught rows, if they are a sample.
    taught: Option<Order>,
    /// Steps that see taught rows only.
    taught_steps: usize,
    seed: u64,
    noise: Noise<'a>,
}

impl<'a> Batches<'a> {
    /// Batches of `sizes` labelled and unlabelled rows (all of them where there are fewer).
    pub fn new(rows: &'a TrainingRows, sizes: (usize, usize), seed: u64, noise: Noise<'a>) -> Self {
        let sample = rows.soft_targets.as_ref().map(|taught| taught.rows.len());
        let sample = sample.filter(|&n| n < rows.unlabelled.len());
        Self {
            labelled: Order::new(seed, Purpose::LabelledOrder, rows.labelled.len(), sizes.0),
            unlabelled: Order::new(seed, Purpose::UnlabelledOrder, rows.unlabelled.len(), sizes.1),
            taught: sample.map(|n| Order::new(seed, Purpose::UnlabelledOrder, n, sizes.1)),
            taught_steps: 0,
            rows,
            seed,
            noise,
        }
    }

    /// The first `steps` steps see unlabelled rows that teachers predicted, and no others.
    pub(super) fn taught_first(mut self, steps: usize) -> Self {
        self.taught_steps = steps;
        self
    }

    /// The unlabelled rows of a step, and which of the taught rows they are, if all of them are taught.
    fn unlabelled_rows(&mut self, step: usize) -> (Vec<usize>, Option<Vec<usize>>) {
        match (&mut self.taught, &self.rows.soft_targets) {
            (Some(order), Some(taught)) if step < self.taught_steps => {
                let at = order.rows(step);
                (at.iter().map(|&at| taught.rows[at]).collect(), Some(at))
            }
            (None, Some(_)) => {
                let rows = self.unlabelled.rows(step);
                (rows.clone(), Some(rows))
            }
            (Some(_), _) | (None, None) => (self.unlabelled.rows(step), None),
        }
    }

    /// From now on unlabelled rows have one view.
    pub(super) fn one_view(&mut self) {
        self.noise.two_views = false;
    }

    /// From now on rows that were perturbed are perturbed by this instead, if at all.
    pub(super) fn replace_perturbation(&mut self, by: Option<&'a dyn Perturbation>) {
        self.noise.labelled = self.noise.labelled.and(by);
        self.noise.unlabelled = self.noise.unlabelled.and(by);
    }

    /// The batch of step `step`; `q` are EM's responsibilities or the pseudo-labels of all unlabelled rows.
    pub fn batch(&mut self, step: usize, q: Option<&[f32]>, place: &Place) -> Result<Batch> {
        let rng = &mut stream(self.seed, Purpose::Noise, step as u64);
        let chosen = self.labelled.rows(step);
        let has_unlabelled = !self.rows.unlabelled.is_empty() && self.unlabelled.batch > 0;
        let unlabelled = has_unlabelled.then(|| self.unlabelled_rows(step));
        compose(self.rows, &self.noise, chosen, unlabelled, rng, q, place)
    }
}

/// The batch of these labelled rows, and of these unlabelled ones with their places among the taught rows.
pub(super) fn compose(
    rows: &TrainingRows,
    noise: &Noise,
    chosen: Vec<usize>,
    unlabelled: Option<(Vec<usize>, Option<Vec<usize>>)>,
    rng: &mut Rng,
    q: Option<&[f32]>,
    place: &Place,
) -> Result<Batch> {
    let (dim, k) = (rows.labelled.dim(), rows.n_classes);
    let mut x_l = rows.labelled.gather(&chosen, rng)?;
    match noise.labelled {
        Some(perturbation) => perturbation.perturb_labelled(&mut x_l, dim, rng),
        None => jitter(&mut x_l, noise.sigma, rng),
    }
    let y_l = chosen.iter().map(|&row| rows.y[row]).collect();
    let x_l = place.rows_f32(x_l, [chosen.len(), dim]);

    let part = |(chosen, taught): (Vec<usize>, Option<Vec<usize>>)| -> Result<UnlabelledBatch> {
        let shape = [chosen.len(), dim];
        let mut x = rows.unlabelled.gather(&chosen, rng)?;
        match noise.unlabelled {
            Some(perturbation) => perturbation.perturb(&mut x, dim, rng),
            None => jitter(&mut x, noise.sigma, rng),
        }
        let x = place.rows_f32(x, shape);
        let other_view = match noise.unlabelled.filter(|_| noise.two_views) {
            None => None,
            Some(perturbation) => {
                let mut other = rows.unlabelled.gather(&chosen, rng)?;
                perturbation.perturb_target(&mut other, dim, rng);
                Some(place.rows_f32(other, shape))
            }
        };
        let per_class = |rows: &[usize], values: &[f32]| {
            let mut out = Vec::with_capacity(rows.len() * k);
            rows.iter().for_each(|&row| out.extend_from_slice(&values[row * k..(row + 1) * k]));
            place.rows_f32(out, [rows.len(), k])
        };
        let soft_targets = taught.zip(rows.soft_targets.as_ref());
        Ok(UnlabelledBatch {
            x,
            other_view,
            soft_targets: soft_targets.map(|(at, taught)| per_class(&at, &taught.q)),
            responsibilities: q.map(|q| per_class(&chosen, q)),
        })
    };
    Ok(Batch { x_l, y_l, unlabelled: unlabelled.map(part).transpose()? })
}

/// Adds N(0, sigma^2) to every value.
pub(super) fn jitter(values: &mut [f32], sigma: f64, rng: &mut Rng) {
    if sigma > 0.0 {
        for value in values {
            let eps: f32 = StandardNormal.sample(rng);
            *value += sigma as f32 * eps;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::tensor::to_vec;

    #[test]
    fn every_pass_shows_every_row_once_and_each_in_another_order() {
        let mut order = Order::new(3, Purpose::UnlabelledOrder, 10, 4);
        let seen: Vec<usize> = (0..5).flat_map(|step| order.rows(step)).collect();
        for pass in seen.chunks_exact(10) {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        }
        assert_ne!(seen[..10], seen[10..]);
    }

    /// Row i of ten is the number i; teachers predicted rows 2, 5 and 7, each as its own class.
    #[test]
    fn steps_of_soft_targets_see_taught_rows_and_later_ones_all() {
        let x = Array2::from_shape_fn((10, 1), |(i, _)| i as f64);
        let rows = TrainingRows {
            labelled: TrainingMatrix::new(x.view()),
            y: vec![0; 10],
            unlabelled: Arc::new(TrainingMatrix::new(x.view())),
            soft_targets: Some(TaughtRows {
                rows: vec![2, 5, 7],
                q: vec![1., 0., 0., 0., 1., 0., 0., 0., 1.],
            }),
            n_classes: 3,
        };
        let noise = Noise { sigma: 0.0, labelled: None, unlabelled: None, two_views: false };
        let mut batches = Batches::new(&rows, (2, 3), 1, noise).taught_first(4);
        let place = Place::cpu();
        let mut seen = Vec::new();
        for step in 0..12 {
            let batch =
                batches.batch(step, None, &place).unwrap().unlabelled.expect("there are unlabelled rows");
            let x = to_vec(&batch.x);
            match batch.soft_targets {
                Some(q) => {
                    let q = to_vec(&q);
                    assert!(step < 4);
                    for (i, x) in x.iter().enumerate() {
                        let class = (0..3).find(|k| q[3 * i + k] == 1.0).expect("a class");
                        assert_eq!(*x, [2.0, 5.0, 7.0][class]);
                    }
                }
                None => {
                    assert!(step >= 4);
                    seen.extend(x);
                }
            }
        }
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        assert!(seen.len() > 7, "{seen:?}: all rows, not the taught ones alone");
    }

    #[test]
    fn a_step_sees_the_same_rows_however_it_is_reached() {
        let mut straight = Order::new(3, Purpose::LabelledOrder, 7, 3);
        let walked: Vec<_> = (0..20).map(|step| straight.rows(step)).collect();
        assert_eq!(Order::new(3, Purpose::LabelledOrder, 7, 3).rows(19), walked[19]);
    }
}
