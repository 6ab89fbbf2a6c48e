//! M1: a variational auto-encoder of all rows (Kingma and Welling 2014).
//!
//! ```text
//! -log p(x) <= -log p(x | z) + KL(q(z | x) | N(0, I)),   z ~ q(z | x)
//! ```

use ndarray::{Array1, Array2, Axis, NdFloat};
use semisup::Rng;

use super::descent::{Gradient, descend, over_pieces};
use super::latent::Latent;
use super::likelihood::Likelihood;
use super::VaeStage;
use crate::Result;
use crate::net::{Net, number};
use crate::train::{Deck, PIECE};

/// The encoder q(z | x) that rows x `[n, dim]` give.
pub(super) fn train(
    stage: &VaeStage,
    likelihood: Likelihood,
    x: &Array2<f32>,
    seed: u64,
    rng: &mut Rng,
) -> Result<Net<f32>> {
    let (dim, hidden) = (x.ncols(), stage.hidden.as_slice());
    let inward: Vec<usize> = hidden.iter().rev().copied().collect();
    let encoder = Net::new(&[&[dim], hidden, &[2 * stage.latent]].concat(), rng);
    let decoder = Net::new(&[&[stage.latent], inward.as_slice(), &[likelihood.outputs(dim)]].concat(), rng);
    let mut deck = Deck::new(x.nrows());
    let [encoder, _] = descend(stage, [encoder, decoder], |nets, step| {
        let dealt = deck.deal(stage.batch, rng);
        let pieces: Vec<&[usize]> = dealt.chunks(PIECE).collect();
        let weight = 1. / dealt.len() as f64;
        over_pieces(&pieces, seed, step, |rows, rng| {
            bound(nets, likelihood, x.select(Axis(0), rows), weight, rng)
        })
    })?;
    Ok(encoder)
}

/// `weight` times the sum of the bounds of rows x `[n, dim]`, by nets q(z | x) and p(x | z).
pub(super) fn bound<F: NdFloat>(
    nets: &[Net<F>; 2],
    likelihood: Likelihood,
    x: Array2<F>,
    weight: f64,
    rng: &mut Rng,
) -> Gradient<F, 2> {
    let [encoder, decoder] = nets;
    let weights = Array1::from_elem(x.nrows(), number::<F>(weight));
    let encoded = encoder.forward_softplus(x);
    let latent = Latent::draw(encoded.logits.view(), rng);
    let decoded = decoder.forward_softplus(latent.z());
    let (nll, d) = likelihood.nll(decoded.logits.view(), encoded.input(), weights.view());
    let (d_decoder, d_z) = decoder.backward_through(&decoded, d);
    let d_encoder = encoder.backward(&encoded, latent.backward(d_z.view(), weights.view()));
    let loss = weight * (nll + latent.kl()).iter().map(|v| v.to_f64().expect("a float")).sum::<f64>();
    (loss, [d_encoder, d_decoder])
}
