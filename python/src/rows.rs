//! Rows as Python holds them: tables, images, files.

use std::{path::PathBuf, sync::Arc};

use flowgmm::{
    ImageArray, ImageShape, Reading, Source, TextEncoder,
    data::{Cells, Column, Frame, TextCells},
    tables::{Options, open_batches},
};
use numpy::{
    IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray4,
    ndarray::{ArrayView2, Axis, s},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyList};
use rayon::prelude::*;

use crate::{arrow, errors::exception, run::Threads};

/// Rows of a frame: rows of a matrix are turned into columns so many at a time, within the cache.
const ROWS: usize = 8192;
/// Rows of a matrix that are copied to columns together.
const BLOCK: usize = 64;

/// A table in memory. Its cells are copied once, from Arrow buffers or an array.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Table {
    frames: Arc<[Frame]>,
    #[pyo3(get)]
    columns: Vec<String>,
}

#[pymethods]
impl Table {
    /// The numbers of a matrix, in columns of these names; NaN is a missing cell.
    #[staticmethod]
    #[pyo3(signature = (x, columns, threads=None))]
    fn from_matrix(
        py: Python<'_>,
        x: PyReadonlyArray2<f64>,
        columns: Vec<String>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let view = x.as_array();
        if view.ncols() != columns.len() {
            let (wanted, got) = (view.ncols(), columns.len());
            return Err(PyValueError::new_err(format!("{wanted} columns, and {got} names")));
        }
        let pool = Threads::Kept(threads).pool()?;
        let frames = py.detach(|| pool.install(|| frames_of(view, &columns)))?;
        Ok(Self { frames, columns })
    }

    /// The columns of an object with `__arrow_c_stream__`, by other names if some are given.
    #[staticmethod]
    #[pyo3(signature = (table, columns=None))]
    fn from_arrow(py: Python<'_>, table: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Self> {
        let (batches, columns) = arrow::batches(table, columns)?;
        let frames = py.detach(|| {
            if batches.is_empty() {
                return Ok(Vec::new());
            }
            open_batches(batches, "the table", &Options::default())?.collect::<Result<Vec<_>, _>>()
        });
        Ok(Self { frames: frames.map_err(|error| exception(error.into()))?.into(), columns })
    }

    /// Columns one by one: arrays of numbers, or lists of texts and None.
    #[staticmethod]
    fn from_columns(columns: Vec<(String, ColumnCells<'_>)>) -> PyResult<Self> {
        let names = columns.iter().map(|(name, _)| name.clone()).collect();
        let columns: Vec<Column> =
            columns.into_iter().map(|(name, cells)| Column { name, cells: cells.read() }).collect();
        let n = columns.first().map_or(0, |column| column.cells.len());
        let frame = Frame::new("the table", columns, (1..=n as u64).collect());
        let frame = frame.map_err(|error| exception(error.into()))?;
        Ok(Self { frames: if n == 0 { Arc::new([]) } else { [frame].into() }, columns: names })
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.frames.iter().map(Frame::n).sum()
    }
}

/// The rows as tables of [`ROWS`] rows, made by all threads at once.
fn frames_of(x: ArrayView2<f64>, names: &[String]) -> PyResult<Arc<[Frame]>> {
    let starts: Vec<usize> = (0..x.nrows()).step_by(ROWS).collect();
    let frames = starts.into_par_iter().map(|start| {
        let end = (start + ROWS).min(x.nrows());
        let columns = columns_of(x.slice(s![start..end, ..]));
        if let Some((name, at)) = infinity(names, &columns) {
            return Err(PyValueError::new_err(format!(
                "Input X contains infinity in row {} of column '{name}': replace it by a number, or by NaN if it is \
                 missing",
                start + at
            )));
        }
        let named = names.iter().cloned().zip(columns);
        let columns = named.map(|(name, values)| Column { name, cells: Cells::Numbers(values) }).collect();
        Frame::new("the data", columns, (start as u64 + 1..=end as u64).collect())
            .map_err(|error| exception(error.into()))
    });
    // The first of several errors, whatever thread came upon one first.
    frames.collect::<Vec<_>>().into_iter().collect()
}

/// The columns of some rows, copied in blocks that stay in the cache.
fn columns_of(x: ArrayView2<f64>) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = (0..x.ncols()).map(|_| Vec::with_capacity(x.nrows())).collect();
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        for (column, values) in columns.iter_mut().zip(block.columns()) {
            column.extend(values);
        }
    }
    columns
}

