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
        writer.write_record(columns.iter().map(|(name, _)| name)).map_err(plain)?;
        Ok(Self { writer, number: Vec::new() })
    }

    pub fn write(&mut self, columns: &[Output], rows: usize) -> io::Result<()> {
        for row in 0..rows {
            for column in columns {
                match column.cell(row) {
                    Cell::Missing => self.writer.write_field("").map_err(plain)?,
                    Cell::Text(text) => self.writer.write_field(text.as_bytes()).map_err(plain)?,
                    Cell::Number(value) => {
                        self.number.clear();
                        // 24, not 24.0: whole numbers went in as such.
                        match value == value.trunc() && value.abs() < 1e15 {
                            true => write!(self.number, "{value:.0}")?,
                            false => write!(self.number, "{value:?}")?,
                        }
                        self.writer.write_field(&self.number).map_err(plain)?;
                    }
                }
            }
            self.writer.write_record(None::<&[u8]>).map_err(plain)?; // ends the row
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.writer.flush()?;
        self.writer.into_inner().map_err(|error| error.into_error())
    }
}

/// The system's error with its kind, which tells a reader who has gone from a full disk.
fn plain(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
