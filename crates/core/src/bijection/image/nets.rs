//! The nets of convolutional couplings: from the kept part of an image to the scale s and shift t of the changed part.
//!
//!   plain      o = conv(relu(conv(x)))                                          3x3, biases
//!   light      o = conv(relu(bn(conv1(relu(bn(conv(x)))))))                     3x3, 1x1, 3x3: the CPU preset's
//!   residual   h = conv(relu([b, -b])), b = bn(x);   skip = conv1(h)            the paper's (appendix D)
//!              h += conv(relu(bn(conv(relu(bn(h))))));   skip += conv1(h)       for each block
//!              o = conv1(relu(bn(skip)))
//!
//! then s = g tanh(first half of o) and t = second half, g learned per channel. In a residual net every convolution has
//! weight normalisation, W = g v / ||v|| per output channel, and so has the gain; checkerboards double b, because half
//! of what they show the net is zero.

use burn_tensor::{Tensor, activation::relu, module::conv2d, ops::ConvOptions};
use rand::Rng as _;
use semisup::Rng;
use serde::{Deserialize, Serialize};

use super::norm::Norms;
use crate::{
    bijection::{Init, conditioner::Pieces, spec::MAX_WIDTH},
    flow::Engine,
    fused,
    theta::Theta,
};

/// Which net a convolutional coupling has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum ConvNet {
    /// Two 3x3 convolutions.
    Plain {
        /// Channels between them.
        hidden: usize,
    },
    /// 3x3, 1x1 and 3x3 with batch normalisation: the net of the CPU preset.
    Light {
        /// Channels between them.
        hidden: usize,
    },
    /// Residual blocks with weight and batch normalisation: the paper's.
    Residual {
        /// Channels of the blocks.
        hidden: usize,
        /// How many blocks.
        blocks: usize,
    },
}

/// No net asks for more blocks than this.
const MAX_BLOCKS: usize = 256;

impl ConvNet {
    /// Whether the sizes are in range.
    pub(in crate::bijection) fn is_valid(self) -> bool {
        let width = |hidden: usize| (1..=MAX_WIDTH).contains(&hidden);
        match self {
            Self::Plain { hidden } | Self::Light { hidden } => width(hidden),
            Self::Residual { hidden, blocks } => width(hidden) && blocks <= MAX_BLOCKS,
        }
    }

    /// Channels of each batch normalisation.
    pub(in crate::bijection) fn norms(self, inputs: usize) -> Vec<usize> {
        match self {
            Self::Plain { .. } => Vec::new(),
            Self::Light { hidden } => vec![hidden; 2],
            Self::Residual { hidden, blocks } => {
                let mut channels = vec![hidden; 2 * blocks + 2];
                channels[0] = inputs;
                channels
            }
        }
    }

    /// Trained values of a net from `inputs` to scales and shifts of `changed` channels, gains included.
    pub(in crate::bijection) fn n_parameters(self, inputs: usize, changed: usize) -> Option<usize> {
        let (i, c) = (inputs as u128, changed as u128);
        let total = match self {
            Self::Plain { hidden } => {
                let h = hidden as u128;
                h * (9 * i + 1) + 2 * c * (9 * h + 1) + c
            }
            Self::Light { hidden } => {
                let h = hidden as u128;
                9 * i * h + h * h + 18 * c * h + 4 * h + 3 * c
            }
            Self::Residual { hidden, blocks } => {
                let (h, b) = (hidden as u128, blocks as u128);
                let start = 2 * i + 18 * i * h + 2 * h + h * h + 2 * h;
                start + b * (19 * h * h + 9 * h) + 2 * h + 2 * c * h + 4 * c + 2 * c
            }
        };
        usize::try_from(total).ok()
    }
}

/// A net's architecture; its parameters live with the coupling.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) kind: ConvNet,
    /// Channels it sees.
    pub(super) inputs: usize,
    /// Channels it scales and shifts.
    pub(super) changed: usize,
    /// What a residual net multiplies its normalised input by.
    pub(super) input_scale: f64,
}

