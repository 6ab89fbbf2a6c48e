//! Delimited text: records in, columns out, no text per cell in between.
//!
//! A UTF-8 byte order mark, CRLF line ends, blank lines and spaces around cells are accepted; a row as long as the
//! header is demanded. Lines are counted as an editor does. Between semicolons, which spreadsheets write where the comma
//! is the decimal point, `1,5` and `1.234,5` are the numbers they are there.

use std::io::{self, Read};

use csv::{ByteRecord, Terminator};
use flowgmm_data::{Column, Frame};

use crate::{
    Delimiter, Error, Header, InputFormat, Options, Result, Warning,
    column::ColumnBuilder,
    missing::MissingRules,
    number,
    sniff::{first_cells, looks_like_data},
};

/// Batches of rows of delimited text.
pub(crate) struct Delimited {
    rows: Rows,
    columns: Vec<(usize, String)>, // position in a row, name
    missing: MissingRules,
    batch: usize,
    /// The first row, read to count its cells, where there is no header.
    first: Option<u64>,
}

impl Delimited {
    /// Reads and checks the header.
    pub fn open(
        stream: Box<dyn Read + Send>,
        name: &str,
        delimiter: Delimiter,
        options: &Options,
    ) -> Result<(Self, Option<Warning>)> {
        let mut rows = Rows::new(stream, name, delimiter, options.header);
        let Some(line) = rows.read()? else {
            return Err(Error::EmptyFile { name: name.into() });
        };
        rows.width = rows.record.len();
        let (names, first, warning) = match options.header {
            Header::Absent => ((1..=rows.width).map(|i| format!("c{i}")).collect(), Some(line), None),
            Header::Present => {
                let (names, warning) = header(name, line, &rows.record)?;
                (names, None, warning)
            }
        };
        let columns = locate(name, names, options.columns.as_deref())?;
        let batch = options.rows(columns.len());
        Ok((Self { rows, columns, missing: MissingRules::new(options), batch, first }, warning))
    }

    fn read(&mut self) -> Result<Option<Frame>> {
        let commas = self.rows.delimiter == Delimiter::Semicolon;
        let mut lines = Vec::with_capacity(self.batch);
        let builder = |(_, name): &(usize, String)| ColumnBuilder::new(self.missing.of(name), self.batch);
        let mut builders: Vec<ColumnBuilder> = self.columns.iter().map(builder).collect();
        while lines.len() < self.batch {
            let line = match self.first.take() {
                Some(line) => line,
                None => match self.rows.next()? {
                    Some(line) => line,
                    None => break,
                },
            };
            for (builder, &(at, _)) in builders.iter_mut().zip(&self.columns) {
                let cell = &self.rows.record[at];
                match commas.then(|| decimal_comma(cell)).flatten() {
                    Some(value) => builder.number(value),
                    None => builder.bytes(cell),
                }
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let named = builders.into_iter().zip(&self.columns);
        let columns = named.map(|(b, (_, name))| Column { name: name.clone(), cells: b.finish() }).collect();
        Ok(Some(Frame::new(&self.rows.name, columns, lines)?))
    }
}

impl Iterator for Delimited {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The names in a header, and whether they look like data.
fn header(name: &str, line: u64, record: &ByteRecord) -> Result<(Vec<String>, Option<Warning>)> {
    let cells: Vec<String> =
        record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_string()).collect();
    let columns =
        cells.iter().map(|cell| Column { name: cell.clone(), cells: flowgmm_data::Cells::Numbers(vec![]) });
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

/// Records of checked text and the lines they start on.
struct Rows {
    name: String,
    reader: csv::Reader<io::Chain<Box<dyn Read + Send>, &'static [u8]>>,
    record: ByteRecord,
    delimiter: Delimiter,
    header: Header,
    width: usize,
}

impl Rows {
    fn new(stream: Box<dyn Read + Send>, name: &str, delimiter: Delimiter, header: Header) -> Self {
        // Ending records at LF only, and trimming CR away as white space, keeps the parser's line count
        // right: with its CRLF mode the LF is counted when the next record starts. The line end at the end
        // makes the parser count a record's last line always.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.byte())
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(1 << 16)
            .from_reader(stream.chain(b"\n" as &'static [u8]));
        Self { name: name.into(), reader, record: ByteRecord::new(), delimiter, header, width: 0 }
    }

    /// Reads the next row into `record`.
    fn next(&mut self) -> Result<Option<u64>> {
        match self.read()? {
            Some(line) if self.record.len() != self.width => Err(Error::RaggedRow {
                name: self.name.clone(),
                line,
                found: self.record.len(),
                expected: self.width,
                like: if self.header == Header::Present { "header" } else { "first row" },
                separator: self.delimiter.name(),
            }),
            line => Ok(line),
        }
    }

    fn read(&mut self) -> Result<Option<u64>> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| self.failed(error))?;
            if !more {
                return Ok(None);
            }
            let line = self.line();
            let cells = &self.record;
            if !cells.as_slice().is_ascii() && cells.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                return Err(Error::NotUtf8 { name: self.name.clone(), line });
            }
            // The parser skips empty lines itself, so a lone cell without any byte was written as "".
            if cells.len() != 1 || cells[0].is_empty() || !is_blank(&cells[0]) {
                return Ok(Some(line));
            }
        }
    }

    /// Counted from the record's end, because the parser's start comes before any blank lines; except that a
    /// quote never closed has no end.
    fn line(&self) -> u64 {
        let start = self.record.position().map_or(1, csv::Position::line);
        let end = self.reader.position().line();
        if end <= start + 1 {
            return start;
        }
        let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        (end - 1 - inside).max(start)
    }

    fn failed(&self, error: csv::Error) -> Error {
        let format = InputFormat::Delimited(Some(self.delimiter)).name();
        Error::reading(&self.name, format, error.into())
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
