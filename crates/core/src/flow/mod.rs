//! The flow f = f_L o ... o f_1: a chain of bijections, which is a bijection, and so is every slice of it.
//!
//! Runs of affine couplings, and runs of steps on images, take the fused CPU kernel when the flow's engine allows it and
//! the rows are single precision on the CPU; everything else, and every other device, takes the composed operations.

mod engine;
mod run;
mod spec;

use std::ops::Range;

use burn_tensor::Tensor;
use ndarray::{Array2, ArrayView2, s};
use semisup::Rng;

use crate::{
    Result,
    bijection::{Bijection, Dropout, Init, Mapped, Mode, NormStatistics},
    fused,
    tensor::{Place, to_array},
    theta::Theta,
};

pub use engine::Engine;
pub(crate) use run::FlowOutput;
use run::{Fused, Run};
pub use spec::FlowSpec;

/// Rows per pass.
const ENCODING_BATCH: usize = 4096;

/// A chain of bijections with its parameters.
#[derive(Clone, Debug)]
pub struct Flow {
    spec: FlowSpec,
    layers: Vec<Box<dyn Bijection>>,
    runs: Vec<Run>,
    mode: Mode,
}

impl Flow {
    /// A flow with fresh parameters.
    pub fn new(spec: FlowSpec, init: Init, rng: &mut Rng, place: &Place) -> Result<Self> {
        spec.validate()?;
        let layers: Result<Vec<_>> =
            spec.layers.iter().map(|layer| layer.build(spec.dim, init, rng, place)).collect();
        Ok(Self::assemble(spec, layers?, Mode::default()))
    }

    fn assemble(spec: FlowSpec, layers: Vec<Box<dyn Bijection>>, mode: Mode) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        while start < layers.len() {
            let run = Run::starting(&layers, start);
            start = run.layers.end;
            runs.push(run);
        }
        Self { spec, layers, runs, mode }
    }

    /// The architecture.
    pub fn spec(&self) -> &FlowSpec {
        &self.spec
    }

    /// Number of layers L.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// This flow, computed by another engine.
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.set_mode(Mode { engine, ..self.mode });
        self
    }

    /// This flow with batch normalisation by running statistics or by those of the batch.
    pub fn with_statistics(mut self, statistics: NormStatistics) -> Self {
        self.set_mode(Mode { statistics, ..self.mode });
        self
    }

    /// Which engine computes the couplings.
    pub fn engine(&self) -> Engine {
        self.mode.engine
    }

    /// f(x) of many rows in chunks, so that memory does not depend on their number.
    pub fn encode(&self, x: ArrayView2<f64>, place: &Place) -> Array2<f64> {
        let mut z = Array2::zeros(x.dim());
        for start in (0..x.nrows()).step_by(ENCODING_BATCH) {
            let rows = s![start..(start + ENCODING_BATCH).min(x.nrows()), ..];
            z.slice_mut(rows).assign(&to_array(&self.forward(place.rows(x.slice(rows))).value));
        }
        z
    }

    /// Layers `range` as a flow of their own: f_{:l} is `slice(0..l)`.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let spec = FlowSpec { dim: self.spec.dim, layers: self.spec.layers[range.clone()].to_vec() };
        Self::assemble(spec, self.layers[range].to_vec(), self.mode)
    }

    /// z and log_det, left in one tensor where one kernel made both.
    pub(crate) fn output(&self, x: Tensor<2>) -> FlowOutput {
        let Some((last, before)) = self.runs.split_last() else {
            return FlowOutput::Separate(self.forward(x));
        };
        if before.is_empty() {
            return self.run_forward(last, x);
        }
        let Mapped { value, log_det } =
            chain_forward(before.iter().map(|run| move |x| self.run_forward(run, x).separate()), x);
        match self.run_forward(last, value) {
            FlowOutput::Joined(rows, None) => FlowOutput::Joined(rows, Some(log_det)),
            other => {
                let Mapped { value, log_det: own } = other.separate();
                FlowOutput::Separate(Mapped { value, log_det: log_det + own })
            }
        }
    }

    fn run_forward(&self, run: &Run, x: Tensor<2>) -> FlowOutput {
        let layers = &self.layers[run.layers.clone()];
        if let (Some(kernel), Some(memory)) = (&run.fused, self.mode.engine.memory()) {
            let (thetas, stored) = parameters(layers);
            let rows = match kernel {
                Fused::Dense(chain) => fused::forward(chain, memory, &thetas, &x),
                Fused::Image(chain) => {
                    fused::image_forward(chain, &thetas, &stored, self.mode.statistics, &x)
                }
            };
            if let Some(rows) = rows {
                return FlowOutput::Joined(rows, None);
            }
        }
        FlowOutput::Separate(chain_forward(layers.iter().map(|layer| move |x| layer.forward(x)), x))
    }

    fn run_inverse(&self, run: &Run, z: Tensor<2>) -> Tensor<2> {
        let layers = &self.layers[run.layers.clone()];
        if let (Some(kernel), Some(_)) = (&run.fused, self.mode.engine.memory()) {
            let (thetas, stored) = parameters(layers);
            let x = match kernel {
                Fused::Dense(chain) => fused::inverse(chain, &thetas, &z),
                Fused::Image(chain) => {
                    fused::image_inverse(chain, &thetas, &stored, self.mode.statistics, &z)
                }
            };
            if let Some(x) = x {
                return x;
            }
        }
        layers.iter().rev().fold(z, |z, layer| layer.inverse(z))
    }
}

