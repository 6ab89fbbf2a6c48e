//! How a table is read.

use crate::{InputFormat, missing::MISSING_TOKENS};

/// How a table is read; the default suits a headed file of any format.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The format; `None` finds out from the first bytes, then from the name.
    pub format: Option<InputFormat>,
    /// Whether delimited text starts with the names of its columns.
    pub header: Header,
    /// The texts that mean a missing cell, in any mix of capitals; [`MISSING_TOKENS`] by default. An empty cell
    /// always is one. A token that is a number, such as `-999`, means that number however it is written.
    pub missing: Vec<String>,
    /// The columns (the label, say) in which only an empty cell is missing and texts are kept as they are written: there
    /// `none` and `-` are texts, and so are `01` and `1.0`.
    pub literal: Vec<String>,
    /// The columns to read, in this order, all of which must be there; `None` reads all. Columns of lists may be
    /// asked for by their name or by the names of their elements.
    pub columns: Option<Vec<String>>,
    /// Reads only those arrays of an NPZ file whose names end so (`_train`), and drops this end from the names.
    pub suffix: Option<String>,
    /// Rows of a batch, at least one; wide tables come in smaller ones (64 MiB of numbers).
    pub batch_rows: usize,
}

/// The first row of delimited text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It names the columns.
    #[default]
    Present,
    /// It is data; the columns are called `c1`, `c2`, ...
    Absent,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            header: Header::Present,
            missing: MISSING_TOKENS.map(String::from).to_vec(),
            literal: Vec::new(),
            columns: None,
            suffix: None,
            batch_rows: 8192,
        }
    }
}

/// The most columns of a table that are read. A model has to hold several numbers for each of them, and a table with more
/// columns is usually one whose rows and columns are swapped.
pub const MOST_COLUMNS: u64 = 1 << 16;

/// Numbers in memory at a time, whatever the shape of the table.
const BATCH_CELLS: usize = 1 << 23;

impl Options {
    /// Rows of a batch of `width` columns.
    pub(crate) fn rows(&self, width: usize) -> usize {
        self.batch_rows.min(BATCH_CELLS / width.max(1)).max(1)
    }
}
