//! The encoding of a [`Frame`] as a matrix, and back: between the user's columns and a model's dimensions.
//!
//! ```text
//! Frame [n, columns] -apply-> x [n, dim] -invert-> Frame [n, columns]
//!
//! numeric      x                            + 1 dimension 0/1 if training rows had missing cells
//!                                           + 1 dimension 0/1 for each value, if they may be codes
//! date         days since 1970-01-01        + 1 dimension 0/1 if training rows had missing cells
//!                                           + sin and cos of the season, weekday and hour that vary
//! boolean      0 or 1                       3 one-hot dimensions if training rows had missing cells
//! categorical  one-hot, 1 dimension per level, with `(other)` and `(missing)` if there are such; of two: 0 or 1
//! constant     no dimension, written back
//! ```
//!
//! Numbers are not changed; scaling is part of preprocessing. A missing number is imputed from the other dimensions of its
//! row (see `impute`), with regressions learnt on training rows, so that the encoding of a row does not depend on its
//! batch. What follows from a number or date (its code, its cycles) takes no part in that: it is computed last, from the
//! imputed value where one is missing, and decoding ignores it. Columns are matched by name.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::wording::list;
use crate::schema::{Cycle, Schema};
use crate::{Column, Error, Frame, Result};

mod column;
mod impute;
mod levels;
mod likelihood;
mod ridge;
mod unseen;
mod validate;

pub use likelihood::Likelihood;
pub use unseen::Unseen;

use column::{ColumnCode, Origin};
use impute::Imputer;
pub use impute::{Imputation, ImputedValue};

/// The most dimensions that a frame is encoded as; those of a flow are limited to the same number.
pub const MOST_DIMENSIONS: usize = 1 << 16;

/// How a frame becomes a matrix and back. One read from a file must pass [`Encoding::validate`] before use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Encoding {
    columns: Vec<ColumnCode>, // in the user's order, constants included
    imputer: Imputer,
    features: Vec<Feature>, // [dim], what the columns say
}

/// The stored form, without the features, which follow from the columns.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    columns: Vec<ColumnCode>,
    imputer: Imputer,
}

/// One dimension of x.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The user's column it comes from.
    pub column: String,
    /// What it encodes of that column.
    pub role: Role,
}

/// What a dimension encodes of its column.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Its number, and the step of discrete numbers: uniform noise within ± step / 2 dequantises them.
    Number {
        /// The step, if it is coarse enough to matter.
        step: Option<f64>,
    },
    /// 1 if the column has this level, else 0.
    Level {
        /// The level.
        level: String,
    },
    /// 1 if the cell is missing and the number in the dimension before was imputed, else 0.
    Missing,
    /// Its days since 1970-01-01, and the step of discrete dates.
    Date {
        /// The step in days, if it is coarse enough to matter.
        step: Option<f64>,
    },
    /// Where the date is in a cycle of the calendar.
    Cycle {
        /// The cycle.
        cycle: Cycle,
        /// Which coordinate of the point on the circle.
        wave: Wave,
    },
}

/// A coordinate of a point on a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
}

/// Encoded rows, and what was unknown or imputed.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// The rows, finite, `[n, dim]`.
    pub x: Array2<f64>,
    /// Levels that are not in the training rows, column by column, the most frequent first.
    pub unseen: Vec<Unseen>,
    /// Number of cells that were imputed in columns that were complete in training.
    pub imputed: usize,
}

impl Encoding {
    /// Learns from training rows which columns have missing cells and how to impute them; the schema gives the kinds of
    /// columns.
    pub fn learn(schema: &Schema, frame: &Frame) -> Result<Self> {
        schema.validate()?;
        if frame.n() == 0 {
            return Err(Error::NoRows { name: frame.name().into() });
        }
        let used = schema.columns().iter().filter(|column| column.kind.is_encoded());
        locate(frame, used.map(|column| column.name.as_str()))?;
        let learnt = schema.columns().iter().map(|column| ColumnCode::learn(column, frame));
        let columns: Vec<ColumnCode> = learnt.filter_map(Result::transpose).collect::<Result<_>>()?;
        let features: Vec<Feature> = columns.iter().flat_map(ColumnCode::features).collect();
        if features.is_empty() {
            return Err(nothing(schema, frame));
        }
        if features.len() > MOST_DIMENSIONS {
            let (name, found) = (frame.name().into(), features.len());
            return Err(Error::TooManyDimensions { name, found, limit: MOST_DIMENSIONS });
        }
        let encoding = Self { columns, imputer: Imputer::default(), features };
        let raw = encoding.raw(frame)?;
        let imputer = Imputer::learn(raw.x.view(), &encoding.value_dims(), schema);
        Ok(Self { imputer, ..encoding })
    }

    /// Encodes the rows of a frame. Its columns may be in any order, and there may be others.
    pub fn apply(&self, frame: &Frame) -> Result<Encoded> {
        let mut encoded = self.raw(frame)?;
        let rows = encoded.x.as_slice_mut().expect("a new array is in standard layout");
        let derived: Vec<(&ColumnCode, usize)> =
            self.blocks().filter(|(code, _)| code.has_derived()).collect();
        rows.par_chunks_mut(self.dim()).for_each(|row| {
            let origin = |at: usize| if row[at].is_nan() { Origin::Imputed } else { Origin::Cell };
            let origins: Vec<Origin> = derived.iter().map(|&(_, at)| origin(at)).collect();
            self.imputer.fill(row);
            for (&(code, at), origin) in derived.iter().zip(origins) {
                code.derive(&mut row[at..at + code.width()], origin);
            }
        });
        Ok(encoded)
    }

