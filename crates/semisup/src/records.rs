//! CSV text as checked records: the one place that knows about bytes, lines, quotes and separators.
//!
//! Both [`crate::Table`] (everything in memory) and [`crate::RowBatches`] (bounded memory) read through it.
//! A UTF-8 byte order mark, CRLF line ends, blank lines and spaces around cells are accepted.

use std::io::{self, Read};

use csv::{ByteRecord, StringRecord, Terminator};

use crate::{Error, Result};

/// The reader with a final line end, so that the parser has always counted a record's last line.
type Terminated<R> = io::Chain<R, &'static [u8]>;

/// One row and the line it starts on.
pub(crate) struct Record {
    pub line: u64,
    pub cells: StringRecord,
}

/// Records below a header, each with as many cells as the header.
pub(crate) struct Records<R> {
    pub name: String,
    pub columns: Vec<String>,
    reader: csv::Reader<Terminated<R>>,
}

impl<R: Read> Records<R> {
    /// Reads and checks the header.
    pub fn new(reader: R, name: &str) -> Result<Self> {
        // Ending records at LF only, and trimming CR away as white space, keeps the parser's line count
        // right: with its CRLF mode the LF is counted when the next record starts.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(reader.chain(b"\n" as &'static [u8]));
        let mut records = Self { name: name.into(), columns: Vec::new(), reader };
        let header = records.read()?.ok_or_else(|| Error::EmptyFile { name: name.into() })?;
        records.columns = header.cells.iter().map(String::from).collect();
        check_names(name, &records.columns)?;
        Ok(records)
    }

    /// The next row, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Record>> {
        let expected = self.columns.len();
        match self.read()? {
            Some(Record { line, cells }) if cells.len() != expected => {
                Err(Error::RaggedRow { name: self.name.clone(), line, found: cells.len(), expected })
            }
            record => Ok(record),
        }
    }

    fn read(&mut self) -> Result<Option<Record>> {
        let mut bytes = ByteRecord::new();
        loop {
            let more = self
                .reader
                .read_byte_record(&mut bytes)
                .map_err(|error| Error::Io { name: self.name.clone(), source: error.into() })?;
            if !more {
                return Ok(None);
            }
            let inside = bytes.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
            // Counted from the record's end, because the parser's start comes before any blank lines; except
            // that a quote never closed has no end.
            let start = bytes.position().map_or(1, csv::Position::line);
            let line = (self.reader.position().line() - 1 - inside).max(start);
            let mut cells = StringRecord::from_byte_record(bytes)
                .map_err(|_| Error::NotUtf8 { name: self.name.clone(), line })?;
            cells.trim();
            let blank = cells.len() == 1 && cells[0].is_empty();
            if !blank {
                return Ok(Some(Record { line, cells }));
            }
            bytes = ByteRecord::new();
        }
    }
}

fn check_names(name: &str, columns: &[String]) -> Result<()> {
    for (second, column) in columns.iter().enumerate() {
        if column.is_empty() {
            return Err(Error::UnnamedColumn { name: name.into(), position: second + 1 });
        }
    }
    let mut sorted: Vec<usize> = (0..columns.len()).collect();
    sorted.sort_by_key(|&i| &columns[i]); // stable, so equal names stay in order
    for pair in sorted.windows(2) {
        if columns[pair[0]] == columns[pair[1]] {
            let (column, first, second) = (columns[pair[0]].clone(), pair[0] + 1, pair[1] + 1);
            return Err(Error::DuplicateColumn { name: name.into(), column, first, second });
        }
    }
    Ok(())
}

/// The positions of `wanted` in `columns`; an error lists all that are missing.
pub(crate) fn locate(name: &str, columns: &[String], wanted: &[String]) -> Result<Vec<usize>> {
    let position: std::collections::HashMap<&String, usize> =
        columns.iter().enumerate().map(|(i, column)| (column, i)).collect();
    let missing: Vec<String> = wanted.iter().filter(|w| !position.contains_key(w)).cloned().collect();
    if missing.is_empty() {
        Ok(wanted.iter().map(|w| position[w]).collect())
    } else {
        Err(Error::missing_columns(name, missing, columns))
    }
}

/// The finite number in a cell.
pub(crate) fn number(name: &str, columns: &[String], record: &Record, index: usize) -> Result<f64> {
    let cell = &record.cells[index];
    let (name, line, column) = (name.to_string(), record.line, columns[index].clone());
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(Error::NotFinite { name, line, column, cell: cell.into() }),
        Err(_) if cell.is_empty() => Err(Error::MissingCell { name, line, column }),
        Err(_) => Err(Error::NotANumber { name, line, column, cell: cell.into(), hint: hint(cell) }),
    }
}

fn hint(cell: &str) -> &'static str {
    match cell.to_lowercase().as_str() {
        "na" | "n/a" | "?" | "-" | "null" | "none" => {
            "It looks like a missing value: fill it in, or remove the row or the column"
        }
        lower if lower.replace(',', ".").parse::<f64>().is_ok() => "Write decimals with a point, not a comma",
        _ => "Remove the column, or replace its texts by numbers (for categories, one 0/1 column each)",
    }
}
