//! The rows to look at first: labels the model finds improbable, and unlabelled rows it cannot decide.

use std::collections::BTreeMap;

use flowgmm_data::{Cells, Frame, Image};
use flowgmm_report::{Grid, GridWidth, ImageSheet, Plot, Section, SheetRow, Table, TableCell, TableColumn};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::Serialize;

use super::{
    Overview,
    held_out::HeldOut,
    subject::{ScoredRows, Subject},
};
use crate::{error::Result, pages::percent, rows::Rows};

/// Rows in a table.
const SHOWN: usize = 10;
/// Columns of the user's shown with a row.
const COLUMNS: usize = 4;

/// The rows that are hardest for the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HardestRows {
    /// Labelled rows by the probability of their label, the least probable first; their classes are label and prediction.
    pub improbable_labels: Vec<HardRow>,
    /// Which labelled rows were examined.
    pub examined: Examined,
    /// Unlabelled rows nearest to a decision boundary, the nearest first; their classes are the two most probable ones.
    pub undecided: Vec<HardRow>,
    /// Number of unlabelled rows that were examined.
    pub n_unlabelled_examined: usize,
    /// The columns shown with each row: those that separate the classes most.
    pub columns: Vec<String>,
    /// What a row's name is: `Line` of a file, `Row` of a matrix, or `Image`.
    pub named_by: &'static str,
}

/// Labelled rows that were examined, and what predicted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Examined {
    /// Test rows, by the model.
    TestRows,
    /// Training rows, by fits that had not seen them.
    HeldOutRows,
    /// Training rows, by the model, which saw their labels.
    TrainingRows,
}

/// A row that is hard for the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HardRow {
    /// Where to find it: a line of a file, the number of a row, or an image.
    pub name: String,
    /// Its label and the predicted class, or the two most probable classes; numbers of classes.
    pub classes: [usize; 2],
    /// The probability of the first of these.
    pub probability: f64,
    /// How usual its density is among rows that the flow was not trained on.
    pub typicality: f64,
    /// Its cells in the columns shown, as the user wrote them.
    pub values: Vec<Option<String>>,
    /// The image, if it is one.
    #[serde(skip)]
    pub picture: Option<Image>,
}

/// A row that may be shown.
struct Candidate {
    name: String,
    x: Vec<f64>,
    classes: [usize; 2],
    probability: f64,
}

