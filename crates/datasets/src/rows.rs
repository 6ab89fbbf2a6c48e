//! Lines of numbers: the one reader behind all numeric tables.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
};

use crate::{Error, Result, input::open};

/// A longer line is no line of a table, but a file that has none.
const LONGEST_LINE: u64 = 1 << 20;

/// What stands between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    Commas,
    Spaces,
}

/// The lines of a text file, plain or gzipped, with what messages need.
pub(crate) struct Lines<'a> {
    path: &'a Path,
    format: &'static str,
    bytes: BufReader<Box<dyn Read + Send>>,
    text: String,
    line: u64,
}

impl<'a> Lines<'a> {
    pub fn open(path: &'a Path, format: &'static str) -> Result<Self> {
        Ok(Self { path, format, bytes: BufReader::new(open(path)?), text: String::new(), line: 0 })
    }

    /// The next line that is not blank, without its end.
    pub fn next(&mut self) -> Result<Option<&str>> {
        loop {
            self.text.clear();
            self.line += 1;
            let mut bytes = (&mut self.bytes).take(LONGEST_LINE);
            match bytes.read_line(&mut self.text) {
                Ok(0) => return Ok(None),
                Ok(n) if n as u64 == LONGEST_LINE => return Err(self.damaged("the line does not end")),
                Ok(_) if self.text.trim().is_empty() => {}
                Ok(_) => break,
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(self.damaged(error));
                }
                Err(error) => return Err(Error::reading(self.path, self.format, error)),
            }
        }
        Ok(Some(self.text.trim()))
    }

    /// The cells of the line that [`Lines::next`] gave.
    pub fn cells(&self, between: Between) -> Vec<&str> {
        match between {
            Between::Commas => self.text.trim().split(',').map(str::trim).collect(),
            Between::Spaces => self.text.split_whitespace().collect(),
        }
    }

    /// A finite number, or where it is not.
    pub fn number(&self, cell: &str, column: usize) -> Result<f64> {
        match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => {
                Err(self.damaged(format!("column {}: expected a number, found '{}'", column + 1, cut(cell))))
            }
        }
    }

    /// An error that points to this line.
    pub fn damaged(&self, why: impl ToString) -> Error {
        Error::damaged(self.path, self.format, format!("line {}: {}", self.line, why.to_string()))
    }
}

/// A cell of a damaged file may be long; a message may not.
fn cut(cell: &str) -> String {
    const SHOWN: usize = 40;
    let mut text: String = cell.chars().take(SHOWN).collect();
    if text.len() < cell.len() {
        text.push_str("..");
    }
    text
}
