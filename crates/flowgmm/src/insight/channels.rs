//! What a channel does (paper, section 6.3): x(alpha) = f_{:l}^-1(f_{:l}(x) + alpha sigma_c delta_c).
//!
//! delta_c is one at channel c, everywhere or at one place; sigma_c the standard deviation of the channel's activations
//! over rows and places. Statistics of all layers are collected in one pass through the flow; an image of one feature then
//! costs one pass through the layers up to its own, and one back.
//!
//! Layers of images have channels of `height x width` places; from the first dense layer on every number is a channel.

use burn_tensor::Tensor;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use flowgmm_core::{
    FlowSpec, SCORING_BATCH,
    bijection::{Bijection, BijectionSpec, ImageShape},
    tensor::to_array,
};

use crate::{Error, Result, model::Model};

/// Mean and standard deviation of every channel of every layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelStatistics {
    /// Rows they were collected from.
    pub rows: usize,
    /// After layer 1, 2, ...: entry l - 1 is about f_{:l}.
    pub layers: Vec<LayerStatistics>,
}

/// Statistics of one layer's activations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerStatistics {
    /// Channels, height and width of the activations; `dim x 1 x 1` for dense layers.
    pub shape: ImageShape,
    /// Mean of each channel over rows and places.
    pub mean: Vec<f64>,
    /// Standard deviation of each channel over rows and places.
    pub spread: Vec<f64>,
}

/// A channel of a layer, everywhere or at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// How many layers the activations have passed: 1 is the output of the first.
    pub layer: usize,
    /// The channel, from 0.
    pub channel: usize,
    /// Row and column of the place that is moved; everywhere if `None`.
    pub place: Option<(usize, usize)>,
}

impl ChannelStatistics {
    /// Collects the statistics in one pass of rows `[n, dim_in]` through the flow.
    pub fn collect(model: &Model, x: ArrayView2<f64>) -> Self {
        let gmm = model.gmm();
        let shapes = shapes(gmm.flow().spec());
        let steps: Vec<_> = (0..shapes.len()).map(|l| gmm.flow().slice(l..l + 1)).collect();
        let mut sums: Vec<Vec<(f64, f64)>> =
            shapes.iter().map(|shape| vec![(0.0, 0.0); shape.channels]).collect();
        for rows in x.axis_chunks_iter(Axis(0), SCORING_BATCH) {
            let mut h: Tensor<2> = gmm.place().rows(model.preprocess().apply(rows).view());
            for ((step, shape), sums) in steps.iter().zip(&shapes).zip(&mut sums) {
                h = step.forward(h).value;
                add(sums, to_array(&h).view(), *shape);
            }
        }
        let layer = |(shape, sums): (ImageShape, Vec<(f64, f64)>)| {
            let n = (x.nrows() * shape.height * shape.width).max(1) as f64;
            let mean: Vec<f64> = sums.iter().map(|sum| sum.0 / n).collect();
            let spread = sums.iter().zip(&mean).map(|(sum, m)| (sum.1 / n - m * m).max(0.0).sqrt()).collect();
            LayerStatistics { shape, mean, spread }
        };
        Self { rows: x.nrows(), layers: shapes.into_iter().zip(sums).map(layer).collect() }
    }

    /// The row x with a feature moved by alpha standard deviations, x(alpha), for each alpha: `[alphas, dim_in]`, in the
    /// user's columns and units.
    ///
    /// # Panics
    /// If the flow has no such layer, channel or place.
    pub fn visualise(
        &self,
        model: &Model,
        feature: Feature,
        alphas: &[f64],
        x: ArrayView1<f64>,
    ) -> Array2<f64> {
        let Feature { layer, channel, place } = feature;
        let LayerStatistics { shape, spread, .. } = &self.layers[layer - 1];
        let gmm = model.gmm();
        let head = gmm.flow().slice(0..layer);
        let x = model.preprocess().apply(x.insert_axis(Axis(0)));
        let h = to_array(&head.forward(gmm.place().rows(x.view())).value);
        let delta = direction(*shape, channel, place) * spread[channel];
        let moved =
            Array2::from_shape_fn((alphas.len(), h.ncols()), |(i, j)| h[[0, j]] + alphas[i] * delta[j]);
        model.preprocess().invert(to_array(&head.inverse(gmm.place().rows(moved.view()))).view())
    }
}