impl HardestRows {
    /// Looks for them among labelled and unlabelled rows; `separating` are columns, those that matter most first.
    pub(super) fn find(
        subject: &Subject,
        held: Option<&HeldOut>,
        unlabelled: &ScoredRows,
        separating: &[String],
    ) -> Result<Self> {
        let columns = &separating[..separating.len().min(COLUMNS)];
        let (examined, labelled) = improbable(subject, held);
        Ok(Self {
            improbable_labels: completed(subject, labelled, columns)?,
            examined,
            undecided: completed(subject, undecided(subject, unlabelled), columns)?,
            n_unlabelled_examined: unlabelled.rows.len(),
            columns: columns.to_vec(),
            named_by: match subject.rows() {
                Rows::Table { .. } => "Line",
                Rows::Matrix { .. } => "Row",
                Rows::Images { .. } => "Image",
            },
        })
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let rows = overview.nouns();
        let what = if self.examined == Examined::TestRows { "Test" } else { "Labelled" };
        let by = match self.examined {
            Examined::TestRows => "according to the model",
            Examined::HeldOutRows => "according to fits that had not seen them",
            Examined::TrainingRows => "according to the model, which saw the labels",
        };
        let caption = format!("{what} {rows} whose own label is least probable {by}.");
        let heads = ["Label", "Predicted", "p(label)"];
        let mut tables = vec![self.table(&self.improbable_labels, overview, caption, heads)];
        let mut sheets = vec![sheet("Improbable labels", &self.improbable_labels)];
        if self.n_unlabelled_examined > 0 {
            let among = match (self.n_unlabelled_examined, overview.n_unlabelled) {
                (some, all) if some < all => format!("among {some} of {all}, evenly spaced"),
                (_, all) => format!("among all {all}"),
            };
            let caption = format!("Unlabelled {rows} nearest to a decision boundary, {among}.");
            let heads = ["First choice", "Second choice", "p(first)"];
            tables.push(self.table(&self.undecided, overview, caption, heads));
            sheets.push(sheet("Near a decision boundary", &self.undecided));
        }
        let figures: Vec<_> = sheets.iter().flatten().map(Plot::figure).collect();
        Section {
            heading: format!("Hardest {rows}"),
            text: self.text(overview),
            tables,
            grids: if figures.is_empty() { Vec::new() } else { vec![Grid::of(GridWidth::Two, figures)] },
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let rows = overview.nouns();
        let test = match self.examined {
            Examined::TestRows => format!(" (of the test {rows} in the first table)"),
            Examined::HeldOutRows | Examined::TrainingRows => String::new(),
        };
        let place = match self.named_by {
            "Line" => format!("Line is where the row is in its file{test}."),
            "Row" => format!("Row is its number in the data{test}, from 1."),
            _ => format!("Image is its name or number in the data{test}."),
        };
        let columns = match self.columns.is_empty() {
            true => "",
            false => " The columns shown are those that separate the classes most.",
        };
        format!(
            "Look at these first. Where a label has a probability near 0, either the model or the label is wrong. Labels \
             for unlabelled {rows} near a decision boundary would teach the model most. Typicality is near 0 for {rows} \
             that are less likely, or more likely, than nearly all others.\n\n{place}{columns}"
        )
    }

    fn table(&self, rows: &[HardRow], overview: &Overview, caption: String, heads: [&str; 3]) -> Table {
        let class = |k: usize| TableCell::name(&overview.classes[k], 24);
        let cells = |row: &HardRow| {
            let mut cells = vec![TableCell::name(&row.name, 40)];
            cells.extend(row.classes.map(class));
            let probability = match row.probability {
                p if p < 5e-4 => "< 0.1\u{a0}%".to_string(),
                p => percent(p),
            };
            cells.push(TableCell::shown(row.probability, probability));
            cells.push(TableCell::number(row.typicality, 2));
            let value = |text: &Option<String>| {
                text.as_ref().map_or(TableCell::Missing, |text| TableCell::name(text, 20))
            };
            cells.extend(row.values.iter().map(value));
            cells
        };
        let mut head = vec![TableColumn::number(self.named_by)];
        head.extend([TableColumn::text(heads[0]), TableColumn::text(heads[1])]);
        head.extend([TableColumn::number(heads[2]), TableColumn::number("Typicality")]);
        head.extend(self.columns.iter().map(|name| TableColumn::number("").named(name, 18)));
        Table { caption, columns: head, rows: rows.iter().map(cells).collect() }
    }
}

/// The pictures of rows that are images, in the order of their table.
fn sheet(title: &str, rows: &[HardRow]) -> Option<ImageSheet> {
    let pictures: Vec<&Image> = rows.iter().filter_map(|row| row.picture.as_ref()).collect();
    let first = pictures.first()?;
    Some(ImageSheet {
        title: title.into(),
        caption: "In the order of the table.".into(),
        width: first.width,
        height: first.height,
        rows: vec![SheetRow::ink("", pictures.iter().map(|picture| intensities(picture)).collect())],
    })
}

/// Pixel values in 0..1.
pub(super) fn intensities(picture: &Image) -> Vec<f64> {
    picture.pixels.iter().map(|&pixel| f64::from(pixel) / 255.0).collect()
}

/// Labelled rows whose label is least probable.
fn improbable(subject: &Subject, held: Option<&HeldOut>) -> (Examined, Vec<Candidate>) {
    if let Some(test) = &subject.test {
        let probabilities = test.log_probs.exp();
        let judged = (0..test.y.len()).map(|i| (i, test.y[i], probabilities.row(i)));
        return (Examined::TestRows, least(judged, test.x.view(), |i| test.names[i].clone()));
    }
    let data = subject.data();
    let (x, name) = (data.x(), |row: usize| subject.fit.training.origins.of(row));
    let (examined, rows, probabilities) = match held {
        Some(held) => {
            let (rows, means) = mean_probabilities(held);
            (Examined::HeldOutRows, rows, means)
        }
        None => {
            let rows = data.labelled();
            let log_probs = subject.model().score(x.select(Axis(0), &rows).view()).log_probs;
            (Examined::TrainingRows, rows, log_probs.exp())
        }
    };
    let judged = rows.iter().zip(probabilities.rows()).filter_map(|(&row, p)| Some((row, data.y()[row]?, p)));
    (examined, least(judged, x, name))
}

/// The rows of `(row, class, p)` with the least p(class).
fn least<'a>(
    judged: impl Iterator<Item = (usize, usize, ArrayView1<'a, f64>)>,
    x: ArrayView2<f64>,
    name: impl Fn(usize) -> String,
) -> Vec<Candidate> {
    let mut judged: Vec<_> = judged.map(|(row, y, p)| (p[y], row, y, best_two(p)[0])).collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    judged.truncate(SHOWN);
    let candidate = |(probability, row, y, predicted): (f64, usize, usize, usize)| Candidate {
        name: name(row),
        x: x.row(row).to_vec(),
        classes: [y, predicted],
        probability,
    };
    judged.into_iter().map(candidate).collect()
}

/// Each row that was held out, with the mean of its probabilities.
fn mean_probabilities(held: &HeldOut) -> (Vec<usize>, Array2<f64>) {
    let mut sums: BTreeMap<usize, (Array1<f64>, f64)> = BTreeMap::new();
    for (&row, p) in held.rows.iter().zip(held.log_probs.exp().rows()) {
        let sum = sums.entry(row).or_insert_with(|| (Array1::zeros(p.len()), 0.0));
        sum.0 += &p;
        sum.1 += 1.0;
    }
    let rows: Vec<usize> = sums.keys().copied().collect();
    let k = held.log_probs.ncols();
    let mut means = Array2::zeros((rows.len(), k));
    for (mut mean, (sum, times)) in means.rows_mut().into_iter().zip(sums.values()) {
        mean.assign(&(sum / *times));
    }
    (rows, means)
}

/// Unlabelled rows by the lead of the most probable class over the second.
fn undecided(subject: &Subject, unlabelled: &ScoredRows) -> Vec<Candidate> {
    let lead = |p: ArrayView1<f64>, [first, second]: [usize; 2]| p[first] - p[second];
    let mut judged: Vec<_> = unlabelled
        .rows
        .iter()
        .zip(unlabelled.log_probs.rows())
        .map(|(&row, p)| (lead(p, best_two(p)), row, best_two(p), p[best_two(p)[0]].exp()))
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    judged.truncate(SHOWN);
    let candidate = |(_, row, classes, probability): (f64, usize, [usize; 2], f64)| Candidate {
        name: subject.fit.training.origins.of(row),
        x: subject.data().x().row(row).to_vec(),
        classes,
        probability,
    };
    judged.into_iter().map(candidate).collect()
}

/// The two most probable classes.
fn best_two(p: ArrayView1<f64>) -> [usize; 2] {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
    [order[0], order[1.min(p.len() - 1)]]
}

/// The candidates with their typicality, and as the user knows them.
fn completed(subject: &Subject, rows: Vec<Candidate>, columns: &[String]) -> Result<Vec<HardRow>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let (model, layout) = (subject.model(), subject.rows().layout());
    let x = Array2::from_shape_fn((rows.len(), subject.data().dim()), |(i, j)| rows[i].x[j]);
    let frame = if columns.is_empty() { None } else { Some(subject.rows().decode(x.view())?) };
    let typicality = model.typicality(&model.score(x.view()).log_marginal);
    let is_matrix = matches!(subject.rows(), Rows::Matrix { .. });
    let cell =
        |column: &String, i: usize| frame.as_ref().and_then(|frame| value(frame, column, i, is_matrix));
    let hard = |(i, row): (usize, Candidate)| HardRow {
        name: row.name,
        classes: row.classes,
        probability: row.probability,
        typicality: typicality[i],
        values: columns.iter().map(|column| cell(column, i)).collect(),
        picture: layout.map(|layout| layout.image(&row.x)),
    };
    Ok(rows.into_iter().enumerate().map(hard).collect())
}

