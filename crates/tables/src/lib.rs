//! Tables from files: CSV, TSV, JSON lines, Parquet, Arrow, NPY and NPZ in; CSV, TSV, Parquet, Arrow and JSON out.
//!
//! ```text
//! folder or pattern ─parts→ files, one after the other
//! path, "-" or stream ─Source→ bytes (unzipped if gzip) ─format: magic, then extension→ one reader per format
//!   delimited text ─records, cells straight from bytes─┐
//!   JSON lines ─objects, one at a time─────────────────┤
//!   Parquet ─checked footer and pages→ RecordBatch ────┤
//!   Arrow ─checked messages→ RecordBatch ──────────────┼→ flowgmm_data::Frame batches ─→ Reader (an iterator)
//!   NPY, NPZ ─checked header→ rows of elements ────────┤
//! Arrow record batches in memory ──────────────────────┘
//!
//! flowgmm_data::Frame batches ─Writer→ CSV, TSV, Parquet, Arrow, JSON, JSON Lines    ─batch_from_frame→ RecordBatch
//! ```
//!
//! Texts mean the same in every format: they are trimmed, a text that reads as a number is that number, and an
//! empty text or a [missing token](Options::missing) is a missing cell. So a model that learned from a CSV file
//! sees the same rows in a Parquet file. Memory is a few batches, except where a format allows nothing else; see
//! [`InputFormat`].
//!
//! ```
//! use flowgmm_tables::{Options, Source, open};
//!
//! let csv = "width;colour\n1.5;red\nNA;blue\n";
//! let mut reader = open(Source::stream("flowers", csv.as_bytes()), &Options::default())?;
//! let frame = reader.read_all()?;
//! assert_eq!(frame.column_names(), ["width", "colour"]);
//! assert_eq!(frame.column("width").unwrap().number(1), Ok(None));
//! # Ok::<(), flowgmm_tables::Error>(())
//! ```

mod column;
mod damage;
mod delimited;
mod error;
mod format;
mod ipc;
mod json;
mod memory;
mod missing;
mod npy;
mod npz;
mod number;
mod options;
mod parquet;
mod parts;
mod reader;
mod record_batch;
mod shared;
mod sniff;
mod source;
mod warning;
mod writer;

pub use damage::{is_decoding, survive};
pub use error::Error;
pub use format::{Delimiter, InputFormat, OutputFormat};
pub use memory::{batch_from_frame, frame_from_batch, open_batches};
pub use missing::MISSING_TOKENS;
pub use npz::{RawArray, RawValues, read_arrays};
pub use options::{Header, MOST_COLUMNS, Options};
pub use parts::parts;
pub use reader::{Reader, open};
pub use source::Source;
pub use warning::Warning;
pub use writer::{ColumnType, TextStyle, Writer};

/// The Arrow types that this crate takes and gives, in the version it was built with.
pub mod arrow {
    pub use arrow_array::{self as array, RecordBatch};
    pub use arrow_schema as schema;
}

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
