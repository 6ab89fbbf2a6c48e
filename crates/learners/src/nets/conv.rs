//! A convolutional net for images, after the one of Laine and Aila (2017), and its backward pass.
//!
//! | stage | layers | size |
//! |---|---|---|
//! | first | 3x3 convolution to w maps | h x w |
//! | block 1 | two 3x3 to w maps, 2x2 max-pooling, dropout | halved |
//! | block 2 | three 3x3 to 2w maps, 2x2 max-pooling, dropout | halved |
//! | block 3 | 3x3 to 4w maps, 1x1 to 2w, 1x1 to w | kept |
//! | head | 1x1 to K maps, their mean over the image, a bias | K logits |
//!
//! Theirs has w = 128. A batch normalisation and a ReLU are between any two convolutions, before the pooling where there
//! is one ([`PreActConv`], [`pool()`]); theirs has leaky ReLUs, and normalises means only.
//!
//! A training pass normalises by the moments of its batch, which [`Running`] averages for prediction.

mod pool;

use flowgmm_kernels::conv::{
    Activations, Conv, KernelSize, Moments, PreActConv, PreActParams, Shape, Workspace,
};
use rand::Rng as _;
use semisup::{ImageShape, Rng};

use pool::{Norm, Pooled, pool, unpool};

/// Decay of the running moments.
const KEPT: f32 = 0.95;

/// A layer after the first.
#[derive(Clone, Debug)]
enum Layer {
    /// Batch normalisation, ReLU, convolution: the number of its parameters in the net.
    Conv(PreActConv, usize),
    /// Batch normalisation, ReLU, 2x2 max-pooling, dropout, convolution: the number of its gamma.
    Pool(Conv, usize),
}

/// The layers, without their weights.
#[derive(Clone, Debug)]
pub(crate) struct ConvNet {
    shape: ImageShape,
    n_classes: usize,
    first: Conv,
    layers: Vec<Layer>,
    workspace: Workspace,
}

/// One vector for each of: first weights; gamma, beta, weights of every other convolution; the bias of the logits.
pub(crate) type Weights = Vec<Vec<f32>>;

/// What the forward pass keeps for the backward pass.
pub(crate) struct Trace {
    image: Activations,
    /// The input of every layer that does not pool, in order.
    inputs: Vec<Activations>,
    /// Of every layer that does: before and behind the pooling.
    pools: Vec<(Pooled, Activations)>,
    /// Which layers pool.
    pooling: Vec<bool>,
    last: Shape,
    /// `[n, K]`
    pub logits: Vec<f32>,
}

/// Averages of the moments of every layer's input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Vec<Moments>);

impl ConvNet {
    /// A net of `width` maps for images of this shape, and fresh weights (He et al. 2015).
    pub fn new(shape: ImageShape, width: usize, n_classes: usize, rng: &mut Rng) -> (Self, Weights) {
        let workspace = Workspace::default();
        let first = Conv::new(shape.channels, width, KernelSize::Three, &workspace);
        let mut weights = vec![he(shape.channels * 9, first.n_weights(), rng)];
        let (mut layers, mut channels) = (Vec::new(), width);
        let (pooled, plain) = (true, false);
        for (out, kernel, behind) in [
            (width, KernelSize::Three, plain),
            (width, KernelSize::Three, plain),
            (2 * width, KernelSize::Three, pooled),
            (2 * width, KernelSize::Three, plain),
            (2 * width, KernelSize::Three, plain),
            (4 * width, KernelSize::Three, pooled),
            (2 * width, KernelSize::One, plain),
            (width, KernelSize::One, plain),
            (n_classes, KernelSize::One, plain),
        ] {
            let layer = PreActConv::new(channels, out, kernel, &workspace);
            let at = weights.len();
            let drawn = he(channels * kernel.taps(), layer.conv().n_weights(), rng);
            weights.extend([vec![1.; channels], vec![0.; channels], drawn]);
            layers.push(match behind == pooled {
                true => Layer::Pool(layer.conv().clone(), at),
                false => Layer::Conv(layer, at),
            });
            channels = out;
        }
        weights.push(vec![0.; n_classes]);
        (Self { shape, n_classes, first, layers, workspace }, weights)
    }

