//! A column during inference, with what the rules need to know about it, and its stray cells.

use std::{borrow::Cow, collections::HashSet};

use crate::error::wording::count;
use crate::schema::{Concern, NumberFacts, Strays, Warning};
use crate::{Cells, Error, Frame, Result, read_number, shows_infinity};

/// A column during inference, with what the rules need to know about it.
pub(super) struct Seen<'a> {
    pub frame: &'a Frame,
    pub name: &'a str,
    pub cells: &'a Cells,
    pub n: usize,
    pub present: usize,
}

/// Cells that cannot be read as the column's kind.
pub(super) struct Stray {
    pub rows: usize,
    pub named: String,
}

impl Stray {
    /// How they are treated if the user declared the kind, and the warning about that.
    pub fn as_missing(&self) -> (Strays, Option<Warning>) {
        if self.rows == 0 {
            return (Strays::Refused, None);
        }
        let message = format!("{} treated as missing: {}", count(self.rows, "cell"), self.named);
        (Strays::Missing, Some(Warning::new(Concern::Strays, message)))
    }
}

impl Seen<'_> {
    /// The value of all cells that are not missing, if there is only one.
    pub fn only_value(&self) -> Option<String> {
        let first = (0..self.n).find_map(|row| self.cells.text(row))?.into_owned();
        let same = match self.cells {
            Cells::Numbers(values) => {
                let first = values.iter().find(|value| !value.is_nan())?;
                values.iter().all(|value| value.is_nan() || value == first)
            }
            Cells::Texts(texts) => texts.iter().flatten().all(|text| text == first),
        };
        same.then_some(first)
    }

    /// The texts of all cells that are not missing.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.n).filter_map(|row| self.cells.text(row))
    }

    /// An error of the first infinite number, if all other cells are numbers: among texts, `inf` may be a word.
    pub fn refuse_infinities(&self) -> Result<()> {
        let Cells::Texts(texts) = self.cells else { return Ok(()) };
        let mut first = None;
        for (row, text) in texts.iter().enumerate() {
            match text {
                Some(text) if shows_infinity(text) => first = first.or(Some((row, text))),
                Some(text) if read_number(text).is_none() => return Ok(()),
                _ => {}
            }
        }
        match first {
            None => Ok(()),
            Some((row, cell)) => Err(Error::not_finite(self.frame, row, self.name, cell)),
        }
    }

    /// The cells that `reads` rejects, the first three distinct ones with their lines.
    pub fn strays(&self, reads: impl Fn(&str) -> bool) -> Stray {
        let (mut seen, mut named, mut rows) = (HashSet::new(), Vec::new(), 0);
        for row in 0..self.n {
            let Some(text) = self.cells.text(row).filter(|text| !reads(text)) else { continue };
            rows += 1;
            if named.len() < 3 {
                let shown: String = text.chars().take(40).collect();
                if seen.insert(text) {
                    named.push(format!("'{shown}' (line {})", self.frame.line(row)));
                }
            } else {
                seen.insert(text);
            }
        }
        let more = match seen.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Stray { rows, named: named.join(", ") + &more }
    }

    /// The statistics of the numbers that are present; one beyond 32-bit floating point is an error with its line.
    pub fn facts(&self, numbers: Vec<f64>) -> Result<NumberFacts> {
        if let Some(row) = numbers.iter().position(|value| value.abs() > f64::from(f32::MAX)) {
            return Err(Error::OutOfRange {
                name: self.frame.name().into(),
                line: self.frame.line(row),
                column: self.name.into(),
                value: numbers[row],
            });
        }
        Ok(NumberFacts::of(numbers.into_iter().filter(|value| !value.is_nan()).collect()))
    }

    pub fn bad(&self, why: String) -> Error {
        Error::BadOverride { name: self.frame.name().into(), column: self.name.into(), why }
    }
}
