//! Tables and images in memory, and how they become the numbers that a model sees.
//!
//! ```text
//! Frame (named columns of numbers or texts) ─Schema::infer→ what columns mean ─Encoding→ x [n, dim], and back
//! Picture ─Layout→ a row of pixel values in one size and colour, and back
//! ```
//!
//! No file format is known here: readers and writers make and take [`Frame`]s and [`Picture`]s.

pub mod encode;
mod error;
mod frame;
mod picture;
pub mod schema;

pub use encode::{Encoded, Encoding, Feature, Likelihood, Role};
pub use error::{Error, wording};
pub use frame::{Cells, Column, Frame, Texts, number_text, read_number};
pub use picture::{Layout, Picture};
pub use schema::{Kind, KindName, Labels, Schema, labels, labels_of};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
