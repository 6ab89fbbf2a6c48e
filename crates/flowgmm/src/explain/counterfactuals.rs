//! Counterfactuals: the smallest latent change that changes a row's class, decoded.

use flowgmm_report::{GridWidth, Section, SheetRow, Table, TableCell, TableColumn};
use ndarray::{ArrayView1, Axis};
use serde::Serialize;

use super::{
    display::{CHANGE_LEGEND, CLASS, Display, SheetRows, cell_text, class_name, ranked},
    subject::Subject,
};
use crate::{
    insight::{Counterfactual, counterfactual, past_boundary},
    pages::short,
};

/// Rows shown.
const SHOWN: usize = 8;
/// Columns named for each.
const NAMED: usize = 4;
/// How far to go, in distances to the boundary: a little further, so that the class has changed.
const BEYOND: f64 = 1.1;

/// Counterfactuals of a row of each class; in JSON, an array of them.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Counterfactuals {
    /// One for each row that was looked at.
    pub rows: Vec<CounterfactualRow>,
    /// Images before, on the boundary and beyond it.
    #[serde(skip)]
    sheet: SheetRows,
}

/// The smallest latent change that changes the class of a row by the flow.
#[derive(Clone, Debug, Serialize)]
pub struct CounterfactualRow {
    /// The line of the row, or the name of the image.
    pub row: String,
    /// Its class by the flow.
    pub from: String,
    /// The class by the flow beyond the boundary.
    pub to: String,
    /// The predicted class of the row, where it is not that by the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<String>,
    /// The predicted class of the changed row, where it is not that by the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_beyond: Option<String>,
    /// Latent distance to the boundary.
    pub distance: f64,
    /// The columns that change most for their spread: `age 31 → 44`. Empty for texts and images.
    #[serde(skip)]
    pub changes: Vec<String>,
}

impl Counterfactuals {
    pub(super) fn find(subject: &Subject) -> Self {
        let (seen, model) = (&subject.seen, subject.model);
        let z = &seen.predictions.z;
        let of = |row: usize| Some((row, counterfactual(model, z.row(row), None)?));
        let found: Vec<(usize, Counterfactual)> = chosen(subject).into_iter().filter_map(of).collect();
        let rows: Vec<usize> = found.iter().map(|(row, _)| *row).collect();
        let x = seen.rows.x.select(Axis(0), &rows);
        let z = z.select(Axis(0), &rows);
        let decoded = |beyond: f64| {
            let points = found.iter().map(|(_, found)| Some(found));
            model.decode(past_boundary(z.view(), points, beyond).view())
        };
        let moved = decoded(BEYOND);
        let beyond = model.score(moved.view()).classes();
        let classes = model.classes_ref();
        let unless = |k: usize, by_flow: usize| (k != by_flow).then(|| classes[k].clone());
        let row = |(at, (row, found)): (usize, &(usize, Counterfactual))| CounterfactualRow {
            row: seen.rows.names[*row].clone(),
            from: classes[found.from].clone(),
            to: classes[found.to].clone(),
            predicted: unless(seen.predicted[*row], found.from),
            predicted_beyond: unless(beyond[at], found.to),
            distance: found.distance,
            changes: changes(subject, x.row(at), moved.row(at)),
        };
        let rows = found.iter().enumerate().map(row).collect();
        let sheet = match subject.display.is_images() && !found.is_empty() {
            false => Vec::new(),
            true => vec![
                ("as it is".to_string(), x.clone()),
                ("on the boundary".to_string(), decoded(1.0)),
                ("beyond".to_string(), moved.clone()),
            ],
        };
        Self { rows, sheet }
    }
}

/// For each class, a row of the quarter nearest to the boundary; as many as are shown.
fn chosen(subject: &Subject) -> Vec<usize> {
    let of = |k: usize| {
        let rows = subject.seen.predicted_as(k);
        rows.get(rows.len() / 4).copied()
    };
    (0..subject.model.classes_ref().len()).filter_map(of).take(SHOWN).collect()
}

