//! The flow f = f_L o ... o f_1: a chain of bijections, which is a bijection, and so is every slice of it.
//!
//! Runs of affine couplings take the fused CPU kernel when the flow's engine allows it and the rows are
//! single precision on the CPU; everything else, and every other device, takes the composed operations.

use std::{ops::Range, sync::Arc};

use burn::tensor::Tensor;
use flowgmm_kernels::{Chain, Memory};
use semisup::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{Bijection, BijectionSpec, Dropout, Form, Init, Mapped, Mask},
    fused,
    tensor::Place,
    theta::Theta,
};

/// The architecture of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Number of columns.
    pub dim: usize,
    /// The bijections, data side first.
    pub layers: Vec<BijectionSpec>,
}

impl FlowSpec {
    /// `depth` affine couplings that keep the even and the odd columns in turn.
    pub fn couplings(dim: usize, depth: usize, hidden: &[usize], form: Form) -> Self {
        let mut mask = Mask::KeepEven;
        let layers = (0..depth)
            .map(|_| {
                let layer = BijectionSpec::Affine { mask, hidden: hidden.to_vec(), form };
                mask = mask.flipped();
                layer
            })
            .collect();
        Self { dim, layers }
    }

    /// Checks every layer.
    pub fn validate(&self) -> Result<()> {
        if self.layers.is_empty() || self.layers.len() > 1024 {
            return Err(Error::Config(format!("a flow has 1 to 1024 layers, got {}", self.layers.len())));
        }
        self.layers.iter().try_for_each(|layer| layer.validate(self.dim))
    }
}

/// Which code computes affine couplings. The default is `Fused`, unless the environment variable `FLOWGMM_ENGINE`
/// names another: so every test can run on every engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The fused kernel where it applies (CPU, single precision), composed operations elsewhere.
    Fused,
    /// The same, but the backward pass recomputes hidden values from the inverse instead of storing them: memory
    /// independent of the depth, for two more evaluations of each network.
    LowMemory,
    /// Composed Burn operations everywhere: the oracle, and the path of other devices.
    Composed,
}

impl Default for Engine {
    fn default() -> Self {
        static CHOSEN: std::sync::OnceLock<Engine> = std::sync::OnceLock::new();
        *CHOSEN.get_or_init(|| match std::env::var("FLOWGMM_ENGINE").as_deref() {
            Ok("low-memory") => Self::LowMemory,
            Ok("composed") => Self::Composed,
            _ => Self::Fused,
        })
    }
}

impl Engine {
    /// What the kernel keeps for its backward pass; `None` where the kernel is not used.
    pub(crate) fn memory(self) -> Option<Memory> {
        match self {
            Self::Fused => Some(Memory::Stored),
            Self::LowMemory => Some(Memory::Recomputed),
            Self::Composed => None,
        }
    }
}

/// A stretch of layers that runs as one.
#[derive(Clone, Debug)]
struct Run {
    layers: Range<usize>,
    chain: Option<Arc<Chain>>,
}

/// What a flow makes of rows.
pub(crate) enum Image {
    /// z and log_det.
    Apart(Mapped),
    /// `[n, dim + 1]`: z and the last run's log_det in one tensor; and the log_det of what came before, `[n, 1]`.
    Joined(Tensor<2>, Option<Tensor<2>>),
}

impl Image {
    /// z and log_det.
    pub(crate) fn cut(self) -> Mapped {
        match self {
            Self::Apart(mapped) => mapped,
            Self::Joined(rows, before) => {
                let Mapped { value, log_det } = fused::cut(rows);
                Mapped { value, log_det: before.map_or(log_det.clone(), |before| before + log_det) }
            }
        }
    }
}

/// A chain of bijections with its parameters.
#[derive(Clone, Debug)]
pub struct Flow {
    spec: FlowSpec,
    layers: Vec<Box<dyn Bijection>>,
    runs: Vec<Run>,
    engine: Engine,
}

