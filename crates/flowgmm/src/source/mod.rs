//! Where rows come from: files, folders and data in memory, all read in chunks.
//!
//! ```text
//! Source ─against a model's Rows→ Chunks of x [n, dim], labels, names     predict, evaluate, calibrate, explain
//! Source ─Training::read→ SemiSupervised, Rows                            fit
//! ```

pub(crate) mod beyond;
mod chunks;
mod frames;
mod given;
mod images;
mod labelled;
mod matching;
mod memory;
mod sample;
mod substitutions;
mod tables;
mod thinned;
pub(crate) mod training;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use flowgmm_data::{Column, Frame};
use flowgmm_datasets::ImageSource;
use flowgmm_tables::{Header, InputFormat};
use ndarray::{Array2, ArrayView2};

use crate::{
    Error, Need, Result,
    rows::{TextEncoder, numbers},
};

pub use chunks::{Chunk, RowNames};
pub(crate) use chunks::{Chunks, Wanted};
pub use labelled::{LabelledRows, read_labelled, read_rows};
pub(crate) use matching::matrix_of;
pub use memory::ImageArray;
pub(crate) use sample::Sampled;

/// Rows to learn from or to predict: where they are, how they are read, and where their labels are.
///
/// ```
/// use flowgmm::Source;
///
/// let file = Source::path("flowers.csv").label_column("species");
/// let x = ndarray::array![[5.1, 3.5], [6.2, 2.9]];
/// let memory = Source::matrix(x.view()).labels(["setosa".to_string().into(), None]);
/// assert_eq!((file.name(), memory.name()), ("flowers.csv".into(), "the data".into()));
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    origin: Origin,
    /// How files are read.
    pub reading: Reading,
    labels: Labels,
    /// Columns of a table that are carried through as they are written.
    kept: Vec<String>,
}

/// Where rows are.
#[derive(Clone, Debug)]
enum Origin {
    /// A file of a table, a folder of such files or a pattern of their names, a folder or file of images, or `-` for
    /// standard input.
    Path(PathBuf),
    /// Tables in memory with the same columns; shared, so that a source costs no copy of them.
    Frames(Arc<[Frame]>),
    /// Numbers in memory.
    Matrix { x: Array2<f64>, columns: Vec<String> },
    /// Images in memory.
    Images(ImageArray),
}

/// Where the labels of rows are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Labels {
    /// Where images have them of themselves: folders' names, labels within a file. A table has none.
    #[default]
    Own,
    /// In this column of a table.
    Column(String),
    /// In this IDX file.
    File(PathBuf),
    /// Given, one for each row; `None` where there is none. A model remembers the name for tables that have such a column.
    Given { name: String, labels: Vec<Option<String>> },
}

/// How files of rows are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The format of tables; what their first bytes or names say, if absent.
    pub format: Option<InputFormat>,
    /// Whether tables begin with the names of their columns.
    pub header: Header,
    /// Texts that mean a missing cell besides an empty one; the usual ones, if empty.
    pub missing: Vec<String>,
    /// What the names of an NPZ file's arrays end in, as in `x_train` and `y_train`.
    pub suffix: Option<String>,
    /// How columns of text are embedded.
    pub text: TextEncoder,
}