    /// Logits of images in a training pass: batch statistics, dropout. `x` is `[n, dim]`.
    pub fn forward(&self, weights: &Weights, x: &[f32], dropout: f64, rng: &mut Rng) -> Trace {
        let image = self.images(x);
        let mut h = self.first.forward(&weights[0], None, &image);
        let (mut inputs, mut pools) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            h = match layer {
                Layer::Conv(conv, at) => {
                    let y = conv.forward(params(weights, *at), &h, None);
                    inputs.push(h);
                    y
                }
                Layer::Pool(conv, at) => {
                    let moments = h.moments().clone();
                    let norm = norm(weights, *at);
                    let (smaller, pooled) = pool(&self.workspace, norm, h, &moments, dropout, rng);
                    let y = conv.forward(&weights[at + 2], None, &smaller);
                    pools.push((pooled, smaller));
                    y
                }
            };
        }
        let pooling = self.layers.iter().map(|layer| matches!(layer, Layer::Pool(..))).collect();
        Trace { image, inputs, pools, pooling, last: h.shape(), logits: self.means(weights, &h) }
    }

    /// Logits of images for prediction: running statistics, no dropout.
    pub fn predict(&self, weights: &Weights, running: &Running, x: &[f32]) -> Vec<f32> {
        let mut h = self.first.forward(&weights[0], None, &self.images(x));
        let mut moments = running.0.iter();
        for layer in &self.layers {
            h = match layer {
                Layer::Conv(conv, at) => {
                    let moments = moments.next().expect("moments of every convolution");
                    conv.evaluate(params(weights, *at), &h, moments, None)
                }
                Layer::Pool(conv, at) => {
                    let moments = moments.next().expect("moments of every convolution");
                    let (norm, unused) = (norm(weights, *at), &mut semisup::rng(0));
                    conv.forward(
                        &weights[at + 2],
                        None,
                        &pool(&self.workspace, norm, h, moments, 0., unused).0,
                    )
                }
            };
        }
        self.means(weights, &h)
    }

    /// The gradient by all weights, from that by the logits, `[n, K]`.
    pub fn backward(&self, weights: &Weights, trace: Trace, d_logits: &[f32]) -> Weights {
        let Trace { image, mut inputs, mut pools, last, .. } = trace;
        let mut gradient: Weights = weights.iter().map(|_| Vec::new()).collect();
        let bias = (0..self.n_classes).map(|k| d_logits.iter().skip(k).step_by(self.n_classes).sum());
        *gradient.last_mut().expect("a bias") = bias.collect();
        let plane = last.height * last.width;
        let spread: Vec<f32> =
            d_logits.iter().flat_map(|d| std::iter::repeat_n(d / plane as f32, plane)).collect();
        let mut d = Activations::from_nchw(&self.workspace, last, &spread);
        for layer in self.layers.iter().rev() {
            d = match layer {
                Layer::Conv(conv, at) => {
                    let x = inputs.pop().expect("an input of every convolution");
                    let back = conv.backward(params(weights, *at), &x, &d, None);
                    gradient[*at] = back.gamma;
                    gradient[at + 1] = back.beta;
                    gradient[at + 2] = back.weights;
                    back.x
                }
                Layer::Pool(conv, at) => {
                    let (pooled, smaller) = pools.pop().expect("a pool");
                    let back = conv.backward(&weights[at + 2], &smaller, &d);
                    gradient[at + 2] = back.weights;
                    let through = unpool(&self.workspace, norm(weights, *at), pooled, &back.x);
                    gradient[*at] = through.gamma;
                    gradient[at + 1] = through.beta;
                    through.x
                }
            };
        }
        gradient[0] = self.first.weight_gradient(&image, &d);
        gradient
    }

    fn images(&self, x: &[f32]) -> Activations {
        let ImageShape { channels, height, width } = self.shape;
        let shape = Shape { n: x.len() / self.shape.dim(), channels, height, width };
        Activations::from_nchw(&self.workspace, shape, x)
    }

    /// The mean of every map over the image, and the bias: `[n, K]`.
    fn means(&self, weights: &Weights, maps: &Activations) -> Vec<f32> {
        let plane = maps.shape().height * maps.shape().width;
        let bias = weights.last().expect("a bias").iter().cycle();
        let values = maps.to_nchw();
        values.chunks(plane).zip(bias).map(|(map, b)| map.iter().sum::<f32>() / plane as f32 + b).collect()
    }
}

