//! Questions to a fitted model (paper, sections 6.1 to 6.3, appendices F and H).
//!
//! ```text
//! rows x ─Model::encode→ z ─counterfactual→ the nearest latent point of another class ─decode→ x'
//!        ─path→ rows between two rows, with log p along the way
//!        ─OutOfDistributionDetector::scores→ how far each row is from the training distribution, by four scores
//!        ─label_next→ which rows to label
//!        ─ChannelStatistics::collect→ mean and spread of each channel of each layer ─visualise→ what a feature does
//! ```
//!
//! Rows come in and go out in the user's columns and units, as with [`crate::Model`].

mod channels;
mod complexity;
mod counterfactual;
mod label_next;
mod out_of_distribution;
mod path;

pub use channels::{ChannelHistogram, ChannelStatistics, Feature, LayerStatistics, layer_shapes};
pub use complexity::code_length;
pub(crate) use counterfactual::past_boundary;
pub use counterfactual::{Counterfactual, counterfactual, counterfactuals};
pub(crate) use label_next::suggestions;
pub use label_next::{Suggestion, label_next};
pub use out_of_distribution::{OutOfDistributionDetector, OutOfDistributionScores};
pub use path::{Path, path};
