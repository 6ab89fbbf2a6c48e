//! JSON lines: one object per line, `{"width": 1.5, "colour": "red"}`; keys are columns.
//!
//! The columns are the keys of the first rows (one batch of them), in the order in which they appear; a key that an
//! object lacks is a missing cell, and a key that appears only later is left out. Memory is one batch and one line.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
};

use flowgmm_data::{Column, Frame};

use crate::{Error, Options, Result, column::ColumnBuilder, missing::MissingRules};

mod scan;

use scan::{Fault, Scanner, Value};

/// A longer line is no row, but a file that is one line.
const LONGEST: u64 = 1 << 26;
/// Bytes of a batch, so that long texts do not fill the memory.
const BATCH_BYTES: usize = 1 << 26;

/// With more keys than this, of which a row has fewer than one in so many, keys are values: a table of them would be
/// nearly all missing cells, and grow with the square of the file.
const MANY_KEYS: usize = 1000;
const SPARSE: usize = 500;

/// Batches of rows of JSON lines.
pub(crate) struct JsonLines {
    lines: Lines,
    columns: Vec<String>,
    positions: HashMap<String, usize>,
    missing: MissingRules,
    options: Options,
    first: Option<Frame>,
    /// Cells that were not left out, of all rows so far.
    cells: usize,
}

impl JsonLines {
    /// Reads the first batch, which decides the columns.
    pub fn open(stream: Box<dyn Read + Send>, name: &str, options: &Options) -> Result<Self> {
        let lines = Lines::new(stream, name);
        let (missing, options) = (MissingRules::new(options), options.clone());
        let mut rows = Self {
            lines,
            columns: Vec::new(),
            positions: HashMap::new(),
            missing,
            options,
            first: None,
            cells: 0,
        };
        let wanted = rows.options.columns.clone();
        for name in wanted.iter().flatten() {
            rows.add(name);
        }
        let mut seen = HashMap::new();
        rows.first = rows.batch(Keys::Added(&mut seen))?;
        let Some(first) = &rows.first else { return Err(Error::NoObjects { name: name.into() }) };
        let (n, columns) = (first.n(), rows.columns.len());
        if columns > MANY_KEYS && rows.cells < n * columns / SPARSE {
            return Err(Error::SparseKeys { name: name.into(), rows: n, columns });
        }
        let absent: Vec<String> =
            wanted.into_iter().flatten().filter(|name| !seen.contains_key(name)).collect();
        match absent.is_empty() {
            true => Ok(rows),
            false => {
                let mut found: Vec<(String, usize)> = seen.into_iter().collect();
                found.sort_by_key(|(_, order)| *order);
                let found: Vec<String> = found.into_iter().map(|(key, _)| key).collect();
                Err(Error::missing_columns(name, absent, &found))
            }
        }
    }

    fn add(&mut self, key: &str) -> usize {
        let at = self.columns.len();
        self.columns.push(key.into());
        self.positions.insert(key.into(), at);
        at
    }

