//! What a flow costs: floating-point operations and numbers that are kept, for one row.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels

use crate::{
    bijection::{BijectionSpec, ConvNet},
    flow::FlowSpec,
};

/// Operations of a layer on one row.
fn flop(layer: &BijectionSpec, dim: usize) -> f64 {
    match layer {
        BijectionSpec::FactorOut { shape, keep, layers } => {
            let dim = shape.with_channels(*keep).dim();
            layers.iter().map(|layer| flop(layer, dim)).sum()
        }
        layer => 2.0 * pixels(layer) as f64 * layer.n_parameters(dim).map_or(f64::INFINITY, |n| n as f64),
    }
}

/// Places at which a layer's weights are used.
fn pixels(layer: &BijectionSpec) -> usize {
    match layer {
        BijectionSpec::ConvAffine { shape, .. } | BijectionSpec::ChannelMix { shape, .. } => {
            shape.height * shape.width
        }
        _ => 1,
    }
}

/// Numbers that a layer keeps of one row for the backward pass: its output, and its net's hidden values twice.
fn kept(layer: &BijectionSpec, dim: usize) -> f64 {
    dim as f64 + 2.0 * hidden(layer, dim)
}

/// Numbers that a layer holds of one row at the same time: the two widest of its hidden values, input and output.
fn kept_at_once(layer: &BijectionSpec, dim: usize) -> f64 {
    let widest = match layer {
        BijectionSpec::ConvAffine { shape, net, .. } => (net_width(*net) * shape.height * shape.width) as f64,
        BijectionSpec::FactorOut { shape, keep, layers } => {
            let dim = shape.with_channels(*keep).dim();
            layers.iter().map(|layer| kept_at_once(layer, dim)).fold(0.0, f64::max)
        }
        BijectionSpec::Affine { hidden, .. }
        | BijectionSpec::Additive { hidden, .. }
        | BijectionSpec::Spline { hidden, .. } => hidden.iter().copied().max().unwrap_or(0) as f64,
        _ => 0.0,
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
            (layers * net_width(*net) * shape.height * shape.width) as f64
        }
        BijectionSpec::FactorOut { shape, keep, layers } => {
            let dim = shape.with_channels(*keep).dim();
            layers.iter().map(|layer| kept(layer, dim)).sum::<f64>() / 2.0
        }
        BijectionSpec::Affine { hidden, .. }
        | BijectionSpec::Additive { hidden, .. }
        | BijectionSpec::Spline { hidden, .. } => hidden.iter().sum::<usize>() as f64,
        BijectionSpec::ChannelMix { .. } => dim as f64 / 2.0, // its input
        _ => 0.0,
    }
}

fn net_width(net: ConvNet) -> usize {
    match net {
        ConvNet::Plain { hidden } | ConvNet::Light { hidden } | ConvNet::Residual { hidden, .. } => hidden,
    }
}

impl FlowSpec {
    /// Numbers that a training step keeps of one row for its backward pass.
    pub fn kept(&self) -> f64 {
        self.layers.iter().map(|layer| kept(layer, self.dim)).sum()
    }

    /// Numbers of one row that scoring holds at the same time.
    pub fn kept_at_once(&self) -> f64 {
        self.layers.iter().map(|layer| kept_at_once(layer, self.dim)).fold(0.0, f64::max)
    }

    /// Floating-point operations of f on one row: two for each weight at each place it is used.
    pub fn flop(&self) -> f64 {
        self.layers.iter().map(|layer| flop(layer, self.dim)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{Form, ImageMask, ImageShape, Mask};

    #[test]
    fn operations_are_two_for_each_weight_at_each_place() {
        let dense =
            BijectionSpec::Affine { mask: Mask::KeepEven, hidden: vec![5], form: Form::ScaleThenShift };
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