/// How often activations of a channel are within each of equal intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelHistogram {
    /// Where the intervals begin and end, `[bars + 1]`: from 5 standard deviations below the mean to 5 above.
    pub edges: Vec<f64>,
    /// Activations in each, `[bars]`; those further out are in the first and the last.
    pub counts: Vec<usize>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sigma: f64,
}

impl ChannelStatistics {
    /// An error unless the flow has such a layer, channel and place.
    pub fn check(&self, feature: Feature) -> Result<()> {
        let Feature { layer, channel, place } = feature;
        let n = self.layers.len();
        let wrong = |what: String| Err(Error::Request(what));
        let Some(LayerStatistics { shape, .. }) = layer.checked_sub(1).and_then(|at| self.layers.get(at))
        else {
            return wrong(format!("layer {layer} of a flow of {n} layers: use 1 to {n}"));
        };
        if channel >= shape.channels {
            return wrong(format!(
                "channel {channel} of {}: use 0 to {}",
                shape.channels,
                shape.channels - 1
            ));
        }
        match place {
            Some((row, column)) if row >= shape.height || column >= shape.width => wrong(format!(
                "place {row}, {column} of a layer of {} x {}: rows and columns count from 0",
                shape.height, shape.width
            )),
            _ => Ok(()),
        }
    }

    /// How the activations of a channel are distributed over rows `[n, dim_in]` and places.
    pub fn histogram(
        &self,
        model: &Model,
        x: ArrayView2<f64>,
        feature: Feature,
        bars: usize,
    ) -> Result<ChannelHistogram> {
        self.check(feature)?;
        let Feature { layer, channel, .. } = feature;
        let LayerStatistics { shape, mean, spread } = &self.layers[layer - 1];
        let (mean, sigma, area) = (mean[channel], spread[channel], shape.height * shape.width);
        let (low, width) = (mean - 5.0 * sigma, (10.0 * sigma).max(f64::MIN_POSITIVE));
        let edges = (0..=bars).map(|i| low + width * i as f64 / bars as f64).collect();
        let mut counts = vec![0; bars];
        let h = model.encode_to(layer, x)?;
        for value in h.slice(s![.., channel * area..(channel + 1) * area]) {
            let at = ((value - low) / width * bars as f64) as usize; // the cast saturates
            counts[at.min(bars - 1)] += 1;
        }
        Ok(ChannelHistogram { edges, counts, mean, sigma })
    }

    /// The row x with each of the first channels of a layer moved by alpha standard deviations, one after the other:
    /// `[channels, dim_in]`, in the user's columns and units.
    ///
    /// # Panics
    /// If the flow has no such layer, or not as many channels.
    pub fn wall(
        &self,
        model: &Model,
        layer: usize,
        alpha: f64,
        x: ArrayView1<f64>,
        channels: usize,
    ) -> Array2<f64> {
        let LayerStatistics { shape, spread, .. } = &self.layers[layer - 1];
        let (gmm, head) = (model.gmm(), model.gmm().flow().slice(0..layer));
        let x = model.preprocess().apply(x.insert_axis(Axis(0)));
        let h = to_array(&head.forward(gmm.place().rows(x.view())).value);
        let mut moved = Array2::zeros((channels, h.ncols()));
        for (channel, mut row) in moved.rows_mut().into_iter().enumerate() {
            row.assign(&(&h.row(0) + &(direction(*shape, channel, None) * (alpha * spread[channel]))));
        }
        model.preprocess().invert(to_array(&head.inverse(gmm.place().rows(moved.view()))).view())
    }
}

/// The shape of the activations after each layer of a model's flow; `dim x 1 x 1` for dense layers.
pub fn layer_shapes(model: &Model) -> Vec<ImageShape> {
    shapes(model.gmm().flow().spec())
}

/// delta_c as a row of activations.
fn direction(shape: ImageShape, channel: usize, place: Option<(usize, usize)>) -> Array1<f64> {
    let area = shape.height * shape.width;
    let mut delta = Array1::zeros(shape.dim());
    match place {
        None => delta.slice_mut(s![channel * area..(channel + 1) * area]).fill(1.0),
        Some((row, column)) => {
            assert!(row < shape.height && column < shape.width, "a place of the layer");
            delta[channel * area + row * shape.width + column] = 1.0;
        }
    }
    delta
}

