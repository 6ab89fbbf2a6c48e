//! The likelihood of a row given a decoder's output, with its gradient.
//!
//! ```text
//! Bernoulli  -log p = sum softplus(o) - x o                          d/do = sigmoid(o) - x
//! Gaussian   -log p = 1/2 sum log(2 pi v) + (x - m)^2 / v,  v = FLOOR + e^r
//!            d/dm = (m - x) / v          d/dr = 1/2 (1 - (x - m)^2 / v) e^r / v
//! ```
//!
//! The floor keeps the density bounded on columns with few values.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, NdFloat, Zip};

use crate::nets::{number, softplus};

/// The least variance of a Gaussian, in columns of variance about 1.
const FLOOR: f64 = 1e-2;

/// The distribution of x given a decoder's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likelihood {
    /// Of values in [0, 1]; the output is a logit for each.
    Bernoulli,
    /// The output is the means, then log-variances above the floor.
    Gaussian,
}

impl Likelihood {
    /// Columns of the output for x of `dim` columns.
    pub fn outputs(self, dim: usize) -> usize {
        match self {
            Likelihood::Bernoulli => dim,
            Likelihood::Gaussian => 2 * dim,
        }
    }

    /// -log p(x | output) of each row, and the gradient of their weighted sum by the output.
    pub fn nll<F: NdFloat>(
        self,
        output: ArrayView2<F>,
        x: ArrayView2<F>,
        weights: ArrayView1<F>,
    ) -> (Array1<F>, Array2<F>) {
        match self {
            Likelihood::Bernoulli => bernoulli(output, x, weights),
            Likelihood::Gaussian => gaussian(output, x, weights),
        }
    }
}

fn bernoulli<F: NdFloat>(
    output: ArrayView2<F>,
    x: ArrayView2<F>,
    weights: ArrayView1<F>,
) -> (Array1<F>, Array2<F>) {
    let mut d = output.to_owned();
    let mut nll = Array1::zeros(x.nrows());
    Zip::from(&mut nll).and(d.rows_mut()).and(x.rows()).and(&weights).for_each(|nll, d, x, &weight| {
        Zip::from(d).and(x).for_each(|o, &x| {
            let soft = softplus(*o);
            *nll += soft - x * *o;
            *o = weight * ((*o - soft).exp() - x); // sigmoid(o) = e^(o - softplus(o))
        });
    });
    (nll, d)
}

fn gaussian<F: NdFloat>(
    output: ArrayView2<F>,
    x: ArrayView2<F>,
    weights: ArrayView1<F>,
) -> (Array1<F>, Array2<F>) {
    let [half, floor, tau] = [0.5, FLOOR, std::f64::consts::TAU].map(number::<F>);
    let mut d = output.to_owned();
    let mut nll = Array1::zeros(x.nrows());
    Zip::from(&mut nll).and(d.rows_mut()).and(x.rows()).and(&weights).for_each(|nll, mut d, x, &weight| {
        let (means, rs) = d.view_mut().split_at(Axis(0), x.len());
        Zip::from(means).and(rs).and(x).for_each(|m, r, &x| {
            let free = r.exp();
            let v = floor + free;
            let gap = *m - x;
            let square = gap * gap / v;
            *nll += half * ((tau * v).ln() + square);
            *m = weight * gap / v;
            *r = weight * half * (F::one() - square) * free / v;
        });
    });
    (nll, d)
}
