//! M1: a variational auto-encoder of all rows (Kingma and Welling 2014).
//!
//! ```text
//! -log p(x) <= -log p(x | z) + KL(q(z | x) | N(0, I)),   z ~ q(z | x)
//! ```
//!
//! The weight of the KL is warmed up from 0 (Sønderby et al. 2016): with its full weight from the start, most latent
//! dimensions collapse to the prior before the decoder has learnt to use them, and never recover.

use ndarray::{Array1, Array2, Axis, NdFloat};
use semisup::{Rng, Watch};

use super::VaeStage;
use super::descent::descend;
use super::latent::{Latent, noise};
use super::likelihood::Likelihood;
use crate::Result;
use crate::nets::{CHUNK, Deck, Gradient, Net, number, over_chunks};

/// The share of steps over which the weight of the KL is warmed up.
const WARM_UP: f64 = 0.3;

/// The weights of a row's two terms in the loss.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    pub nll: f64,
    pub kl: f64,
}

/// Trains M1 on rows x `[n, dim]`; gives its encoder q(z | x).
pub(super) fn train(
    stage: &VaeStage,
    likelihood: Likelihood,
    x: &Array2<f32>,
    seed: u64,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Result<Net<f32>> {
    let (dim, hidden) = (x.ncols(), stage.hidden.as_slice());
    let inward: Vec<usize> = hidden.iter().rev().copied().collect();
    let encoder = Net::new(&[&[dim], hidden, &[2 * stage.latent]].concat(), rng);
    let decoder = Net::new(&[&[stage.latent], inward.as_slice(), &[likelihood.outputs(dim)]].concat(), rng);
    let mut deck = Deck::new(x.nrows());
    let [encoder, _] = descend(stage, [encoder, decoder], watch, |nets, step| {
        let drawn = deck.draw(stage.batch, rng);
        let chunks: Vec<&[usize]> = drawn.chunks(CHUNK).collect();
        let nll = 1. / drawn.len() as f64;
        let weights = Weights { nll, kl: nll * (step as f64 / (WARM_UP * stage.steps as f64)).min(1.) };
        over_chunks(&chunks, seed, step, |rows, rng| {
            bound(nets, likelihood, x.select(Axis(0), rows), weights, rng)
        })
    })?;
    Ok(encoder)
}

/// The weighted sum of the terms of rows x `[n, dim]`, by nets q(z | x) and p(x | z).
pub(super) fn bound<F: NdFloat>(
    nets: &[Net<F>; 2],
    likelihood: Likelihood,
    x: Array2<F>,
    weights: Weights,
    rng: &mut Rng,
) -> Gradient<F, 2> {
    let [encoder, decoder] = nets;
    let each = |weight: f64| Array1::from_elem(x.nrows(), number::<F>(weight));
    let (of_nll, of_kl) = (each(weights.nll), each(weights.kl));
    let noise = noise(x.nrows(), decoder.inputs(), rng);
    let encoded = encoder.forward_softplus(x);
    let latent = Latent::draw(encoded.logits.view(), noise);
    let decoded = decoder.forward_softplus(latent.z());
    let (nll, d) = likelihood.nll(decoded.logits.view(), encoded.input(), of_nll.view());
    let (d_decoder, d_z) = decoder.backward_through(&decoded, d);
    let d_encoder = encoder.backward(&encoded, latent.backward(d_z.view(), of_kl.view()));
    let sum = |terms: Array1<F>| terms.sum().to_f64().expect("a float");
    (weights.nll * sum(nll) + weights.kl * sum(latent.kl()), [d_encoder, d_decoder])
}
