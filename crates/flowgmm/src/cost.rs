//! What a fit will cost, before it starts: multiplications and additions, and memory.
//!
//! A net uses each of its weights once for every pixel it is applied at, one multiplication and one addition:
//!   FLOP(layer, one row) = 2 x weights x pixels,     FLOP(step) = 3 x rows of a step x sum over layers
//! since a gradient costs about twice its function. Memory is what a step keeps for the backward pass (the hidden values
//! of every net, twice: before and after their normalisation or activation), the weights with their optimiser's state,
//! and the data: as given and preprocessed in double precision, once more while batches are prepared, and in single.

use semisup::SemiSupervised;

use crate::{
    bijection::{BijectionSpec, ConvNet},
    config::FitConfig,
    flow::FlowSpec,
    model::SCORING_BATCH,
};

/// An estimate of what a fit needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Floating-point operations of a training step.
    pub flop_per_step: f64,
    /// The same of all steps, short starts and calibration left out.
    pub flop: f64,
    /// Rows that a step sees, each view of one counted.
    pub rows_per_step: usize,
    /// Bytes of memory at the same time.
    pub memory: f64,
}

/// Sizes of the numbers that are kept.
const SINGLE: f64 = 4.0;
const DOUBLE: f64 = 8.0;
/// Of every weight: itself, its gradient, two moments, a moving average, and a snapshot of the last four.
const COPIES: f64 = 9.0;

impl Cost {
    /// Of a fit to rows whose number of columns preprocessing does not change, such as images.
    pub fn of(config: &FitConfig, data: &SemiSupervised) -> Self {
        let train = &config.train;
        let (n, labelled) = (data.n(), data.labelled().len());
        let unlabelled = (n - labelled).min(train.batch_unlabelled);
        let views = 1 + usize::from(train.objective.consistency.is_some());
        let rows_per_step = labelled.min(train.batch_labelled) + views * unlabelled;
        let flow = config.architecture.flow(data.dim());
        let flop_per_step = 3.0 * rows_per_step as f64 * flow.flop();
        let kept: f64 = flow.layers.iter().map(|layer| kept(layer, flow.dim)).sum();
        let widest = flow.layers.iter().map(|layer| kept_at_once(layer, flow.dim)).fold(0.0, f64::max);
        let step = rows_per_step as f64 * kept;
        let scoring = n.min(SCORING_BATCH) as f64 * widest;
        let weights = flow.n_parameters().map_or(f64::INFINITY, |n| n as f64) * COPIES;
        let data = n as f64 * flow.dim as f64 * (3.0 * DOUBLE + SINGLE);
        Self {
            flop_per_step,
            flop: flop_per_step * train.steps as f64,
            rows_per_step,
            memory: data + SINGLE * (weights + step.max(scoring)),
        }
    }
}

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