/// The first column with an infinity, and its row.
fn infinity<'a>(names: &'a [String], columns: &[Vec<f64>]) -> Option<(&'a str, usize)> {
    let found = |values: &Vec<f64>| values.iter().position(|value| value.is_infinite());
    names.iter().zip(columns).find_map(|(name, values)| Some((name.as_str(), found(values)?)))
}

/// The cells of a column in Python.
#[derive(FromPyObject)]
pub enum ColumnCells<'py> {
    /// Numbers; NaN is a missing cell.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Texts; None is a missing cell.
    Texts(Vec<Option<String>>),
}

impl ColumnCells<'_> {
    fn read(self) -> Cells {
        match self {
            Self::Numbers(values) => Cells::Numbers(values.as_array().to_vec()),
            Self::Texts(texts) => {
                let cells: TextCells =
                    texts.iter().map(|text| text.as_deref().filter(|text| !text.trim().is_empty())).collect();
                Cells::from_texts(cells)
            }
        }
    }
}

/// Images in memory.
#[pyclass(frozen, module = "flowgmm._native")]
pub struct Images(ImageArray);

#[pymethods]
impl Images {
    /// Images as bytes in the order [image, channel, row, column].
    #[new]
    fn new(pixels: PyReadonlyArray4<u8>) -> PyResult<Self> {
        let view = pixels.as_array();
        let (_, channels, height, width) = view.dim();
        let images = ImageArray::new(ImageShape { channels, height, width }, view.iter().copied().collect());
        Ok(Self(images.map_err(exception)?))
    }

    /// Number of images.
    fn __len__(&self) -> usize {
        self.0.n()
    }
}

/// Rows as an argument.
#[derive(FromPyObject)]
pub enum PyRows<'py> {
    /// A table in memory.
    Table(PyRef<'py, Table>),
    /// Images in memory.
    Images(PyRef<'py, Images>),
    /// A file or folder.
    Path(PathBuf),
}

impl PyRows<'_> {
    /// Where the library finds them; columns of text are embedded by the encoder of this directory.
    pub fn source(&self, encoder: Option<PathBuf>) -> Source {
        let text = TextEncoder { directory: encoder, ..TextEncoder::default() };
        let source = match self {
            Self::Table(table) => Source::frames_of(Arc::clone(&table.frames)),
            Self::Images(images) => Source::images(images.0.clone()),
            Self::Path(path) => Source::path(path),
        };
        source.reading(Reading { text, ..Reading::default() })
    }
}

/// Labels as an argument: the class of each row by its number, negative for none; the names of the classes; and what a column
/// that holds them is called.
pub type PyLabels<'py> = (PyReadonlyArray1<'py, i64>, Vec<String>, String);

/// The source with its labels.
pub fn labelled(source: Source, labels: Option<PyLabels<'_>>) -> Source {
    let Some((codes, classes, name)) = labels else { return source };
    let class = |code: &i64| usize::try_from(*code).ok().and_then(|k| classes.get(k).cloned());
    source.named_labels(name, codes.as_array().iter().map(class).collect::<Vec<_>>())
}

/// The columns of a table as Python takes them: name, and an array of numbers or a list of texts and None.
pub fn to_columns<'py>(py: Python<'py>, frame: Frame) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let column = |column: Column| {
        let cells = match column.cells {
            Cells::Numbers(values) => values.into_pyarray(py).into_any(),
            Cells::Texts(texts) => PyList::new(py, texts.iter().collect::<Vec<_>>())?.into_any(),
        };
        Ok((column.name, cells))
    };
    frame.into_columns().into_iter().map(column).collect()
}
