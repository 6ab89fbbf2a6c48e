//! What a flow costs: floating-point operations and activations, for one row.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels
//!
//! No `match` here has a wildcard: a new bijection does not compile before it says what it costs.

use crate::{
    bijection::{BijectionSpec, ConvNet, ImageShape},
    flow::FlowSpec,
};

impl FlowSpec {
    /// Activations that a training step stores of one row for its backward pass.
    pub fn stored_activations(&self) -> f64 {
        self.layers.iter().map(|layer| stored(layer, self.dim)).sum()
    }

    /// Activations of one row that scoring holds at the same time.
    pub fn live_activations(&self) -> f64 {
        self.layers.iter().map(|layer| live(layer, self.dim)).fold(0.0, f64::max)
    }

    /// Floating-point operations of f on one row: two for each weight at each pixel it is used at.
    pub fn flop(&self) -> f64 {
        self.layers.iter().map(|layer| flop(layer, self.dim)).sum()
    }
}

/// Operations of a layer on one row.
fn flop(layer: &BijectionSpec, dim: usize) -> f64 {
    let pixels = match layer {
        BijectionSpec::FactorOut { shape, keep, layers } => return inner(*shape, *keep, layers).flop(),
        BijectionSpec::ConvAffine { shape, .. } | BijectionSpec::ChannelMix { shape, .. } => area(*shape),
        BijectionSpec::Coupling { .. }
        | BijectionSpec::Permutation { .. }
        | BijectionSpec::ActNorm
        | BijectionSpec::Linear { .. }
        | BijectionSpec::Logit { .. }
        | BijectionSpec::Squeeze { .. } => 1,
    };
    2.0 * pixels as f64 * layer.n_parameters(dim).map_or(f64::INFINITY, |n| n as f64)
}

/// Activations that a layer stores of one row for the backward pass: its output, and its net's hidden values twice,
/// before and after their normalisation or activation. The kernel of light nets stores them once, with a border of
/// zeros, and a half of the row for each of scale, shift and their derivatives.
fn stored(layer: &BijectionSpec, dim: usize) -> f64 {
    if let BijectionSpec::ConvAffine { shape, net: ConvNet::Light { hidden }, .. } = layer {
        let bordered = (shape.height as f64 + 2.0) * (shape.width as f64 + 2.0);
        return 2.0 * dim as f64 + 2.0 * *hidden as f64 * bordered;
    }
    dim as f64 + 2.0 * hidden(layer, dim)
}

/// Activations of one row that a layer holds at the same time: the two widest of its hidden values, input and output. A
/// convolution of 3 x 3 pixels that is computed as a matrix product holds nine copies of its input, of which eight were
/// measured to be there at once.
fn live(layer: &BijectionSpec, dim: usize) -> f64 {
    let widest = match layer {
        BijectionSpec::ConvAffine { shape, net, .. } => 4.0 * net_width(*net) as f64 * area(*shape) as f64,
        BijectionSpec::FactorOut { shape, keep, layers } => inner(*shape, *keep, layers).live_activations(),
        BijectionSpec::Coupling { hidden, .. } => hidden.iter().copied().max().unwrap_or(0) as f64,
        BijectionSpec::Permutation { .. }
        | BijectionSpec::ActNorm
        | BijectionSpec::Linear { .. }
        | BijectionSpec::Logit { .. }
        | BijectionSpec::Squeeze { .. }
        | BijectionSpec::ChannelMix { .. } => 0.0,
    };
    2.0 * dim as f64 + 2.0 * widest
}

/// Hidden values of a layer's net on one row.
fn hidden(layer: &BijectionSpec, dim: usize) -> f64 {
    match layer {
        BijectionSpec::ConvAffine { shape, net, .. } => {
            let layers = match net {
                ConvNet::Plain { .. } => 1,
                ConvNet::Light { .. } => 2,
                // Two convolutions and the sum of a block, the skip path beside it.
                ConvNet::Residual { blocks, .. } => 4 * blocks + 2,
            };
            layers as f64 * net_width(*net) as f64 * area(*shape) as f64
        }
        BijectionSpec::FactorOut { shape, keep, layers } => {
            inner(*shape, *keep, layers).stored_activations() / 2.0
        }
        BijectionSpec::Coupling { hidden, .. } => hidden.iter().map(|&width| width as f64).sum(),
        BijectionSpec::ChannelMix { .. } => dim as f64 / 2.0, // its input
        BijectionSpec::Permutation { .. }
        | BijectionSpec::ActNorm
        | BijectionSpec::Linear { .. }
        | BijectionSpec::Logit { .. }
        | BijectionSpec::Squeeze { .. } => 0.0,
    }
}

/// The flow of the channels that a factor-out keeps.
fn inner(shape: ImageShape, keep: usize, layers: &[BijectionSpec]) -> FlowSpec {
    FlowSpec { dim: shape.with_channels(keep).dim(), layers: layers.to_vec() }
}

fn area(shape: ImageShape) -> usize {
    shape.height * shape.width
}

fn net_width(net: ConvNet) -> usize {
    match net {
        ConvNet::Plain { hidden } | ConvNet::Light { hidden } | ConvNet::Residual { hidden, .. } => hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{Form, ImageMask, Mask, Transform};

    #[test]
    fn operations_are_two_for_each_weight_at_each_pixel() {
        let transform = Transform::Affine { form: Form::ScaleThenShift };
        let dense = BijectionSpec::Coupling { mask: Mask::KeepEven, hidden: vec![5], transform };
        // 2 -> 5 -> 4 with biases: 15 + 24 = 39 weights, and 2 scales
        assert_eq!(FlowSpec { dim: 4, layers: vec![dense] }.flop(), 2.0 * 41.0);
        let shape = ImageShape { channels: 2, height: 4, width: 4 };
        let net = ConvNet::Plain { hidden: 3 };
        let conv =
            BijectionSpec::ConvAffine { shape, mask: ImageMask::Channels, net, form: Form::ScaleThenShift };
        // 3 x 3 kernels from 1 channel to 3 to 2: 27 + 3 and 54 + 2 weights, one gain; at 16 pixels
        assert_eq!(FlowSpec { dim: 32, layers: vec![conv.clone()] }.flop(), 2.0 * 16.0 * 87.0);
        let whole = ImageShape { channels: 4, height: 4, width: 4 };
        let factored = BijectionSpec::FactorOut { shape: whole, keep: 2, layers: vec![conv] };
        assert_eq!(FlowSpec { dim: 64, layers: vec![factored] }.flop(), 2.0 * 16.0 * 87.0);
    }
}
