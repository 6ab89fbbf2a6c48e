//! Rows as Parquet and Arrow: 64-bit floats and UTF-8 texts, all nullable.

use std::{
    io::{self, Write},
    sync::Arc,
};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter, basic::Compression, errors::ParquetError, file::properties::WriterProperties,
    schema::types::ColumnPath,
};

use super::{Cell, ColumnType, Output, other};

/// Rows of a row group, which are in memory while it is written.
const GROUP_ROWS: usize = 1 << 17;
/// Bytes of a row group, for wide tables.
const GROUP_BYTES: usize = 1 << 26;

pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> Parquet<W> {
    pub fn new(sink: W, columns: &[(String, ColumnType)]) -> io::Result<Self> {
        let schema = schema(columns);
        // Numbers seldom repeat: a dictionary of them would be made, found too large, and thrown away.
        let numbers = columns.iter().filter(|(_, kind)| *kind == ColumnType::Number);
        let properties = numbers.fold(WriterProperties::builder(), |properties, (name, _)| {
            properties.set_column_dictionary_enabled(ColumnPath::new(vec![name.clone()]), false)
        });
        let properties = properties
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties)).map_err(from_parquet)?;
        Ok(Self { writer, schema })
    }

    pub fn write(&mut self, columns: &[Output]) -> io::Result<()> {
        self.writer.write(&batch(&self.schema, columns)?).map_err(from_parquet)
    }

    pub fn finish(self) -> io::Result<W> {
        let mut sink = self.writer.into_inner().map_err(from_parquet)?;
        sink.flush()?;
        Ok(sink)
    }
}

pub(super) struct Arrow<W: Write> {
    writer: FileWriter<W>,
    schema: SchemaRef,
}

impl<W: Write> Arrow<W> {
    pub fn new(sink: W, columns: &[(String, ColumnType)]) -> io::Result<Self> {
        let schema = schema(columns);
        let writer = FileWriter::try_new(sink, &schema).map_err(from_arrow)?;
        Ok(Self { writer, schema })
    }

    pub fn write(&mut self, columns: &[Output]) -> io::Result<()> {
        self.writer.write(&batch(&self.schema, columns)?).map_err(from_arrow)
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.writer.finish().map_err(from_arrow)?;
        let mut sink = self.writer.into_inner().map_err(from_arrow)?;
        sink.flush()?;
        Ok(sink)
    }
}

pub(super) fn schema(columns: &[(String, ColumnType)]) -> SchemaRef {
    let field = |(name, kind): &(String, ColumnType)| match kind {
        ColumnType::Number => Field::new(name, DataType::Float64, true),
        ColumnType::Text => Field::new(name, DataType::Utf8, true),
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

pub(super) fn batch(schema: &SchemaRef, columns: &[Output]) -> io::Result<RecordBatch> {
    RecordBatch::try_new(schema.clone(), columns.iter().map(array).collect()).map_err(from_arrow)
}

fn array(column: &Output) -> ArrayRef {
    let cells = (0..column.cells.len()).map(|row| column.cell(row));
    match column.kind {
        ColumnType::Number => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
            Cell::Number(value) => Some(value),
            _ => None,
        }))),
        ColumnType::Text => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
            Cell::Text(text) => Some(text),
            _ => None,
        }))),
    }
}

/// The system's own error where there is one, so that a full disk is called a full disk.
fn from_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => other(error),
    }
}

fn from_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => other(error),
    }
}
