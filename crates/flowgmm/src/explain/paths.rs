//! Latent interpolation between rows, within and between classes (paper, section 6.2): log p dips where a path changes
//! class.

use flowgmm_report::{
    Figure, Grid, GridWidth, LineChart, Plot, Section, Series, Table, TableCell, TableColumn,
};
use ndarray::{Array2, Axis};
use serde::Serialize;

use super::{
    display::{CLASS as NAME, Display, SheetRows, class_name},
    subject::Subject,
};
use crate::{
    insight::{Path, path},
    pages::short,
};

/// Points of a path.
const POINTS: usize = 41;
/// Every n-th point is shown as an image or a row of a table.
const EVERY: usize = 5;
/// Paths within a class, and paths between classes.
const PATHS: usize = 3;
/// Characters of a class in the name of a path.
const CLASS: usize = 14;

/// Paths within and between classes; in JSON, an array of them.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct LatentPaths {
    /// First those within a class, then those between classes.
    pub paths: Vec<LatentPath>,
}

/// A straight path in the latent space from one row to another.
#[derive(Clone, Debug, Serialize)]
pub struct LatentPath {
    /// Its name: `within 3` or `3 to 5`.
    pub path: String,
    /// Whether both ends are of one class.
    pub within_class: bool,
    /// Share of the way at each point, from 0 to 1.
    pub steps: Vec<f64>,
    /// log p(x) at each point.
    pub log_p: Vec<f64>,
    /// log p(z) at each point.
    pub log_p_latent: Vec<f64>,
    /// The predicted class of each point.
    pub classes: Vec<String>,
    /// The class of each point by the flow.
    #[serde(skip)]
    pub classes_by_flow: Vec<String>,
    /// The decoded points, `[points, dim]`.
    #[serde(skip)]
    pub x: Array2<f64>,
}

impl LatentPaths {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        let classes = subject.model.classes_ref();
        let usable: Vec<(usize, [usize; 2])> =
            (0..classes.len()).filter_map(|k| Some((k, ends(subject, k)?))).collect();
        let class = |k: usize| short(&classes[k], CLASS);
        let mut paths = Vec::new();
        for &(k, rows) in usable.iter().take(PATHS) {
            paths.push(LatentPath::find(subject, format!("within {}", class(k)), true, rows));
        }
        for pair in usable.windows(2).take(PATHS) {
            let [(a, from), (b, to)] = [pair[0], pair[1]];
            let name = format!("{} to {}", class(a), class(b));
            paths.push(LatentPath::find(subject, name, false, [from[0], to[0]]));
        }
        (!paths.is_empty()).then_some(Self { paths })
    }
}

/// Two typical rows of a class, which is also their predicted class: a quarter and half of the way from those furthest from
/// the boundary to those nearest to it.
fn ends(subject: &Subject, k: usize) -> Option<[usize; 2]> {
    let seen = &subject.seen;
    let mut rows: Vec<usize> =
        (0..seen.rows.n()).filter(|&row| seen.predicted[row] == k && seen.class(row) == k).collect();
    // By the flow, too, as far as possible: it is its space.
    if rows.iter().filter(|&&row| !seen.flow_differs(row)).count() >= 2 {
        rows.retain(|&row| !seen.flow_differs(row));
    }
    rows.sort_by(|&a, &b| seen.boundary[b].total_cmp(&seen.boundary[a]).then(a.cmp(&b)));
    (rows.len() >= 2).then(|| [rows[rows.len() / 4], rows[rows.len() / 2]])
}

impl LatentPath {
    fn find(subject: &Subject, name: String, within_class: bool, [from, to]: [usize; 2]) -> Self {
        let x = &subject.seen.rows.x;
        let Path { steps, x, log_p, log_p_latent, classes, classes_by_flow } =
            path(subject.model, x.row(from), x.row(to), POINTS);
        let names = subject.model.classes_ref();
        let named = |classes: Vec<usize>| classes.into_iter().map(|k| names[k].clone()).collect();
        let (classes, classes_by_flow) = (named(classes), named(classes_by_flow));
        Self { path: name, within_class, steps, log_p, log_p_latent, classes, classes_by_flow, x }
    }
}

pub(super) const HEADING: &str = "Interpolation in the latent space";

pub(super) fn section(found: Option<&LatentPaths>, display: &Display) -> Section {
    let (heading, noun) = (HEADING.to_string(), display.noun());
    let Some(LatentPaths { paths }) = found else {
        let text = format!("There are too few {noun} of one class to interpolate between.");
        return Section { heading, text, ..Section::default() };
    };
    let charts = vec![
        chart(
            paths,
            "log p(z) along the path",
            |path| &path.log_p_latent,
            "In the latent space. Dashed paths lead to another class.",
        ),
        chart(
            paths,
            "log p(x) along the path",
            |path| &path.log_p,
            "In the units of the data: log p(z) plus the log-determinant of the flow.",
        ),
    ];
    let mut grids = vec![Grid::of(GridWidth::Two, charts)];
    let shown: Vec<usize> = (0..POINTS).step_by(EVERY).collect();
    let lines: SheetRows =
        paths.iter().map(|path| (path.path.clone(), path.x.select(Axis(0), &shown))).collect();
    grids.extend(display.sheet(
        GridWidth::Two,
        "Images along the paths",
        "From one image to the other, in even steps.",
        &lines,
    ));
    let between = paths.iter().find(|path| !path.within_class).filter(|_| display.has_columns());
    Section {
        heading,
        text: format!(
            "Two {noun} are joined by a straight line in the latent space, and its points are decoded. Within a class the \
             path stays where {noun} are likely; between classes, log p(z) dips where the path crosses the boundary, since \
             hardly any {noun} are there. The ends are typical of their classes."
        ),
        tables: between.map(|path| table(path, display)).into_iter().collect(),
        grids,
    }
}

fn chart(paths: &[LatentPath], title: &str, of: fn(&LatentPath) -> &Vec<f64>, caption: &str) -> Figure {
    let series = paths.iter().enumerate().map(|(i, path)| {
        let points = path.steps.iter().zip(of(path)).map(|(&step, &value)| [step, value]).collect();
        let series = Series { name: path.path.clone(), points, ..Series::default() }.coloured(i % 10);
        if path.within_class { series } else { series.dashed() }
    });
    LineChart {
        title: title.into(),
        caption: caption.into(),
        x_label: "position along the path".into(),
        y_label: "nats".into(),
        series: series.collect(),
        ..LineChart::default()
    }
    .figure()
}

/// The predicted class, and that by the flow if it is another.
fn class(predicted: &str, by_flow: &str) -> TableCell {
    match predicted == by_flow {
        true => TableCell::name(predicted, NAME),
        false => {
            let both =
                |name: fn(&str) -> String| format!("{} (by the flow {})", name(predicted), name(by_flow));
            TableCell::titled(both(class_name), &both(str::to_string))
        }
    }
}

/// A path as rows of the user's columns.
fn table(path: &LatentPath, display: &Display) -> Table {
    let row = |at: usize| {
        let mut cells = vec![
            TableCell::number(path.steps[at], 2),
            class(&path.classes[at], &path.classes_by_flow[at]),
            TableCell::number(path.log_p[at], 2),
        ];
        cells.extend(display.cells_of(path.x.row(at)));
        cells
    };
    let mut columns =
        vec![TableColumn::number("Position"), TableColumn::text("Class"), TableColumn::number("log p(x)")];
    columns.extend(display.heads());
    Table {
        caption: format!("The path from {}, decoded.", path.path),
        columns,
        rows: (0..POINTS).step_by(EVERY).map(row).collect(),
    }
}
