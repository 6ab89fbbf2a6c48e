//! The rows to look at: labels the model finds improbable, and unlabelled rows it cannot decide.

use std::collections::BTreeMap;

use flowgmm::Model;
use flowgmm_data::Frame;
use flowgmm_report::{Cell, Column, Section, Table};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use semisup::Classifier;

use super::{Found, Subject, held::HeldOut, percent, short, spread};

/// Rows in a table.
const SHOWN: usize = 10;
/// Columns of the user's shown with a row.
const COLUMNS: usize = 4;
/// Unlabelled rows that are looked at.
const MOST: usize = 20_000;

/// The section.
pub fn section(subject: &Subject, found: &Found) -> Section {
    let mut tables = Vec::new();
    let doubted = doubted(subject, found.held.as_ref());
    let columns = &found.columns[..found.columns.len().min(COLUMNS)];
    let caption = format!("{} whose own label is least probable, {}.", doubted.what, doubted.by);
    tables.push(table(subject, doubted.rows, columns, caption, ["Label", "Predicted", "p(label)"]));
    let n_unlabelled = subject.data.unlabelled().len();
    if n_unlabelled > 0 {
        let among = match n_unlabelled {
            n if n > MOST => format!("among {MOST} of {n}, evenly spread"),
            n => format!("among all {n}"),
        };
        let caption = format!("Unlabelled rows nearest to a decision boundary, {among}.");
        tables.push(table(
            subject,
            undecided(subject),
            columns,
            caption,
            ["First guess", "Second", "p(first)"],
        ));
    }
    Section {
        heading: "Hardest rows".into(),
        text: format!(
            "Look at these first. A label with a probability near 0 is a mistake of the model or of whoever set the \
             label. Unlabelled rows near a boundary are the ones whose labels would teach the model most. Typicality \
             is near 0 for rows less likely, or more likely, than nearly all training rows.\n\nLine is where the row \
             stands in its file{}. The columns shown are those that separate the classes most.",
            if subject.test.is_some() { " (of --test for the first table)" } else { "" }
        ),
        tables,
        ..Section::default()
    }
}

/// A row with what is said of it.
struct Row {
    line: String,
    x: Vec<f64>,
    classes: [usize; 2],
    probability: f64,
}

struct Doubted {
    rows: Vec<Row>,
    what: &'static str,
    by: &'static str,
}

/// Labelled rows by the probability of their label, the least first.
fn doubted(subject: &Subject, held: Option<&HeldOut>) -> Doubted {
    let (model, data) = (subject.model, subject.data);
    if let Some(test) = subject.test {
        let probabilities = model.score(test.x.view()).log_probs.exp();
        let judged = (0..test.y.len()).map(|i| (i, test.y[i], probabilities.row(i)));
        let line = |i: usize| test.lines[i].to_string();
        return Doubted { rows: least(judged, test.x.view(), line), what: "Test rows", by: "by the model" };
    }
    let x = data.x();
    let line = |row: usize| subject.origins.of(row);
    if let Some(held) = held {
        let (rows, means) = mean_probabilities(held);
        let judged = rows.iter().zip(means.rows()).filter_map(|(&row, p)| Some((row, data.y()[row]?, p)));
        return Doubted {
            rows: least(judged, x, line),
            what: "Labelled rows",
            by: "by fits that had not seen them",
        };
    }
    let labelled = data.labelled();
    let probabilities = model.score(x.select(Axis(0), &labelled).view()).log_probs.exp();
    let judged =
        labelled.iter().zip(probabilities.rows()).filter_map(|(&row, p)| Some((row, data.y()[row]?, p)));
    Doubted { rows: least(judged, x, line), what: "Labelled rows", by: "by the model, which saw the label" }
}

/// The rows of `(row, class, p)` with the least p(class).
fn least<'a>(
    judged: impl Iterator<Item = (usize, usize, ArrayView1<'a, f64>)>,
    x: ArrayView2<f64>,
    line: impl Fn(usize) -> String,
) -> Vec<Row> {
    let mut judged: Vec<_> = judged.map(|(row, y, p)| (p[y], row, y, best_two(p)[0])).collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    judged.truncate(SHOWN);
    let row = |(probability, row, y, predicted): (f64, usize, usize, usize)| Row {
        line: line(row),
        x: x.row(row).to_vec(),
        classes: [y, predicted],
        probability,
    };
    judged.into_iter().map(row).collect()
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
    for (mut mean, (sum, tries)) in means.rows_mut().into_iter().zip(sums.values()) {
        mean.assign(&(sum / *tries));
    }
    (rows, means)
}

/// Unlabelled rows by how little the first guess is ahead of the second.
fn undecided(subject: &Subject) -> Vec<Row> {
    let unlabelled = subject.data.unlabelled();
    let rows: Vec<usize> = spread(unlabelled.len(), MOST).into_iter().map(|i| unlabelled[i]).collect();
    let log_probs = subject.model.score(subject.data.x().select(Axis(0), &rows).view()).log_probs;
    let ahead = |p: ArrayView1<f64>, [first, second]: [usize; 2]| p[first] - p[second];
    let mut judged: Vec<_> = rows
        .iter()
        .zip(log_probs.rows())
        .map(|(&row, p)| (ahead(p, best_two(p)), row, best_two(p), p[best_two(p)[0]].exp()))
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    judged.truncate(SHOWN);
    let row = |(_, row, classes, probability): (f64, usize, [usize; 2], f64)| Row {
        line: subject.origins.of(row),
        x: subject.data.x().row(row).to_vec(),
        classes,
        probability,
    };
    judged.into_iter().map(row).collect()
}

/// The two most probable classes.
fn best_two(p: ArrayView1<f64>) -> [usize; 2] {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
    [order[0], order[1]]
}

fn table(subject: &Subject, rows: Vec<Row>, columns: &[String], caption: String, heads: [&str; 3]) -> Table {
    let model = subject.model;
    let x = Array2::from_shape_fn((rows.len(), subject.data.dim()), |(i, j)| rows[i].x[j]);
    let values = model.encoding().map(|encoding| encoding.decode(x.view()));
    let typicality = typicality(model, &x);
    let class = |k: usize| Cell::from(short(&model.classes()[k], 24));
    let cells = |(i, row): (usize, &Row)| {
        let mut cells = vec![Cell::from(row.line.as_str())];
        cells.extend(row.classes.map(class));
        let probability = match row.probability {
            p if p < 5e-4 => "< 0.1\u{a0}%".to_string(),
            p => percent(p),
        };
        cells.push(Cell::shown(row.probability, probability));
        cells.push(Cell::number(typicality[i], 2));
        cells.extend(columns.iter().map(|column| value(values.as_ref(), column, i)));
        cells
    };
    let mut head = vec![Column::number("Line")];
    head.extend([Column::text(heads[0]), Column::text(heads[1])]);
    head.extend([Column::number(heads[2]), Column::number("Typicality")]);
    head.extend(columns.iter().map(|name| Column::number(short(name, 18))));
    Table { caption, columns: head, rows: rows.iter().enumerate().map(cells).collect() }
}

/// A cell as the user wrote it.
fn value(values: Option<&Frame>, column: &str, row: usize) -> Cell {
    match values.and_then(|frame| frame.column(column)).and_then(|cells| cells.text(row)) {
        Some(text) => Cell::from(short(&text, 20)),
        None => Cell::Missing,
    }
}

fn typicality(model: &Model, x: &Array2<f64>) -> Vec<f64> {
    if x.nrows() == 0 {
        return Vec::new();
    }
    model.typicality(&model.score(x.view()).log_marginal)
}
