//! Warnings about how a file was read.

use std::fmt;

/// Something the user should know; it does not stop the table from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The header looks like a row of data.
    ProbablyNoHeader {
        /// The file.
        name: String,
        /// The line taken as header.
        line: u64,
        /// The first cells of it.
        found: String,
    },
    /// The index that pandas stores with a frame was left out.
    PandasIndex {
        /// The file.
        name: String,
        /// The column.
        column: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::ProbablyNoHeader { name, line, found } => write!(
                f,
                "{name}, line {line}: the names of the columns look like values ({found}). If the file has no \
                 header, say so; its first row is not read as data now"
            ),
            Self::PandasIndex { name, column } => write!(
                f,
                "{name}: left out the column '{column}', the row index of pandas (to_parquet(.., index=False) does \
                 not write it)"
            ),
        }
    }
}
