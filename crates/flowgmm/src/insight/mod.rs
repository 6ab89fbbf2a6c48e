//! Questions to a fitted model, for whoever has to trust it (paper, sections 6.1 to 6.3, appendices F and H).
//!
//! ```text
//! rows x ─Model::encode→ z ─counterfactual→ the nearest latent point of another class ─decode→ x'
//!        ─path→ rows between two rows, with log p along the way
//!        ─Domain::scores→ how strange each row is, by four scores
//!        ─label_next→ which rows to label
//!        ─ChannelStatistics::collect→ mean and spread of each channel of each layer ─visualise→ what a feature does
//! ```
//!
//! Rows come in and go out in the user's columns and units, as with [`crate::Model`].

mod channels;
mod complexity;
mod counterfactual;
mod domain;
mod label_next;
mod latent;
mod path;

pub use channels::{ChannelStatistics, Feature, LayerStatistics};
pub use complexity::code_length;
pub use counterfactual::{Counterfactual, counterfactual, counterfactuals};
pub use domain::{Domain, Strangeness};
pub use label_next::{Suggestion, label_next};
pub use path::{Path, path};