/// Adds activations, `[n, dim]`, to the sums of their channels.
fn add(sums: &mut [(f64, f64)], h: ArrayView2<f64>, shape: ImageShape) {
    let area = shape.height * shape.width;
    for row in h.rows() {
        for (at, v) in row.iter().enumerate() {
            let sum = &mut sums[at / area];
            *sum = (sum.0 + v, sum.1 + v * v);
        }
    }
}

/// The shape of the activations after each layer.
fn shapes(spec: &FlowSpec) -> Vec<ImageShape> {
    let flat = ImageShape { channels: spec.dim, height: 1, width: 1 };
    // Elementwise layers before the first image layer keep the shape of the image.
    let first = spec.layers.iter().find_map(|layer| match layer {
        BijectionSpec::Squeeze { shape }
        | BijectionSpec::ChannelMix { shape, .. }
        | BijectionSpec::ConvAffine { shape, .. }
        | BijectionSpec::FactorOut { shape, .. } => Some(*shape),
        _ => None,
    });
    let mut current = first.unwrap_or(flat);
    let after = |layer: &BijectionSpec| {
        current = match layer {
            BijectionSpec::Squeeze { shape } => shape.squeezed(),
            BijectionSpec::ChannelMix { shape, .. } | BijectionSpec::ConvAffine { shape, .. } => *shape,
            BijectionSpec::Logit { .. } | BijectionSpec::ActNorm => current,
            _ => flat,
        };
        current
    };
    spec.layers.iter().map(after).collect()
}

#[cfg(test)]
mod tests {
    use semisup::{Learner, Toy};

    use super::*;
    use crate::{FitConfig, FlowGmmLearner, analysis};

    /// On a table every number is a channel, and the golden functions of `analysis` say the same.
    #[test]
    fn agrees_with_the_plain_functions() {
        let data = Toy::Moons.problem(1).train;
        let mut config = FitConfig::toy();
        config.train.steps = 5;
        let model = FlowGmmLearner { name: "FlowGMM".into(), config }.fit(&data, 0).unwrap();
        let found = ChannelStatistics::collect(&model, data.x());
        let x = model.preprocess().apply(data.x());
        for layer in [1, 3] {
            let spread = analysis::activation_std(model.gmm(), layer, x.view());
            let mean_gap = spread.iter().zip(&found.layers[layer - 1].spread).map(|(a, b)| (a - b).abs());
            assert!(mean_gap.fold(0.0, f64::max) < 1e-5, "f32 activations");
            let feature = Feature { layer, channel: 1, place: None };
            let moved = found.visualise(&model, feature, &[0.0, 2.0], data.x().row(0));
            let plain =
                analysis::visualise_feature(model.gmm(), layer, 1, 2.0 * spread[1], x.slice(s![0..1, ..]));
            let plain = model.preprocess().invert(plain.view());
            assert!((&moved.row(1) - &plain.row(0)).mapv(f64::abs).sum() < 1e-4);
            assert!((&moved.row(0) - &data.x().row(0)).mapv(f64::abs).sum() < 1e-4, "alpha 0 is the row");
        }
    }

    #[test]
    fn channels_of_images_are_followed_through_squeezes() {
        let shape = ImageShape { channels: 1, height: 4, width: 8 };
        let mut layers = vec![
            BijectionSpec::Logit { alpha: 0.05 },
            BijectionSpec::Squeeze { shape },
            BijectionSpec::ChannelMix { shape: shape.squeezed(), order: (0..4).collect() },
        ];
        layers.extend(FlowSpec::couplings(32, 1, &[4], crate::bijection::Form::ScaleThenShift).layers);
        let found = shapes(&FlowSpec { dim: 32, layers });
        assert_eq!(
            found,
            [
                shape,
                ImageShape { channels: 4, height: 2, width: 4 },
                ImageShape { channels: 4, height: 2, width: 4 },
                ImageShape { channels: 32, height: 1, width: 1 }
            ]
        );
        let one = direction(found[1], 2, Some((1, 3)));
        assert_eq!((one[2 * 8 + 7], one.sum()), (1.0, 1.0));
        assert_eq!(direction(found[1], 2, None).sum(), 8.0);
    }
}
