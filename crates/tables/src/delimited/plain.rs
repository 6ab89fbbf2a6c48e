//! Lines without quotes, which most files of numbers consist of: every line is a row, cut at every delimiter.
//!
//! ```text
//! stream ─fill→ buffer ─block→ where the next rows are ─rows in parallel, cells straight from bytes→ columns
//! ```
//!
//! At the first quote the rest of the stream is left to `quoted`, which knows what quotes mean.

use std::io::{self, Cursor, Read};

use flowgmm_data::Cells;
use memchr::memchr;
use rayon::prelude::*;

use super::{Shape, is_blank};
use crate::{Error, Result, column::ColumnBuilder, number};

/// Bytes read at a time.
const READ: usize = 1 << 18;
/// Rows that one thread works on at a time.
const ROWS: usize = 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The unread lines of a stream.
pub(super) struct Lines {
    stream: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The first byte not given out yet, and the number of its line.
    start: usize,
    line: u64,
    /// The first quote in the buffer.
    quote: Option<usize>,
    ended: bool,
    failure: Option<io::Error>,
}

/// The next rows: where they are in the buffer, and their lines.
#[derive(Default)]
struct Block {
    ranges: Vec<(usize, usize)>,
    lines: Vec<u64>,
}

/// Columns of cells, and the line of every row.
pub(super) type Batch = (Vec<Cells>, Vec<u64>);

/// What the next rows are.
pub(super) enum Next {
    Rows(Batch),
    /// There is a quote in them.
    Quoted,
    End,
}

impl Lines {
    /// Reads the first bytes.
    pub fn new(stream: Box<dyn Read + Send>) -> Self {
        let mut lines =
            Self { stream, buffer: Vec::new(), start: 0, line: 1, quote: None, ended: false, failure: None };
        lines.fill();
        if lines.buffer.starts_with(BYTE_ORDER_MARK) {
            lines.start = BYTE_ORDER_MARK.len();
        }
        lines
    }

    /// The first bytes, and whether they are all there are.
    pub fn head(&self) -> (&[u8], bool) {
        (&self.buffer, self.ended && self.failure.is_none())
    }

    /// Continues at this byte, which is the first of this line.
    pub fn skip_to(&mut self, byte: usize, line: u64) {
        self.start = byte.min(self.buffer.len());
        self.line = line;
        self.quote = memchr(b'"', &self.buffer[self.start..]).map(|at| self.start + at);
    }

    /// The next rows, `most` at most.
    pub fn next(&mut self, most: usize, shape: &Shape) -> Result<Next> {
        let (block, end, line) = self.block(most, shape.delimiter.byte());
        if self.quote.is_some_and(|quote| quote < end) {
            return Ok(Next::Quoted);
        }
        let columns = block.parse(&self.buffer, shape)?;
        if block.lines.len() < most
            && let Some(error) = self.failure.take()
        {
            return Err(shape.failed(error));
        }
        (self.start, self.line) = (end, line);
        Ok(if block.lines.is_empty() { Next::End } else { Next::Rows((columns, block.lines)) })
    }

    /// What has not been given out, with the number of its first line.
    pub fn into_rest(self) -> (Box<dyn Read + Send>, u64) {
        let failure = Failing(self.failure);
        // A mark of the byte order is only one at the very start: elsewhere an empty line goes before it.
        let (rest, line) = match self.line {
            1 => (self.buffer, 1),
            line => ([b"\n", &self.buffer[self.start..]].concat(), line - 1),
        };
        (Box::new(Cursor::new(rest).chain(failure).chain(self.stream)), line)
    }

