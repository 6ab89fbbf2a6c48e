//! Convolutions as plain f64 loops: what the kernels are tested against. Slow, and meant to be read.
//!
//! Arrays are NCHW; formulas are those of [`super`] and of the batch normalisation's module.

use super::{EPSILON, Shape};

/// Calls `visit` with the indices into `y`, `w` and `x` of every product in the sums of a `k` x `k`
/// convolution.
fn products(shape: Shape, out: usize, k: usize, mut visit: impl FnMut(usize, usize, usize)) {
    let Shape { n, channels, height, width } = shape;
    let pad = k as isize / 2;
    for image in 0..n {
        for o in 0..out {
            for i in 0..channels {
                for tap in 0..k * k {
                    let w = (o * channels + i) * k * k + tap;
                    for row in 0..height {
                        for column in 0..width {
                            let from_row = row as isize + (tap / k) as isize - pad;
                            let from_column = column as isize + (tap % k) as isize - pad;
                            let inside = (0..height as isize).contains(&from_row)
                                && (0..width as isize).contains(&from_column);
                            if inside {
                                let y = ((image * out + o) * height + row) * width + column;
                                let x = ((image * channels + i) * height + from_row as usize) * width
                                    + from_column as usize;
                                visit(y, w, x);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `y` `[n, out, height, width]` from `x` of `shape` and `w` `[out, in, k, k]`.
pub fn forward(shape: Shape, out: usize, k: usize, w: &[f64], x: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; shape.n * out * shape.height * shape.width];
    products(shape, out, k, |at_y, at_w, at_x| sums[at_y] += w[at_w] * x[at_x]);
    sums
}

/// The gradients of `x` and `w` from `gy`.
pub fn backward(
    shape: Shape,
    out: usize,
    k: usize,
    w: &[f64],
    x: &[f64],
    gy: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (mut gx, mut gw) = (vec![0.0; x.len()], vec![0.0; w.len()]);
    products(shape, out, k, |at_y, at_w, at_x| {
        gx[at_x] += w[at_w] * gy[at_y];
        gw[at_w] += gy[at_y] * x[at_x];
    });
    (gx, gw)
}

/// Mean and biased variance of every channel.
pub fn moments(shape: Shape, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let m = (shape.n * shape.height * shape.width) as f64;
    let sum = |c: usize, f: &dyn Fn(f64) -> f64| -> f64 { channel(shape, c).map(|at| f(x[at])).sum() };
    (0..shape.channels)
        .map(|c| {
            let mean = sum(c, &|x| x) / m;
            (mean, sum(c, &|x| (x - mean) * (x - mean)) / m)
        })
        .unzip()
}

/// Indices of the numbers of one channel.
fn channel(shape: Shape, c: usize) -> impl Iterator<Item = usize> {
    let plane = shape.height * shape.width;
    (0..shape.n).flat_map(move |image| (0..plane).map(move |p| (image * shape.channels + c) * plane + p))
}

/// `gamma (x - mean) rstd + beta`, before the ReLU, by the given statistics.
pub fn normalise(
    shape: Shape,
    gamma: &[f64],
    beta: &[f64],
    (mean, variance): (&[f64], &[f64]),
    x: &[f64],
) -> Vec<f64> {
    let mut b = vec![0.0; x.len()];
    for c in 0..shape.channels {
        let rstd = 1.0 / (variance[c] + EPSILON).sqrt();
        channel(shape, c).for_each(|at| b[at] = gamma[c] * (x[at] - mean[c]) * rstd + beta[c]);
    }
    b
}

/// A pre-activation convolution's parameters: `gamma` and `beta` `[in]`, `w` `[out, in, k, k]`.
#[derive(Clone, Debug)]
pub struct Params {
    /// `[in]`
    pub gamma: Vec<f64>,
    /// `[in]`
    pub beta: Vec<f64>,
    /// `[out, in, k, k]`
    pub w: Vec<f64>,
}

/// `conv(relu(bn(x)))` by the batch's own moments, without the residual.
pub fn preact_forward(shape: Shape, out: usize, k: usize, params: &Params, x: &[f64]) -> Vec<f64> {
    forward(shape, out, k, &params.w, &relu(&batch_norm(shape, params, x)))
}

fn batch_norm(shape: Shape, params: &Params, x: &[f64]) -> Vec<f64> {
    let (mean, variance) = moments(shape, x);
    normalise(shape, &params.gamma, &params.beta, (&mean, &variance), x)
}

/// `max(b, 0)`
pub fn relu(b: &[f64]) -> Vec<f64> {
    b.iter().map(|b| b.max(0.0)).collect()
}

/// The gradients of `x` and of the parameters from `gy`.
pub fn preact_backward(
    shape: Shape,
    out: usize,
    k: usize,
    params: &Params,
    x: &[f64],
    gy: &[f64],
) -> (Vec<f64>, Params) {
    let b = batch_norm(shape, params, x);
    let (ga, w) = backward(shape, out, k, &params.w, &relu(&b), gy);
    let gb: Vec<f64> = ga.iter().zip(&b).map(|(ga, b)| if *b > 0.0 { *ga } else { 0.0 }).collect();
    let (mean, variance) = moments(shape, x);
    let m = (shape.n * shape.height * shape.width) as f64;
    let (mut gx, mut gamma, mut beta) = (vec![0.0; x.len()], Vec::new(), Vec::new());
    for c in 0..shape.channels {
        let rstd = 1.0 / (variance[c] + EPSILON).sqrt();
        let x_hat = |at: usize| (x[at] - mean[c]) * rstd;
        let g_beta: f64 = channel(shape, c).map(|at| gb[at]).sum();
        let g_gamma: f64 = channel(shape, c).map(|at| gb[at] * x_hat(at)).sum();
        for at in channel(shape, c) {
            gx[at] = params.gamma[c] * rstd * (gb[at] - g_beta / m - x_hat(at) * g_gamma / m);
        }
        gamma.push(g_gamma);
        beta.push(g_beta);
    }
    (gx, Params { gamma, beta, w })
}