impl Net {
    /// Fresh parameters by name, in the order [`Net::run`] takes them.
    pub(super) fn draw(&self, init: Init, rng: &mut Rng) -> Pieces {
        let mut draw = Draw { pieces: Vec::new(), rng };
        let (i, c) = (self.inputs, self.changed);
        let last = if init == Init::Identity { 0.0 } else { 1.0 };
        match self.kind {
            ConvNet::Plain { hidden } => {
                draw.kernel("W1", hidden, 9 * i, 1.0);
                draw.bias("b1", hidden, 9 * i, 1.0);
                draw.kernel("W2", 2 * c, 9 * hidden, last);
                draw.bias("b2", 2 * c, 9 * hidden, last);
            }
            ConvNet::Light { hidden } => {
                draw.kernel("W1", hidden, 9 * i, 1.0);
                draw.norm("norm1", hidden);
                draw.kernel("W2", hidden, hidden, 1.0);
                draw.norm("norm2", hidden);
                draw.kernel("W3", 2 * c, 9 * hidden, last);
                draw.bias("b3", 2 * c, 9 * hidden, last);
            }
            ConvNet::Residual { hidden, blocks } => {
                draw.norm("in_norm", i);
                draw.weight_normed("in_conv", hidden, 18 * i, Some(1.0), 1.0);
                draw.weight_normed("in_skip", hidden, hidden, Some(1.0), 1.0);
                for b in 0..blocks {
                    draw.norm(&format!("block{b}.in_norm"), hidden);
                    draw.weight_normed(&format!("block{b}.in_conv"), hidden, 9 * hidden, None, 1.0);
                    draw.norm(&format!("block{b}.out_norm"), hidden);
                    draw.weight_normed(&format!("block{b}.out_conv"), hidden, 9 * hidden, Some(1.0), 1.0);
                    draw.weight_normed(&format!("skip{b}"), hidden, hidden, Some(1.0), 1.0);
                }
                draw.norm("out_norm", hidden);
                draw.weight_normed("out_conv", 2 * c, hidden, Some(last), last);
            }
        }
        draw.constant("g", c, 1.0);
        if matches!(self.kind, ConvNet::Residual { .. }) {
            draw.constant("v", c, 1.0);
        }
        draw.pieces
    }

    /// s and t, `[n, changed, height, width]` each.
    pub(super) fn run(
        &self,
        theta: &Theta,
        x: Tensor<4>,
        norms: &mut Norms,
        engine: Engine,
    ) -> (Tensor<4>, Tensor<4>) {
        let mut pass = Pass { theta, next: 0, norms, engine };
        let o = self.output(&mut pass, x);
        let c = self.changed;
        let mut g = pass.part();
        if matches!(self.kind, ConvNet::Residual { .. }) {
            // Weight normalisation of one number: only the sign of v counts.
            let v = pass.part();
            g = g * (v.clone() / v.abs());
        }
        let s = o.clone().narrow(1, 0, c).tanh() * g.reshape([1, c, 1, 1]);
        (s, o.narrow(1, c, c))
    }

    /// o, `[n, 2 changed, height, width]`.
    fn output(&self, pass: &mut Pass, x: Tensor<4>) -> Tensor<4> {
        match self.kind {
            ConvNet::Plain { .. } => {
                let h = relu(pass.conv(x, 3, true));
                pass.conv(h, 3, true)
            }
            ConvNet::Light { .. } => {
                let h = pass.conv(x, 3, false);
                let h = relu(pass.norm(h));
                let h = pass.conv(h, 1, false);
                let h = relu(pass.norm(h));
                pass.conv(h, 3, true)
            }
            ConvNet::Residual { blocks, .. } => {
                let b = pass.norm(x) * self.input_scale;
                let both = relu(Tensor::cat(vec![b.clone(), b.neg()], 1));
                let mut h = pass.weight_normed(both, 3, true);
                let mut skip = pass.weight_normed(h.clone(), 1, true);
                for _ in 0..blocks {
                    let r = relu(pass.norm(h.clone()));
                    let r = pass.weight_normed(r, 3, false);
                    let r = relu(pass.norm(r));
                    h = h + pass.weight_normed(r, 3, true);
                    skip = skip + pass.weight_normed(h.clone(), 1, true);
                }
                let h = relu(pass.norm(skip));
                pass.weight_normed(h, 1, true)
            }
        }
    }
}

