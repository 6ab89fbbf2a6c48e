//! One of the user's columns as a block of dimensions, `[n, width]`, and back.

use std::borrow::Cow;

use ndarray::{ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use super::levels::LevelCode;
use super::unseen::UnseenCounts;
use super::{Feature, Role, Unseen, Wave};
use crate::schema::{ColumnKind, ColumnSchema, Cycle, DateFormat, Strays, snap};
use crate::{Cells, Error, Frame, Result, TextCells, number_text, shows_infinity};

/// A column's name and how its cells become numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnCode {
    pub name: String,
    pub code: Code,
}

/// How cells become numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Code {
    /// `[value]`, or `[value, missing]` if there were gaps in training; then 0 or 1 for each code.
    Number {
        grid: Option<f64>,
        step: Option<f64>,
        atom: Option<f64>,
        strays: Strays,
        gaps: bool,
        /// The values of training rows, ascending, if they may be codes.
        #[serde(default)]
        codes: Vec<f64>,
    },
    /// As a number; then sine and cosine of each cycle.
    Date {
        format: DateFormat,
        step: Option<f64>,
        strays: Strays,
        gaps: bool,
        #[serde(default)]
        cycles: Vec<Cycle>,
    },
    /// One dimension per level, or one for two.
    Levels(LevelCode),
    /// Nothing.
    Constant { value: String },
}

/// Where the value of a dimension comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Cell,
    Imputed,
}

/// What was unknown or imputed in a column.
#[derive(Default)]
pub(super) struct Unknowns {
    pub unseen: Vec<Unseen>,
    pub imputed: usize,
}

impl ColumnCode {
    /// The code of a column of this schema; `None` if it is not used.
    pub fn learn(schema: &ColumnSchema, frame: &Frame) -> Result<Option<Self>> {
        let name = schema.name.as_str();
        let code = match &schema.kind {
            ColumnKind::Numeric { facts, strays, codes } => {
                let (grid, step, atom, codes) = (facts.grid, facts.step, facts.atom(), codes.clone());
                Code::Number { grid, step, atom, strays: *strays, gaps: false, codes }
            }
            ColumnKind::Date { format, facts, strays, cycles } => {
                let (step, cycles) = (facts.step, cycles.clone());
                Code::Date { format: *format, step, strays: *strays, gaps: false, cycles }
            }
            ColumnKind::Boolean { no, yes } => LevelCode::boolean(no, yes, present(frame, name)).into(),
            ColumnKind::Categorical { levels, other } => {
                LevelCode::categorical(levels, other.as_ref(), present(frame, name)).into()
            }
            ColumnKind::Constant { value } => Code::Constant { value: value.clone() },
            ColumnKind::Text | ColumnKind::Identifier | ColumnKind::Empty | ColumnKind::Ignored => {
                return Ok(None);
            }
        };
        let mut column = Self { name: name.into(), code };
        let gaps_in_training = match column.code {
            Code::Number { .. } | Code::Date { .. } => column.any_gap(frame)?,
            _ => false,
        };
        if let Code::Number { gaps, .. } | Code::Date { gaps, .. } = &mut column.code {
            *gaps = gaps_in_training;
        }
        Ok(Some(column))
    }

    /// Number of dimensions.
    pub fn width(&self) -> usize {
        match &self.code {
            Code::Number { gaps, codes, .. } => 1 + usize::from(*gaps) + codes.len(),
            Code::Date { gaps, cycles, .. } => 1 + usize::from(*gaps) + 2 * cycles.len(),
            Code::Levels(levels) => levels.width(),
            Code::Constant { .. } => 0,
        }
    }

    /// Whether some dimensions follow from the value in the first.
    pub fn has_derived(&self) -> bool {
        match &self.code {
            Code::Number { codes, .. } => !codes.is_empty(),
            Code::Date { cycles, .. } => !cycles.is_empty(),
            Code::Levels(_) | Code::Constant { .. } => false,
        }
    }

