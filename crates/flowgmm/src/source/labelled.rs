//! The rows of a source as a model sees them, whole: all of them, or the labelled ones.

use ndarray::{Array2, Axis};

use super::{Chunks, Source, Wanted};
use crate::{Result, observer::Observer, rows::Rows};

/// Rows with a known class, as a model sees them.
#[derive(Clone, Debug)]
pub struct LabelledRows {
    /// The numbers, `[n, dim]`.
    pub x: Array2<f64>,
    /// The class of each row, `[n]`.
    pub y: Vec<usize>,
    /// Rows without a label, which were skipped.
    pub skipped: usize,
    /// What the user should know about the rows.
    pub warnings: Vec<String>,
}

/// Reads the labelled rows of a source as rows of this kind; labels must be among `classes`. At least one is needed.
///
/// ```
/// use flowgmm::{Rows, Source, read_labelled};
///
/// let rows = Rows::Matrix { columns: vec!["width".into(), "height".into()] };
/// let classes = ["cat".to_string(), "dog".to_string()];
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// let source = Source::matrix(x.view()).labels([None, Some("dog".to_string())]);
/// let found = read_labelled(&rows, &classes, &source, &mut ())?;
/// assert_eq!((found.x, found.y, found.skipped), (ndarray::array![[3.0, 4.0]], vec![1], 1));
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn read_labelled(
    rows: &Rows,
    classes: &[String],
    source: &Source,
    observer: &mut dyn Observer,
) -> Result<LabelledRows> {
    let mut chunks = Chunks::open(source, rows, classes, Wanted::LabelledRows)?;
    let (mut x, mut y) = (Array2::zeros((0, rows.dim())), Vec::new());
    while let Some(chunk) = chunks.next(observer)? {
        x.append(Axis(0), chunk.x.view()).expect("as many columns");
        y.extend(chunk.y.iter().flatten());
    }
    if y.is_empty() {
        return Err(semisup::Error::NoLabels { name: chunks.name().to_string() }.into());
    }
    Ok(LabelledRows { x, y, skipped: chunks.skipped, warnings: chunks.into_warnings() })
}

/// Reads all rows of a source as rows of this kind, `[n, dim]`.
///
/// ```
/// use flowgmm::{Rows, Source, read_rows};
///
/// let rows = Rows::Matrix { columns: vec!["width".into(), "height".into()] };
/// let x = ndarray::array![[0.0, 1.0], [1.0, -0.5]];
/// assert_eq!(read_rows(&rows, &Source::matrix(x.view()), &mut ())?, x);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn read_rows(rows: &Rows, source: &Source, observer: &mut dyn Observer) -> Result<Array2<f64>> {
    let mut chunks = Chunks::open(source, rows, &[], Wanted::Rows)?;
    let mut x = Array2::zeros((0, rows.dim()));
    while let Some(chunk) = chunks.next(observer)? {
        x.append(Axis(0), chunk.x.view()).expect("as many columns");
    }
    Ok(x)
}
