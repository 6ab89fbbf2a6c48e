//! The conditioner of a coupling: the split of the columns and the network of the kept ones.
//!
//! o = W_m relu(... relu(W_1 x_keep + b_1) ...) + b_m, with x_keep `[n, keep]` and o `[n, outputs]`.
//! The net takes only the kept columns and gives only what the changed ones need: half the work of masking.

use burn_tensor::{Int, Tensor, activation::relu};
use rand::Rng as _;
use semisup::Rng;

use super::{Dropout, Init, Mask};
use crate::{tensor::Place, theta::Theta};

/// Column split and layer sizes of a coupling. The coupling owns the parameters.
#[derive(Clone, Debug)]
pub(super) struct Conditioner {
    pub(super) dim: usize,
    pub(super) keep: Vec<usize>,
    pub(super) change: Vec<usize>,
    /// keep, hidden.., outputs
    sizes: Vec<usize>,
    /// Where column j of the data is in [keep, change].
    position: Vec<usize>,
}

/// Parameters by name, shape and values, as [`Theta::new`] takes them.
pub(super) type Pieces = Vec<(String, [usize; 2], Vec<f64>)>;

impl Conditioner {
    pub(super) fn new(dim: usize, mask: Mask, hidden: &[usize], outputs_per_column: usize) -> Self {
        let (keep, change) = mask.split(dim);
        let mut sizes = vec![keep.len()];
        sizes.extend_from_slice(hidden);
        sizes.push(outputs_per_column * change.len());
        let mut position = vec![0; dim];
        for (at, &column) in keep.iter().chain(&change).enumerate() {
            position[column] = at;
        }
        Self { dim, keep, change, sizes, position }
    }

    /// Fresh weights, uniform in +-1/sqrt(fan in); the last layer is zero for an identity start. Nets of the authors' code see
    /// all columns, the changed ones as zeros, so that the fan in of their first layer is the number of columns.
    pub(super) fn draw(&self, init: Init, rng: &mut Rng) -> Pieces {
        let last = self.sizes.len() - 2;
        let mut pieces = Vec::new();
        for (i, pair) in self.sizes.windows(2).enumerate() {
            let (n_in, n_out) = (pair[0], pair[1]);
            let fan_in = if i == 0 && init == Init::Masked { self.dim } else { n_in };
            let limit =
                if i == last && init == Init::Identity { 0.0 } else { 1.0 / (fan_in.max(1) as f64).sqrt() };
            let mut uniform =
                |n: usize| (0..n).map(|_| limit * rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
            let (weights, biases) = (uniform(n_out * n_in), uniform(n_out));
            pieces.push((format!("W{}", i + 1), [n_out, n_in], weights));
            pieces.push((format!("b{}", i + 1), [1, n_out], biases));
        }
        pieces
    }

    /// Number of slices at the start of the parameter vector that belong to the network.
    pub(super) fn n_parts(&self) -> usize {
        2 * (self.sizes.len() - 1)
    }

    /// The network's output for rows of kept columns, with dropout in its first hidden layer if asked for.
    pub(super) fn net(&self, theta: &Theta, kept: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let layers = self.sizes.len() - 1;
        let rows = kept.dims()[0];
        let mut h = kept;
        for i in 0..layers {
            let bias = theta.part(2 * i + 1);
            h = if self.sizes[i] == 0 {
                bias.repeat_dim(0, rows) // no inputs: the bias alone
            } else {
                h.matmul(theta.part(2 * i).transpose()) + bias
            };
            if i + 1 < layers {
                h = relu(h);
            }
            if i == 0
                && layers > 1
                && let Some(dropout) = &mut dropout
            {
                h = dropout.apply(h);
            }
        }
        h
    }

    /// Kept and changed columns of rows.
    pub(super) fn split(&self, x: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let kept = select_columns(x.clone(), &self.keep);
        (kept, select_columns(x, &self.change))
    }

    /// The inverse of [`Conditioner::split`].
    pub(super) fn merge(&self, kept: Tensor<2>, changed: Tensor<2>) -> Tensor<2> {
        let both = if self.keep.is_empty() {
            changed
        } else if self.change.is_empty() {
            kept
        } else {
            Tensor::cat(vec![kept, changed], 1)
        };
        select_columns(both, &self.position)
    }

    pub(super) fn hidden(&self) -> Vec<usize> {
        self.sizes[1..self.sizes.len() - 1].to_vec()
    }
}

/// Columns by number; runs of neighbours are views, the rest is gathered.
pub(super) fn select_columns(x: Tensor<2>, columns: &[usize]) -> Tensor<2> {
    match columns {
        [] => Place::of(&x).matrix(Vec::new(), [x.dims()[0], 0]), // Burn's narrow does not take an empty range
        [first, rest @ ..] if rest.iter().zip(first + 1..).all(|(a, b)| *a == b) => {
            x.narrow(1, *first, columns.len())
        }
        _ => {
            let indices: Tensor<1, Int> = Place::of(&x).indices(columns);
            x.select(1, indices)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PyTorch's `nn.Linear(5, 400)` has weights and biases within 1/sqrt 5, one that sees the 2 kept columns within 1/sqrt 2;
    /// of 400 draws the largest is within a tenth of its bound.
    #[test]
    fn first_layers_of_masked_nets_count_all_columns() {
        let net = Conditioner::new(5, Mask::KeepOdd, &[400, 30], 2);
        let largest = |init, piece: usize| {
            let pieces = net.draw(init, &mut semisup::rng(0));
            pieces[piece].2.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()))
        };
        let near = |found: f64, bound: f64| found <= bound && found > 0.9 * bound;
        for piece in [0, 1] {
            assert!(near(largest(Init::Random, piece), 0.5_f64.sqrt()));
            assert!(near(largest(Init::Identity, piece), 0.5_f64.sqrt()));
            assert!(near(largest(Init::Masked, piece), 0.2_f64.sqrt()));
        }
        assert!(near(largest(Init::Masked, 2), 0.05), "the second layer has 400 inputs");
        assert_eq!(largest(Init::Identity, 4), 0.0);
        assert!(near(largest(Init::Masked, 4), 1.0 / 30_f64.sqrt()));
    }
}
