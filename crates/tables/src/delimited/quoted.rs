//! Text with quotes, cut into rows and cells by the `csv` crate.

use std::io::{self, Read};

use csv::{ByteRecord, Terminator};

use super::{Batch, Shape, is_blank};
use crate::{Error, Result, column::ColumnBuilder};

/// Records of checked text and the lines they start on.
pub(super) struct Records {
    reader: csv::Reader<io::Chain<Box<dyn Read + Send>, &'static [u8]>>,
    record: ByteRecord,
    /// The line of a record that was read to count its cells and is data too.
    first: Option<u64>,
    /// The number of the stream's first line.
    start: u64,
}

impl Records {
    /// Records of a stream that starts with this line.
    pub fn new(stream: Box<dyn Read + Send>, shape: &Shape, start: u64) -> Self {
        // Ending records at LF only, and trimming CR away as white space, keeps the parser's line count
        // right: with its CRLF mode the LF is counted when the next record starts. The line end at the end
        // makes the parser count a record's last line always.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(shape.delimiter.byte())
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(1 << 16)
            .from_reader(stream.chain(b"\n" as &'static [u8]));
        Self { reader, record: ByteRecord::new(), first: None, start }
    }

    /// Gives the record just read, of this line, once more.
    pub fn again(self, line: u64) -> Self {
        Self { first: Some(line), ..self }
    }

    /// The record just read.
    pub fn record(&self) -> &ByteRecord {
        &self.record
    }

    /// The byte of the stream after the record just read.
    pub fn byte(&self) -> u64 {
        self.reader.position().byte()
    }

    /// The line after the record just read.
    pub fn next_line(&self) -> u64 {
        self.reader.position().line() + self.start - 1
    }

    /// The next rows, `most` at most.
    pub fn next(&mut self, most: usize, shape: &Shape) -> Result<Option<Batch>> {
        let mut lines = Vec::with_capacity(most);
        let mut columns = shape.builders(most);
        while lines.len() < most {
            let line = match self.first.take() {
                Some(line) => line,
                None => match self.read(shape)? {
                    Some(line) => line,
                    None => break,
                },
            };
            if self.record.len() != shape.width {
                return Err(shape.ragged(line, self.record.len()));
            }
            for (column, &(at, _, _)) in columns.iter_mut().zip(&shape.columns) {
                shape.add(column, &self.record[at]);
            }
            lines.push(line);
        }
        let cells = columns.into_iter().map(ColumnBuilder::finish).collect();
        Ok(Some((cells, lines)).filter(|(_, lines)| !lines.is_empty()))
    }

    /// Reads the next record that is not blank, and gives its line.
    pub fn read(&mut self, shape: &Shape) -> Result<Option<u64>> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record);
            if !more.map_err(|error| shape.failed(error.into()))? {
                return Ok(None);
            }
            let (line, cells) = (self.line(), &self.record);
            if !cells.as_slice().is_ascii() && cells.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                return Err(Error::NotUtf8 { name: shape.name.clone(), line });
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
        let line = match end <= start + 1 {
            true => start,
            false => {
                let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
                (end - 1 - inside).max(start)
            }
        };
        line + self.start - 1
    }
}
