//! What a row is: numbers of a matrix, cells of a table, or an image. A model keeps this, and nobody else asks.
//!
//! ```text
//! Frame ─texts embedded─Encoding→ x [n, dim] ─Encoding→ Frame          a table
//! Image ─ImageLayout→ x [n, dim] of pixel values 0..=255 ─ImageLayout→ Image     images
//! x [n, dim] as it is                                                  a matrix
//! ```

pub mod text;

use flowgmm_data::{Cells, Column, Encoding, Frame, ImageLayout, Likelihood};
use ndarray::{Array2, ArrayView2};
use semisup::ImageShape;
use serde::{Deserialize, Serialize};

use crate::Result;

pub use text::{TextColumn, TextEncoder};

/// What the rows of a model are, and how they become numbers and numbers become rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Rows {
    /// Numbers in named columns, as they are.
    Matrix {
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// Cells of a table: numbers, categories, dates, gaps, texts.
    Table {
        /// How columns become numbers.
        encoding: Encoding,
        /// Columns of text that are embedded first.
        #[serde(default)]
        texts: Vec<TextColumn>,
        /// The column that held the labels when the model was fitted.
        #[serde(default)]
        label: Option<String>,
    },
    /// Images in one size and colour.
    Images {
        /// Size and colour.
        layout: ImageLayout,
    },
}

impl Rows {
    /// The names of the numbers that a row becomes, `[dim]`.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Matrix { columns } => columns.clone(),
            Self::Table { encoding, .. } => encoding.feature_names(),
            Self::Images { layout } => layout.names(),
        }
    }

    /// How many numbers a row becomes.
    pub fn dim(&self) -> usize {
        match self {
            Self::Matrix { columns } => columns.len(),
            Self::Table { encoding, .. } => encoding.dim(),
            Self::Images { layout } => layout.dim(),
        }
    }

    /// Columns of text that are embedded before anything else.
    pub fn texts(&self) -> &[TextColumn] {
        match self {
            Self::Table { texts, .. } => texts,
            Self::Matrix { .. } | Self::Images { .. } => &[],
        }
    }

    /// How columns of a table become numbers.
    pub fn encoding(&self) -> Option<&Encoding> {
        match self {
            Self::Table { encoding, .. } => Some(encoding),
            Self::Matrix { .. } | Self::Images { .. } => None,
        }
    }

    /// Size and colour of images.
    pub fn layout(&self) -> Option<&ImageLayout> {
        match self {
            Self::Images { layout } => Some(layout),
            Self::Matrix { .. } | Self::Table { .. } => None,
        }
    }

    /// The shape of rows that are images, padding included.
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.layout().map(ImageLayout::shape)
    }

    /// The column that held the labels when the model was fitted.
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Table { label, .. } => label.as_deref(),
            Self::Matrix { .. } | Self::Images { .. } => None,
        }
    }

    /// What a reader calls several of them: `rows` or `images`.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Images { .. } => "images",
            Self::Matrix { .. } | Self::Table { .. } => "rows",
        }
    }

    /// `12 columns`, or `30 x 28 grey, padded to 32 x 28`.
    pub fn describe(&self) -> String {
        let Self::Images { layout } = self else { return format!("{} columns", self.dim()) };
        match layout.padded() {
            (height, width) if (height, width) == (layout.height, layout.width) => layout.describe(),
            (height, width) => format!("{}, padded to {height} x {width}", layout.describe()),
        }
    }

    /// Numbers `[n, dim]` as rows in the user's own columns; images become columns of whole pixel values.
    pub fn decode(&self, x: ArrayView2<f64>) -> Result<Frame> {
        let lines = (1..=x.nrows() as u64).collect();
        let columns: Vec<Column> = match self {
            Self::Table { encoding, .. } => return Ok(encoding.invert(x)),
            Self::Matrix { columns } => {
                let named = columns.iter().zip(x.columns());
                named.map(|(name, values)| numbers(name.clone(), values.to_vec())).collect()
            }
            Self::Images { layout } => {
                let images: Vec<_> = x.rows().into_iter().map(|row| layout.image(&row.to_vec())).collect();
                let pixel = |at: usize| images.iter().map(|image| image.pixels[at].into()).collect();
                let names = layout.pixel_names().into_iter().enumerate();
                names.map(|(at, name)| numbers(name, pixel(at))).collect()
            }
        };
        Ok(Frame::new(self.noun(), columns, lines)?)
    }

    /// Numbers with values that such rows cannot have put right: pixel values rounded and cut to 0..=255.
    pub(crate) fn possible(&self, x: Array2<f64>) -> Array2<f64> {
        let Self::Images { layout } = self else { return x };
        let rows = x.rows().into_iter().flat_map(|row| layout.row(layout.image(&row.to_vec())));
        Array2::from_shape_vec(x.dim(), rows.map(f64::from).collect()).expect("as many pixels")
    }

    /// What log p(x) is the density of.
    pub(crate) fn likelihood(&self) -> String {
        match self {
            Self::Images { .. } => "of pixel values spread over their cells, padding included".into(),
            Self::Table { encoding, .. } => match encoding.likelihood() {
                Likelihood::Exact => "exact, in the table's units".into(),
                Likelihood::Bound { why } => format!("a bound in the table's units: {why}"),
            },
            Self::Matrix { .. } => "exact, in the table's units".into(),
        }
    }

    /// The checks of a description that comes from a file.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        match self {
            Self::Matrix { .. } => Ok(()),
            Self::Table { encoding, .. } => encoding.validate().map_err(|error| error.to_string()),
            Self::Images { layout } => layout.validate().map_err(|error| error.to_string()),
        }
    }
}

/// A column of numbers.
pub(crate) fn numbers(name: String, values: Vec<f64>) -> Column {
    Column { name, cells: Cells::Numbers(values) }
}
