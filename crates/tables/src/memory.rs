//! Arrow record batches in memory, to frames and back.
//!
//! ```text
//! RecordBatch ─frame_from_batch, open_batches→ Frame ─batch_from_frame→ RecordBatch (Float64 and Utf8, nullable)
//! ```

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use flowgmm_data::{Cells, Frame};

use crate::{
    ColumnType, Error, InputFormat, Options, Reader, Result, record_batch::Layout, record_batch::Slices,
    writer,
};

/// The frame of a record batch, read as an Arrow file with this one batch is read.
///
/// Integers, floats and decimals become numbers, booleans, dates and times become texts, dictionaries are resolved,
/// and a column of lists of d numbers becomes d columns `name_0 .. name_{d-1}`. `name` stands for the batch in
/// messages. Use [`open_batches`] for several batches, a choice of columns, or other missing tokens.
///
/// ```
/// use std::sync::Arc;
/// use flowgmm_tables::{arrow::{RecordBatch, array::{Int32Array, StringArray}}, frame_from_batch};
///
/// let age = Arc::new(Int32Array::from(vec![Some(31), None])) as _;
/// let city = Arc::new(StringArray::from(vec!["Bern", "Graz"])) as _;
/// let batch = RecordBatch::try_from_iter([("age", age), ("city", city)])?;
/// let frame = frame_from_batch(&batch, "people")?;
/// assert_eq!(frame.column("age").unwrap().number(0), Ok(Some(31.0)));
/// assert_eq!(frame.column("age").unwrap().number(1), Ok(None));
/// assert_eq!(frame.column("city").unwrap().text(1).as_deref(), Some("Graz"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn frame_from_batch(batch: &RecordBatch, name: &str) -> Result<Frame> {
    let mut layout = Layout::new(name, batch.schema_ref(), &Options::default(), &mut Vec::new())?;
    let wanted = project(name, batch, layout.roots())?;
    layout.frame(&wanted)
}

/// Reads record batches of one schema as [`open`](crate::open) reads an Arrow file.
///
/// ```
/// use std::sync::Arc;
/// use flowgmm_tables::{Options, arrow::{RecordBatch, array::Float64Array}, open_batches};
///
/// let x = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as _;
/// let batches = vec![
///     RecordBatch::try_from_iter([("x", x(vec![1.0, 2.0]))])?,
///     RecordBatch::try_from_iter([("x", x(vec![3.0]))])?,
/// ];
/// assert_eq!(open_batches(batches, "numbers", &Options::default())?.read_all()?.n(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_batches(batches: Vec<RecordBatch>, name: &str, options: &Options) -> Result<Reader> {
    let Some(first) = batches.first() else { return Err(Error::NoRows { name: name.into() }) };
    let schema = first.schema();
    if let Some(at) = batches.iter().position(|batch| batch.schema().fields() != schema.fields()) {
        let why = format!("batch {} has other columns than the first", at + 1);
        return Err(Error::damaged(name, InputFormat::Arrow.name(), why));
    }
    let mut warnings = Vec::new();
    let layout = Layout::new(name, &schema, options, &mut warnings)?;
    let rows = options.rows(layout.width(&schema));
    let frames = Batches { name: name.into(), waiting: batches.into(), slices: Slices::new(rows), layout };
    Ok(Reader::new(name, InputFormat::Arrow, options.header, warnings, Box::new(frames)))
}

struct Batches {
    name: String,
    waiting: VecDeque<RecordBatch>,
    slices: Slices,
    layout: Layout,
}

impl Iterator for Batches {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(slice) = self.slices.next() {
                return Some(self.layout.frame(&slice));
            }
            let batch = self.waiting.pop_front()?;
            match project(&self.name, &batch, self.layout.roots()) {
                Ok(wanted) => self.slices.put(wanted),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn project(name: &str, batch: &RecordBatch, columns: &[usize]) -> Result<RecordBatch> {
    batch.project(columns).map_err(|error| Error::damaged(name, InputFormat::Arrow.name(), error))
}

/// The record batch of a frame: columns of numbers as `Float64`, columns of texts as `Utf8`, a missing cell as null.
///
/// ```
/// use flowgmm_data::{Cells, Column, Frame};
/// use flowgmm_tables::{arrow::array::Array, batch_from_frame, frame_from_batch};
///
/// let column = Column { name: "p".into(), cells: Cells::Numbers(vec![0.5, f64::NAN]) };
/// let frame = Frame::new("scores", vec![column], vec![1, 2])?;
/// let batch = batch_from_frame(&frame)?;
/// assert!(batch.column(0).is_null(1));
/// assert_eq!(frame_from_batch(&batch, "scores")?.column("p").unwrap().number(0), Ok(Some(0.5)));
/// # Ok::<(), flowgmm_tables::Error>(())
/// ```
pub fn batch_from_frame(frame: &Frame) -> Result<RecordBatch> {
    let mut columns = Vec::with_capacity(frame.columns().len());
    for column in frame.columns() {
        let kind = match &column.cells {
            Cells::Numbers(_) => ColumnType::Number,
            Cells::Texts(texts) => {
                let bytes: usize = texts.iter().flatten().map(str::len).sum();
                if i32::try_from(bytes).is_err() {
                    return Err(Error::Unsupported {
                        name: frame.name().into(),
                        column: column.name.clone(),
                        found: format!("{bytes} bytes of text, more than one record batch holds,"),
                        remedy: "Convert the rows in several frames",
                    });
                }
                ColumnType::Text
            }
        };
        columns.push((column.name.clone(), kind));
    }
    writer::record_batch(frame, &columns)
}