impl Source {
    /// A file of a table (CSV, TSV, JSON lines, Parquet, Arrow, NPY, NPZ; `-` for standard input), or images: a folder
    /// with a folder for each class, one PNG or JPEG file, IDX, CIFAR-10's .bin, SVHN's .mat, NPZ.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::new(Origin::Path(path.into()))
    }

    /// Numbers in memory, `[n, dim]`; the columns are called x1, x2, ...
    pub fn matrix(x: ArrayView2<f64>) -> Self {
        let columns = (1..=x.ncols()).map(|j| format!("x{j}")).collect();
        Self::new(Origin::Matrix { x: x.to_owned(), columns })
    }

    /// Numbers in memory, `[n, dim]`, in named columns.
    ///
    /// # Panics
    /// Unless there is one name for each column.
    pub fn named_matrix(x: ArrayView2<f64>, columns: &[String]) -> Self {
        assert_eq!(x.ncols(), columns.len(), "one name for each column");
        Self::new(Origin::Matrix { x: x.to_owned(), columns: columns.to_vec() })
    }

    /// A table in memory.
    pub fn frame(frame: Frame) -> Self {
        Self::frames_of([frame].into())
    }

    /// Arrow record batches with the same columns.
    ///
    /// ```
    /// use flowgmm::{Source, tables::arrow::{RecordBatch, array::Float64Array}};
    /// use std::sync::Arc;
    ///
    /// let width = Arc::new(Float64Array::from(vec![1.0, 2.5]));
    /// let batch = RecordBatch::try_from_iter([("width", width as _)]).unwrap();
    /// let source = Source::record_batches(&[batch])?;
    /// # Ok::<(), flowgmm::Error>(())
    /// ```
    pub fn record_batches(batches: &[flowgmm_tables::arrow::RecordBatch]) -> Result<Self> {
        let reader =
            flowgmm_tables::open_batches(batches.to_vec(), "the record batches", &Default::default())?;
        Ok(Self::frames_of(reader.collect::<std::result::Result<_, _>>()?))
    }

    /// Tables in memory with the same columns, one after the other. Sources of the same frames share them.
    pub fn frames_of(frames: Arc<[Frame]>) -> Self {
        Self::new(Origin::Frames(frames))
    }

    /// Images in memory.
    pub fn images(images: ImageArray) -> Self {
        Self::new(Origin::Images(images))
    }

    fn new(origin: Origin) -> Self {
        Self { origin, reading: Reading::default(), labels: Labels::Own, kept: Vec::new() }
    }

    /// The labels are in this column of the table; an empty cell means unlabelled.
    pub fn label_column(self, name: impl Into<String>) -> Self {
        Self { labels: Labels::Column(name.into()), ..self }
    }

    /// Columns of the table that predictions carry through as they are written, such as ids.
    pub fn keep(self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { kept: columns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Columns that are carried through.
    pub(crate) fn kept(&self) -> &[String] {
        &self.kept
    }

    /// The labels of IDX images are in this IDX file.
    pub fn label_file(self, path: impl Into<PathBuf>) -> Self {
        Self { labels: Labels::File(path.into()), ..self }
    }

    /// The labels, one for each row in its order; `None` means unlabelled.
    pub fn labels(self, labels: impl IntoIterator<Item = Option<String>>) -> Self {
        self.named_labels("class", labels)
    }

    /// The labels, one for each row in its order, and the name of a column that would hold them: a model that is fitted to a
    /// table in memory looks for its labels there when it reads other tables.
    pub fn named_labels(
        self,
        name: impl Into<String>,
        labels: impl IntoIterator<Item = Option<String>>,
    ) -> Self {
        Self { labels: Labels::Given { name: name.into(), labels: labels.into_iter().collect() }, ..self }
    }

    /// How files are read.
    pub fn reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// What messages call the rows' origin.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Path(path) if is_stream(path) => "standard input".into(),
            Origin::Path(path) => path.display().to_string(),
            Origin::Frames(frames) => frames.first().map_or("the data".into(), |frame| frame.name().into()),
            Origin::Matrix { .. } => "the data".into(),
            Origin::Images(_) => "the images".into(),
        }
    }

    /// The file or folder, if the rows are in one.
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Path(path) => Some(path),
            Origin::Frames(_) | Origin::Matrix { .. } | Origin::Images(_) => None,
        }
    }

    /// The column of labels, if one is named.
    pub fn label(&self) -> Option<&str> {
        match &self.labels {
            Labels::Column(name) => Some(name),
            Labels::Own | Labels::File(_) | Labels::Given { .. } => None,
        }
    }

    /// Whether the rows are images. Who names a column of labels has a table.
    pub fn holds_images(&self) -> Result<bool> {
        Ok(self.image_source()?.is_some() || matches!(self.origin, Origin::Images(_)))
    }

    /// Which kind of images a path holds, if it holds any.
    fn image_source(&self) -> Result<Option<ImageSource>> {
        match &self.origin {
            Origin::Path(path) if self.label().is_none() => match flowgmm_tables::parts(path)? {
                Some(_) => Ok(None), // a table in several files
                None => Ok(ImageSource::of(path, self.reading.suffix.as_deref())?),
            },
            _ => Ok(None),
        }
    }

    /// Whether rows can be read more than once: not those of a pipe.
    pub(crate) fn can_be_read_again(&self) -> bool {
        self.file().is_none_or(|path| (path.is_dir() || path.is_file() || !path.exists()) && !is_stream(path))
    }

    /// What to say where a table lacks the name of its label.
    pub(crate) fn label_needed(&self) -> Error {
        // A slip in the name is likelier than a missing label column.
        if let Some(path) = self.file().filter(|path| !is_stream(path))
            && let Err(source) = std::fs::metadata(path)
            && !matches!(flowgmm_tables::parts(path), Ok(Some(_)))
        {
            return Error::Io { path: path.to_path_buf(), source };
        }
        let message = format!(
            "{} is taken for a table: name the column of its labels. (Images are a folder with a folder for each class, a \
             PNG or JPEG file, IDX, CIFAR-10's .bin, SVHN's .mat, or an NPZ file with images x)",
            self.name()
        );
        Error::Needed { what: Need::LabelColumn, message }
    }
}

/// Whether a path stands for standard input.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A matrix as a table.
fn frame_of(x: ArrayView2<f64>, columns: &[String]) -> Result<Frame> {
    let named = columns.iter().zip(x.columns());
    let columns: Vec<Column> = named.map(|(name, values)| numbers(name.clone(), values.to_vec())).collect();
    Ok(Frame::new("the data", columns, (1..=x.nrows() as u64).collect())?)
}