impl Flow {
    /// A flow with fresh parameters.
    pub fn new(spec: FlowSpec, init: Init, rng: &mut Rng, place: &Place) -> Result<Self> {
        spec.validate()?;
        let layers: Result<Vec<_>> =
            spec.layers.iter().map(|layer| layer.build(spec.dim, init, rng, place)).collect();
        Ok(Self::assemble(spec, layers?, Engine::default()))
    }

    fn assemble(spec: FlowSpec, layers: Vec<Box<dyn Bijection>>, engine: Engine) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        while start < layers.len() {
            let fusable = layers[start..]
                .iter()
                .take_while(|layer| layer.kernel().is_some())
                .count()
                .min(fused::MAX_COUPLINGS);
            let end = start + fusable.max(1);
            let couplings: Vec<_> = layers[start..end].iter().filter_map(|l| l.kernel().cloned()).collect();
            let chain = (fusable > 0).then(|| Arc::new(Chain::new(couplings)));
            runs.push(Run { layers: start..end, chain });
            start = end;
        }
        Self { spec, layers, runs, engine }
    }

    /// The architecture.
    pub fn spec(&self) -> &FlowSpec {
        &self.spec
    }

    /// Number of layers L.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The same flow on another engine.
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Which engine computes the couplings.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The flow as a step of training sees it, with hidden units left out: by composed operations, whatever the engine.
    pub(crate) fn image_dropping(&self, x: Tensor<2>, dropout: &mut Dropout) -> Mapped {
        let (mut value, mut total) = (x, None);
        for layer in &self.layers {
            let mapped = layer.forward_dropping(value, dropout);
            value = mapped.value;
            total = Some(total.map_or(mapped.log_det.clone(), |sum: Tensor<2>| sum + mapped.log_det));
        }
        Mapped { value, log_det: total.expect("a flow has at least one layer") }
    }

    /// Layers `range` as a flow of their own: f_{:l} is `slice(0..l)`.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let spec = FlowSpec { dim: self.spec.dim, layers: self.spec.layers[range.clone()].to_vec() };
        Self::assemble(spec, self.layers[range].to_vec(), self.engine)
    }

    /// The flow as [`Bijection::forward`] has it, but not cut apart where one kernel made both.
    pub(crate) fn image(&self, x: Tensor<2>) -> Image {
        let Some((last, before)) = self.runs.split_last() else {
            return Image::Apart(self.forward(x));
        };
        if before.is_empty() {
            return self.run_forward(last, x);
        }
        let Mapped { value, log_det } =
            chain_forward(before.iter().map(|run| move |x| self.run_forward(run, x).cut()), x);
        match self.run_forward(last, value) {
            Image::Joined(rows, None) => Image::Joined(rows, Some(log_det)),
            other => {
                let Mapped { value, log_det: own } = other.cut();
                Image::Apart(Mapped { value, log_det: log_det + own })
            }
        }
    }

    fn run_forward(&self, run: &Run, x: Tensor<2>) -> Image {
        let layers = &self.layers[run.layers.clone()];
        if let (Some(chain), Some(memory)) = (&run.chain, self.engine.memory()) {
            let thetas: Vec<&Theta> = layers.iter().flat_map(|layer| layer.thetas()).collect();
            if let Some(rows) = fused::forward(chain, memory, &thetas, &x) {
                return Image::Joined(rows, None);
            }
        }
        Image::Apart(chain_forward(layers.iter().map(|layer| move |x| layer.forward(x)), x))
    }

    fn run_inverse(&self, run: &Run, z: Tensor<2>) -> Tensor<2> {
        let layers = &self.layers[run.layers.clone()];
        if let (Some(chain), Some(_)) = (&run.chain, self.engine.memory()) {
            let thetas: Vec<&Theta> = layers.iter().flat_map(|layer| layer.thetas()).collect();
            if let Some(x) = fused::inverse(chain, &thetas, &z) {
                return x;
            }
        }
        layers.iter().rev().fold(z, |z, layer| layer.inverse(z))
    }
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
        chain_forward(self.runs.iter().map(|run| move |x| self.run_forward(run, x).cut()), x)
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

    fn adapt(&mut self, x: &Tensor<2>) {
        let mut h = x.clone();
        for layer in &mut self.layers {
            layer.adapt(&h);
            h = layer.forward(h).value;
        }
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
