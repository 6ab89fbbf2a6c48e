//! Rows as their user knows them: cells by column, or an image.

use flowgmm_data::{Cells, Frame, Image};
use ndarray::ArrayView2;

use crate::{Model, Result, rows::Rows};

/// A row as its user knows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// Cells by the name of their column.
    Row(Vec<(String, Cell)>),
    /// An image.
    Image(Image),
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Missing,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Numbers `[n, dim]` as rows that their user knows.
pub fn decoded(model: &Model, x: ArrayView2<f64>) -> Result<Vec<Decoded>> {
    match model.rows() {
        Rows::Images { layout } => {
            Ok(x.rows().into_iter().map(|row| Decoded::Image(layout.image(&row.to_vec()))).collect())
        }
        Rows::Matrix { .. } | Rows::Table { .. } => {
            let frame = model.rows().decode(x)?;
            Ok((0..frame.n()).map(|row| Decoded::Row(cells(&frame, row, None))).collect())
        }
    }
}

/// The cells of a row, without the column of the labels.
pub(super) fn cells(frame: &Frame, row: usize, label: Option<&str>) -> Vec<(String, Cell)> {
    let columns = frame.columns().iter().filter(|column| Some(column.name.as_str()) != label);
    columns.map(|column| (column.name.clone(), cell(&column.cells, row))).collect()
}

fn cell(cells: &Cells, row: usize) -> Cell {
    match cells.number(row) {
        Ok(None) => Cell::Missing,
        Ok(Some(value)) => Cell::Number(value),
        Err(text) => Cell::Text(text.to_string()),
    }
}
