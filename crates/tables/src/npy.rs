//! NumPy arrays as columns, and the files of one array.
//!
//! ```text
//! magic, version, header { descr, fortran_order, shape } ─header→ Header { element, order, n, d }
//! elements, row by row ─Array::read→ columns of a batch
//! ```
//! See <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

mod element;
mod header;

use std::io::{BufReader, Read};

use flowgmm_data::{Column, Frame};

pub(crate) use header::{Header, Order};

use crate::{Error, Options, Result, column::ColumnBuilder, missing::MissingRules, source::Input};

const FORMAT: &str = "NPY";

/// The batches of a file of one array.
pub(crate) fn open(input: Input, options: &Options) -> Result<Batches> {
    let name = input.name.clone();
    let stem = input.file.strip_suffix(".npy").unwrap_or(&input.file);
    let (matrix, vector) = ("x".to_string(), if stem.is_empty() { "y".into() } else { stem.to_string() });
    let mut stream = BufReader::with_capacity(1 << 16, input.into_stream());
    let header = Header::read(&mut stream, &name, &vector)?;
    let prefix = if header.d.is_some() { matrix } else { vector };
    let array = Array::new(Box::new(stream), &name, &prefix, header);
    Batches::new(&name, vec![array], options)
}

/// Batches of rows of arrays that stand side by side.
pub(crate) struct Batches {
    name: String,
    arrays: Vec<Array>,
    wanted: Option<Vec<String>>,
    missing: MissingRules,
    rows: usize,
    done: u64,
    n: u64,
}

impl Batches {
    /// Arrays of one length; those without a wanted column are dropped.
    pub fn new(name: &str, mut arrays: Vec<Array>, options: &Options) -> Result<Self> {
        if let Some(wanted) = &options.columns {
            let of = |array: &Array, column: &String| array.position(column).is_some();
            let missing: Vec<String> =
                wanted.iter().filter(|w| !arrays.iter().any(|array| of(array, w))).cloned().collect();
            if !missing.is_empty() {
                let names: Vec<String> = arrays.iter().flat_map(|array| array.names().take(20)).collect();
                return Err(Error::missing_columns(name, missing, &names));
            }
            arrays.retain(|array| wanted.iter().any(|column| of(array, column)));
        }
        let n = arrays.first().map_or(0, |array| array.header.n);
        let width = arrays.iter().map(|array| array.header.width()).fold(0, u64::saturating_add);
        if options.columns.is_none() {
            Error::check_columns(name, width)?;
        }
        let row_bytes = arrays.iter().map(|array| array.header.row_bytes()).fold(0, u64::saturating_add);
        let by_bytes = usize::try_from(BATCH_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX);
        let rows = options.rows(usize::try_from(width).unwrap_or(usize::MAX)).min(by_bytes).max(1);
        let (wanted, missing) = (options.columns.clone(), MissingRules::new(options));
        Ok(Self { name: name.into(), arrays, wanted, missing, rows, done: 0, n })
    }

    /// The length of every array.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        self.arrays.iter().map(|array| array.header.n)
    }

    fn read(&mut self) -> Result<Option<Frame>> {
        let rows = (self.n - self.done).min(self.rows as u64) as usize;
        if rows == 0 {
            return Ok(None);
        }
        let mut columns = Vec::new();
        for array in &mut self.arrays {
            columns.extend(array.read(rows, self.done, self.wanted.as_deref(), &self.missing)?);
        }
        if let Some(wanted) = &self.wanted {
            let place: std::collections::HashMap<&String, usize> =
                wanted.iter().enumerate().map(|(at, name)| (name, at)).collect();
            columns.sort_by_key(|column: &Column| place.get(&column.name).copied());
        }
        let lines = (self.done + 1..).take(rows).collect();
        self.done += rows as u64;
        Ok(Some(Frame::new(&self.name, columns, lines)?))
    }
}

/// Raw bytes of a batch, beside its cells.
const BATCH_BYTES: u64 = 1 << 26;

impl Iterator for Batches {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// An array whose rows are read from the front.
pub(crate) struct Array {
    stream: Box<dyn Read + Send>,
    file: String,
    prefix: String,
    pub header: Header,
    /// Bytes of a batch of rows, or of everything in Fortran order.
    bytes: Vec<u8>,
}

impl Array {
    /// The array behind a header that was read.
    pub fn new(stream: Box<dyn Read + Send>, file: &str, prefix: &str, header: Header) -> Self {
        Self { stream, file: file.into(), prefix: prefix.into(), header, bytes: Vec::new() }
    }

    /// `y`, or `x0`, `x1`, ...
    fn names(&self) -> impl Iterator<Item = String> {
        let of =
            |at| if self.header.d.is_some() { format!("{}{at}", self.prefix) } else { self.prefix.clone() };
        (0..self.header.width()).map(of)
    }

    /// Which column of the array has this name.
    fn position(&self, name: &str) -> Option<usize> {
        let Some(d) = self.header.d else { return (name == self.prefix).then_some(0) };
        let digits = name.strip_prefix(&self.prefix)?;
        let at: u64 = digits.parse().ok()?;
        (at < d && at.to_string() == digits).then_some(at as usize)
    }

    /// The next rows, of which `done` came before.
    fn read(
        &mut self,
        rows: usize,
        done: u64,
        wanted: Option<&[String]>,
        missing: &MissingRules,
    ) -> Result<Vec<Column>> {
        let Header { element, order, n, .. } = self.header;
        let (first, stride_row, stride_column) = match order {
            Order::C => {
                self.fill(rows as u64 * self.header.row_bytes())?;
                (0, self.header.width() as usize, 1)
            }
            Order::Fortran => {
                if done == 0 {
                    self.fill(self.header.bytes())?;
                }
                (done as usize, 1, n as usize)
            }
        };
        if done + rows as u64 == n {
            self.expect_end()?;
        }
        let positions: Vec<(usize, String)> = match wanted {
            Some(wanted) => wanted.iter().filter_map(|w| Some((self.position(w)?, w.clone()))).collect(),
            None => self.names().enumerate().collect(),
        };
        let column = |(at, name): (usize, String)| {
            let mut column = ColumnBuilder::new(missing.of(&name), rows);
            let places = (0..rows).map(|row| first + row * stride_row + at * stride_column);
            element.push_all(&self.bytes, places, &mut column);
            Column { name, cells: column.finish() }
        };
        Ok(positions.into_iter().map(column).collect())
    }

    /// Exactly as many bytes. Memory is allocated as bytes arrive, not as the shape claims.
    fn fill(&mut self, length: u64) -> Result<()> {
        self.bytes.clear();
        let taken = (&mut self.stream).take(length).read_to_end(&mut self.bytes);
        taken.map_err(|error| Error::reading(&self.file, FORMAT, error))?;
        match self.bytes.len() as u64 == length {
            true => Ok(()),
            false => Err(self.damaged("it ends before the last element")),
        }
    }

    /// Also makes a packed member check its sum.
    fn expect_end(&mut self) -> Result<()> {
        match self.stream.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("there are bytes after the last element")),
            Err(error) => Err(Error::reading(&self.file, FORMAT, error)),
        }
    }

    fn damaged(&self, why: &str) -> Error {
        let why = format!("array '{}' has the shape {}, but {why}", self.prefix, self.header.shape());
        Error::damaged(&self.file, FORMAT, why)
    }
}