    /// Decodes rows x `[n, dim]` to the user's columns, order and units; columns that were not used are left out.
    ///
    /// Levels are those of the largest dimension, numbers on a grid are rounded to it and codes to the nearest of training
    /// rows, and a cell is missing where its missing dimension is above a half.
    ///
    /// # Panics
    /// If the number of columns of x is not `dim`.
    pub fn invert(&self, x: ArrayView2<f64>) -> Frame {
        assert_eq!(x.ncols(), self.dim(), "dimensions to invert");
        let decoded = self.blocks().map(|(code, at)| {
            let block = x.slice_axis(Axis(1), (at..at + code.width()).into());
            Column { name: code.name.clone(), cells: code.invert(block) }
        });
        let lines = (1..=x.nrows() as u64).collect();
        Frame::new("decoded rows", decoded.collect(), lines).expect("validated names, one cell per row")
    }

    /// What each dimension of x is, `[dim]`.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// How missing numbers are imputed.
    pub fn imputation(&self) -> Imputation<'_> {
        self.imputer.parts()
    }

    /// A name for each dimension of x: `age`, `city=Rome`, `age=(missing)`, `when (season sin)`.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.iter().map(Feature::name).collect()
    }

    /// The step of each discrete dimension, `[dim]`; `None` for continuous ones, and for levels.
    pub fn steps(&self) -> Vec<Option<f64>> {
        self.features.iter().map(Feature::step).collect()
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.features.len()
    }

    /// Number of the user's columns that become dimensions.
    pub fn n_columns(&self) -> usize {
        self.column_names().count()
    }

    /// The user's columns that become dimensions: those a frame must have.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|code| code.width() > 0).map(|code| code.name.as_str())
    }

    /// The rows with NaN where a number is missing, and 0 where something follows from a number.
    fn raw(&self, frame: &Frame) -> Result<Encoded> {
        locate(frame, self.column_names())?;
        let mut encoded =
            Encoded { x: Array2::zeros((frame.n(), self.dim())), unseen: Vec::new(), imputed: 0 };
        for (code, at) in self.blocks().filter(|(code, _)| code.width() > 0) {
            let block = encoded.x.slice_axis_mut(Axis(1), (at..at + code.width()).into());
            let unknown = code.apply(frame, block)?;
            encoded.imputed += unknown.imputed;
            encoded.unseen.extend(unknown.unseen);
        }
        Ok(encoded)
    }

    /// Each column with its first dimension.
    fn blocks(&self) -> impl Iterator<Item = (&ColumnCode, usize)> {
        self.columns.iter().scan(0, |next, code| {
            let at = *next;
            *next += code.width();
            Some((code, at))
        })
    }

    /// The dimensions that hold numbers or dates, with their columns.
    fn value_dims(&self) -> Vec<(usize, &str)> {
        let is_value = |role: &Role| matches!(role, Role::Number { .. } | Role::Date { .. });
        let values = self.features.iter().enumerate().filter(|(_, feature)| is_value(&feature.role));
        values.map(|(dim, feature)| (dim, feature.column.as_str())).collect()
    }
}

impl Feature {
    /// `age`, `city=Rome`, `age=(missing)` or `when (season sin)`.
    pub fn name(&self) -> String {
        match &self.role {
            Role::Number { .. } | Role::Date { .. } => self.column.clone(),
            Role::Level { level } => format!("{}={level}", self.column),
            Role::Missing => format!("{}={}", self.column, levels::MISSING),
            Role::Cycle { cycle, wave: Wave::Sin } => format!("{} ({} sin)", self.column, cycle.name()),
            Role::Cycle { cycle, wave: Wave::Cos } => format!("{} ({} cos)", self.column, cycle.name()),
        }
    }

    /// The step of a discrete number or date.
    pub fn step(&self) -> Option<f64> {
        match self.role {
            Role::Number { step } | Role::Date { step } => step,
            Role::Level { .. } | Role::Missing | Role::Cycle { .. } => None,
        }
    }
}

impl From<Stored> for Encoding {
    fn from(Stored { columns, imputer }: Stored) -> Self {
        let features = columns.iter().flat_map(ColumnCode::features).collect();
        Self { columns, imputer, features }
    }
}

impl From<Encoding> for Stored {
    fn from(Encoding { columns, imputer, .. }: Encoding) -> Self {
        Self { columns, imputer }
    }
}

/// Checks that the frame has all of these columns; the error lists those it lacks.
fn locate<'a>(frame: &Frame, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let missing: Vec<String> = names.filter(|name| frame.column(name).is_none()).map(String::from).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::missing_columns(frame.name(), missing, &frame.column_names()))
}

fn nothing(schema: &Schema, frame: &Frame) -> Error {
    let kinds: Vec<String> =
        schema.columns().iter().map(|column| format!("{} ({})", column.name, column.kind.name())).collect();
    let why = format!("found {}. Declare one of them numeric, categorical or a date to use it", list(&kinds));
    Error::NothingToEncode { name: frame.name().into(), why }
}