impl Running {
    /// Takes the moments of a training pass into the averages.
    pub fn follow(&mut self, trace: &Trace) {
        let (mut plain, mut pooled) =
            (trace.inputs.iter(), trace.pools.iter().map(|(pooled, _)| pooled.input()));
        let input = |pools: &bool| if *pools { pooled.next() } else { plain.next() };
        let now = trace.pooling.iter().filter_map(input).map(|input| input.moments());
        if self.0.is_empty() {
            self.0 = now.cloned().collect();
            return;
        }
        let toward = |old: &mut Vec<f32>, new: &[f32]| {
            old.iter_mut().zip(new).for_each(|(old, new)| *old = KEPT * *old + (1. - KEPT) * new);
        };
        for (old, new) in self.0.iter_mut().zip(now) {
            toward(&mut old.mean, &new.mean);
            toward(&mut old.variance, &new.variance);
        }
    }
}

fn params(weights: &Weights, at: usize) -> PreActParams<'_> {
    PreActParams { gamma: &weights[at], beta: &weights[at + 1], weights: &weights[at + 2] }
}

fn norm(weights: &Weights, at: usize) -> Norm<'_> {
    Norm { gamma: &weights[at], beta: &weights[at + 1] }
}

/// Uniform weights of variance 2 / `fan_in`.
fn he(fan_in: usize, n: usize, rng: &mut Rng) -> Vec<f32> {
    let bound = (6. / fan_in as f64).sqrt();
    (0..n).map(|_| rng.random_range(-bound..bound) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ImageShape = ImageShape { channels: 2, height: 9, width: 8 };

    /// A small net and five images.
    fn problem() -> (ConvNet, Weights, Vec<f32>) {
        let mut rng = semisup::rng(4);
        let (net, mut weights) = ConvNet::new(SHAPE, 5, 3, &mut rng);
        weights.iter_mut().flatten().for_each(|w| *w += rng.random_range(-0.05..0.05));
        let x = (0..5 * SHAPE.dim()).map(|_| rng.random_range(-1.0..1.0)).collect();
        (net, weights, x)
    }

    /// sum_i c_i logit_i, and its gradient by the weights.
    fn loss(net: &ConvNet, weights: &Weights, x: &[f32]) -> (f64, Weights) {
        let trace = net.forward(weights, x, 0.3, &mut semisup::rng(8));
        let c: Vec<f32> = (0..trace.logits.len()).map(|i| (1.7 * i as f32).sin()).collect();
        let value = trace.logits.iter().zip(&c).map(|(l, c)| f64::from(l * c)).sum();
        (value, net.backward(weights, trace, &c))
    }

    /// Along its own gradient g a loss rises by |g|^2: for every vector of weights by differences of f32, whose error and
    /// whose kinks (ReLU, the largest of four) are below 2%.
    #[test]
    fn gradients_agree_with_differences() {
        let (net, weights, x) = problem();
        let (_, gradient) = loss(&net, &weights, &x);
        assert_eq!(gradient.len(), weights.len());
        for (at, g) in gradient.iter().enumerate() {
            assert_eq!(g.len(), weights[at].len(), "vector {at}");
            let square: f64 = g.iter().map(|g| f64::from(*g).powi(2)).sum();
            assert!(square > 1e-6, "vector {at} does not matter");
            let h = 3e-4 / square.sqrt();
            let moved = |by: f64| {
                let mut weights = weights.clone();
                weights[at].iter_mut().zip(g).for_each(|(w, g)| *w += (by * f64::from(*g)) as f32);
                loss(&net, &weights, &x).0
            };
            let numeric = (moved(h) - moved(-h)) / (2. * h);
            assert!(
                (numeric / square - 1.).abs() < 0.02,
                "vector {at}: {square} by hand, {numeric} by differences"
            );
        }
    }

    /// With the moments of the batch itself and no dropout, prediction is the training pass.
    #[test]
    fn prediction_uses_the_running_moments() {
        let (net, weights, x) = problem();
        let trace = net.forward(&weights, &x, 0., &mut semisup::rng(0));
        let mut running = Running::default();
        running.follow(&trace);
        let predicted = net.predict(&weights, &running, &x);
        let furthest = predicted.iter().zip(&trace.logits).map(|(a, b)| (a - b).abs()).fold(0., f32::max);
        assert!(furthest < 1e-4, "{furthest}");
        let other: Vec<f32> = x.iter().map(|v| 3. * v + 1.).collect();
        running.follow(&net.forward(&weights, &other, 0., &mut semisup::rng(0)));
        assert_ne!(net.predict(&weights, &running, &x), predicted, "they follow");
    }
}
