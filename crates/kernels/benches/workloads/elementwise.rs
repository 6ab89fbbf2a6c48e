//! The kernels that move memory more than they compute: mixture and Adam.

use super::{Work, chain::STEP, draw};
use flowgmm_kernels::{AdamState, Gaussians, Tail, adam, sums_of_squares};
use std::hint::black_box;

/// W1's and W2's head: two and four Gaussians.
pub fn mixture() -> Vec<Work> {
    [("2000x21, 2 Gaussians", 21, 2), ("2000x768, 4 Gaussians", 768, 4)]
        .into_iter()
        .flat_map(|(shape, dim, c)| head(shape, dim, c))
        .collect()
}

fn head(shape: &'static str, dim: usize, c: usize) -> Vec<Work> {
    const ROWS: usize = 2000;
    let (means, precisions) = (draw(c * dim, 1.0, 1), vec![1.0; c * dim]);
    let (z, upstream, constants) = (draw(ROWS * dim, 2.0, 2), draw(ROWS * c, 1.0, 3), vec![0.0; c]);
    let with = |run: fn(&Gaussians, &[f32], &[f32])| {
        let (means, precisions, constants) = (means.clone(), precisions.clone(), constants.clone());
        let (z, upstream) = (z.clone(), upstream.clone());
        move || {
            let (means, precisions, constants) = (&means, &precisions, &constants);
            run(&Gaussians { dim, tail: Tail::Nothing, means, precisions, constants }, &z, &upstream);
        }
    };
    // Per row, Gaussian and column: difference, square, precision, sum; back the pulls on z, then on mu and log sigma.
    let pairs = (ROWS * dim * c) as f64;
    vec![
        Work::new(
            "mixture log_densities",
            shape,
            4.0 * pairs,
            with(|g, z, _| drop(black_box(g.log_densities(z)))),
        ),
        Work::new(
            "mixture row_gradients",
            shape,
            4.0 * pairs,
            with(|g, z, up| drop(black_box(g.row_gradients(z, up)))),
        ),
        Work::new(
            "mixture parameter_gradients",
            shape,
            7.0 * pairs,
            with(|g, z, up| drop(black_box(g.parameter_gradients(z, up)))),
        ),
    ]
}

/// As many parameters as W2's model has.
pub fn optimiser() -> Vec<Work> {
    const N: usize = 4_138_624;
    const SHAPE: &str = "4.1 million parameters";
    let gradient = draw(N, 1.0, 1);
    let squares = gradient.clone();
    let (mut theta, mut m, mut v, mut ema) = (draw(N, 1.0, 2), vec![0.0; N], vec![0.0; N], vec![0.0; N]);
    let step = move || {
        let (theta, m, v, ema) = (&mut theta[..], &mut m[..], &mut v[..], &mut ema[..]);
        adam(vec![AdamState { theta, m, v, ema, gradient: &gradient }], &STEP);
    };
    // 3 for g, 3 for m, 4 for v, 6 for theta with a root and a division, 3 for the average.
    vec![
        Work::new("adam", SHAPE, 19.0 * N as f64, step).moving(9.0 * 4.0 * N as f64),
        Work::new("sum_of_squares", SHAPE, 2.0 * N as f64, move || {
            black_box(sums_of_squares(&[&squares]));
        })
        .moving(4.0 * N as f64),
    ]
}