/// A cell of a table as the user wrote it; a number of a matrix to four digits.
fn value(frame: &Frame, column: &str, row: usize, is_matrix: bool) -> Option<String> {
    match frame.column(column)? {
        Cells::Numbers(values) if is_matrix => Some(four_digits(values[row])),
        cells => cells.text(row).map(|text| text.into_owned()),
    }
}

/// `0.1235`, `12.35`, `12346`.
fn four_digits(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && !(1e-4..1e9).contains(&size) => format!("{value:.3e}"),
        size => {
            let places = 3 - size.max(1e-4).log10().floor() as i32;
            format!("{value:.*}", places.clamp(0, 4) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_matrix_are_short() {
        let shown = [0.0, 0.123_456, -12.345_6, 12_345.6, 3.2e-7, 4e12].map(four_digits);
        assert_eq!(shown, ["0.0000", "0.1235", "-12.35", "12346", "3.200e-7", "4.000e12"]);
    }

    #[test]
    fn the_most_probable_classes_come_first() {
        assert_eq!(best_two(ndarray::array![0.2, 0.5, 0.3].view()), [1, 2]);
        assert_eq!(best_two(ndarray::array![0.5, 0.5].view()), [0, 1]);
        assert_eq!(best_two(ndarray::array![1.0].view()), [0, 0]);
    }
}