    /// What each dimension is, `[width]`.
    pub fn features(&self) -> Vec<Feature> {
        let roles = match &self.code {
            Code::Number { step, gaps, codes, .. } => {
                let levels = codes.iter().map(|code| Role::Level { level: number_text(*code) });
                with_gaps(Role::Number { step: *step }, *gaps, levels)
            }
            Code::Date { step, gaps, cycles, .. } => {
                let waves = |&cycle| [Wave::Sin, Wave::Cos].map(|wave| Role::Cycle { cycle, wave });
                with_gaps(Role::Date { step: *step }, *gaps, cycles.iter().flat_map(waves))
            }
            Code::Levels(levels) => levels.roles(),
            Code::Constant { .. } => Vec::new(),
        };
        roles.into_iter().map(|role| Feature { column: self.name.clone(), role }).collect()
    }

    /// Writes the cells into x `[n, width]`, all 0 before; NaN where a number is missing. What follows from numbers is left
    /// at 0 for [`ColumnCode::derive`].
    pub fn apply(&self, frame: &Frame, mut x: ArrayViewMut2<f64>) -> Result<Unknowns> {
        let cells = frame.column(&self.name).expect("located before");
        match &self.code {
            Code::Number { gaps, .. } | Code::Date { gaps, .. } => {
                let mut imputed = 0;
                let mut unseen = UnseenCounts::default();
                for (row, mut x) in x.rows_mut().into_iter().enumerate() {
                    x[0] = self.value(frame, cells, row)?.unwrap_or(f64::NAN);
                    match (x[0].is_nan(), *gaps) {
                        (true, true) => x[1] = 1.,
                        (true, false) => imputed += 1,
                        (false, _) if self.is_unseen(x[0]) => unseen.add(number_text(x[0])),
                        (false, _) => {}
                    }
                }
                Ok(Unknowns { unseen: unseen.sorted(&self.name), imputed })
            }
            Code::Levels(levels) => Ok(levels.apply(&self.name, cells, x)),
            Code::Constant { .. } => Ok(Unknowns::default()),
        }
    }

    /// Writes what follows from the value x\[0\] into the rest of x `[width]`, all 0 before. An imputed number has the code
    /// nearest to it, unless there is a dimension that says that it is missing: with that, exactly one of them is 1.
    pub fn derive(&self, x: &mut [f64], origin: Origin) {
        let value = x[0];
        match &self.code {
            Code::Number { codes, gaps, .. } => {
                let code = match origin {
                    Origin::Cell => codes.iter().position(|&code| code == value),
                    Origin::Imputed if *gaps => None,
                    Origin::Imputed => nearest(codes, value),
                };
                code.into_iter().for_each(|code| x[1 + usize::from(*gaps) + code] = 1.);
            }
            Code::Date { format, cycles, gaps, .. } => {
                let (_, waves) = x.split_at_mut(1 + usize::from(*gaps));
                let t = format.local(value);
                for (wave, cycle) in waves.chunks_exact_mut(2).zip(cycles) {
                    wave.copy_from_slice(&cycle.point(t));
                }
            }
            Code::Levels(_) | Code::Constant { .. } => {}
        }
    }

    /// The cells of x `[n, width]`. Numbers and dates are those of the first dimension, whatever the dimensions that follow
    /// from it say: a code is the one nearest to the number, so it is always one of the training rows.
    pub fn invert(&self, x: ArrayView2<f64>) -> Cells {
        let value = |row: usize, gaps: bool| {
            Some(x[[row, 0]]).filter(|value| value.is_finite() && !(gaps && x[[row, 1]] > 0.5))
        };
        let rows = 0..x.nrows();
        match &self.code {
            Code::Number { grid, gaps, codes, .. } => {
                let number = |value: f64| match nearest(codes, value) {
                    Some(code) => codes[code],
                    None => snap(value, *grid),
                };
                Cells::Numbers(rows.map(|row| value(row, *gaps).map_or(f64::NAN, number)).collect())
            }
            Code::Date { format, gaps, .. } => {
                texts(rows.map(|row| value(row, *gaps).map(|days| format.write(days).into())))
            }
            Code::Levels(levels) => texts(x.rows().into_iter().map(|row| levels.invert(row).map(Cow::from))),
            Code::Constant { value } => texts(rows.map(|_| Some(value.as_str().into()))),
        }
    }

