//! FlowGMM's posterior averaged with that of a pool of supervised experts:
//!
//! ```text
//! p(k | x) = w p_flow(k | x) + (1 - w) p_experts(k | x)
//! ```

use flowgmm::{Error, Model};
use flowgmm_learners::{ExpertPool, Experts, Standardised, StandardisedModel};
use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, SemiSupervised, Watch};

use super::FlowGmm;

/// FlowGMM averaged with [`Experts`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Blend {
    /// The flow, as it fits alone.
    pub flow: FlowGmm,
    /// w: the share of the flow's posterior.
    pub weight: f64,
}

/// A fitted [`Blend`].
pub(super) struct BlendModel {
    flow: Model,
    experts: StandardisedModel<ExpertPool>,
    weight: f64,
}

impl Learner for Blend {
    type Model = BlendModel;
    type Error = Error;

    fn name(&self) -> String {
        "FlowGMM and experts".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<BlendModel, Error> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<BlendModel, Error> {
        let experts = Standardised(Experts::default()).fit(data, seed)?;
        Ok(BlendModel { flow: self.flow.fit_watched(data, seed, watch)?, experts, weight: self.weight })
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self { flow: self.flow.with_steps(steps)?, ..*self })
    }
}

impl Classifier for BlendModel {
    fn classes(&self) -> &[String] {
        self.flow.classes()
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let (flow, experts) = (self.flow.log_probs(x).exp(), self.experts.log_probs(x).exp());
        (flow * self.weight + experts * (1.0 - self.weight)).ln()
    }
}
