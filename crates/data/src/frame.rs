//! A table in memory as it came from a file: named columns of numbers or texts, any cell of which may be missing.
//!
//! Readers of every file format produce batches of frames; a schema says what the columns mean. A cell that reads as a
//! number *is* that number: `3.0`, `3` and `03` are one value, in numeric columns as in categories, so that most columns
//! are stored as numbers. A reader may keep a column verbatim instead, as [`Cells::Texts`]: the names of classes are then
//! those of the file.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Rows of named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    name: String,
    columns: Vec<Column>,
    lines: Vec<u64>,                    // [n]
    positions: BTreeMap<String, usize>, // of the columns, by name
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Finite numbers; NaN where a cell is missing.
    Numbers(Vec<f64>),
    /// Texts: a column in which at least one cell is not a number, or one that the reader kept verbatim.
    Texts(TextCells),
}

/// The cells of a column of texts, stored one after the other in one buffer. A missing cell is not an empty text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextCells {
    buffer: String,
    ends: Vec<usize>,   // [n]
    missing: Vec<bool>, // [n]
}

impl TextCells {
    /// Adds a cell.
    pub fn push(&mut self, cell: Option<&str>) {
        self.buffer.push_str(cell.unwrap_or_default());
        self.ends.push(self.buffer.len());
        self.missing.push(cell.is_none());
    }

    /// The cell of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        (!self.missing[row]).then(|| &self.buffer[start..self.ends[row]])
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl<'a> FromIterator<Option<&'a str>> for TextCells {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(cells: I) -> Self {
        let mut texts = Self::default();
        cells.into_iter().for_each(|cell| texts.push(cell));
        texts
    }
}

impl Cells {
    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell of a row as text, a stored number in its shortest form; `None` where missing.
    pub fn text(&self, row: usize) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Numbers(values) => (!values[row].is_nan()).then(|| number_text(values[row]).into()),
            Self::Texts(texts) => texts.get(row).map(Into::into),
        }
    }

    /// The cell of a row as a number; `Ok(None)` where missing, the text as an error where it is not a number.
    pub fn number(&self, row: usize) -> std::result::Result<Option<f64>, &str> {
        match self {
            Self::Numbers(values) => Ok(Some(values[row]).filter(|value| !value.is_nan())),
            Self::Texts(texts) => match texts.get(row) {
                None => Ok(None),
                Some(text) => read_number(text).map(Some).ok_or(text),
            },
        }
    }

    /// Numbers if every cell is one or missing, else texts with numbers in their shortest form.
    pub fn from_texts(texts: TextCells) -> Self {
        let numbers: Option<Vec<f64>> =
            texts.iter().map(|cell| cell.map_or(Some(f64::NAN), read_number)).collect();
        match numbers {
            Some(numbers) => Self::Numbers(numbers),
            None => {
                let canonical = texts.iter().map(|cell| cell.map(canonical));
                let mut out = TextCells::default();
                canonical.for_each(|cell| out.push(cell.as_deref()));
                Self::Texts(out)
            }
        }
    }

    /// Appends the cells of the next batch of the column.
    pub fn append(&mut self, other: Cells) {
        match (&mut *self, other) {
            (Self::Numbers(values), Self::Numbers(more)) => values.extend(more),
            (Self::Texts(texts), more) => {
                (0..more.len()).for_each(|row| texts.push(more.text(row).as_deref()));
            }
            (_, other) => {
                let mut texts = TextCells::default();
                for cells in [&*self, &other] {
                    (0..cells.len()).for_each(|row| texts.push(cells.text(row).as_deref()));
                }
                *self = Self::Texts(texts);
            }
        }
    }

    /// The cells of these rows.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(values) => Self::Numbers(rows.iter().map(|&row| values[row]).collect()),
            Self::Texts(texts) => Self::Texts(rows.iter().map(|&row| texts.get(row)).collect()),
        }
    }
}

impl Frame {
    /// Checks that there are columns with distinct names, all as long as `lines`: the line of each row (or its number, from
    /// 1) that messages refer to.
    pub fn new(name: &str, columns: Vec<Column>, lines: Vec<u64>) -> Result<Self> {
        let mut positions: BTreeMap<String, usize> = BTreeMap::new();
        for (at, column) in columns.iter().enumerate() {
            if column.name.is_empty() {
                return Err(Error::UnnamedColumn { name: name.into(), position: at + 1 });
            }
            if let Some(first) = positions.insert(column.name.clone(), at) {
                let (first, second) = (first + 1, at + 1);
                let column = column.name.clone();
                return Err(Error::DuplicateColumn { name: name.into(), column, first, second });
            }
            if column.cells.len() != lines.len() {
                let (found, expected) = (column.cells.len(), lines.len());
                let what = "cells of a column, against rows";
                return Err(semisup::Error::Size { what, found, expected }.into());
            }
        }
        if columns.is_empty() {
            return Err(semisup::Error::NoColumns { name: name.into() }.into());
        }
        Ok(Self { name: name.into(), columns, lines, positions })
    }

