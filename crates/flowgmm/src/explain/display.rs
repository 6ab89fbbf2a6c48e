//! How a page shows rows: images as pictures, rows of a table by the columns that separate the classes most, texts by their
//! beginning.

use flowgmm_data::{Frame, ImageLayout};
use flowgmm_report::{Grid, GridWidth, ImageSheet, Plot, SheetRow, TableCell, TableColumn};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use semisup::metrics::separation;

use super::subject::Seen;
use crate::{
    Model, Rows,
    pages::{rests_on, short},
    source::Sampled,
};

/// Columns of a table that are shown.
const COLUMNS: usize = 5;
/// Characters of a text that are shown.
const TEXT: usize = 90;
/// Characters of a class name that are shown.
pub(super) const CLASS: usize = 24;
/// How the colours of [`Display::changes`] are read.
pub(super) const CHANGE_LEGEND: &str = "Orange pixels gain ink, blue ones lose it; the strongest change of a line has the \
                                        full colour.";
/// Characters of a row's name that are shown.
const NAME: usize = 28;

/// What is needed to show rows and classes of a model.
#[derive(Clone, Debug)]
pub(super) struct Display {
    rows: Rows,
    classes: Vec<String>,
    /// The user's columns, those that separate the classes most first; empty for texts and images.
    columns: Vec<String>,
    /// How much the flow counts in predictions; `None` if they are its own.
    flow_weight: Option<f64>,
}

/// Rows that a page shows.
#[derive(Clone, Debug)]
pub(super) struct ShownRows {
    /// `[n, dim]`
    pub(super) x: Array2<f64>,
    /// Their texts, if the model reads texts; else empty.
    texts: Vec<String>,
}

impl ShownRows {
    pub(super) fn of(rows: &Sampled, shown: &[usize]) -> Self {
        let texts = shown.iter().filter_map(|&row| rows.texts.get(row).map(|text| short(text, TEXT)));
        Self { x: rows.x.select(Axis(0), shown), texts: texts.collect() }
    }
}

/// Images with a name for each line of them, `[n, dim]`.
pub(super) type SheetRows = Vec<(String, Array2<f64>)>;

impl Display {
    pub(super) fn new(model: &Model, seen: &Seen) -> Self {
        let rows = model.rows().clone();
        let classes = model.classes_ref().to_vec();
        let flow_weight = model.blend().map(|blend| blend.flow_weight());
        if !rows.texts().is_empty() {
            return Self { rows, classes, columns: Vec::new(), flow_weight };
        }
        let of_rows: Vec<usize> = (0..seen.rows.n()).map(|row| seen.class(row)).collect();
        let origins = origins(&rows);
        let shares = match origins.is_empty() {
            true => Vec::new(),
            false => separation(seen.rows.x.view(), &of_rows, classes.len()),
        };
        let columns = ranked(origins.into_iter().zip(shares));
        let columns = columns.into_iter().map(|(name, _)| name.to_string()).collect();
        Self { rows, classes, columns, flow_weight }
    }

    /// What predictions rest on, in a sentence; nothing where they are the flow's own.
    pub(super) fn rests_on(&self) -> String {
        rests_on(self.flow_weight)
    }

    /// Whether experts stand beside the flow, so that the flow's class need not be the predicted one.
    pub(super) fn is_blend(&self) -> bool {
        self.flow_weight.is_some()
    }

