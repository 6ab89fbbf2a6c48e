//! Which code computes a flow.

use std::str::FromStr;

use flowgmm_kernels::Memory;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Which code computes couplings, convolutions and densities.
///
/// The default is [`Engine::Fused`]. The cargo feature `composed-by-default` makes it [`Engine::Composed`], so that tests
/// which choose no engine can run on composed operations too; nothing else should turn it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Fused kernels where they apply (CPU, single precision), composed operations elsewhere.
    Fused,
    /// Fused kernels whose backward pass recomputes hidden values from the inverse instead of storing them: memory
    /// independent of the depth, for two more evaluations of each network.
    LowMemory,
    /// Composed Burn operations everywhere: the oracle, and the path of other devices.
    Composed,
}

impl FromStr for Engine {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "fused" => Ok(Self::Fused),
            "low-memory" => Ok(Self::LowMemory),
            "composed" => Ok(Self::Composed),
            _ => Err(Error::Config(format!("unknown engine '{name}'; use fused, low-memory or composed"))),
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        if cfg!(feature = "composed-by-default") { Self::Composed } else { Self::Fused }
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