    /// Finds the next rows; also where they end, and the number of the line there.
    fn block(&mut self, most: usize, delimiter: u8) -> (Block, usize, u64) {
        if self.start >= READ {
            self.buffer.drain(..self.start);
            self.quote = self.quote.map(|quote| quote - self.start);
            self.start = 0;
        }
        let (mut block, mut at, mut line) = (Block::default(), self.start, self.line);
        let mut scanned = at;
        while block.lines.len() < most && self.quote.is_none_or(|quote| quote >= at) {
            let end = match memchr(b'\n', &self.buffer[scanned..]) {
                Some(length) => scanned + length,
                None if !self.ended => {
                    scanned = self.buffer.len();
                    self.fill();
                    continue;
                }
                None if at < self.buffer.len() && self.failure.is_none() => self.buffer.len(),
                None => break,
            };
            if !is_blank_row(&self.buffer[at..end], delimiter) {
                block.ranges.push((at, end));
                block.lines.push(line);
            }
            line += 1;
            at = (end + 1).min(self.buffer.len());
            scanned = at;
        }
        (block, at, line)
    }

    fn fill(&mut self) {
        let before = self.buffer.len();
        let read = (&mut self.stream).take(READ as u64).read_to_end(&mut self.buffer);
        self.ended = !matches!(read, Ok(n) if n == READ);
        self.failure = read.err();
        if self.quote.is_none() {
            self.quote = memchr(b'"', &self.buffer[before..]).map(|at| before + at);
        }
    }
}

impl Block {
    /// The columns of these rows of a buffer; an error of the first row that has one.
    fn parse(&self, buffer: &[u8], shape: &Shape) -> Result<Vec<Cells>> {
        if self.ranges.len() <= ROWS {
            return parse_rows(buffer, &self.ranges, &self.lines, shape);
        }
        let pieces = self.ranges.par_chunks(ROWS).zip(self.lines.par_chunks(ROWS));
        let pieces: Vec<Result<Vec<Cells>>> =
            pieces.map(|(ranges, lines)| parse_rows(buffer, ranges, lines, shape)).collect();
        let mut pieces = pieces.into_iter();
        let mut columns = pieces.next().expect("there are rows")?;
        for piece in pieces {
            columns.iter_mut().zip(piece?).for_each(|(column, more)| column.append(more));
        }
        Ok(columns)
    }
}

fn parse_rows(buffer: &[u8], ranges: &[(usize, usize)], lines: &[u64], shape: &Shape) -> Result<Vec<Cells>> {
    let mut columns = shape.builders(ranges.len());
    for (&(start, end), &line) in ranges.iter().zip(lines) {
        let row = &buffer[start..end];
        if !row.is_ascii() && std::str::from_utf8(row).is_err() {
            return Err(Error::NotUtf8 { name: shape.name.clone(), line });
        }
        let found = parse_row(row, &mut columns, shape);
        if found != shape.width {
            return Err(shape.ragged(line, found));
        }
    }
    Ok(columns.into_iter().map(ColumnBuilder::finish).collect())
}

/// Adds the cells of a row to their columns, and counts all cells.
fn parse_row(row: &[u8], columns: &mut [ColumnBuilder], shape: &Shape) -> usize {
    let delimiter = shape.delimiter.byte();
    let (mut rest, mut found) = (row, 0);
    loop {
        let target = shape.targets.get(found).copied().flatten();
        found += 1;
        let length = match target {
            Some(target) => match number::leading(rest, delimiter) {
                Some((value, length)) if !columns[target].is_verbatim() => {
                    columns[target].number(value);
                    length
                }
                _ => {
                    let length = memchr(delimiter, rest).unwrap_or(rest.len());
                    shape.add(&mut columns[target], &rest[..length]);
                    length
                }
            },
            None => memchr(delimiter, rest).unwrap_or(rest.len()),
        };
        match rest.get(length + 1..) {
            Some(after) => rest = after,
            None => return found,
        }
    }
}

/// Whether a line is no row: white space, and no delimiter.
fn is_blank_row(row: &[u8], delimiter: u8) -> bool {
    match row.first() {
        None => true,
        Some(b'!'..=b'~') => false,
        Some(_) => !row.contains(&delimiter) && is_blank(row),
    }
}

/// Gives an error once, then nothing.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