/// Trained parameters and running statistics of layers.
fn parameters(layers: &[Box<dyn Bijection>]) -> (Vec<&Theta>, Vec<&Theta>) {
    let all = layers.iter().flat_map(|layer| layer.thetas().into_iter().zip(layer.trained()));
    let (trained, stored): (Vec<_>, Vec<_>) = all.partition(|(_, trained)| *trained);
    let thetas = |pairs: Vec<(_, bool)>| pairs.into_iter().map(|(theta, _)| theta).collect();
    (thetas(trained), thetas(stored))
}

/// Feeds rows through maps one after the other and adds up the log-dets.
fn chain_forward<F: Fn(Tensor<2>) -> Mapped>(maps: impl Iterator<Item = F>, x: Tensor<2>) -> Mapped {
    let mut total: Option<Tensor<2>> = None;
    let mut value = x;
    for map in maps {
        let mapped = map(value);
        value = mapped.value;
        total = Some(match total {
            None => mapped.log_det,
            Some(sum) => sum + mapped.log_det,
        });
    }
    let log_det = total.unwrap_or_else(|| value.zeros_like().sum_dim(1));
    Mapped { value, log_det }
}

impl Bijection for Flow {
    fn dim(&self) -> usize {
        self.spec.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        chain_forward(self.runs.iter().map(|run| move |x| self.run_forward(run, x).separate()), x)
    }

    /// By composed operations, whatever the engine: the kernels have no dropout.
    fn forward_with_dropout(&self, x: Tensor<2>, dropout: &mut Dropout) -> Mapped {
        let (mut value, mut total) = (x, None);
        for layer in &self.layers {
            let mapped = layer.forward_with_dropout(value, dropout);
            value = mapped.value;
            total = Some(total.map_or(mapped.log_det.clone(), |sum: Tensor<2>| sum + mapped.log_det));
        }
        let log_det = total.unwrap_or_else(|| value.zeros_like().sum_dim(1));
        Mapped { value, log_det }
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        self.runs.iter().rev().fold(z, |z, run| self.run_inverse(run, z))
    }

    fn thetas(&self) -> Vec<&Theta> {
        self.layers.iter().flat_map(|layer| layer.thetas()).collect()
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        self.layers.iter_mut().flat_map(|layer| layer.thetas_mut()).collect()
    }

    fn trained(&self) -> Vec<bool> {
        self.layers.iter().flat_map(|layer| layer.trained()).collect()
    }

    fn labels(&self) -> Vec<String> {
        let layers = self.layers.iter().enumerate();
        layers
            .flat_map(|(i, layer)| layer.labels().into_iter().map(move |inner| format!(".{i}{inner}")))
            .collect()
    }

    fn update_running_statistics(&mut self, x: Tensor<2>, momentum: f64) -> Tensor<2> {
        self.layers.iter_mut().fold(x, |x, layer| layer.update_running_statistics(x, momentum))
    }

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.layers.iter_mut().for_each(|layer| layer.set_mode(mode));
    }

    fn adapt(&mut self, x: &Tensor<2>) {
        // What comes after the last layer that adapts need not be computed.
        let Some(last) = self.layers.iter().rposition(|layer| layer.adapts()) else { return };
        let mut h = x.clone();
        for layer in &mut self.layers[..last] {
            layer.adapt(&h);
            h = layer.forward(h).value;
        }
        self.layers[last].adapt(&h);
    }

    fn adapts(&self) -> bool {
        self.layers.iter().any(|layer| layer.adapts())
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bijection::{BijectionSpec, ImageShape},
        image::ImageFlow,
        tensor::to_vec,
    };

    /// A chain skips layers that do not adapt: `adapts` must be true exactly where `adapt` changes something.
    #[test]
    fn maps_that_adapt_say_so() {
        let (rng, place) = (&mut semisup::rng(4), Place::cpu_f64());
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        let images = [ImageFlow::light(shape).unwrap(), ImageFlow::Paper { shape, hidden: 2, blocks: 1 }];
        let specs = images.iter().flat_map(ImageFlow::layers).chain(BijectionSpec::examples(64, rng));
        let (mut adapting, x) = (0, place.matrix((0..256).map(|i| i as f64 / 300.0).collect(), [4, 64]));
        for spec in specs {
            let flow = FlowSpec { dim: 64, layers: vec![spec] };
            let mut flow = Flow::new(flow, Init::Random, rng, &place).unwrap();
            let values = |layer: &dyn Bijection| -> Vec<f64> {
                layer.thetas().iter().flat_map(|theta| to_vec(theta.value())).collect()
            };
            let layer = flow.layers[0].as_mut();
            let before = values(layer);
            layer.adapt(&x);
            assert_eq!(before != values(layer), layer.adapts(), "{:?}", flow.spec);
            adapting += usize::from(flow.adapts());
        }
        assert!(adapting > 2, "{adapting} maps adapt");
    }
}