/// `age 31 → 44`, the columns that change most for their spread first.
fn changes(subject: &Subject, x: ArrayView1<f64>, moved: ArrayView1<f64>) -> Vec<String> {
    let display = &subject.display;
    let (Some(before), Some(after)) = (display.decoded(x), display.decoded(moved)) else {
        return Vec::new();
    };
    let spread = subject.seen.rows.x.std_axis(Axis(0), 0.0);
    let change = |j: usize| {
        let change = (moved[j] - x[j]).abs() / spread[j].max(f64::MIN_POSITIVE);
        if change.is_finite() { change } else { 0.0 }
    };
    let columns = ranked(display.origins().into_iter().enumerate().map(|(j, name)| (name, change(j))));
    let cell = |frame, name| cell_text(frame, name).map_or_else(|| "–".into(), |text| short(&text, 16));
    let changed = columns.iter().map(|(name, _)| (name, cell(&before, name), cell(&after, name)));
    let changed = changed.filter(|(_, before, after)| before != after).take(NAMED);
    changed.map(|(name, before, after)| format!("{} {before} → {after}", short(name, 18))).collect()
}

pub(super) const HEADING: &str = "Counterfactuals: what would have to change?";

pub(super) fn section(found: &Counterfactuals, display: &Display) -> Section {
    let heading = HEADING.to_string();
    if found.rows.is_empty() {
        let text = "The model has no other class to change to.".into();
        return Section { heading, text, ..Section::default() };
    }
    let mut text = "The shortest move in the latent space that changes the predicted class, decoded. It goes one tenth further \
                    than the decision boundary, so that the class has changed."
        .to_string();
    if display.is_blend() {
        text = text.replace("the predicted class", "the class by the flow");
        text += " Predictions rest on a forest, too: where the predicted class is another than that by the flow, it is said.";
    }
    if display.is_text() {
        text += " Embeddings cannot be turned back into texts, so only classes and distances are shown.";
    }
    let caption =
        format!("In the order of the table. The last line shows which pixels change. {CHANGE_LEGEND}");
    let grids = display.sheet_of(GridWidth::Two, "The smallest change", &caption, lines(found, display));
    Section { heading, text, tables: vec![table(found, display)], grids }
}

/// Images as they are, on the boundary and beyond it, and what changes.
fn lines(found: &Counterfactuals, display: &Display) -> Vec<SheetRow> {
    let mut lines: Vec<SheetRow> =
        found.sheet.iter().filter_map(|(name, x)| display.line(name, x.view())).collect();
    if let (Some((_, x)), Some((_, moved))) = (found.sheet.first(), found.sheet.last()) {
        lines.extend(display.changes("change", x.view(), moved.view()));
    }
    lines
}

/// The class by the flow, and the predicted one if it is another.
fn class(by_flow: &str, predicted: Option<&str>) -> TableCell {
    match predicted {
        None => TableCell::name(by_flow, CLASS),
        Some(predicted) => {
            let both = |name: fn(&str) -> String| {
                format!("{} by the flow, predicted {}", name(by_flow), name(predicted))
            };
            TableCell::titled(both(class_name), &both(str::to_string))
        }
    }
}

fn table(found: &Counterfactuals, display: &Display) -> Table {
    let row = |row: &CounterfactualRow| {
        let mut cells = vec![display.name(&row.row)];
        let sides = [(&row.from, &row.predicted), (&row.to, &row.predicted_beyond)];
        cells.extend(sides.map(|(by_flow, predicted)| class(by_flow, predicted.as_deref())));
        cells.push(TableCell::number(row.distance, 2));
        if display.has_columns() {
            cells.push(TableCell::from(row.changes.join("; ")));
        }
        cells
    };
    let mut columns = vec![display.name_head(), TableColumn::text("Class"), TableColumn::text("Becomes")];
    columns.push(TableColumn::number("Distance"));
    columns.extend(display.has_columns().then(|| TableColumn::text("What changes most")));
    Table { columns, rows: found.rows.iter().map(row).collect(), ..Table::default() }
}
