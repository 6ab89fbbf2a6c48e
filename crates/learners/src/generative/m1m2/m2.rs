//! M2: a model of M1's features z1 with their class as a latent variable; see the formulas in [`super`].

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, NdFloat, s};
use rand::Rng as _;
use rand_distr::StandardNormal;
use semisup::{Rng, Watch};

use super::M1M2;
use super::descent::descend;
use super::latent::{Latent, noise};
use super::likelihood::Likelihood;
use crate::Result;
use crate::nets::{CHUNK, Deck, Gradient, Net, cross_entropy, number, over_chunks, softmax};

/// q(z1 | x) of every row.
pub(super) struct Features {
    mean: Array2<f32>, // [n, d]
    sd: Array2<f32>,   // [n, d]
    labelled: Vec<usize>,
    unlabelled: Vec<usize>,
    y: Vec<Option<usize>>,
}

/// Some rows of a batch, and their weights in the loss.
enum Chunk<'a> {
    Labelled { rows: &'a [usize], bound: f64, class: f64 },
    Unlabelled { rows: &'a [usize], weight: f64 },
}

impl Features {
    /// From the output of M1's encoder, `[n, 2 d]`.
    pub fn new(encoded: &Array2<f32>, y: &[Option<usize>]) -> Self {
        let (mean, log_var) = encoded.view().split_at(Axis(1), encoded.ncols() / 2);
        let (labelled, unlabelled) = (0..y.len()).partition(|&row| y[row].is_some());
        let sd = log_var.mapv(|v| (0.5 * v).exp());
        Self { mean: mean.to_owned(), sd, labelled, unlabelled, y: y.to_vec() }
    }

    /// A draw of z1 for some rows, `[rows, d]`.
    fn draw(&self, rows: &[usize], rng: &mut Rng) -> Array2<f32> {
        let mut z1 = self.mean.select(Axis(0), rows);
        let sd = self.sd.select(Axis(0), rows);
        z1.zip_mut_with(&sd, |z, &sd| *z += sd * rng.sample::<f32, _>(StandardNormal));
        z1
    }
}

/// Trains M2 on M1's features; gives its classifier q(y | z1).
pub(super) fn train(
    settings: &M1M2,
    features: &Features,
    n_classes: usize,
    seed: u64,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Result<Net<f32>> {
    let stage = &settings.m2;
    let (dim, hidden) = (features.mean.ncols(), stage.hidden.as_slice());
    let classifier = Net::new(&[&[dim], hidden, &[n_classes]].concat(), rng);
    let encoder = Net::new(&[&[dim + n_classes], hidden, &[2 * stage.latent]].concat(), rng);
    let outputs = Likelihood::Gaussian.outputs(dim);
    let decoder = Net::new(&[&[stage.latent + n_classes], hidden, &[outputs]].concat(), rng);
    let (n_l, n_u) = (features.labelled.len(), features.unlabelled.len());
    let share = n_l as f64 / (n_l + n_u) as f64;
    let (mut deck_l, mut deck_u) = (Deck::new(n_l), Deck::new(n_u));
    let [classifier, ..] = descend(stage, [classifier, encoder, decoder], watch, |nets, step| {
        let rows = |drawn: &[usize], of: &[usize]| drawn.iter().map(|&i| of[i]).collect::<Vec<usize>>();
        let labelled = rows(deck_l.draw(settings.labelled_batch, rng), &features.labelled);
        let unlabelled = rows(deck_u.draw(stage.batch, rng), &features.unlabelled);
        let each = 1. / labelled.len() as f64;
        let (bound, class) = (share * each, settings.alpha * each);
        let weight = (1. - share) / unlabelled.len().max(1) as f64;
        let chunks: Vec<Chunk> = (labelled.chunks(CHUNK).map(|rows| Chunk::Labelled { rows, bound, class }))
            .chain(unlabelled.chunks(CHUNK).map(|rows| Chunk::Unlabelled { rows, weight }))
            .collect();
        over_chunks(&chunks, seed, settings.m1.steps + step, |chunk, rng| match *chunk {
            Chunk::Labelled { rows, bound, class } => {
                let y: Vec<usize> = rows.iter().filter_map(|&row| features.y[row]).collect();
                labelled_loss(nets, features.draw(rows, rng), &y, [bound, class], rng)
            }
            Chunk::Unlabelled { rows, weight } => {
                unlabelled_loss(nets, features.draw(rows, rng), weight, rng)
            }
        })
    })?;
    Ok(classifier)
}

/// `bound` times the sum of L(z1, y), plus `class` times that of -log q(y | z1).
pub(super) fn labelled_loss<F: NdFloat>(
    nets: &[Net<F>; 3],
    z1: Array2<F>,
    y: &[usize],
    [bound, class]: [f64; 2],
    rng: &mut Rng,
) -> Gradient<F, 3> {
    let weights = Array1::from_elem(y.len(), number::<F>(bound));
    let noise = noise(y.len(), nets[1].outputs() / 2, rng);
    let (values, [d_encoder, d_decoder]) = bounds(nets, z1.view(), y, weights.view(), noise);
    let trace = nets[0].forward_softplus(z1);
    let (loss, d) = cross_entropy(trace.logits.view(), y, class);
    let values: f64 = values.iter().map(|v| v.to_f64().expect("a float")).sum();
    (loss + bound * values, [nets[0].backward(&trace, d), d_encoder, d_decoder])
}

/// `weight` times the sum of U(z1).
///
/// With c_k = L(z1, k) + log q_k and U = sum q_k c_k, dU/dL(z1, k) = q_k and dU/dlogit_k = q_k (c_k - U).
pub(super) fn unlabelled_loss<F: NdFloat>(
    nets: &[Net<F>; 3],
    z1: Array2<F>,
    weight: f64,
    rng: &mut Rng,
) -> Gradient<F, 3> {
    let trace = nets[0].forward_softplus(z1);
    let z1 = trace.input();
    let q = softmax(trace.logits.view()); // [n, K]
    let (n, n_classes) = q.dim();
    // Every row with every class: row i of z1 becomes rows i K to (i + 1) K.
    let all: Vec<usize> = (0..n * n_classes).map(|i| i / n_classes).collect();
    let classes: Vec<usize> = (0..n * n_classes).map(|i| i % n_classes).collect();
    let weight_of = number::<F>(weight);
    let weights: Array1<F> = q.iter().map(|&q| q * weight_of).collect();
    let repeated = z1.select(Axis(0), &all);
    // All classes of a row have the same noise: it cancels in their differences, which are what q(y | z1) learns from.
    let noise = noise(n, nets[1].outputs() / 2, rng).select(Axis(0), &all);
    let (values, [d_encoder, d_decoder]) = bounds(nets, repeated.view(), &classes, weights.view(), noise);
    let mut c = values.into_shape_with_order((n, n_classes)).expect("one for each class");
    c.zip_mut_with(&q, |c, &q| *c += q.max(F::min_positive_value()).ln());
    let u = (&q * &c).sum_axis(Axis(1));
    let d = (c - u.view().insert_axis(Axis(1))) * q * weight_of;
    let loss = weight * u.iter().map(|v| v.to_f64().expect("a float")).sum::<f64>();
    (loss, [nets[0].backward(&trace, d), d_encoder, d_decoder])
}

/// L(z1, y) of rows `[n, d]` with noise for z2, and the gradient of their weighted sum by q(z2 | z1, y) and p(z1 | z2, y).
fn bounds<F: NdFloat>(
    [_, encoder, decoder]: &[Net<F>; 3],
    z1: ArrayView2<F>,
    y: &[usize],
    weights: ArrayView1<F>,
    noise: Array2<F>,
) -> (Array1<F>, [Net<F>; 2]) {
    let n_classes = encoder.inputs() - z1.ncols();
    let encoded = encoder.forward_softplus(with_class(z1, y, n_classes));
    let latent = Latent::draw(encoded.logits.view(), noise);
    let z2 = latent.z();
    let decoded = decoder.forward_softplus(with_class(z2.view(), y, n_classes));
    let (nll, d) = Likelihood::Gaussian.nll(decoded.logits.view(), z1, weights);
    let (d_decoder, d_input) = decoder.backward_through(&decoded, d);
    let d_z2 = d_input.slice(s![.., ..z2.ncols()]);
    let d_encoder = encoder.backward(&encoded, latent.backward(d_z2, weights));
    let log_prior = number::<F>(-(n_classes as f64).ln());
    ((nll + latent.kl()).mapv(|v| v - log_prior), [d_encoder, d_decoder])
}

/// Rows with their class behind them, as 0 and 1.
fn with_class<F: NdFloat>(z: ArrayView2<F>, y: &[usize], n_classes: usize) -> Array2<F> {
    let mut rows = Array2::zeros((y.len(), z.ncols() + n_classes));
    rows.slice_mut(s![.., ..z.ncols()]).assign(&z);
    y.iter().enumerate().for_each(|(row, &k)| rows[[row, z.ncols() + k]] = F::one());
    rows
}
