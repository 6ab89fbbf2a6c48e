//! Errors of reading and writing tables: what was found, where, and what to do about it.

use std::io;

use flowgmm_data::wording::list;

use crate::MOST_COLUMNS;

/// An error of this crate. Lines, rows and columns count from 1.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Problems of any table, whatever its format: missing or duplicate columns, no rows.
    #[error(transparent)]
    Table(#[from] flowgmm_data::Error),

    /// The file could not be opened or read.
    #[error("cannot read {name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },

    /// A pattern of file names that names none, or is no pattern.
    #[error("no files match {name}: {why}")]
    Pattern {
        /// The pattern.
        name: String,
        /// What is wrong.
        why: String,
    },

    /// A folder that is no table.
    #[error(
        "{name} is a folder, and no table: {why}. The folder of a table in several files holds these files alone (CSV, TSV, \
         JSONL, Parquet, Arrow or NPY), or name them by a pattern such as '{name}/*.csv'"
    )]
    Folder {
        /// The folder.
        name: String,
        /// What is in it.
        why: String,
    },

    /// Files of one table with different columns.
    #[error("{has} has a column '{column}' that {lacks} lacks: the files of one table need the same columns")]
    UnlikeParts {
        /// The column.
        column: String,
        /// The file that has it.
        has: String,
        /// The file that does not.
        lacks: String,
    },

    /// An empty text file.
    #[error("{name} is empty: expected a header line with column names, then one row per line")]
    EmptyFile {
        /// The file.
        name: String,
    },

    /// A line that is not UTF-8 text.
    #[error(
        "{name}, line {line}: not UTF-8 text. Save the file as plain CSV in UTF-8 (it may be a spreadsheet, a \
         compressed file, or in another encoding)"
    )]
    NotUtf8 {
        /// The file.
        name: String,
        /// The line.
        line: u64,
    },

    /// A row of delimited text with too few or too many cells.
    #[error(
        "{name}, line {line}: found {found} columns, expected {expected} as in the {like}. Look for a missing or \
         extra {separator}, or a quote that is not closed"
    )]
    RaggedRow {
        /// The file.
        name: String,
        /// The line where the row starts.
        line: u64,
        /// Cells in the row.
        found: usize,
        /// Cells in the header or in the first row.
        expected: usize,
        /// "header" or "first row".
        like: &'static str,
        /// What separates the cells.
        separator: &'static str,
    },

    /// A table with more columns than are read.
    #[error(
        "{name} has {found} columns, and at most {MOST_COLUMNS} are read. Transpose it if its rows and columns are \
         swapped; otherwise leave columns out, or put a few principal components in their place"
    )]
    TooManyColumns {
        /// The file.
        name: String,
        /// The number of columns, as far as they were counted.
        found: u64,
    },

    /// Numbers where names of columns belong, and not usable as names.
    #[error(
        "{name}, line {line}: expected names of columns, found the numbers {found}. The file seems to have no \
         header: add a line with a name for every column, or say that there is none (the columns are then c1, c2, ..)"
    )]
    NoHeader {
        /// The file.
        name: String,
        /// The line of the would-be header.
        line: u64,
        /// Its first cells.
        found: String,
    },

    /// A file that is cut off, altered, or not what it seems to be.
    #[error(
        "{name} cannot be read as {format}: {why}. It may be cut off or damaged: take another copy of it"
    )]
    Damaged {
        /// The file.
        name: String,
        /// What it should be.
        format: &'static str,
        /// What is wrong with it.
        why: String,
    },

    /// A file format that is not supported.
    #[error("{name} is {what}, which is not read: {remedy}")]
    Foreign {
        /// The file.
        name: String,
        /// What it is.
        what: &'static str,
        /// How to get a table that is read.
        remedy: &'static str,
    },

    /// A column or array of an unsupported type.
    #[error("{name}, column '{column}': values of type {found} are not read. {remedy}")]
    Unsupported {
        /// The file.
        name: String,
        /// The column or the array.
        column: String,
        /// Its type.
        found: String,
        /// How to make it readable.
        remedy: &'static str,
    },

    /// Lists of one column that differ in length.
    #[error(
        "{name}, row {row}, column '{column}': found a list of {found} numbers, expected {expected} as in the rows \
         before. Only lists of one length can be features: pad or cut them, or leave the column out"
    )]
    ListLength {
        /// The file.
        name: String,
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// Length of the list.
        found: usize,
        /// Length of the lists before.
        expected: usize,
    },

    /// An empty file of JSON lines.
    #[error("{name} is empty: expected one JSON object per line")]
    NoObjects {
        /// The file.
        name: String,
    },

    /// A line of JSON lines that is not a JSON object.
    #[error(
        "{name}, line {line}, character {character}: {why}. Every line must be one JSON object, such as \
         {{\"width\": 1.5, \"colour\": \"red\"}}: correct the line, or remove it"
    )]
    NotAnObject {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The character of the line where that shows.
        character: usize,
        /// What is wrong.
        why: String,
    },

    /// A nested value in JSON lines, which cannot be a cell.
    #[error(
        "{name}, line {line}, key '{key}': found {found}, expected a number, a text, true, false or null. Give its \
         parts keys of their own, or remove the key"
    )]
    Nested {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The key.
        key: String,
        /// "a list" or "an object".
        found: &'static str,
    },

    /// Rows of JSON lines that have hardly a key in common.
    #[error(
        "{name}: the first {rows} rows have {columns} different keys, and hardly one in common. Keys are columns: give all \
         rows the same keys, and write what differs from row to row as values"
    )]
    SparseKeys {
        /// The file.
        name: String,
        /// Rows that were looked at.
        rows: usize,
        /// Their different keys.
        columns: usize,
    },

    /// A column that must not be left out and appears in JSON lines too late to be one.
    #[error(
        "{name}, line {line}: the key '{key}' appears here for the first time, but columns are decided by the first \
         rows. Put a row that has it at the top, or write \"{key}\": null there"
    )]
    LateKey {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The key.
        key: String,
    },

    /// Arrays of an NPZ file that cannot be the columns of one table.
    #[error("{name}: {why}. The arrays are {arrays}. {remedy}")]
    Arrays {
        /// The file.
        name: String,
        /// Why they do not make a table.
        why: String,
        /// Their names and shapes.
        arrays: String,
        /// Which of them would.
        remedy: String,
    },

    /// A stream that has to be held in memory and is too long for that.
    #[error(
        "{name}: {format} from a stream is held in memory, and this one is longer than {limit} bytes: save it to \
             a file and read that"
    )]
    StreamTooLong {
        /// The stream.
        name: String,
        /// The format that needs it.
        format: &'static str,
        /// How much is held at most.
        limit: u64,
    },

    /// A table with columns but no rows.
    #[error("{name} has columns but no rows: at least one row is needed")]
    NoRows {
        /// The file.
        name: String,
    },

    /// A name of an output file that does not say its format, or says one that is not written.
    #[error(
        "{name}: do not know how to write '{ending}'. Name the file .csv, .tsv, .parquet, .arrow, .feather, .jsonl \
         or .json"
    )]
    UnknownOutput {
        /// The file.
        name: String,
        /// The end of its name.
        ending: String,
    },

    /// The output could not be written.
    #[error("cannot write {name}: {source}")]
    Write {
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether the machine failed (file not found, disk full) rather than the content of the data.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Write { .. } | Self::Pattern { .. })
    }

    /// A failed read: damaged content if a decoder says so, else the machine's fault.
    pub(crate) fn reading(name: &str, format: &'static str, error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let name = name.to_string();
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof => Self::Damaged { name, format, why: reason(&error) },
            _ => Self::Io { name, source: error },
        }
    }

    /// An error if there are more columns than are read.
    pub(crate) fn check_columns(name: &str, found: u64) -> crate::Result<()> {
        match found > MOST_COLUMNS {
            true => Err(Self::TooManyColumns { name: name.into(), found }),
            false => Ok(()),
        }
    }

    pub(crate) fn damaged(name: &str, format: &'static str, why: impl ToString) -> Self {
        Self::Damaged { name: name.into(), format, why: why.to_string() }
    }

    pub(crate) fn missing_columns(name: &str, missing: Vec<String>, columns: &[String]) -> Self {
        let hint = format!("The columns are {}", list(columns));
        flowgmm_data::Error::MissingColumns { name: name.into(), missing, hint }.into()
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends too early".into(),
        _ => error.to_string(),
    }
}
