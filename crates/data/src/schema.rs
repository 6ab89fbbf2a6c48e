//! What the columns of a [`Frame`] mean: inferred from their cells, with the reason, unless the user declares it.
//!
//! ```text
//! Frame [n rows, columns] -Schema::infer-> one ColumnSchema per column but the label
//! ```
//!
//! | kind | cells | becomes |
//! |---|---|---|
//! | numeric | numbers | one dimension; few small whole numbers, which may be codes, also one for each value |
//! | boolean | yes/no, true/false, y/n, t/f | one dimension, 0 or 1 |
//! | categorical | few distinct texts | one dimension per level |
//! | date | dates or times of one format | days since 1970-01-01, and a point on a circle for the season, weekday and hour |
//! | text | sentences or names, nearly all distinct | nothing: needs a text encoder |
//! | constant | one value | nothing, but is written back |
//! | identifier | numbers or names the rows | nothing, with a warning |
//! | empty | all missing | nothing, with a warning |
//! | ignored | excluded by the user | nothing |
//!
//! A model could memorise rows by an identifier instead of learning from them. A column that leaks the label is kept, with
//! a warning: only the user knows whether it will be available at prediction time.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Error, Frame, Result};

mod codes;
mod date;
mod grid;
mod identifier;
mod infer;
mod labels;
mod leak;
mod levels;
mod numbers;
mod snap;
mod summary;
mod validate;

pub(crate) use codes::are_codes;
pub(crate) use date::are_cycles;
pub use date::{Cycle, DateFormat};
pub use labels::{Labels, is_labelled, labels, labels_of};
pub use numbers::NumberFacts;
pub(crate) use numbers::median;
pub(crate) use snap::snap;
pub use summary::ColumnSummary;

use leak::Target;

/// The kind of every column but the label. One read from a file must pass [`Schema::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    n: usize,
    label: Option<String>,
    columns: Vec<ColumnSchema>,
}

/// The kind of one column, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSchema {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ColumnKind,
    /// The share of its cells that is missing.
    pub missing: f64,
    /// Why it was inferred to be of this kind.
    pub reason: String,
    /// What the user should know about it.
    pub warnings: Vec<Warning>,
}

/// The kind of a column: inferred from its cells, or declared by the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ColumnKind {
    /// Quantities, or codes written as numbers.
    Numeric {
        /// What is known of their distribution.
        facts: NumberFacts,
        /// How texts among them are treated.
        strays: Strays,
        /// Their values, ascending, if they may be codes: then the column is used as a number and as categories.
        #[serde(default)]
        codes: Vec<f64>,
    },
    /// One of two words, in any case of letters.
    Boolean {
        /// The word for 0, as mostly written.
        no: String,
        /// The word for 1, as mostly written.
        yes: String,
    },
    /// One of a few texts.
    Categorical {
        /// The texts, sorted, by value if all are numbers.
        levels: Vec<String>,
        /// What stands for all rarer texts, if there are too many to keep.
        other: Option<String>,
    },
    /// Days or times.
    Date {
        /// How they are written.
        format: DateFormat,
        /// What is known of them as days since 1970-01-01.
        facts: NumberFacts,
        /// How other texts among them are treated.
        strays: Strays,
        /// The cycles of the calendar that vary.
        #[serde(default)]
        cycles: Vec<Cycle>,
    },
    /// Free text.
    Text,
    /// The same in every row.
    Constant {
        /// That value.
        value: String,
    },
    /// A number or name of each row.
    Identifier,
    /// Every cell is missing.
    Empty,
    /// Excluded by the user.
    Ignored,
}

/// How a text in a column of numbers or dates is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strays {
    /// As an error.
    Refused,
    /// As a missing cell: the user declared the kind of a column that holds such texts.
    Missing,
}

/// A kind that the user may declare a column to be, instead of the one that would be inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclaredKind {
    /// Numbers, not codes; any text among them is a missing cell.
    Numeric,
    /// One of a few values, even if they are numbers.
    Categorical,
    /// Dates; any other text among them is a missing cell.
    Date,
    /// Free text.
    Text,
    /// Not to be used.
    Ignore,
}

