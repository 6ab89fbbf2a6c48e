//! How rows are shown: images as pictures, rows of a table by their most telling columns, texts by their beginning.

use flowgmm::Model;
use flowgmm_data::{Frame, Layout};
use flowgmm_report::{Cell, Column, ImageSheet};
use semisup::{
    Classifier,
    metrics::separation,
    ndarray::{Array2, ArrayView1, ArrayView2},
};

use super::{Rows, Seen};
use crate::fit_report::short;

/// Columns of a table that are shown.
const COLUMNS: usize = 5;

/// What is known about showing rows.
pub struct Show<'a> {
    model: &'a Model,
    /// The user's columns, those that separate the classes most first.
    columns: Vec<String>,
}

impl<'a> Show<'a> {
    pub fn new(model: &'a Model, seen: &Seen) -> Self {
        let Some(encoding) = model.encoding().filter(|_| model.texts().is_empty()) else {
            return Self { model, columns: Vec::new() };
        };
        let classes: Vec<usize> = (0..seen.rows.n()).map(|row| seen.class(row)).collect();
        let shares = separation(seen.rows.x.view(), &classes, model.classes().len());
        let mut columns: Vec<(String, f64)> = Vec::new();
        for (feature, share) in encoding.features().iter().zip(shares) {
            match columns.iter_mut().find(|(name, _)| *name == feature.column) {
                Some((_, best)) => *best = best.max(share),
                None => columns.push((feature.column.clone(), share)),
            }
        }
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { model, columns: columns.into_iter().map(|(name, _)| name).collect() }
    }

    /// Size and colour, of images.
    pub fn layout(&self) -> Option<&Layout> {
        self.model.layout()
    }

    /// Whether rows are texts, which cannot be made of numbers.
    pub fn is_text(&self) -> bool {
        !self.model.texts().is_empty()
    }

    /// A class name of bearable length.
    pub fn class(&self, k: usize) -> String {
        short(&self.model.classes()[k], 24)
    }

    /// All columns, the most telling first.
    pub fn telling(&self) -> &[String] {
        &self.columns
    }

    /// Heads of the columns that are shown.
    pub fn heads(&self) -> Vec<Column> {
        if self.is_text() {
            return vec![Column::prose("Text")];
        }
        self.shown().iter().map(|name| Column::number(short(name, 18))).collect()
    }

    fn shown(&self) -> &[String] {
        &self.columns[..self.columns.len().min(COLUMNS)]
    }

    /// Cells of a row that was read, as the user wrote them.
    pub fn cells(&self, rows: &Rows, row: usize) -> Vec<Cell> {
        if self.is_text() {
            return vec![rows.texts.get(row).map_or(Cell::Missing, |text| Cell::from(text.as_str()))];
        }
        self.cells_of(rows.x.row(row))
    }

    /// Cells of a row of numbers, in the user's words.
    pub fn cells_of(&self, x: ArrayView1<f64>) -> Vec<Cell> {
        let Some(frame) = self.decoded(x) else { return Vec::new() };
        self.shown().iter().map(|name| value(&frame, name)).collect()
    }

    /// A row of numbers as the user's columns.
    pub fn decoded(&self, x: ArrayView1<f64>) -> Option<Frame> {
        let x = x.insert_axis(semisup::ndarray::Axis(0));
        self.model.encoding().map(|encoding| encoding.decode(x))
    }

    /// Images as intensities for a sheet.
    pub fn pictures(&self, x: ArrayView2<f64>) -> Vec<Vec<f64>> {
        let Some(layout) = self.layout() else { return Vec::new() };
        let picture = |row: ArrayView1<f64>| {
            layout.picture(&row.to_vec()).pixels.into_iter().map(|byte| f64::from(byte) / 255.0).collect()
        };
        x.rows().into_iter().map(picture).collect()
    }

    /// A sheet of rows of images.
    pub fn sheet(&self, title: &str, caption: &str, rows: Vec<(String, Array2<f64>)>) -> ImageSheet {
        let (width, height) = self.layout().map_or((0, 0), |layout| (layout.width, layout.height));
        let rows = rows.into_iter().map(|(name, x)| (name, self.pictures(x.view()))).collect();
        ImageSheet { title: title.into(), caption: caption.into(), width, height, rows }
    }
}

/// One cell as text.
pub fn value(frame: &Frame, column: &str) -> Cell {
    match frame.column(column).and_then(|cells| cells.text(0)) {
        Some(text) => Cell::from(short(&tidy(&text), 20)),
        None => Cell::Missing,
    }
}

/// Numbers in at most five significant digits: what a flow makes of rows has no more.
pub fn tidy(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(v) if v.is_finite() && v != 0.0 => {
            let digits = (4 - v.abs().log10().floor() as i32).clamp(0, 8) as usize;
            let fixed = format!("{v:.digits$}");
            let fixed =
                if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.') } else { &fixed };
            if fixed == "-0" { "0".into() } else { fixed.replace('-', "\u{2212}") }
        }
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn numbers_are_short_and_words_stay() {
        assert_eq!(tidy("3.14159265"), "3.1416");
        assert_eq!(tidy("12345.678"), "12346");
        assert_eq!(tidy("-0.00012345678"), "\u{2212}0.00012346");
        assert_eq!(
            (tidy("0"), tidy("16.0"), tidy("abc"), tidy("-1e-12")),
            ("0".into(), "16".into(), "abc".into(), "0".into())
        );
    }
}
