//! Rows as delimited text; numbers in the shortest form that reads back the same.

use std::io::{self, Write};

use rayon::prelude::*;

use super::{Cell, ColumnType, Output, TextStyle, digits};

/// Rows that one thread formats at a time.
const ROWS: usize = 1024;

pub(super) struct Rows<W: Write> {
    sink: W,
    delimiter: u8,
    style: TextStyle,
}

impl<W: Write> Rows<W> {
    /// Writes the header.
    pub fn new(
        mut sink: W,
        delimiter: u8,
        columns: &[(String, ColumnType)],
        style: TextStyle,
    ) -> io::Result<Self> {
        let mut line = Lines::new(delimiter, style, 0);
        columns.iter().for_each(|(name, _)| line.text(name));
        line.end();
        sink.write_all(&line.bytes)?;
        Ok(Self { sink, delimiter, style })
    }

    pub fn write(&mut self, columns: &[Output], rows: usize) -> io::Result<()> {
        let pieces: Vec<Vec<u8>> = (0..rows.div_ceil(ROWS))
            .into_par_iter()
            .map(|piece| {
                let lines = Lines::new(self.delimiter, self.style, 10 * ROWS.min(rows) * columns.len());
                format(columns, piece * ROWS..rows.min((piece + 1) * ROWS), lines)
            })
            .collect();
        pieces.iter().try_for_each(|piece| self.sink.write_all(piece))
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

fn format(columns: &[Output], rows: std::ops::Range<usize>, mut lines: Lines) -> Vec<u8> {
    for row in rows {
        for column in columns {
            match column.cell(row) {
                Cell::Missing => lines.text(""),
                Cell::Text(text) => lines.text(&text),
                Cell::Number(value) => lines.number(value),
            }
        }
        lines.end();
    }
    lines.bytes
}

/// Lines of text, each cell followed by a delimiter until its line ends.
struct Lines {
    bytes: Vec<u8>,
    delimiter: u8,
    style: TextStyle,
    /// Where the current line starts.
    start: usize,
}

impl Lines {
    fn new(delimiter: u8, style: TextStyle, capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), delimiter, style, start: 0 }
    }

    fn number(&mut self, value: f64) {
        let value = self.style.round(value);
        // 24, not 24.0: whole numbers went in as such.
        match value == value as i64 as f64 && value.abs() < 1e15 {
            true => digits::whole(&mut self.bytes, value),
            false => digits::shortest(&mut self.bytes, value),
        }
        self.bytes.push(self.delimiter);
    }

    /// In quotes where the text would end its cell or its line.
    fn text(&mut self, text: &str) {
        if self.style.spreadsheet_safe && text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            return self.quoted(&format!("'{text}"));
        }
        self.quoted(text);
    }

    fn quoted(&mut self, text: &str) {
        let special = |byte: &u8| [self.delimiter, b'"', b'\r', b'\n'].contains(byte);
        match text.as_bytes().iter().any(special) {
            true => {
                self.bytes.push(b'"');
                self.bytes.extend_from_slice(text.replace('"', "\"\"").as_bytes());
                self.bytes.push(b'"');
            }
            false => self.bytes.extend_from_slice(text.as_bytes()),
        }
        self.bytes.push(self.delimiter);
    }

    fn end(&mut self) {
        if self.bytes.len() == self.start + 1 {
            self.bytes.splice(self.start..self.start, *b"\"\""); // a line without a byte would be no row
        }
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
        self.start = self.bytes.len();
    }
}