    /// The name of the source of the rows in messages, such as a file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.lines.len()
    }

    /// The columns in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns, without a copy.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The names of the columns in order.
    pub fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Cells> {
        self.positions.get(name).map(|&at| &self.columns[at].cells)
    }

    /// The line of a row in its source.
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// The lines of all rows in their source.
    pub fn lines(&self) -> &[u64] {
        &self.lines
    }

    /// Appends a batch of rows, matching columns by name. The cells of a column that the batch lacks are missing, an error if
    /// the column is in `required`; columns that only the batch has are dropped.
    pub fn append(&mut self, mut batch: Frame, required: &[String]) -> Result<()> {
        let absent: Vec<String> =
            required.iter().filter(|name| batch.column(name).is_none()).cloned().collect();
        if !absent.is_empty() {
            return Err(Error::missing_columns(&batch.name, absent, &batch.column_names()));
        }
        for column in &mut self.columns {
            let cells = match batch.positions.get(&column.name) {
                Some(&at) => std::mem::replace(&mut batch.columns[at].cells, Cells::Numbers(Vec::new())),
                None => Cells::Numbers(vec![f64::NAN; batch.lines.len()]),
            };
            column.cells.append(cells);
        }
        self.lines.extend(batch.lines);
        Ok(())
    }

    /// These rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let column = |c: &Column| Column { name: c.name.clone(), cells: c.cells.select(rows) };
        Self {
            name: self.name.clone(),
            columns: self.columns.iter().map(column).collect(),
            lines: rows.iter().map(|&row| self.lines[row]).collect(),
            positions: self.positions.clone(),
        }
    }
}

/// The value of a text that is a finite number.
pub fn read_number(text: &str) -> Option<f64> {
    // `parse` also takes "inf", "nan" and "infinity", which are no numbers to compute with.
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Whether a text shows a number that is infinite, or too large for 64-bit floating point: `inf`, `-Infinity`, `1e999`.
pub fn shows_infinity(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_infinite)
}

/// The shortest text that reads back as this number; whole numbers without a point.
pub fn number_text(value: f64) -> String {
    if value == 0.0 {
        "0".into() // and not -0
    } else if value == value.trunc() && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

fn canonical(text: &str) -> std::borrow::Cow<'_, str> {
    match read_number(text) {
        Some(value) => number_text(value).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_numbers_turns_to_text_only_when_it_must() {
        let cells = |texts: &[Option<&str>]| Cells::from_texts(texts.iter().copied().collect());
        let mut column = cells(&[Some("3.0"), None, Some("-1e2")]);
        assert!(matches!(&column, Cells::Numbers(v) if v[0] == 3.0 && v[1].is_nan() && v[2] == -100.0));
        column.append(cells(&[Some("x"), Some("03")]));
        let texts: Vec<_> = (0..5).map(|row| column.text(row).map(|t| t.into_owned())).collect();
        let want = [Some("3"), None, Some("-100"), Some("x"), Some("3")];
        assert_eq!(texts.iter().map(|t| t.as_deref()).collect::<Vec<_>>(), want);
        assert_eq!(column.number(3), Err("x"));
        assert_eq!(column.select(&[4, 1]).text(0).as_deref(), Some("3"));
        assert_eq!(cells(&[Some("inf"), Some("1")]).text(0).as_deref(), Some("inf"));
    }

    #[test]
    fn batches_join_by_name() {
        let column = |name: &str, v: f64| Column { name: name.into(), cells: Cells::Numbers(vec![v]) };
        let mut frame = Frame::new("a.csv", vec![column("p", 1.0), column("q", 2.0)], vec![2]).unwrap();
        let other = Frame::new("b.csv", vec![column("q", 4.0), column("p", 3.0)], vec![2]).unwrap();
        frame.append(other, &[]).unwrap();
        assert_eq!(frame.column("p"), Some(&Cells::Numbers(vec![1.0, 3.0])));
        let lacking = Frame::new("c.csv", vec![column("p", 5.0)], vec![2]).unwrap();
        let error = frame.clone().append(lacking.clone(), &["q".into()]).unwrap_err().to_string();
        assert!(error.contains("c.csv") && error.contains("'q'"), "{error}");
        frame.append(lacking, &[]).unwrap();
        assert_eq!(frame.column("q").unwrap().text(2), None);
        assert!(Frame::new("d", vec![column("p", 1.0), column("p", 1.0)], vec![1]).is_err());
    }
}
