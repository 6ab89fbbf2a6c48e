//! Rows as delimited text; numbers in the shortest form that reads back the same.

use std::io::{self, Write};

use super::{Cell, ColumnType, Output};

pub(super) struct Rows<W: Write> {
    writer: csv::Writer<W>,
    number: Vec<u8>,
}

impl<W: Write> Rows<W> {
    /// Writes the header.
    pub fn new(sink: W, delimiter: u8, columns: &[(String, ColumnType)]) -> io::Result<Self> {
        let builder = &mut csv::WriterBuilder::new();
        let mut writer = builder.delimiter(delimiter).buffer_capacity(1 << 16).from_writer(sink);
        writer.write_record(columns.iter().map(|(name, _)| name))?;
        Ok(Self { writer, number: Vec::new() })
    }

    pub fn write(&mut self, columns: &[Output], rows: usize) -> io::Result<()> {
        for row in 0..rows {
            for column in columns {
                match column.cell(row) {
                    Cell::Missing => self.writer.write_field("")?,
                    Cell::Text(text) => self.writer.write_field(text.as_bytes())?,
                    Cell::Number(value) => {
                        self.number.clear();
                        write!(self.number, "{value:?}")?;
                        self.writer.write_field(&self.number)?;
                    }
                }
            }
            self.writer.write_record(None::<&[u8]>)?; // ends the row
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.writer.flush()?;
        self.writer.into_inner().map_err(|error| error.into_error())
    }
}