/// Something about a column that the user should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// What it is about.
    pub concern: Concern,
    /// A sentence for people.
    pub message: String,
}

/// What a [`Warning`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// The column leaks the label.
    Leak,
    /// The column numbers or names the rows, or holds codes rather than quantities.
    Identifier,
    /// All or nearly all cells are missing.
    Missing,
    /// A column of numbers or dates has a few other texts in it.
    Strays,
    /// It is not certain which number is the day and which the month.
    AmbiguousDate,
    /// There are too many levels to keep them all.
    ManyLevels,
    /// A class has one labelled row only.
    RareClass,
}

impl Schema {
    /// Infers the kind of every column but `label`; `overrides` are the kinds that the user declares, by column name.
    pub fn infer(frame: &Frame, label: Option<&str>, overrides: &[(String, DeclaredKind)]) -> Result<Self> {
        if frame.n() == 0 {
            return Err(Error::NoRows { name: frame.name().into() });
        }
        let target = match label {
            Some(label) => Some(Target::of(frame, label)?),
            None => None,
        };
        check_overrides(frame, label, overrides)?;
        let declared: HashMap<&str, DeclaredKind> =
            overrides.iter().map(|(column, kind)| (column.as_str(), *kind)).collect();
        let features: Vec<_> =
            frame.columns().iter().filter(|column| Some(column.name.as_str()) != label).collect();
        if features.is_empty() {
            return Err(semisup::Error::NoColumns { name: frame.name().into() }.into());
        }
        // Collected before looking for an error, so that the first one does not depend on threads.
        let columns: Vec<Result<ColumnSchema>> = features
            .par_iter()
            .map(|column| {
                infer::column(frame, column, declared.get(column.name.as_str()).copied(), target.as_ref())
            })
            .collect();
        let columns = columns.into_iter().collect::<Result<_>>()?;
        Ok(Self { n: frame.n(), label: label.map(Into::into), columns })
    }

    /// Number of rows it was inferred from.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The label column, if there was one.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// All columns but the label, in the order of the frame.
    pub fn columns(&self) -> &[ColumnSchema] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&ColumnSchema> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// All warnings with the column each is about.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.columns.iter().flat_map(|column| column.warnings.iter().map(|w| (column.name.as_str(), w)))
    }
}

impl ColumnKind {
    /// The kind in one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Numeric { .. } => "numeric",
            Self::Boolean { .. } => "boolean",
            Self::Categorical { .. } => "categorical",
            Self::Date { .. } => "date",
            Self::Text => "text",
            Self::Constant { .. } => "constant",
            Self::Identifier => "identifier",
            Self::Empty => "empty",
            Self::Ignored => "ignored",
        }
    }

    /// Whether such a column becomes dimensions of x.
    pub fn is_encoded(&self) -> bool {
        matches!(
            self,
            Self::Numeric { .. } | Self::Boolean { .. } | Self::Categorical { .. } | Self::Date { .. }
        )
    }
}

impl Warning {
    fn new(concern: Concern, message: impl Into<String>) -> Self {
        Self { concern, message: message.into() }
    }
}

fn check_overrides(frame: &Frame, label: Option<&str>, overrides: &[(String, DeclaredKind)]) -> Result<()> {
    let bad = |column: &str, why: &str| {
        Err(Error::BadOverride { name: frame.name().into(), column: column.into(), why: why.into() })
    };
    let mut declared: HashMap<&str, DeclaredKind> = HashMap::new();
    for (column, kind) in overrides {
        if frame.column(column).is_none() {
            return Err(Error::unknown_column(frame.name(), column, &frame.column_names()));
        }
        if Some(column.as_str()) == label {
            return bad(column, "it is the label, so it cannot also be declared a feature");
        }
        if declared.insert(column, *kind).is_some_and(|said| said != *kind) {
            return bad(column, "it is declared to be of two kinds: keep one of them");
        }
    }
    Ok(())
}