    /// Whether this number is not among the codes of training rows.
    fn is_unseen(&self, value: f64) -> bool {
        match &self.code {
            Code::Number { codes, .. } => !codes.is_empty() && !codes.contains(&value),
            _ => false,
        }
    }

    fn any_gap(&self, frame: &Frame) -> Result<bool> {
        let cells = frame.column(&self.name).expect("located before");
        for row in 0..frame.n() {
            if self.value(frame, cells, row)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of a cell, or `None` where it is missing.
    fn value(&self, frame: &Frame, cells: &Cells, row: usize) -> Result<Option<f64>> {
        let value = match &self.code {
            Code::Number { strays, .. } => match (cells.number(row), strays) {
                (Ok(value), _) => value,
                (Err(text), _) if shows_infinity(text) => {
                    return Err(Error::not_finite(frame, row, &self.name, text));
                }
                (Err(_), Strays::Missing) => None,
                (Err(text), Strays::Refused) => return Err(self.not_a_number(frame, row, text)),
            },
            Code::Date { format, strays, .. } => match cells.text(row) {
                None => None,
                Some(text) => match (format.read(&text), strays) {
                    (Some(days), _) => Some(days),
                    (None, Strays::Missing) => None,
                    (None, Strays::Refused) => return Err(self.not_a_date(frame, row, &text, format)),
                },
            },
            Code::Levels(_) | Code::Constant { .. } => None,
        };
        match value {
            Some(value) if value.abs() > f64::from(f32::MAX) => {
                let (name, line) = (frame.name().into(), frame.line(row));
                Err(Error::OutOfRange { name, line, column: self.name.clone(), value })
            }
            value => Ok(value),
        }
    }

    fn not_a_number(&self, frame: &Frame, row: usize, cell: &str) -> Error {
        let (name, line, column) = (frame.name().to_owned(), frame.line(row), self.name.clone());
        // "nan" reads as a number, but as none to compute with.
        if cell.trim().parse::<f64>().is_ok() {
            return Error::not_finite(frame, row, &self.name, cell);
        }
        let hint = "The column held numbers only when the model was trained: correct the cell, or empty it if the \
                    value is missing";
        Error::NotANumber { name, line, column, cell: cell.into(), hint }
    }

    fn not_a_date(&self, frame: &Frame, row: usize, cell: &str, format: &DateFormat) -> Error {
        let (name, line, column) = (frame.name().into(), frame.line(row), self.name.clone());
        Error::NotADate { name, line, column, cell: cell.into(), example: format.example() }
    }
}

impl From<LevelCode> for Code {
    /// One slot says nothing, so such a column is a constant.
    fn from(levels: LevelCode) -> Self {
        match levels.only() {
            Some(value) => Code::Constant { value: value.into() },
            None => Code::Levels(levels),
        }
    }
}

fn with_gaps(value: Role, gaps: bool, derived: impl Iterator<Item = Role>) -> Vec<Role> {
    [value].into_iter().chain(gaps.then_some(Role::Missing)).chain(derived).collect()
}

/// The position of the code nearest to a value, of two equally near ones the smaller; `None` if there are no codes.
fn nearest(codes: &[f64], value: f64) -> Option<usize> {
    let value = value.clamp(*codes.first()?, *codes.last()?); // beyond them, differences would be rounded
    let away = |at: &usize| (codes[*at] - value).abs();
    (0..codes.len()).min_by(|a, b| away(a).total_cmp(&away(b)))
}

fn present<'a>(frame: &'a Frame, name: &str) -> &'a Cells {
    frame.column(name).expect("located before")
}

fn texts<'a>(cells: impl Iterator<Item = Option<Cow<'a, str>>>) -> Cells {
    let mut texts = TextCells::default();
    cells.for_each(|cell| texts.push(cell.as_deref()));
    Cells::from_texts(texts)
}
