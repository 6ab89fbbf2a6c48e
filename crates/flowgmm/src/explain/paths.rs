//! Paths between rows, within and between classes (paper, section 6.2): log p dips where a path changes class.

use flowgmm::insight::{Path, path};
use flowgmm_report::{Cell, Column, Columns, Grid, LineChart, Plot, Section, Series, Table};
use semisup::Classifier;
use serde_json::{Value, json};

use super::{Part, Subject};

/// Points of a path that are drawn as a curve.
const POINTS: usize = 41;
/// Every so many-th point is shown as an image.
const EVERY: usize = 5;
/// Paths of each kind.
const PATHS: usize = 3;

/// A path and between which classes.
struct Found {
    name: String,
    within: bool,
    path: Path,
}

/// The section.
pub fn part(subject: &Subject) -> Part {
    let found = find(subject);
    let heading = "Between two rows".to_string();
    if found.is_empty() {
        let text = "There are too few clear rows to walk between.".into();
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    }
    let chart = |title: &str, of: &dyn Fn(&Path) -> &Vec<f64>, caption: &str| {
        let series = found.iter().enumerate().map(|(i, found)| {
            let values = of(&found.path);
            let points = found.path.steps.iter().zip(values).map(|(&a, &v)| [a, v]).collect();
            let series = Series { name: found.name.clone(), points, ..Series::default() }.coloured(i % 10);
            if found.within { series } else { series.dashed() }
        });
        LineChart {
            title: title.into(),
            caption: caption.into(),
            x_label: "share of the way".into(),
            y_label: "nats".into(),
            series: series.collect(),
            ..LineChart::default()
        }
        .figure()
    };
    let mut grids = vec![Grid::of(
        Columns::Two,
        vec![
            chart(
                "log p(z) along the path",
                &|p| &p.log_p_latent,
                "In the latent space. Dashed paths lead to another class.",
            ),
            chart(
                "log p(x) along the path",
                &|p| &p.log_p,
                "In your units: the same, times how much the flow stretches space.",
            ),
        ],
    )];
    let mut tables = Vec::new();
    if subject.show.layout().is_some() {
        let rows = found.iter().map(|found| {
            let at: Vec<usize> = (0..POINTS).step_by(EVERY).collect();
            (found.name.clone(), found.path.x.select(semisup::ndarray::Axis(0), &at))
        });
        let sheet = subject.show.sheet(
            "Images on the way",
            "From one image to the other, in even steps.",
            rows.collect(),
        );
        grids.push(Grid::of(Columns::One, vec![sheet.figure()]));
    } else if !subject.show.is_text() {
        tables.extend(found.iter().find(|found| !found.within).map(|found| steps(subject, found)));
    }
    let section = Section {
        heading,
        text: "Two rows are joined by a straight line in the latent space and each point of it decoded. Within a class the \
               way leads through likely rows; between classes log p(z) dips where the way crosses the boundary, because no \
               rows are there. Ends are typical rows of their class."
            .into(),
        tables,
        grids,
    };
    let classes = subject.model.classes();
    let value: Vec<Value> = found
        .iter()
        .map(|found| {
            let names: Vec<&String> = found.path.classes.iter().map(|&k| &classes[k]).collect();
            json!({
                "path": found.name,
                "within_class": found.within,
                "steps": found.path.steps,
                "log_p": found.path.log_p,
                "log_p_latent": found.path.log_p_latent,
                "classes": names,
            })
        })
        .collect();
    Part { section, json: Some(("paths", json!(value))) }
}

/// Paths within the first classes and from each to the next.
fn find(subject: &Subject) -> Vec<Found> {
    let seen = &subject.seen;
    let n_classes = subject.model.classes().len();
    // Typical rows of each class: those nearest to its middle distance from the boundary, surest half.
    let ends = |k: usize| -> Option<[usize; 2]> {
        let mut rows: Vec<usize> =
            (0..seen.rows.n()).filter(|&row| seen.predicted[row] == k && seen.class(row) == k).collect();
        rows.sort_by(|&a, &b| seen.boundary[b].total_cmp(&seen.boundary[a]).then(a.cmp(&b)));
        (rows.len() >= 2).then(|| [rows[rows.len() / 4], rows[rows.len() / 2]])
    };
    let usable: Vec<(usize, [usize; 2])> = (0..n_classes).filter_map(|k| Some((k, ends(k)?))).collect();
    let walk = |name: String, within: bool, from: usize, to: usize| Found {
        name,
        within,
        path: path(subject.model, seen.rows.x.row(from), seen.rows.x.row(to), POINTS),
    };
    let class = |k: usize| crate::fit_report::short(&subject.model.classes()[k], 14);
    let mut found = Vec::new();
    for (k, [one, other]) in usable.iter().take(PATHS) {
        found.push(walk(format!("within {}", class(*k)), true, *one, *other));
    }
    for pair in usable.windows(2).take(PATHS) {
        let [(a, from), (b, to)] = pair else { continue };
        found.push(walk(format!("{} to {}", class(*a), class(*b)), false, from[0], to[0]));
    }
    found
}

/// A path between classes as rows of the user's columns.
fn steps(subject: &Subject, found: &Found) -> Table {
    let row = |at: usize| {
        let path = &found.path;
        let mut cells = vec![
            Cell::number(path.steps[at], 2),
            Cell::from(subject.show.class(path.classes[at])),
            Cell::number(path.log_p[at], 2),
        ];
        cells.extend(subject.show.cells_of(path.x.row(at)));
        cells
    };
    let mut columns = vec![Column::number("Way"), Column::text("Class"), Column::number("log p(x)")];
    columns.extend(subject.show.heads());
    Table {
        caption: format!("The way from {}, decoded.", found.name),
        columns,
        rows: (0..POINTS).step_by(EVERY).map(row).collect(),
    }
}