    /// `rows` or `images`.
    pub(super) fn noun(&self) -> &'static str {
        self.rows.noun()
    }

    /// `row` or `image`.
    pub(super) fn one(&self) -> &'static str {
        if self.is_images() { "image" } else { "row" }
    }

    /// The head of a column with the names of rows.
    pub(super) fn name_head(&self) -> TableColumn {
        TableColumn::text(match &self.rows {
            Rows::Images { .. } => "Image",
            Rows::Table { .. } => "Line",
            Rows::Matrix { .. } => "Row",
        })
    }

    /// A cell with the name of a row.
    pub(super) fn name(&self, name: &str) -> TableCell {
        TableCell::name(name, NAME)
    }

    pub(super) fn is_images(&self) -> bool {
        self.layout().is_some()
    }

    fn layout(&self) -> Option<&ImageLayout> {
        self.rows.layout()
    }

    /// Whether rows are texts, which cannot be decoded.
    pub(super) fn is_text(&self) -> bool {
        !self.rows.texts().is_empty()
    }

    /// Whether latent points can be shown in the user's own columns.
    pub(super) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// All columns, those that separate the classes most first.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// For each number of a row, the user's column that it comes from; empty for images.
    pub(super) fn origins(&self) -> Vec<&str> {
        origins(&self.rows)
    }

    /// The names of all classes.
    pub(super) fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Heads of the columns that are shown.
    pub(super) fn heads(&self) -> Vec<TableColumn> {
        if self.is_text() {
            return vec![TableColumn::prose("Text")];
        }
        self.shown().iter().map(|name| TableColumn::number("").named(name, 18)).collect()
    }

    fn shown(&self) -> &[String] {
        &self.columns[..self.columns.len().min(COLUMNS)]
    }

    /// Cells of a row that was read.
    pub(super) fn cells(&self, rows: &ShownRows, row: usize) -> Vec<TableCell> {
        if self.is_text() {
            return vec![
                rows.texts.get(row).map_or(TableCell::Missing, |text| TableCell::from(text.as_str())),
            ];
        }
        self.cells_of(rows.x.row(row))
    }

    /// Cells of a row of numbers, decoded to the user's columns.
    pub(super) fn cells_of(&self, x: ArrayView1<f64>) -> Vec<TableCell> {
        let Some(frame) = self.decoded(x) else { return Vec::new() };
        self.shown()
            .iter()
            .map(|name| cell_text(&frame, name).map_or(TableCell::Missing, |text| TableCell::name(&text, 20)))
            .collect()
    }

    /// A row of numbers in the user's columns; `None` for images and texts.
    pub(super) fn decoded(&self, x: ArrayView1<f64>) -> Option<Frame> {
        if !self.has_columns() {
            return None;
        }
        self.rows.decode(x.insert_axis(Axis(0))).ok()
    }

    /// A sheet of images, line by line; no grid if there are none or rows are not images.
    pub(super) fn sheet(
        &self,
        columns: GridWidth,
        title: &str,
        caption: &str,
        lines: &[(String, Array2<f64>)],
    ) -> Vec<Grid> {
        let rows = lines.iter().filter_map(|(name, x)| self.line(name, x.view())).collect();
        self.sheet_of(columns, title, caption, rows)
    }

    /// A line of images; nothing if rows are not images.
    pub(super) fn line(&self, name: &str, x: ArrayView2<f64>) -> Option<SheetRow> {
        Some(SheetRow::ink(name, pictures(self.layout()?, x)))
    }

    /// A line of what changes from images to others, or from one image to several; nothing if rows are not images.
    ///
    /// Differences are those between the images as they are shown, so that what is less than a level of grey is no change.
    pub(super) fn changes(&self, name: &str, from: ArrayView2<f64>, to: ArrayView2<f64>) -> Option<SheetRow> {
        let layout = self.layout()?;
        let (from, to) = (pictures(layout, from), pictures(layout, to));
        let change =
            |(after, before): (&Vec<f64>, &Vec<f64>)| after.iter().zip(before).map(|(a, b)| a - b).collect();
        Some(SheetRow::change(name, to.iter().zip(from.iter().cycle()).map(change).collect()))
    }

    /// A sheet of these lines; no grid if there are none or rows are not images.
    pub(super) fn sheet_of(
        &self,
        columns: GridWidth,
        title: &str,
        caption: &str,
        rows: Vec<SheetRow>,
    ) -> Vec<Grid> {
        let Some(layout) = self.layout().filter(|_| !rows.is_empty()) else { return Vec::new() };
        let (width, height) = (layout.width, layout.height);
        let sheet = ImageSheet { title: title.into(), caption: caption.into(), width, height, rows };
        vec![Grid::of(columns, vec![sheet.figure()])]
    }
}

/// A class name of a length that fits tables and titles.
pub(super) fn class_name(name: &str) -> String {
    short(name, CLASS)
}

/// For each number of a row, the user's column that it comes from.
fn origins(rows: &Rows) -> Vec<&str> {
    match rows {
        Rows::Matrix { columns } => columns.iter().map(String::as_str).collect(),
        Rows::Table { encoding, .. } => encoding.features().iter().map(|f| f.column.as_str()).collect(),
        Rows::Images { .. } => Vec::new(),
    }
}

/// Columns by the largest value of their numbers, largest first.
pub(super) fn ranked<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let mut columns: Vec<(&str, f64)> = Vec::new();
    for (column, value) in values {
        match columns.iter_mut().find(|(name, _)| *name == column) {
            Some((_, largest)) => *largest = largest.max(value),
            None => columns.push((column, value)),
        }
    }
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    columns
}

/// Images as intensities from 0 to 1, in the levels that image files have.
fn pictures(layout: &ImageLayout, x: ArrayView2<f64>) -> Vec<Vec<f64>> {
    let picture = |row: ArrayView1<f64>| {
        layout.image(&row.to_vec()).pixels.into_iter().map(|byte| f64::from(byte) / 255.0).collect()
    };
    x.rows().into_iter().map(picture).collect()
}

/// The first row's cell of a column.
pub(super) fn cell_text(frame: &Frame, column: &str) -> Option<String> {
    frame.column(column)?.text(0).map(|text| tidy(&text))
}

/// Numbers in at most five significant digits: single precision has hardly more.
pub(super) fn tidy(text: &str) -> String {
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
    fn numbers_are_rounded_and_words_are_kept() {
        assert_eq!(tidy("3.14159265"), "3.1416");
        assert_eq!(tidy("12345.678"), "12346");
        assert_eq!(tidy("-0.00012345678"), "\u{2212}0.00012346");
        assert_eq!(
            (tidy("0"), tidy("16.0"), tidy("abc"), tidy("-1e-12")),
            ("0".into(), "16".into(), "abc".into(), "0".into())
        );
    }
}
