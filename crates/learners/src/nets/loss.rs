//! The two losses of a net, as functions of its logits, with their gradients.
//!
//! Both are weighted sums over rows, so that a batch can be taken in chunks:
//!
//! ```text
//! cross-entropy  -w sum_i log p_{y_i}          d/dlogit = w (p - one-hot(y))
//! consistency     w sum_i |p'_i - p''_i|^2     d/dlogit' = 2 w p' (e - <p', e>),  e = p' - p''
//! ```
//!
//! and likewise for logit'' with p' and p'' exchanged: the gradient goes through both passes. The logits are f32 in
//! training, so that the log-sum-exp here is not the one of [`semisup::metrics`], which is in f64.

use ndarray::{Array2, ArrayView2, Axis, NdFloat};

use super::net::number;

/// Cross-entropy, and its gradient by the logits.
pub(crate) fn cross_entropy<F: NdFloat>(logits: ArrayView2<F>, y: &[usize], weight: f64) -> (f64, Array2<F>) {
    let mut d = softmax(logits);
    let mut loss = 0.;
    for ((mut p, logits), &y) in d.rows_mut().into_iter().zip(logits.rows()).zip(y) {
        // From the logits: the logarithm of a probability rounded to 0 would be infinite.
        let largest = logits.fold(F::neg_infinity(), |largest, &l| largest.max(l));
        let log_sum = logits.fold(F::zero(), |sum, &l| sum + (l - largest).exp()).ln();
        loss += (largest - logits[y] + log_sum).to_f64().expect("a float");
        p[y] -= F::one();
    }
    d.mapv_inplace(|d| d * number(weight));
    (weight * loss, d)
}

/// The consistency of two passes, and its gradients by the logits of each.
pub(crate) fn consistency<F: NdFloat>(
    first: ArrayView2<F>,
    second: ArrayView2<F>,
    weight: f64,
) -> (f64, [Array2<F>; 2]) {
    let (first, second) = (softmax(first), softmax(second));
    let e = &first - &second;
    let loss = e.iter().map(|e| e.to_f64().expect("a float").powi(2)).sum::<f64>();
    let through = |p: &Array2<F>, sign: f64| {
        let mean = (p * &e).sum_axis(Axis(1)).insert_axis(Axis(1));
        (&e - &mean) * p * number::<F>(2. * weight * sign)
    };
    (weight * loss, [through(&first, 1.), through(&second, -1.)])
}

/// softmax of each row.
pub(crate) fn softmax<F: NdFloat>(logits: ArrayView2<F>) -> Array2<F> {
    let mut p = logits.to_owned();
    for mut row in p.rows_mut() {
        let largest = row.fold(F::neg_infinity(), |largest, &l| largest.max(l));
        row.mapv_inplace(|l| (l - largest).exp());
        let sum = row.sum();
        row.mapv_inplace(|p| p / sum);
    }
    p
}
