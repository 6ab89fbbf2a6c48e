//! How far rows are from the decision boundary (paper, section 6.2 and figure 5c).

use flowgmm_report::{Figure, Grid, GridWidth, Histogram, Plot, Section, Table, TableCell, TableColumn};
use serde::Serialize;

use super::{
    display::{CLASS, Display, class_name},
    subject::Subject,
};
use crate::pages::percent;

/// Smaller distances count as near.
const NEAR: f64 = 5.0;
/// Classes whose histograms are drawn.
const DRAWN: usize = 10;
/// Histograms in one figure: more would be unreadable.
const TOGETHER: usize = 3;

/// Latent distances to the decision boundary, in standard deviations of a class.
#[derive(Clone, Debug, Serialize)]
pub struct BoundaryDistances {
    /// Share of rows nearer than 5.
    pub nearer_than_5: f64,
    /// The rows by their predicted class.
    pub by_class: Vec<ClassDistances>,
    /// Share of rows that the flow alone takes for another class than is predicted.
    #[serde(skip)]
    pub flow_differs: f64,
}

/// Distances of the rows that are predicted to be of one class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassDistances {
    /// The predicted class.
    pub class: String,
    /// Number of rows.
    pub rows: usize,
    /// Median distance; `None` without rows.
    pub median: Option<f64>,
    /// Share of rows nearer than 5.
    pub nearer_than_5: f64,
    /// The distance of each row.
    #[serde(skip)]
    pub distances: Vec<f64>,
}

impl BoundaryDistances {
    pub(super) fn find(subject: &Subject) -> Self {
        let seen = &subject.seen;
        let of = |(k, class): (usize, &String)| {
            let rows = (0..seen.rows.n()).filter(|&row| seen.predicted[row] == k);
            let distances: Vec<f64> = rows.map(|row| seen.boundary[row]).collect();
            let mut sorted = distances.clone();
            sorted.sort_by(f64::total_cmp);
            ClassDistances {
                class: class.clone(),
                rows: distances.len(),
                median: sorted.get(sorted.len() / 2).copied(),
                nearer_than_5: near(&distances),
                distances,
            }
        };
        Self {
            nearer_than_5: near(&seen.boundary),
            by_class: subject.model.classes_ref().iter().enumerate().map(of).collect(),
            flow_differs: (0..seen.rows.n()).filter(|&row| seen.flow_differs(row)).count() as f64
                / seen.rows.n().max(1) as f64,
        }
    }
}

fn near(distances: &[f64]) -> f64 {
    distances.iter().filter(|distance| **distance < NEAR).count() as f64 / distances.len().max(1) as f64
}

pub(super) const HEADING: &str = "How far from the decision boundary?";

pub(super) fn section(found: &BoundaryDistances, display: &Display) -> Section {
    let all = &found.by_class;
    let drawn: Vec<usize> = (0..all.len().min(DRAWN)).filter(|&k| all[k].rows > 0).collect();
    let neighbours = drawn.chunk_by(|a, b| a / TOGETHER == b / TOGETHER && a + 1 == *b);
    let figures = neighbours.map(|classes| histogram(all, classes)).collect();
    let row = |class: &ClassDistances| {
        let near = TableCell::shown(class.nearer_than_5, percent(class.nearer_than_5));
        vec![
            TableCell::name(&class.class, CLASS),
            TableCell::from(class.rows),
            class.median.map_or(TableCell::Missing, |median| TableCell::number(median, 2)),
            if class.rows == 0 { TableCell::Missing } else { near },
        ]
    };
    let noun = display.noun();
    let by_flow = match display.is_blend() {
        true => format!(
            " The boundary is the flow's: {} of the {noun} are on the side of another class by the flow than the predicted \
             one.",
            percent(found.flow_differs)
        ),
        false => String::new(),
    };
    Section {
        heading: HEADING.into(),
        text: format!(
            "The latent distance to the decision boundary between the two nearest classes, in standard deviations of a class. \
             {} near the boundary are the uncertain ones: {} of all are nearer than {NEAR}.{by_flow}",
            super::page::capital(noun),
            percent(found.nearer_than_5)
        ),
        tables: vec![Table {
            columns: vec![
                TableColumn::text("Predicted"),
                TableColumn::number(super::page::capital(noun)),
                TableColumn::number("Median distance"),
                TableColumn::number(format!("Nearer than {NEAR}")),
            ],
            rows: all.iter().map(row).collect(),
            ..Table::default()
        }],
        grids: vec![Grid::of(GridWidth::Two, figures)],
    }
}

fn histogram(all: &[ClassDistances], classes: &[usize]) -> Figure {
    let name = |k: usize| class_name(&all[k].class);
    let names: Vec<String> = classes.iter().map(|&k| name(k)).collect();
    Histogram {
        title: format!("Predicted as {}", names.join(", ")),
        caption: "As shares of each class.".into(),
        x_label: "latent distance to the decision boundary".into(),
        samples: classes.iter().map(|&k| (name(k), all[k].distances.clone())).collect(),
        first_colour: classes[0],
        ..Histogram::default()
    }
    .figure()
}
