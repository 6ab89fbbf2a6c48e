//! Everything that can be wrong with a problem: what was found and where, what was expected, and what to do.

/// An error of this crate. Rows count from 1.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// No row has a label.
    #[error("{name} has no labels: label at least one row of every class (an empty cell means unlabelled)")]
    NoLabels {
        /// The file, or "the data".
        name: String,
    },

    /// All labels are of one class.
    #[error(
        "{name} has labels of one class only, '{class}': label at least one row of a second class (an empty cell \
         means unlabelled)"
    )]
    OneClass {
        /// The file, or "the data".
        name: String,
        /// The one class.
        class: String,
    },

    /// A class is declared but no row carries it.
    #[error("class '{class}' has no labelled row: label at least one, or leave the class out")]
    EmptyClass {
        /// The class.
        class: String,
    },

    /// There is nothing to learn from besides the label.
    #[error("{name} has no feature column: expected at least one column of numbers besides the label")]
    NoColumns {
        /// The file, or "the data".
        name: String,
    },

    /// Two sizes that should agree do not.
    #[error("{what}: found {found}, expected {expected}")]
    Size {
        /// What was counted.
        what: &'static str,
        /// The count.
        found: usize,
        /// What it should be.
        expected: usize,
    },

    /// A NaN or infinity in an array.
    #[error("row {row}, column '{column}': expected a finite number, found {value}")]
    NotFiniteValue {
        /// The row.
        row: usize,
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },

    /// A label that is not a class index.
    #[error(
        "row {row}: label {label} is out of range, expected less than {n_classes}, the number of classes"
    )]
    LabelOutOfRange {
        /// The row.
        row: usize,
        /// The label.
        label: usize,
        /// The number of classes.
        n_classes: usize,
    },

    /// The values cannot be centred and scaled in 64-bit floating point.
    #[error("cannot preprocess the data: {why}")]
    Unscalable {
        /// The reason and the remedy.
        why: String,
    },

    /// A stored preprocessing map contradicts itself.
    #[error(
        "the stored preprocessing is damaged: {why}. Train the model again or take another copy of its file"
    )]
    BadPreprocess {
        /// The contradiction.
        why: String,
    },

    /// No toy problem has this name.
    #[error("there is no toy problem '{0}': expected moons, circles, eight-gaussians or pinwheel")]
    UnknownToy(String),
}
