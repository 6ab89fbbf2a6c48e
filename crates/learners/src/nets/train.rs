//! How nets learn: one loop for the net on labelled rows alone and for the Pi-model.
//!
//! A step draws a batch of labelled rows and, for the Pi-model, one of unlabelled rows, and follows the gradient of
//! their loss with Adam.

use ndarray::{Array2, Axis, NdFloat};
use rand::{Rng as _, seq::SliceRandom};
use rand_distr::StandardNormal;
use semisup::{Preprocess, Rng, SemiSupervised, Watch, rng};

use super::adam::Adam;
use super::gradient::{CHUNK, over_chunks};
use super::loss::{consistency, cross_entropy};
use super::net::{Dropout, Net, number};
use crate::{Error, Mlp, Result};

/// Standardised rows, those with a label apart from those without.
pub(crate) struct Rows<F> {
    pub labelled: Array2<F>,   // [n_l, dim]
    pub y: Vec<usize>,         // [n_l]
    pub unlabelled: Array2<F>, // [n_u, dim]
}

/// The consistency term of the Pi-model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consistency {
    /// Its weight after the ramp-up.
    pub weight: f64,
    /// The share of steps that the ramp-up takes.
    pub ramp_up: f64,
    /// Standard deviation of the noise on the inputs.
    pub noise: f64,
    /// Unlabelled rows of a batch.
    pub batch: usize,
}

/// Some rows of a batch, and the weight of each in the loss.
#[derive(Clone, Copy)]
pub(crate) enum Chunk<'a> {
    Labelled { rows: &'a [usize], weight: f64 },
    Unlabelled { rows: &'a [usize], weight: f64, noise: f64 },
}

impl Rows<f32> {
    /// The rows of data, preprocessed.
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

/// Trains a net with the settings of `mlp`, and with a consistency term if there is one.
pub(crate) fn train(
    mlp: &Mlp,
    extra: Option<&Consistency>,
    rows: &Rows<f32>,
    n_classes: usize,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Net<f32>> {
    let mut rng = rng(seed);
    let sizes = [&[rows.labelled.ncols()], mlp.hidden.as_slice(), &[n_classes]].concat();
    let mut net = Net::new(&sizes, &mut rng);
    let mut adam = Adam::new(&net, mlp.learning_rate, mlp.weight_decay);
    let dropout = Dropout::new(mlp.dropout);
    let (mut labelled, mut unlabelled) = (Deck::new(rows.y.len()), Deck::new(rows.unlabelled.nrows()));
    for step in 0..mlp.steps {
        watch.at(step as f64 / mlp.steps as f64)?;
        let labelled = labelled.draw(mlp.batch, &mut rng);
        let mut chunks: Vec<Chunk> = labelled
            .chunks(CHUNK)
            .map(|rows| Chunk::Labelled { rows, weight: 1. / labelled.len() as f64 })
            .collect();
        if let Some(extra) = extra {
            let drawn = unlabelled.draw(extra.batch, &mut rng);
            let weight = extra.weight_at(step, mlp.steps) / drawn.len() as f64;
            let chunk = |rows| Chunk::Unlabelled { rows, weight, noise: extra.noise };
            chunks.extend(drawn.chunks(CHUNK).map(chunk));
        }
        let (loss, gradient) = objective(&net, rows, &chunks, dropout, seed, step);
        if !loss.is_finite() {
            let (step, steps, learning_rate) = (step + 1, mlp.steps, mlp.learning_rate);
            return Err(Error::Diverged { step, steps, loss, learning_rate });
        }
        adam.step(&mut net, &gradient);
    }
    Ok(net)
}

/// The loss of a batch and its gradient.
pub(crate) fn objective<F: NdFloat>(
    net: &Net<F>,
    rows: &Rows<F>,
    chunks: &[Chunk],
    dropout: Dropout,
    seed: u64,
    step: usize,
) -> (f64, Net<F>) {
    let (loss, [gradient]) = over_chunks(chunks, seed, step, |chunk, rng| {
        let (loss, gradient) = chunk.gradient(net, rows, dropout, rng);
        (loss, [gradient])
    });
    (loss, gradient)
}

impl Chunk<'_> {
    fn gradient<F: NdFloat>(
        &self,
        net: &Net<F>,
        rows: &Rows<F>,
        dropout: Dropout,
        rng: &mut Rng,
    ) -> (f64, Net<F>) {
        match *self {
            Chunk::Labelled { rows: chosen, weight } => {
                let trace = net.forward(rows.labelled.select(Axis(0), chosen), dropout, rng);
                let y: Vec<usize> = chosen.iter().map(|&row| rows.y[row]).collect();
                let (loss, d) = cross_entropy(trace.logits.view(), &y, weight);
                (loss, net.backward(&trace, d))
            }
            Chunk::Unlabelled { rows: chosen, weight, noise } => {
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

/// Rows in random order, each drawn once before any is drawn again.
pub(crate) struct Deck {
    order: Vec<usize>,
    drawn: usize,
}

impl Deck {
    pub(crate) fn new(n: usize) -> Self {
        Self { order: (0..n).collect(), drawn: n }
    }

    /// A batch of `batch` rows, or all rows if there are no more. A last, smaller batch is dropped: the rows are shuffled
    /// again instead.
    pub(crate) fn draw(&mut self, batch: usize, rng: &mut Rng) -> &[usize] {
        if self.order.len() <= batch {
            return &self.order;
        }
        if self.drawn + batch > self.order.len() {
            self.order.shuffle(rng);
            self.drawn = 0;
        }
        self.drawn += batch;
        &self.order[self.drawn - batch..self.drawn]
    }
}

#[cfg(test)]
mod tests;
