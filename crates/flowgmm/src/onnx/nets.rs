//! Convolutional nets of couplings as operators: from what is kept of images to s and t, `[n, channels, height, width]` each.
//!
//! Weight normalisation is done here, once; batch normalisation is by running statistics.

use flowgmm_core::{
    Theta,
    bijection::{ConvNet, NORM_EPSILON},
    tensor::to_vec,
};

use super::graph::{Attribute, Graph, Value};

/// s and t of so many channels. A residual net multiplies its normalised input by `input_scale`.
pub(super) fn scale_shift(
    graph: &mut Graph,
    x: &Value,
    (theta, statistics): (&Theta, Option<&Theta>),
    net: ConvNet,
    channels: usize,
    input_scale: f64,
) -> (Value, Value) {
    let mut pass = Pass { graph, theta, next: 0, statistics, next_norm: 0 };
    let output = pass.output(x, net, input_scale);
    let mut gain = pass.part();
    if matches!(net, ConvNet::Residual { .. }) {
        let sign = pass.part();
        gain.iter_mut().zip(sign).for_each(|(gain, v)| *gain *= v.signum());
    }
    let gain = graph.singles(&[1, channels, 1, 1], gain);
    let raw = graph.span(&output, 0..channels);
    let bounded = graph.apply("Tanh", &[&raw]);
    (graph.apply("Mul", &[&bounded, &gain]), graph.span(&output, channels..2 * channels))
}

/// One pass through a net: parts of theta and normalisations are taken in order.
struct Pass<'a> {
    graph: &'a mut Graph,
    theta: &'a Theta,
    next: usize,
    statistics: Option<&'a Theta>,
    next_norm: usize,
}

impl Pass<'_> {
    fn output(&mut self, x: &Value, net: ConvNet, input_scale: f64) -> Value {
        match net {
            ConvNet::Plain { .. } => {
                let h = self.conv(x, 3, true);
                let h = self.relu(&h);
                self.conv(&h, 3, true)
            }
            ConvNet::Light { .. } => {
                let h = self.conv(x, 3, false);
                let h = self.normed_relu(&h);
                let h = self.conv(&h, 1, false);
                let h = self.normed_relu(&h);
                self.conv(&h, 3, true)
            }
            ConvNet::Residual { blocks, .. } => {
                let b = self.norm(x, input_scale);
                let negative = self.graph.apply("Neg", &[&b]);
                let both = self.graph.beside(&[&b, &negative]);
                let both = self.relu(&both);
                let mut h = self.weight_normed(&both, 3, true);
                let mut skip = self.weight_normed(&h, 1, true);
                for _ in 0..blocks {
                    let r = self.normed_relu(&h);
                    let r = self.weight_normed(&r, 3, false);
                    let r = self.normed_relu(&r);
                    let r = self.weight_normed(&r, 3, true);
                    h = self.graph.apply("Add", &[&h, &r]);
                    let more = self.weight_normed(&h, 1, true);
                    skip = self.graph.apply("Add", &[&skip, &more]);
                }
                let h = self.normed_relu(&skip);
                self.weight_normed(&h, 1, true)
            }
        }
    }

    /// The next part of theta.
    fn part(&mut self) -> Vec<f64> {
        self.next += 1;
        to_vec(&self.theta.part(self.next - 1))
    }

    fn relu(&mut self, h: &Value) -> Value {
        self.graph.apply("Relu", &[h])
    }

    fn normed_relu(&mut self, h: &Value) -> Value {
        let h = self.norm(h, 1.0);
        self.relu(&h)
    }

    /// Batch normalisation by running statistics, times a factor.
    fn norm(&mut self, h: &Value, factor: f64) -> Value {
        let running = self.statistics.expect("a net with batch normalisation has running statistics");
        let moment = |at: usize| to_vec(&running.part(2 * self.next_norm + at));
        let (mean, variance) = (moment(0), moment(1));
        self.next_norm += 1;
        let (gamma, beta) = (self.part(), self.part());
        let times = |values: Vec<f64>| values.into_iter().map(move |value| factor * value);
        let channels = [mean.len()];
        let [gamma, beta] = [gamma, beta].map(|values| self.graph.singles(&channels, times(values)));
        let mean = self.graph.singles(&channels, mean);
        let variance = self.graph.singles(&channels, variance.into_iter().map(|variance| variance.max(0.0)));
        let epsilon = Attribute::Float("epsilon", NORM_EPSILON as f32);
        self.graph.apply_with("BatchNormalization", &[h, &gamma, &beta, &mean, &variance], &[epsilon])
    }

    fn conv(&mut self, x: &Value, size: usize, bias: bool) -> Value {
        let shape = self.theta.parts()[self.next].shape;
        let weight = self.part();
        self.convolved(x, weight, shape, size, bias)
    }

    /// W = g v / ||v|| for each output channel.
    fn weight_normed(&mut self, x: &Value, size: usize, bias: bool) -> Value {
        let shape = self.theta.parts()[self.next].shape;
        let (mut weight, gain) = (self.part(), self.part());
        for (row, gain) in weight.chunks_exact_mut(shape[1]).zip(gain) {
            let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().for_each(|v| *v *= gain / norm);
        }
        self.convolved(x, weight, shape, size, bias)
    }

    /// A convolution with zeros around the image, by a kernel `[out, in size size]`; its bias is the next part.
    fn convolved(
        &mut self,
        x: &Value,
        weight: Vec<f64>,
        shape: [usize; 2],
        size: usize,
        bias: bool,
    ) -> Value {
        let [out, fan_in] = shape;
        let weight = self.graph.singles(&[out, fan_in / (size * size), size, size], weight);
        let mut inputs = vec![x.clone(), weight];
        if bias {
            let bias = self.part();
            inputs.push(self.graph.singles(&[out], bias));
        }
        let padding = Attribute::Ints("pads", vec![(size / 2) as i64; 4]);
        self.graph.apply_with("Conv", &inputs.iter().collect::<Vec<_>>(), &[padding])
    }
}