/// One pass through a net: parts of theta and normalisations are taken in order.
struct Pass<'a, 'b> {
    theta: &'a Theta,
    next: usize,
    norms: &'a mut Norms<'b>,
    engine: Engine,
}

impl Pass<'_, '_> {
    fn part(&mut self) -> Tensor<2> {
        self.next += 1;
        self.theta.part(self.next - 1)
    }

    fn norm(&mut self, h: Tensor<4>) -> Tensor<4> {
        let (gamma, beta) = (self.part(), self.part());
        self.norms.apply(h, gamma, beta)
    }

    fn conv(&mut self, x: Tensor<4>, size: usize, bias: bool) -> Tensor<4> {
        let w = self.part();
        let bias = bias.then(|| self.part());
        convolve(x, w, bias, size, self.engine)
    }

    fn weight_normed(&mut self, x: Tensor<4>, size: usize, bias: bool) -> Tensor<4> {
        let (v, g) = (self.part(), self.part());
        let w = v.clone() / v.square().sum_dim(1).sqrt() * g.transpose();
        let bias = bias.then(|| self.part());
        convolve(x, w, bias, size, self.engine)
    }
}

/// conv(x) with a kernel `[out, in size size]` and zero padding; bias `[1, out]`.
fn convolve(x: Tensor<4>, w: Tensor<2>, bias: Option<Tensor<2>>, size: usize, engine: Engine) -> Tensor<4> {
    let (out, inputs) = (w.dims()[0], x.dims()[1]);
    if engine != Engine::Composed
        && let Some(y) = fused::convolution(&x, &w, size)
    {
        return match bias {
            None => y,
            Some(bias) => y + bias.reshape([1, out, 1, 1]),
        };
    }
    let padding = size / 2;
    let options = ConvOptions::new([1, 1], [padding, padding], [1, 1], 1);
    conv2d(x, w.reshape([out, inputs, size, size]), bias.map(|b| b.reshape([out])), options)
}

#[cfg(test)]
mod tests;

/// Pieces of a parameter vector in the making.
struct Draw<'a> {
    pieces: Pieces,
    rng: &'a mut Rng,
}

impl Draw<'_> {
    fn push(&mut self, name: &str, shape: [usize; 2], values: Vec<f64>) {
        self.pieces.push((name.to_string(), shape, values));
    }

    /// Uniform in +-scale/sqrt(fan in).
    fn uniform(&mut self, n: usize, fan_in: usize, scale: f64) -> Vec<f64> {
        let limit = scale / (fan_in as f64).sqrt();
        (0..n).map(|_| limit * self.rng.random_range(-1.0..1.0)).collect()
    }

    fn kernel(&mut self, name: &str, out: usize, fan_in: usize, scale: f64) {
        let values = self.uniform(out * fan_in, fan_in, scale);
        self.push(name, [out, fan_in], values);
    }

    fn bias(&mut self, name: &str, out: usize, fan_in: usize, scale: f64) {
        let values = self.uniform(out, fan_in, scale);
        self.push(name, [1, out], values);
    }

    fn constant(&mut self, name: &str, n: usize, value: f64) {
        self.push(name, [1, n], vec![value; n]);
    }

    fn norm(&mut self, name: &str, channels: usize) {
        self.constant(&format!("{name}.gamma"), channels, 1.0);
        self.constant(&format!("{name}.beta"), channels, 0.0);
    }

    /// v drawn as a kernel and g its norm, so that at first W = v, both times `scale`; a bias if it has a scale.
    fn weight_normed(&mut self, name: &str, out: usize, fan_in: usize, bias: Option<f64>, scale: f64) {
        let v = self.uniform(out * fan_in, fan_in, 1.0);
        let norm = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let g = v.chunks_exact(fan_in).map(|row| scale * norm(row)).collect();
        self.push(&format!("{name}.v"), [out, fan_in], v);
        self.push(&format!("{name}.g"), [1, out], g);
        if let Some(scale) = bias {
            self.bias(&format!("{name}.b"), out, fan_in, scale);
        }
    }
}
