//! Counterfactuals: the least that would have to change for another class.

use flowgmm::insight::{Counterfactual, counterfactuals};
use flowgmm_report::{Cell, Column, Columns, Grid, Plot, Section, Table};
use semisup::{
    Classifier,
    ndarray::{Array2, ArrayView1, Axis},
};
use serde_json::{Value, json};

use super::{Part, Subject, show};
use crate::fit_report::short;

/// Rows shown.
const SHOWN: usize = 8;
/// Columns named for each.
const NAMED: usize = 4;
/// How far to go, in distances to the boundary: a little across, so that the class has changed.
const BEYOND: f64 = 1.1;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let (seen, model) = (&subject.seen, subject.model);
    let rows = chosen(subject);
    let x = seen.rows.x.select(Axis(0), &rows);
    let (found, moved) = counterfactuals(model, x.view(), None, BEYOND);
    let mut grids = Vec::new();
    let mut tables = Vec::new();
    if subject.show.layout().is_some() {
        let (_, edge) = counterfactuals(model, x.view(), None, 1.0);
        let lines = vec![
            ("as it is".to_string(), x.clone()),
            ("on the boundary".to_string(), edge),
            ("across".to_string(), moved.clone()),
            ("what changed".to_string(), (&moved - &x).mapv(f64::abs)),
        ];
        let sheet = subject.show.sheet(
            "The least change",
            "From left to right the rows of the table. The last line shows where pixels changed, darker for more.",
            lines,
        );
        grids.push(Grid::of(Columns::One, vec![sheet.figure()]));
    }
    tables.push(table(subject, &rows, &x, &moved, &found));
    let text = "The shortest move in the latent space that makes the model change its mind, decoded exactly; one tenth further \
                than the boundary, so that the class has changed.";
    let text = match subject.show.is_text() {
        true => format!(
            "{text} Texts cannot be made of embeddings, so that only classes and distances are shown."
        ),
        false => text.to_string(),
    };
    let section = Section { heading: "What would have to change?".into(), text, tables, grids };
    let value: Vec<Value> = rows
        .iter()
        .zip(&found)
        .filter_map(|(&row, found)| {
            let Counterfactual { from, to, distance, .. } = found.as_ref()?;
            let classes = model.classes();
            Some(json!({
                "row": seen.rows.names[row],
                "from": classes[*from],
                "to": classes[*to],
                "distance": distance,
            }))
        })
        .collect();
    Part { section, json: Some(("counterfactuals", json!(value))) }
}

/// For each class a row of middling distance from the boundary, as many as are shown.
fn chosen(subject: &Subject) -> Vec<usize> {
    let seen = &subject.seen;
    let of = |k: usize| {
        let mut rows: Vec<usize> = (0..seen.rows.n()).filter(|&row| seen.predicted[row] == k).collect();
        rows.sort_by(|&a, &b| seen.boundary[a].total_cmp(&seen.boundary[b]).then(a.cmp(&b)));
        rows.get(rows.len() / 4).copied()
    };
    (0..subject.model.classes().len()).filter_map(of).take(SHOWN).collect()
}

fn table(
    subject: &Subject,
    rows: &[usize],
    x: &Array2<f64>,
    moved: &Array2<f64>,
    found: &[Option<Counterfactual>],
) -> Table {
    let (seen, show) = (&subject.seen, &subject.show);
    let with_columns = show.layout().is_none() && !show.is_text();
    let row = |(at, &row): (usize, &usize)| {
        let Some(found) = &found[at] else { return vec![Cell::from(seen.rows.names[row].as_str())] };
        let mut cells = vec![Cell::from(short(&seen.rows.names[row], 28))];
        cells.extend([found.from, found.to].map(|k| Cell::from(show.class(k))));
        cells.push(Cell::number(found.distance, 2));
        if with_columns {
            cells.push(Cell::from(changes(subject, x.row(at), moved.row(at)).join("; ")));
        }
        cells
    };
    let first = if show.layout().is_some() { "Image" } else { "Line" };
    let mut columns = vec![Column::text(first), Column::text("Class"), Column::text("Becomes")];
    columns.push(Column::number("Distance"));
    columns.extend(with_columns.then(|| Column::text("What changes most")));
    Table { columns, rows: rows.iter().enumerate().map(row).collect(), ..Table::default() }
}

/// `age 31 → 44`, the columns that change most for their spread first.
fn changes(subject: &Subject, x: ArrayView1<f64>, moved: ArrayView1<f64>) -> Vec<String> {
    let Some(encoding) = subject.model.encoding() else { return Vec::new() };
    let (Some(before), Some(after)) = (subject.show.decoded(x), subject.show.decoded(moved)) else {
        return Vec::new();
    };
    let spread = subject.seen.rows.x.std_axis(Axis(0), 0.0);
    let mut columns: Vec<(&str, f64)> = Vec::new();
    for (j, feature) in encoding.features().iter().enumerate() {
        let change = (moved[j] - x[j]).abs() / spread[j].max(f64::MIN_POSITIVE);
        let change = if change.is_finite() { change } else { 0.0 };
        match columns.iter_mut().find(|(name, _)| *name == feature.column) {
            Some((_, most)) => *most = most.max(change),
            None => columns.push((&feature.column, change)),
        }
    }
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    let cell = |frame: &flowgmm_data::Frame, name: &str| {
        let text = frame.column(name).and_then(|cells| cells.text(0).map(|text| text.into_owned()));
        short(&show::tidy(&text.unwrap_or_else(|| "–".into())), 16)
    };
    let changed = columns.iter().map(|(name, _)| (name, cell(&before, name), cell(&after, name)));
    let changed = changed.filter(|(_, before, after)| before != after).take(NAMED);
    changed.map(|(name, before, after)| format!("{} {before} → {after}", short(name, 18))).collect()
}
