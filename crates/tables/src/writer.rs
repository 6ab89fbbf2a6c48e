//! Writers of frames: batches are written as they arrive, and reading the file back gives the same cells.
//!
//! The caller opens the sink and puts the finished file in its place; see [`OutputFormat::of`] for its format.

mod columnar;
mod delimited;
mod digits;
mod json;

use std::{
    io::{self, Write},
    num::NonZeroU8,
};

use arrow_array::RecordBatch;
use flowgmm_data::{Cells, Frame, read_number};

use crate::{Error, OutputFormat, Result};

/// What a written column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 64-bit floating point numbers.
    Number,
    /// Texts, even those that look like numbers.
    Text,
}

/// How cells are written in the text formats: delimited text and JSON. Columnar formats keep every bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// Significant digits of numbers; `None` writes as many as it takes to read the same number back.
    pub digits: Option<NonZeroU8>,
    /// Delimited text only: puts an apostrophe before texts that a spreadsheet would run as a formula (`=`, `+`, `-`,
    /// `@`, a tab or a carriage return at the start). The data are no longer what they were.
    pub spreadsheet_safe: bool,
}

impl TextStyle {
    /// The number as it is written.
    fn round(self, value: f64) -> f64 {
        self.digits.map_or(value, |digits| digits::significant(value, digits))
    }
}

/// Writes batches of rows.
///
/// ```
/// use flowgmm_tables::{ColumnType, Options, OutputFormat, Source, Writer, open};
///
/// let frame = open(Source::stream("in", "p,class\n0.1,a\n,b\n".as_bytes()), &Options::default())?.read_all()?;
/// let columns = [("class".to_string(), ColumnType::Text), ("p".to_string(), ColumnType::Number)];
/// let mut writer = Writer::new(Vec::new(), "out.jsonl", OutputFormat::JsonLines, &columns)?;
/// writer.write(&frame)?;
/// let text = String::from_utf8(writer.finish()?).unwrap();
/// assert_eq!(text, "{\"class\":\"a\",\"p\":0.1}\n{\"class\":\"b\",\"p\":null}\n");
/// # Ok::<(), flowgmm_tables::Error>(())
/// ```
pub struct Writer<W: Write + Send> {
    name: String,
    columns: Vec<(String, ColumnType)>,
    sink: Sink<W>,
}

enum Sink<W: Write + Send> {
    Delimited(delimited::Rows<W>),
    Json(json::Rows<W>),
    Parquet(columnar::Parquet<W>),
    Arrow(columnar::Arrow<W>),
}

impl<W: Write + Send> Writer<W> {
    /// Starts a table with these columns; `name` stands for the sink in messages.
    pub fn new(sink: W, name: &str, format: OutputFormat, columns: &[(String, ColumnType)]) -> Result<Self> {
        Self::styled(sink, name, format, columns, TextStyle::default())
    }

    /// Starts a table whose cells are written in this style.
    pub fn styled(
        sink: W,
        name: &str,
        format: OutputFormat,
        columns: &[(String, ColumnType)],
        style: TextStyle,
    ) -> Result<Self> {
        let delimited = |sink, delimiter| delimited::Rows::new(sink, delimiter, columns, style);
        let json = |sink, layout| json::Rows::new(sink, layout, columns, style);
        let started = match format {
            OutputFormat::Csv => delimited(sink, b',').map(Sink::Delimited),
            OutputFormat::Tsv => delimited(sink, b'\t').map(Sink::Delimited),
            OutputFormat::JsonLines => json(sink, json::Layout::Lines).map(Sink::Json),
            OutputFormat::Json => json(sink, json::Layout::Array).map(Sink::Json),
            OutputFormat::Parquet => columnar::Parquet::new(sink, columns).map(Sink::Parquet),
            OutputFormat::Arrow => columnar::Arrow::new(sink, columns).map(Sink::Arrow),
        };
        let sink = started.map_err(|source| Error::Write { name: name.into(), source })?;
        Ok(Self { name: name.into(), columns: columns.to_vec(), sink })
    }

    /// Adds the rows of a batch. Its columns are found by name; others are left out.
    pub fn write(&mut self, batch: &Frame) -> Result<()> {
        let columns = self.columns.iter().map(|column| Output::of(batch, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let rows = batch.n();
        let written = match &mut self.sink {
            Sink::Delimited(sink) => sink.write(&columns, rows),
            Sink::Json(sink) => sink.write(&columns, rows),
            Sink::Parquet(sink) => sink.write(&columns),
            Sink::Arrow(sink) => sink.write(&columns),
        };
        written.map_err(|source| Error::Write { name: self.name.clone(), source })
    }

    /// Finishes the table and returns the sink.
    pub fn finish(self) -> Result<W> {
        let finished = match self.sink {
            Sink::Delimited(sink) => sink.finish(),
            Sink::Json(sink) => sink.finish(),
            Sink::Parquet(sink) => sink.finish(),
            Sink::Arrow(sink) => sink.finish(),
        };
        finished.map_err(|source| Error::Write { name: self.name, source })
    }
}

/// The rows of a frame as one record batch with these columns.
pub(crate) fn record_batch(frame: &Frame, columns: &[(String, ColumnType)]) -> Result<RecordBatch> {
    let outputs = columns.iter().map(|column| Output::of(frame, column)).collect::<Result<Vec<_>>>()?;
    let batch = columnar::batch(&columnar::schema(columns), &outputs);
    batch.map_err(|source| Error::Write { name: frame.name().into(), source })
}

/// A column of a batch that is being written.
struct Output<'a> {
    cells: &'a Cells,
    kind: ColumnType,
}

/// A cell that is being written.
enum Cell<'a> {
    Missing,
    Number(f64),
    Text(std::borrow::Cow<'a, str>),
}

impl<'a> Output<'a> {
    /// The column of a batch, which must be there and hold what it is said to hold.
    fn of(batch: &'a Frame, (name, kind): &(String, ColumnType)) -> Result<Self> {
        let cells = batch
            .column(name)
            .ok_or_else(|| Error::missing_columns(batch.name(), vec![name.clone()], &batch.column_names()))?;
        if let (Cells::Texts(texts), ColumnType::Number) = (cells, kind) {
            let wrong = texts.iter().enumerate().find_map(|(row, cell)| {
                cell.filter(|text| !is_number(text)).map(|text| (row, text.to_string()))
            });
            if let Some((row, cell)) = wrong {
                let (line, column) = (batch.line(row), name.clone());
                let hint = "Write the column as text";
                return Err(flowgmm_data::Error::NotANumber {
                    name: batch.name().into(),
                    line,
                    column,
                    cell,
                    hint,
                }
                .into());
            }
        }
        Ok(Self { cells, kind: *kind })
    }

    fn cell(&self, row: usize) -> Cell<'a> {
        match (self.kind, self.cells) {
            (ColumnType::Number, Cells::Numbers(values)) if values[row].is_nan() => Cell::Missing,
            (ColumnType::Number, Cells::Numbers(values)) => Cell::Number(values[row]),
            (ColumnType::Number, Cells::Texts(texts)) => {
                texts.get(row).and_then(to_number).map_or(Cell::Missing, Cell::Number)
            }
            (ColumnType::Text, cells) => cells.text(row).map_or(Cell::Missing, Cell::Text),
        }
    }
}

/// Also the infinities, which a frame holds as texts.
fn to_number(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => read_number(text),
    }
}

fn is_number(text: &str) -> bool {
    to_number(text).is_some()
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}
