//! Tables and images in memory, and how they become the matrix that a model sees.
//!
//! ```text
//! Frame (named columns of numbers or texts) -Schema::infer-> kinds of columns -Encoding::learn-> Encoding
//! Frame -Encoding::apply-> x [n, dim] -Encoding::invert-> Frame
//! Image -ImageLayout::row-> pixel values [dim] in one size and colour -ImageLayout::image-> Image
//! ```
//!
//! This crate knows no file format: readers make [`Frame`]s and [`Image`]s, writers take them.
//!
//! ```
//! use flowgmm_data::{Cells, Column, Encoding, Frame, Schema, labels};
//!
//! let column = |name: &str, cells: &[Option<&str>]| Column {
//!     name: name.into(),
//!     cells: Cells::from_texts(cells.iter().copied().collect()),
//! };
//! let frame = Frame::new(
//!     "flowers.csv",
//!     vec![
//!         column("width", &[Some("1.5"), Some("2.0"), None, Some("0.3")]),
//!         column("colour", &[Some("red"), Some("blue"), Some("red"), Some("blue")]),
//!         column("species", &[Some("iris"), Some("rose"), None, None]),
//!     ],
//!     vec![2, 3, 4, 5], // the lines of the rows
//! )?;
//! let schema = Schema::infer(&frame, Some("species"), &[])?;
//! let encoding = Encoding::learn(&schema, &frame)?;
//! assert_eq!(encoding.feature_names(), ["width", "width=(missing)", "colour=red"]);
//!
//! let x = encoding.apply(&frame)?.x; // [4, 3], gaps filled in
//! assert_eq!(encoding.invert(x.view()).column("colour"), frame.column("colour"));
//!
//! let labels = labels(&frame, "species", &[])?;
//! assert_eq!(labels.classes, ["iris", "rose"]);
//! assert_eq!(labels.y, [Some(0), Some(1), None, None]);
//! # Ok::<(), flowgmm_data::Error>(())
//! ```

pub mod encoding;
mod error;
mod frame;
mod image;
pub mod schema;

pub use encoding::{Encoded, Encoding, Feature, Imputation, ImputedValue, Likelihood, Role, Wave};
pub use error::{Error, wording};
pub use frame::{Cells, Column, Frame, TextCells, number_text, read_number, shows_infinity};
pub use image::{Image, ImageLayout};
pub use schema::{ColumnKind, Concern, Cycle, DeclaredKind, Labels, Schema, is_labelled, labels, labels_of};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
