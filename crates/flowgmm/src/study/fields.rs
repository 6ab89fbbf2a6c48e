//! One number for each row: places on the latent map, what the model says, and the user's own columns.

use std::str::FromStr;

use flowgmm_data::Cells;
use serde::Serialize;

use super::Study;
use crate::{Error, Model, Result};

/// Distinct texts of a column that are listed and numbered, at most.
const LEVELS: usize = 10_000;

/// What there is of every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The first coordinate on the latent map.
    X,
    /// The second.
    Y,
    /// The predicted class, from 0.
    Class,
    /// The label; NaN where there is none.
    Label,
    /// The probability of the predicted class.
    Certainty,
    /// log p(x).
    LogP,
    /// How typical the row is: a p-value.
    Typicality,
    /// Latent distance to the decision boundary.
    Boundary,
}

impl Field {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::X,
        Self::Y,
        Self::Class,
        Self::Label,
        Self::Certainty,
        Self::LogP,
        Self::Typicality,
        Self::Boundary,
    ];

    /// The name that [`FromStr`] understands.
    pub fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Class => "class",
            Self::Label => "label",
            Self::Certainty => "certainty",
            Self::LogP => "log_p",
            Self::Typicality => "typicality",
            Self::Boundary => "boundary",
        }
    }
}

impl FromStr for Field {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Request(format!("there is no field '{name}' of rows; there are {known}"))
        })
    }
}

/// What a column of the user's is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// `numeric` or `categorical`.
    pub kind: &'static str,
    /// The least number.
    pub min: Option<f64>,
    /// The greatest number.
    pub max: Option<f64>,
    /// The texts, sorted; their places are the numbers of [`Study::column`].
    pub categories: Option<Vec<String>>,
}

impl Study {
    /// A field of all rows, `[n]`.
    pub fn field(&self, model: &Model, field: Field) -> Vec<f32> {
        let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect();
        let along = |axis: usize| {
            self.predictions.z.dot(&self.plane.column(axis)).iter().map(|v| *v as f32).collect()
        };
        match field {
            Field::X => along(0),
            Field::Y => along(1),
            Field::Class => self.predicted.iter().map(|k| *k as f32).collect(),
            Field::Label => self.y.iter().map(|y| y.map_or(f32::NAN, |k| k as f32)).collect(),
            Field::Certainty => {
                let rows = self.predictions.log_probs.rows().into_iter().zip(&self.predicted);
                rows.map(|(row, k)| row[*k].exp() as f32).collect()
            }
            Field::LogP => single(&self.predictions.log_marginal),
            Field::Typicality => single(&self.typicality),
            Field::Boundary => single(self.boundary(model)),
        }
    }

    /// The shares of the latent points' variance that the two coordinates of the map show.
    pub fn explained(&self) -> [f64; 2] {
        let total: f64 = super::some(&self.predictions, 20_000).var_axis(ndarray::Axis(0), 0.0).sum();
        let along = super::some(&self.predictions, 20_000).dot(&self.plane).var_axis(ndarray::Axis(0), 0.0);
        [0, 1].map(|axis| if total > 0.0 { (along[axis] / total).min(1.0) } else { 0.0 })
    }

    /// The names of the user's columns, without that of the labels.
    pub fn columns(&self) -> Vec<String> {
        let names = self.frame.as_ref().map(|frame| frame.column_names()).unwrap_or_default();
        names.into_iter().filter(|name| Some(name) != self.label.as_ref()).collect()
    }

    /// A column of the user's as numbers, `[n]`: categories by their place in [`ColumnFacts::categories`], NaN where a cell is
    /// missing.
    pub fn column(&self, name: &str) -> Result<Vec<f32>> {
        let cells = self.cells(name)?;
        Ok(match cells {
            Cells::Numbers(values) => values.iter().map(|v| *v as f32).collect(),
            Cells::Texts(texts) => {
                let facts = self.column_facts().iter().find(|facts| facts.name == name);
                let levels = facts.and_then(|facts| facts.categories.as_deref()).unwrap_or_default();
                let code = |text: &str| levels.binary_search_by(|level| level.as_str().cmp(text)).ok();
                texts.iter().map(|text| text.and_then(code).map_or(f32::NAN, |at| at as f32)).collect()
            }
        })
    }

    /// What the user's columns are.
    pub fn column_facts(&self) -> &[ColumnFacts] {
        let find = || self.columns().into_iter().filter_map(|name| self.facts(name).ok()).collect();
        self.facts.get_or_init(find)
    }

    fn facts(&self, name: String) -> Result<ColumnFacts> {
        let cells = self.cells(&name)?;
        Ok(match cells {
            Cells::Numbers(values) => {
                let of =
                    |pick: fn(f64, f64) -> f64| values.iter().copied().filter(|v| v.is_finite()).reduce(pick);
                ColumnFacts { kind: "numeric", min: of(f64::min), max: of(f64::max), categories: None, name }
            }
            Cells::Texts(_) => ColumnFacts {
                kind: "categorical",
                min: None,
                max: None,
                categories: Some(levels(cells)),
                name,
            },
        })
    }

    fn cells(&self, name: &str) -> Result<&Cells> {
        let found = self.frame.as_ref().filter(|_| Some(name) != self.label.as_deref());
        found.and_then(|frame| frame.column(name)).ok_or_else(|| {
            let known = crate::names(&self.columns());
            Error::Request(format!("the rows have no column '{name}'. They have {known}"))
        })
    }
}

/// The distinct texts, sorted; the first of very many.
fn levels(cells: &Cells) -> Vec<String> {
    let Cells::Texts(texts) = cells else { return Vec::new() };
    let mut levels: Vec<&str> = texts.iter().flatten().collect();
    levels.sort_unstable();
    levels.dedup();
    levels.truncate(LEVELS);
    levels.into_iter().map(String::from).collect()
}
