//! A chain of couplings as plain f64 loops: what the kernels are tested against. Slow, and meant to be read.
//!
//! Columns, layouts and formulas are those of the crate's first page; parameters are f64 here so that
//! finite differences of [`forward`] can check [`backward`].

use crate::{Coupling, Form};

/// `[n, dim]` -> `[n, dim + 1]`: z and the log-det.
pub fn forward(couplings: &[Coupling], thetas: &[Vec<f64>], x: &[f64], n: usize) -> Vec<f64> {
    let dim = couplings[0].dim;
    let mut out = Vec::with_capacity(n * (dim + 1));
    for row in x.chunks_exact(dim).take(n) {
        let (mut row, mut log_det) = (row.to_vec(), 0.0);
        for (coupling, theta) in couplings.iter().zip(thetas) {
            let net = Network::run(coupling, theta, &row);
            for (j, &column) in coupling.change.iter().enumerate() {
                let (s, t) = (net.s(j), net.t(j));
                row[column] = match coupling.form {
                    Form::ShiftThenScale => (row[column] + t) * s.exp(),
                    Form::ScaleThenShift => row[column] * s.exp() + t,
                };
                log_det += s;
            }
        }
        out.extend(row);
        out.push(log_det);
    }
    out
}

/// `[n, dim]` -> `[n, dim]`.
pub fn inverse(couplings: &[Coupling], thetas: &[Vec<f64>], z: &[f64], n: usize) -> Vec<f64> {
    let dim = couplings[0].dim;
    let mut x = z[..n * dim].to_vec();
    for row in x.chunks_exact_mut(dim) {
        for (coupling, theta) in couplings.iter().zip(thetas).rev() {
            let net = Network::run(coupling, theta, row);
            for (j, &column) in coupling.change.iter().enumerate() {
                let (s, t) = (net.s(j), net.t(j));
                row[column] = match coupling.form {
                    Form::ShiftThenScale => row[column] * (-s).exp() - t,
                    Form::ScaleThenShift => (row[column] - t) * (-s).exp(),
                };
            }
        }
    }
    x
}

/// `grad_out` `[n, dim + 1]` -> the gradients of the thetas, and of x `[n, dim]`.
pub fn backward(
    couplings: &[Coupling],
    thetas: &[Vec<f64>],
    x: &[f64],
    grad_out: &[f64],
    n: usize,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let dim = couplings[0].dim;
    let mut grads: Vec<Vec<f64>> = thetas.iter().map(|t| vec![0.0; t.len()]).collect();
    let mut grad_x = Vec::with_capacity(n * dim);
    for (row, grad_out) in x.chunks_exact(dim).zip(grad_out.chunks_exact(dim + 1)).take(n) {
        // The input of every coupling, by running the ones before it.
        let inputs: Vec<Vec<f64>> =
            (0..couplings.len()).map(|i| prefix(&couplings[..i], &thetas[..i], row)).collect();
        let (mut grad, gl) = (grad_out[..dim].to_vec(), grad_out[dim]);
        for (i, coupling) in couplings.iter().enumerate().rev() {
            coupling_backward(coupling, &thetas[i], &inputs[i], &mut grad, gl, &mut grads[i]);
        }
        grad_x.extend(grad);
    }
    (grads, grad_x)
}

fn prefix(couplings: &[Coupling], thetas: &[Vec<f64>], row: &[f64]) -> Vec<f64> {
    match couplings.is_empty() {
        true => row.to_vec(),
        false => forward(couplings, thetas, row, 1)[..row.len()].to_vec(),
    }
}

fn coupling_backward(
    coupling: &Coupling,
    theta: &[f64],
    x: &[f64],
    grad: &mut [f64],
    gl: f64,
    grad_theta: &mut [f64],
) {
    let c = coupling.change.len();
    let net = Network::run(coupling, theta, x);
    let mut signal = vec![0.0; 2 * c]; // gradient of the current layer's output
    for (j, &column) in coupling.change.iter().enumerate() {
        let (s, t, gy) = (net.s(j), net.t(j), grad[column]);
        let gs = match coupling.form {
            Form::ShiftThenScale => gy * (x[column] + t) * s.exp() + gl,
            Form::ScaleThenShift => gy * x[column] * s.exp() + gl,
        };
        let tanh = net.output[j].tanh();
        grad_theta[coupling.scale_at() + j] += gs * tanh;
        signal[j] = gs * net.g[j] * (1.0 - tanh * tanh);
        signal[c + j] = match coupling.form {
            Form::ShiftThenScale => gy * s.exp(),
            Form::ScaleThenShift => gy,
        };
        grad[column] = gy * s.exp();
    }
    for (i, layer) in coupling.layers.iter().enumerate().rev() {
        let input = &net.inputs[i];
        let mut before = vec![0.0; layer.n_in];
        for (o, &gy) in signal.iter().enumerate() {
            for k in 0..layer.n_in {
                let w = layer.theta_at + o * layer.n_in + k;
                grad_theta[w] += gy * input[k];
                // The input of every layer but the first went through a ReLU.
                if i == 0 || input[k] > 0.0 {
                    before[k] += gy * theta[w];
                }
            }
            grad_theta[layer.theta_at + layer.n_out * layer.n_in + o] += gy;
        }
        signal = before;
    }
    for (&column, g) in coupling.keep.iter().zip(signal) {
        grad[column] += g;
    }
}

/// A coupling's network on one row.
struct Network<'a> {
    inputs: Vec<Vec<f64>>, // of each layer
    output: Vec<f64>,      // [2 c]: raw, t
    g: &'a [f64],          // [c]
}

impl<'a> Network<'a> {
    fn run(coupling: &Coupling, theta: &'a [f64], row: &[f64]) -> Self {
        let mut h: Vec<f64> = coupling.keep.iter().map(|&column| row[column]).collect();
        let mut inputs = Vec::new();
        for (i, layer) in coupling.layers.iter().enumerate() {
            let (w, b) = theta[layer.theta_at..].split_at(layer.n_in * layer.n_out);
            let dot = |o: usize| (0..layer.n_in).map(|k| w[o * layer.n_in + k] * h[k]).sum::<f64>() + b[o];
            let last = i + 1 == coupling.layers.len();
            let out = (0..layer.n_out).map(|o| if last { dot(o) } else { dot(o).max(0.0) }).collect();
            inputs.push(std::mem::replace(&mut h, out));
        }
        Self { inputs, output: h, g: &theta[coupling.scale_at()..] }
    }

    fn s(&self, j: usize) -> f64 {
        self.g[j] * self.output[j].tanh()
    }

    fn t(&self, j: usize) -> f64 {
        self.output[self.g.len() + j]
    }
}