    fn batch(&mut self, mut keys: Keys) -> Result<Option<Frame>> {
        let builder = |name: &String| ColumnBuilder::new(self.missing.of(name), 0);
        let mut builders: Vec<ColumnBuilder> = self.columns.iter().map(builder).collect();
        let mut filled = vec![0; builders.len()]; // rows of each column
        let mut lines = Vec::new();
        let mut bytes = 0;
        while lines.len() < self.options.rows(builders.len()) && bytes < BATCH_BYTES {
            let Some(line) = self.lines.next()? else { break };
            bytes += self.lines.text.len();
            let text = std::mem::take(&mut self.lines.text);
            self.row(&text, line, lines.len(), &mut builders, &mut filled, &mut keys)?;
            self.lines.text = text;
            lines.push(line);
            for (builder, filled) in builders.iter_mut().zip(&mut filled).filter(|(_, n)| **n < lines.len()) {
                builder.missing();
                *filled += 1;
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let named = builders.into_iter().zip(&self.columns);
        let columns = named.map(|(b, name)| Column { name: name.clone(), cells: b.finish() }).collect();
        Ok(Some(Frame::new(&self.lines.name, columns, lines)?))
    }

    /// Adds the cells of one line, the row `row` of its batch.
    fn row(
        &mut self,
        text: &str,
        line: u64,
        row: usize,
        builders: &mut Vec<ColumnBuilder>,
        filled: &mut Vec<usize>,
        keys: &mut Keys,
    ) -> Result<()> {
        let mut scanner = Scanner::new(text);
        let mut next = 0; // objects mostly have the same keys in the same order
        loop {
            let pair = scanner.pair().map_err(|fault| self.lines.wrong(line, fault))?;
            let Some((key, value)) = pair else { return Ok(()) };
            if let Keys::Added(seen) = keys
                && !seen.contains_key(key.as_ref())
            {
                seen.insert(key.to_string(), seen.len());
            }
            let known = match self.columns.get(next) {
                Some(column) if *column == key => Some(next),
                _ => self.positions.get(key.as_ref()).copied(),
            };
            let at = match (known, &keys) {
                (Some(at), _) => at,
                (None, Keys::Added(_)) if self.options.columns.is_none() => {
                    Error::check_columns(&self.lines.name, builders.len() as u64 + 1)?;
                    let mut builder = ColumnBuilder::new(self.missing.of(&key), row);
                    (0..row).for_each(|_| builder.missing());
                    builders.push(builder);
                    filled.push(row);
                    self.add(&key)
                }
                // The label is no column to leave out.
                (None, Keys::Known) if self.options.literal.iter().any(|name| *name == key) => {
                    return Err(self.lines.late(line, &key));
                }
                (None, _) => continue,
            };
            next = at + 1;
            if filled[at] > row {
                let fault = Fault { at: scanner.at(), why: format!("the key '{key}' stands there twice") };
                return Err(self.lines.wrong(line, fault));
            }
            match value {
                Value::Number(value) => builders[at].number(value),
                Value::Text(text) => builders[at].text(&text),
                Value::Truth(value) => builders[at].truth(value),
                Value::Nothing => builders[at].missing(),
                Value::Nested(found) => return Err(self.lines.nested(line, &key, found)),
            }
            filled[at] += 1;
            self.cells += 1;
        }
    }
}

impl Iterator for JsonLines {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(frame) => Some(Ok(frame)),
            None => self.batch(Keys::Known).transpose(),
        }
    }
}

/// What becomes of keys that are no columns yet.
enum Keys<'a> {
    /// They become columns, in the first rows; with the order of their first appearance.
    Added(&'a mut HashMap<String, usize>),
    /// They are left out.
    Known,
}

/// Lines of checked text that are not blank.
struct Lines {
    name: String,
    reader: BufReader<Box<dyn Read + Send>>,
    text: String,
    line: u64,
}

impl Lines {
    fn new(stream: Box<dyn Read + Send>, name: &str) -> Self {
        let reader = BufReader::with_capacity(1 << 16, stream);
        Self { name: name.into(), reader, text: String::new(), line: 0 }
    }

    /// Reads the next line into `text`.
    fn next(&mut self) -> Result<Option<u64>> {
        loop {
            self.line += 1;
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
            bytes.clear();
            let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut bytes);
            read.map_err(|error| Error::reading(&self.name, "JSON lines", error))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() as u64 == LONGEST && bytes.last() != Some(&b'\n') {
                let why = format!("the line is longer than {LONGEST} bytes");
                return Err(self.wrong(self.line, Fault { at: 0, why }));
            }
            if self.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            self.text = String::from_utf8(bytes)
                .map_err(|_| Error::NotUtf8 { name: self.name.clone(), line: self.line })?;
            if !self.text.trim_ascii().is_empty() {
                return Ok(Some(self.line));
            }
        }
    }

    fn wrong(&self, line: u64, Fault { at, why }: Fault) -> Error {
        Error::NotAnObject { name: self.name.clone(), line, character: at + 1, why }
    }

    fn nested(&self, line: u64, key: &str, found: &'static str) -> Error {
        Error::Nested { name: self.name.clone(), line, key: key.into(), found }
    }

    fn late(&self, line: u64, key: &str) -> Error {
        Error::LateKey { name: self.name.clone(), line, key: key.into() }
    }
}
