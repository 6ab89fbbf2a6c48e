//! Delimited text: rows in, columns out, no text per cell in between.
//!
//! A UTF-8 byte order mark, CRLF line ends, blank lines and spaces around cells are accepted; a row as long as the
//! header is demanded. Lines are counted as an editor does. Between semicolons, which spreadsheets write where the comma
//! is the decimal point, `1,5` and `1.234,5` are the numbers they are there.
//!
//! Lines without quotes are cut up directly and in parallel (`plain`); from the first quote on, the `csv` crate decides
//! where cells and rows end (`quoted`). Both give the same columns.

mod plain;
mod quoted;

use std::io::{self, Cursor, Read};

use csv::ByteRecord;
use flowgmm_data::{Cells, Column, Frame};

use crate::{
    Delimiter, Error, Header, InputFormat, Options, Result, Warning,
    column::ColumnBuilder,
    missing::{Missing, MissingRules},
    number,
    sniff::{first_cells, looks_like_data},
};
use plain::{Batch, Lines, Next};
use quoted::Records;

/// Batches of rows of delimited text.
pub(crate) struct Delimited {
    /// `None` only after a failure.
    rows: Option<Rows>,
    shape: Shape,
    batch: usize,
}

enum Rows {
    Plain(Lines),
    Quoted(Records),
}

/// What all rows have in common.
struct Shape {
    name: String,
    delimiter: Delimiter,
    header: Header,
    /// Cells of a row.
    width: usize,
    /// Position in a row, name and missing cells of each column.
    columns: Vec<(usize, String, Missing)>,
    /// The column that each cell of a row goes to.
    targets: Vec<Option<usize>>, // [width]
}

impl Delimited {
    /// Reads and checks the header.
    pub fn open(
        stream: Box<dyn Read + Send>,
        name: &str,
        delimiter: Delimiter,
        options: &Options,
    ) -> Result<(Self, Option<Warning>)> {
        let mut lines = Lines::new(stream);
        let (head, is_all) = lines.head();
        let mut shape = Shape::new(name, delimiter, options.header);
        let mut first = Records::new(Box::new(Cursor::new(head.to_vec())), &shape, 1);
        let length = head.len() as u64;
        let mut line = first.read(&shape);
        // A first row that is not over with the first bytes, and a stream that fails there, are read as they come.
        let is_plain = is_all || (matches!(line, Ok(Some(_))) && first.byte() <= length);
        if !is_plain {
            let (rest, start) = lines.into_rest();
            first = Records::new(rest, &shape, start);
            line = first.read(&shape);
            lines = Lines::new(Box::new(io::empty()));
        }
        let Some(line) = line? else {
            return Err(Error::EmptyFile { name: name.into() });
        };
        shape.width = first.record().len();
        let (names, warning) = match options.header {
            Header::Absent => ((1..=shape.width).map(|i| format!("c{i}")).collect(), None),
            Header::Present => header(name, line, first.record())?,
        };
        shape.locate(names, options)?;
        let rows = match (is_plain, options.header) {
            (true, Header::Absent) => Rows::Plain(lines),
            (true, Header::Present) => {
                lines.skip_to(first.byte() as usize, first.next_line());
                Rows::Plain(lines)
            }
            (false, Header::Absent) => Rows::Quoted(first.again(line)),
            (false, Header::Present) => Rows::Quoted(first),
        };
        let batch = options.rows(shape.columns.len());
        Ok((Self { rows: Some(rows), shape, batch }, warning))
    }

    fn read(&mut self) -> Result<Option<Frame>> {
        let (rows, batch) = match self.rows.take() {
            None => return Ok(None),
            Some(Rows::Plain(mut lines)) => match lines.next(self.batch, &self.shape)? {
                Next::Rows(batch) => (Rows::Plain(lines), batch),
                Next::End => return Ok(None),
                Next::Quoted => {
                    let (rest, line) = lines.into_rest();
                    self.rows = Some(Rows::Quoted(Records::new(rest, &self.shape, line)));
                    return self.read();
                }
            },
            Some(Rows::Quoted(mut records)) => match records.next(self.batch, &self.shape)? {
                Some(batch) => (Rows::Quoted(records), batch),
                None => return Ok(None),
            },
        };
        self.rows = Some(rows);
        self.shape.frame(batch).map(Some)
    }
}

impl Iterator for Delimited {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl Shape {
    fn new(name: &str, delimiter: Delimiter, header: Header) -> Self {
        Self { name: name.into(), delimiter, header, width: 0, columns: Vec::new(), targets: Vec::new() }
    }

