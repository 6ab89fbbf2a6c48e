//! Everything that can be wrong with a table or with images: what was found and where, what was expected, and what to do.

pub mod wording;

use wording::{closest, count, list, present, visible};

use crate::Frame;

/// An error of this crate. Lines and columns count from 1, the header being line 1.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// What any classification problem may suffer from: no labels, labels of one class, no columns, sizes that differ.
    #[error(transparent)]
    Problem(#[from] semisup::Error),

    /// A header and nothing else.
    #[error("{name} has a header but no rows: add at least one line of values below it")]
    NoRows {
        /// The file.
        name: String,
    },

    /// Two columns of the same name.
    #[error("{name}, line 1: columns {first} and {second} are both named '{column}': rename one of them")]
    DuplicateColumn {
        /// The file.
        name: String,
        /// The repeated name.
        column: String,
        /// Position of the first.
        first: usize,
        /// Position of the second.
        second: usize,
    },

    /// A column without a name, as pandas writes for its index.
    #[error(
        "{name}, line 1: column {position} has no name. Name it, or remove it if it is only a row number (pandas: \
         to_csv(.., index=False))"
    )]
    UnnamedColumn {
        /// The file.
        name: String,
        /// Position of the column.
        position: usize,
    },

    /// Text where a number belongs.
    #[error("{name}, line {line}, column '{column}': expected a number, found '{cell}'. {hint}")]
    NotANumber {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The offending text.
        cell: String,
        /// What to do about it.
        hint: &'static str,
    },

    /// NaN, an infinity, or a number too large for 64-bit floating point.
    #[error(
        "{name}, line {line}, column '{column}': expected a finite number, found '{cell}'. Correct the cell, or name \
         its text as one that means a missing cell (--missing={cell})"
    )]
    NotFinite {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The offending text, its beginning if it is long.
        cell: String,
    },

    /// More columns than a model can be fitted to.
    #[error(
        "{name} becomes {found} numbers for each row, and a model is fitted to at most {limit}. Leave out columns that \
         do not tell the classes apart, or put a few principal components in their place"
    )]
    TooManyDimensions {
        /// The file.
        name: String,
        /// Numbers for each row, levels of categories counted one by one.
        found: usize,
        /// The most that there may be.
        limit: usize,
    },

    /// The label column is not in the header.
    #[error("{name} has no column '{label}' for the label. {hint}")]
    NoLabelColumn {
        /// The file.
        name: String,
        /// The column asked for.
        label: String,
        /// The closest name, or the columns there are.
        hint: String,
    },

    /// Columns that a model needs are not in the header.
    #[error("{name} lacks {} the model needs: {}. {hint}", count(missing.len(), "column"), list(missing))]
    MissingColumns {
        /// The file.
        name: String,
        /// The absent columns.
        missing: Vec<String>,
        /// The columns there are.
        hint: String,
    },

    /// A label that is not one of the model's classes.
    #[error(
        "{name}, line {line}, column '{column}': the model does not know the label '{cell}'. It knows {}",
        list(classes)
    )]
    UnknownLabel {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The label column.
        column: String,
        /// The label found.
        cell: String,
        /// The model's classes.
        classes: Vec<String>,
    },

    /// An image size or number of channels that no flow takes.
    #[error(
        "images of {layout} pixels are not supported: expected one or three channels, and sides of 1 to {longest} \
         pixels. Choose a smaller size"
    )]
    BadImageLayout {
        /// The size and colour.
        layout: String,
        /// The longest side.
        longest: usize,
    },

    /// A column that was asked for is not in the header.
    #[error("{name} has no column '{column}'. {hint}")]
    UnknownColumn {
        /// The file.
        name: String,
        /// The column asked for.
        column: String,
        /// The closest name, or the columns there are.
        hint: String,
    },

    /// A column cannot be what the user declared it to be.
    #[error("{name}, column '{column}': {why}")]
    BadOverride {
        /// The file.
        name: String,
        /// The column.
        column: String,
        /// What was found, and the remedy.
        why: String,
    },

    /// Text where a date belongs.
    #[error("{name}, line {line}, column '{column}': expected a date like {example}, found '{cell}'")]
    NotADate {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The offending text.
        cell: String,
        /// A date in the column's format.
        example: String,
    },

    /// A number too large for the 32-bit floating point the models compute in.
    #[error(
        "{name}, line {line}, column '{column}': expected a number between -3.4e38 and 3.4e38, found {value:e}. \
         Rescale the column, or leave it out"
    )]
    OutOfRange {
        /// The file.
        name: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },

    /// No column can be encoded.
    #[error("{name} has no column to learn from: {why}")]
    NothingToEncode {
        /// The file.
        name: String,
        /// What each column is, and the remedy.
        why: String,
    },

    /// A stored schema contradicts itself.
    #[error("the stored schema is damaged: {why}. Train the model again or take another copy of its file")]
    BadSchema {
        /// The contradiction.
        why: String,
    },

    /// A stored encoding contradicts itself.
    #[error("the stored encoding is damaged: {why}. Train the model again or take another copy of its file")]
    BadEncoding {
        /// The contradiction.
        why: String,
    },
}

impl Error {
    pub(crate) fn not_finite(frame: &Frame, row: usize, column: &str, cell: &str) -> Self {
        let (name, line) = (frame.name().into(), frame.line(row));
        Error::NotFinite { name, line, column: column.into(), cell: cell.chars().take(40).collect() }
    }

    pub(crate) fn no_label_column(name: &str, label: &str, columns: &[String]) -> Self {
        Error::NoLabelColumn { name: name.into(), label: visible(label), hint: nearest(label, columns) }
    }

    pub(crate) fn unknown_column(name: &str, column: &str, columns: &[String]) -> Self {
        Error::UnknownColumn { name: name.into(), column: visible(column), hint: nearest(column, columns) }
    }

    pub(crate) fn missing_columns(name: &str, missing: Vec<String>, columns: &[String]) -> Self {
        Error::MissingColumns { name: name.into(), missing, hint: present(columns) }
    }
}

/// The likely intended name, and the columns there are.
fn nearest(wanted: &str, columns: &[String]) -> String {
    match closest(wanted, columns) {
        Some(column) => format!("Did you mean '{}'? {}", visible(column), present(columns)),
        None => present(columns),
    }
}
