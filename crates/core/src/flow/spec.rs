//! The architecture of a flow: a list of bijections over the same number of columns.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bijection::{BijectionSpec, Form, Mask, Transform},
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
                let transform = Transform::Affine { form };
                let layer = BijectionSpec::Coupling { mask, hidden: hidden.to_vec(), transform };
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

    /// Number of trainable values, or `None` if it overflows.
    pub fn n_parameters(&self) -> Option<usize> {
        let own = |sum: usize, layer: &BijectionSpec| sum.checked_add(layer.n_parameters(self.dim)?);
        self.layers.iter().try_fold(0, own)
    }
}