    /// Finds the columns to read among all names.
    fn locate(&mut self, names: Vec<String>, options: &Options) -> Result<()> {
        let missing = MissingRules::new(options);
        let columns = locate(&self.name, names, options.columns.as_deref())?;
        Error::check_columns(&self.name, columns.len() as u64)?;
        self.targets = vec![None; self.width];
        // A column asked for twice is an error of the frame.
        for (target, &(at, _)) in columns.iter().enumerate() {
            self.targets[at].get_or_insert(target);
        }
        let rules = |(at, name): (usize, String)| {
            let missing = missing.of(&name);
            (at, name, missing)
        };
        self.columns = columns.into_iter().map(rules).collect();
        Ok(())
    }

    fn builders(&self, rows: usize) -> Vec<ColumnBuilder> {
        self.columns.iter().map(|(_, _, missing)| ColumnBuilder::new(missing.clone(), rows)).collect()
    }

    /// Adds a cell to its column.
    fn add(&self, column: &mut ColumnBuilder, cell: &[u8]) {
        let commas = self.delimiter == Delimiter::Semicolon && !column.is_verbatim();
        match commas.then(|| decimal_comma(cell)).flatten() {
            Some(value) => column.number(value),
            None => column.bytes(cell),
        }
    }

    fn frame(&self, (cells, lines): Batch) -> Result<Frame> {
        let named = self.columns.iter().zip(cells);
        let columns = named.map(|((_, name, _), cells)| Column { name: name.clone(), cells }).collect();
        Ok(Frame::new(&self.name, columns, lines)?)
    }

    fn ragged(&self, line: u64, found: usize) -> Error {
        Error::RaggedRow {
            name: self.name.clone(),
            line,
            found,
            expected: self.width,
            like: if self.header == Header::Present { "header" } else { "first row" },
            separator: self.delimiter.name(),
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::reading(&self.name, InputFormat::Delimited(Some(self.delimiter)).name(), error)
    }
}

/// The names in a header, and whether they look like data.
fn header(name: &str, line: u64, record: &ByteRecord) -> Result<(Vec<String>, Option<Warning>)> {
    let cells: Vec<String> =
        record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_string()).collect();
    let columns = cells.iter().map(|cell| Column { name: cell.clone(), cells: Cells::Numbers(vec![]) });
    let named = Frame::new(name, columns.collect(), Vec::new());
    let (name, found) = (name.to_string(), first_cells(&cells));
    match (named, looks_like_data(&cells)) {
        (Err(_), true) => Err(Error::NoHeader { name, line, found }),
        (Err(error), false) => Err(error.into()),
        (Ok(_), true) => Ok((cells, Some(Warning::ProbablyNoHeader { name, line, found }))),
        (Ok(_), false) => Ok((cells, None)),
    }
}

/// The columns to read and where they are.
fn locate(name: &str, names: Vec<String>, wanted: Option<&[String]>) -> Result<Vec<(usize, String)>> {
    let Some(wanted) = wanted else { return Ok(names.into_iter().enumerate().collect()) };
    let position: std::collections::HashMap<&String, usize> =
        names.iter().enumerate().map(|(at, name)| (name, at)).collect();
    let missing: Vec<String> = wanted.iter().filter(|name| !position.contains_key(name)).cloned().collect();
    match missing.is_empty() {
        true => Ok(wanted.iter().map(|name| (position[name], name.clone())).collect()),
        false => Err(Error::missing_columns(name, missing, &names)),
    }
}

/// The number of `-1,5` or `1.234,5`: digits, perhaps in groups of three, one comma, digits.
fn decimal_comma(cell: &[u8]) -> Option<f64> {
    let comma = cell.iter().position(|&byte| byte == b',')?;
    let (whole, decimals) = (cell[..comma].trim_ascii_start(), cell[comma + 1..].trim_ascii_end());
    let (sign, whole) = match whole {
        [b'-', rest @ ..] => (-1., rest),
        [b'+', rest @ ..] | rest => (1., rest),
    };
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut groups = whole.split(|&byte| byte == b'.');
    let first = groups.next().filter(|group| digits(group))?;
    let grouped = whole.len() == first.len() || first.len() <= 3;
    if !grouped || !digits(decimals) || !groups.all(|group| group.len() == 3 && digits(group)) {
        return None;
    }
    let whole = whole.iter().filter(|byte| **byte != b'.');
    let text: Vec<u8> = whole.chain(b".").chain(decimals).copied().collect();
    number::parse(&text).map(|value| sign * value)
}

fn is_blank(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok_and(|text| text.trim().is_empty())
}
