//! Runs of layers that one fused kernel computes.

use std::{ops::Range, sync::Arc};

use burn_tensor::Tensor;
use flowgmm_kernels::image::ImageChain;

use crate::{
    bijection::{Bijection, Kernel, Mapped},
    fused,
};

/// Consecutive layers that run as one.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) layers: Range<usize>,
    pub(super) fused: Option<Fused>,
}

/// The kernel of a run.
#[derive(Clone, Debug)]
pub(super) enum Fused {
    Dense(fused::Couplings),
    Image(Arc<ImageChain>),
}

impl Run {
    /// The longest run from `start` on that one kernel computes; a single layer if there is none.
    pub(super) fn starting(layers: &[Box<dyn Bijection>], start: usize) -> Self {
        let mut couplings = Vec::new();
        let mut steps = Vec::new();
        for layer in &layers[start..] {
            match layer.kernel() {
                Some(Kernel::Dense(coupling)) if steps.is_empty() && couplings.len() < fused::MAX_THETAS => {
                    couplings.push(coupling.clone());
                }
                Some(Kernel::Image(step)) if couplings.is_empty() && steps.len() < fused::MAX_THETAS => {
                    steps.push(step.clone());
                }
                _ => break,
            }
        }
        let end = start + (couplings.len() + steps.len()).max(1);
        let fused = if !couplings.is_empty() {
            Some(Fused::Dense(fused::Couplings::new(couplings)))
        } else if !steps.is_empty() {
            Some(Fused::Image(Arc::new(ImageChain::new(steps))))
        } else {
            None
        };
        Self { layers: start..end, fused }
    }
}

/// The output of a flow for a batch of rows.
pub(crate) enum FlowOutput {
    /// z and log_det.
    Separate(Mapped),
    /// `[n, dim + 1]`: z and the last run's log_det in one tensor; and the log_det of what came before, `[n, 1]`.
    Joined(Tensor<2>, Option<Tensor<2>>),
}

impl FlowOutput {
    /// z and log_det.
    pub(crate) fn separate(self) -> Mapped {
        match self {
            Self::Separate(mapped) => mapped,
            Self::Joined(rows, before) => {
                let Mapped { value, log_det } = fused::separate(rows);
                Mapped { value, log_det: before.map_or(log_det.clone(), |before| before + log_det) }
            }
        }
    }
}
