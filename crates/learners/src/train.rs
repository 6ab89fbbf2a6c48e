//! How nets learn: one loop for the net on labelled rows alone and for the Pi-model.
//!
//! A step deals a batch of labelled and, for the Pi-model, of unlabelled rows, takes them in pieces of fixed size
//! on all threads, and adds the pieces' gradients in their order: the same bits on any number of threads. Every
//! piece has its own stream of random numbers.

use ndarray::{Array2, Axis, NdFloat};
use rand::{Rng as _, seq::SliceRandom};
use rand_distr::StandardNormal;
use rayon::prelude::*;
use semisup::{Preprocess, Rng, SemiSupervised, rng};

use crate::adam::Adam;
use crate::loss::{consistency, cross_entropy};
use crate::net::{Dropout, Net, number};
use crate::{Error, Mlp, Result};

/// Rows in one piece of parallel work.
pub(crate) const PIECE: usize = 128;

/// Standardised rows, those with a label apart from those without.
pub(crate) struct Rows<F> {
    pub labelled: Array2<F>,   // [n_l, dim]
    pub y: Vec<usize>,         // [n_l]
    pub unlabelled: Array2<F>, // [n_u, dim]
}

/// What unlabelled rows add to the loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consistency {
    /// Its weight when it is fully there.
    pub weight: f64,
    /// The share of steps until then.
    pub ramp_up: f64,
    /// Standard deviation of the noise on the inputs.
    pub noise: f64,
    /// Unlabelled rows of a step.
    pub batch: usize,
}

/// Some rows of a batch, and what they weigh in the loss.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    Labelled { rows: &'a [usize], weight: f64 },
    Unlabelled { rows: &'a [usize], weight: f64, noise: f64 },
}

impl Rows<f32> {
    /// Of data, by a map that was learnt from all of its rows.
    pub fn of(data: &SemiSupervised, preprocess: &Preprocess) -> Self {
        let part = |rows: Vec<usize>| {
            preprocess.apply(data.x().select(Axis(0), &rows).view()).mapv(|value| value as f32)
        };
        Self {
            labelled: part(data.labelled()),
            y: data.y().iter().flatten().copied().collect(),
            unlabelled: part(data.unlabelled()),
        }
    }
}

impl Consistency {
    /// weight exp(-5 (1 - t)^2), t rising from 0 to 1 over the first `ramp_up` of all steps (Laine and Aila 2017).
    pub fn weight_at(&self, step: usize, steps: usize) -> f64 {
        let t = (step as f64 / (self.ramp_up * steps as f64)).min(1.); // 0 / 0 is NaN, of which min makes 1
        self.weight * (-5. * (1. - t).powi(2)).exp()
    }
}

/// The net that `mlp`'s settings and the rows give.
pub(crate) fn train(
    mlp: &Mlp,
    extra: Option<&Consistency>,
    rows: &Rows<f32>,
    n_classes: usize,
    seed: u64,
) -> Result<Net<f32>> {
    let mut rng = rng(seed);
    let sizes = [&[rows.labelled.ncols()], mlp.hidden.as_slice(), &[n_classes]].concat();
    let mut net = Net::new(&sizes, &mut rng);
    let mut adam = Adam::new(&net, mlp.learning_rate, mlp.weight_decay);
    let dropout = Dropout::new(mlp.dropout);
    let (mut labelled, mut unlabelled) = (Deck::new(rows.y.len()), Deck::new(rows.unlabelled.nrows()));
    for step in 0..mlp.steps {
        let labelled = labelled.deal(mlp.batch, &mut rng);
        let mut pieces: Vec<Piece> = labelled
            .chunks(PIECE)
            .map(|rows| Piece::Labelled { rows, weight: 1. / labelled.len() as f64 })
            .collect();
        if let Some(extra) = extra {
            let dealt = unlabelled.deal(extra.batch, &mut rng);
            let weight = extra.weight_at(step, mlp.steps) / dealt.len() as f64;
            let piece = |rows| Piece::Unlabelled { rows, weight, noise: extra.noise };
            pieces.extend(dealt.chunks(PIECE).map(piece));
        }
        let (loss, gradient) = objective(&net, rows, &pieces, dropout, seed, step);
        if !loss.is_finite() {
            let (step, steps, learning_rate) = (step + 1, mlp.steps, mlp.learning_rate);
            return Err(Error::Diverged { step, steps, loss, learning_rate });
        }
        adam.step(&mut net, &gradient);
    }
    Ok(net)
}

/// The loss of all pieces and its gradient.
pub(crate) fn objective<F: NdFloat>(
    net: &Net<F>,
    rows: &Rows<F>,
    pieces: &[Piece],
    dropout: Dropout,
    seed: u64,
    step: usize,
) -> (f64, Net<F>) {
    let parts: Vec<(f64, Net<F>)> = pieces
        .par_iter()
        .enumerate()
        .map(|(i, piece)| {
            let mut rng = rng(seed);
            rng.set_stream(((step as u64) << 20) + i as u64 + 1); // stream 0 deals the batches
            piece.gradient(net, rows, dropout, &mut rng)
        })
        .collect();
    let sum = |(loss, mut sum): (f64, Net<F>), (part, gradient): (f64, Net<F>)| {
        sum.add(&gradient);
        (loss + part, sum)
    };
    parts.into_iter().reduce(sum).expect("there are labelled rows")
}

impl Piece<'_> {
    fn gradient<F: NdFloat>(
        &self,
        net: &Net<F>,
        rows: &Rows<F>,
        dropout: Dropout,
        rng: &mut Rng,
    ) -> (f64, Net<F>) {
        match *self {
            Piece::Labelled { rows: chosen, weight } => {
                let trace = net.forward(rows.labelled.select(Axis(0), chosen), dropout, rng);
                let y: Vec<usize> = chosen.iter().map(|&row| rows.y[row]).collect();
                let (loss, d) = cross_entropy(trace.logits.view(), &y, weight);
                (loss, net.backward(&trace, d))
            }
            Piece::Unlabelled { rows: chosen, weight, noise } => {
                let mut pass = || {
                    let x = with_noise(rows.unlabelled.select(Axis(0), chosen), noise, rng);
                    net.forward(x, dropout, rng)
                };
                let (first, second) = (pass(), pass());
                let (loss, [d_first, d_second]) =
                    consistency(first.logits.view(), second.logits.view(), weight);
                let mut gradient = net.backward(&first, d_first);
                gradient.add(&net.backward(&second, d_second));
                (loss, gradient)
            }
        }
    }
}

fn with_noise<F: NdFloat>(mut x: Array2<F>, noise: f64, rng: &mut Rng) -> Array2<F> {
    if noise > 0. {
        x.mapv_inplace(|x| x + number(noise * rng.sample::<f64, _>(StandardNormal)));
    }
    x
}

/// Rows dealt in random order, each once before any comes again.
pub(crate) struct Deck {
    order: Vec<usize>,
    dealt: usize,
}

impl Deck {
    pub(crate) fn new(n: usize) -> Self {
        Self { order: (0..n).collect(), dealt: n }
    }

    /// `batch` rows, or all there are. Too few that are left wait for the next round.
    pub(crate) fn deal(&mut self, batch: usize, rng: &mut Rng) -> &[usize] {
        if self.order.len() <= batch {
            return &self.order;
        }
        if self.dealt + batch > self.order.len() {
            self.order.shuffle(rng);
            self.dealt = 0;
        }
        self.dealt += batch;
        &self.order[self.dealt - batch..self.dealt]
    }
}

#[cfg(test)]
mod tests;
