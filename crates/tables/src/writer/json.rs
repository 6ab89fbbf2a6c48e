//! Rows as JSON objects, one per line or in one array. A missing cell is `null`, and so is an infinity, which JSON
//! cannot express.

use std::io::{self, Write};

use super::{Cell, ColumnType, Output, TextStyle, digits, other};

/// What stands around the objects.
pub(super) enum Layout {
    /// One object per line.
    Lines,
    /// `[`, objects separated by commas, `]`.
    Array,
}

pub(super) struct Rows<W> {
    sink: W,
    layout: Layout,
    keys: Vec<String>, // `"name":`
    buffer: Vec<u8>,
    empty: bool,
    style: TextStyle,
}

impl<W: Write> Rows<W> {
    pub fn new(
        mut sink: W,
        layout: Layout,
        columns: &[(String, ColumnType)],
        style: TextStyle,
    ) -> io::Result<Self> {
        if let Layout::Array = layout {
            sink.write_all(b"[")?;
        }
        let key = |(name, _): &(String, ColumnType)| {
            Ok(format!("{}:", serde_json::to_string(name).map_err(other)?))
        };
        let keys = columns.iter().map(key).collect::<io::Result<_>>()?;
        Ok(Self { sink, layout, keys, buffer: Vec::new(), empty: true, style })
    }

    pub fn write(&mut self, columns: &[Output], rows: usize) -> io::Result<()> {
        for row in 0..rows {
            let before: &[u8] = match self.layout {
                Layout::Lines => b"{",
                Layout::Array if self.empty => b"\n{",
                Layout::Array => b",\n{",
            };
            self.empty = false;
            self.buffer.extend_from_slice(before);
            for (i, (key, column)) in self.keys.iter().zip(columns).enumerate() {
                self.buffer.extend_from_slice(if i > 0 { b"," } else { b"" });
                self.buffer.extend_from_slice(key.as_bytes());
                match column.cell(row) {
                    Cell::Number(value) if value.is_finite() => {
                        digits::shortest(&mut self.buffer, self.style.round(value));
                    }
                    Cell::Missing | Cell::Number(_) => self.buffer.extend_from_slice(b"null"),
                    Cell::Text(text) => serde_json::to_writer(&mut self.buffer, &text).map_err(other)?,
                }
            }
            self.buffer.extend_from_slice(if let Layout::Lines = self.layout { b"}\n" } else { b"}" });
        }
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        match self.layout {
            Layout::Lines => {}
            Layout::Array if self.empty => self.sink.write_all(b"]\n")?,
            Layout::Array => self.sink.write_all(b"\n]\n")?,
        }
        self.sink.flush()?;
        Ok(self.sink)
    }
}
