//! How far rows are from the decision boundary (paper, section 6.2 and figure 5c).

use flowgmm_report::{Cell, Column, Columns, Grid, Histogram, Plot, Section, Table};
use semisup::Classifier;
use serde_json::{Value, json};

use super::{Part, Subject};
use crate::fit_report::percent;

/// What counts as near.
const NEAR: f64 = 5.0;
/// Classes of which the histograms are drawn.
const DRAWN: usize = 10;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let (model, seen) = (subject.model, &subject.seen);
    let of = |k: usize| -> Vec<f64> {
        (0..seen.rows.n()).filter(|&row| seen.predicted[row] == k).map(|row| seen.boundary[row]).collect()
    };
    let classes = 0..model.classes().len();
    let all: Vec<Vec<f64>> = classes.map(of).collect();
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let near =
        |values: &[f64]| values.iter().filter(|d| **d < NEAR).count() as f64 / values.len().max(1) as f64;
    let histogram = |classes: &[usize], title: String| {
        let samples = classes.iter().map(|&k| (subject.show.class(k), all[k].clone())).collect();
        Histogram {
            title,
            caption: "Each class as a share of itself.".into(),
            x_label: "latent distance to the decision boundary".into(),
            samples,
            first_colour: classes[0],
            ..Histogram::default()
        }
        .figure()
    };
    // More than a few staircases over each other are unreadable.
    let drawn: Vec<usize> = (0..all.len().min(DRAWN)).filter(|&k| !all[k].is_empty()).collect();
    let neighbours = drawn.chunk_by(|a, b| a / 3 == b / 3 && a + 1 == *b);
    let figures = neighbours.map(|classes| {
        let names: Vec<String> = classes.iter().map(|&k| subject.show.class(k)).collect();
        histogram(classes, format!("Taken for {}", names.join(", ")))
    });
    let row = |(k, values): (usize, &Vec<f64>)| {
        vec![
            Cell::from(subject.show.class(k)),
            Cell::from(values.len()),
            Cell::number(median(values), 2),
            if values.is_empty() { Cell::Missing } else { Cell::shown(near(values), percent(near(values))) },
        ]
    };
    let section = Section {
        heading: "How far from the decision boundary?".into(),
        text: format!(
            "The latent distance to the boundary between the two nearest classes, in standard deviations of a class. Rows \
             near it are the doubtful ones. Of all {}, {} are nearer than {NEAR}.",
            subject.what(),
            percent(near(&seen.boundary))
        ),
        tables: vec![Table {
            columns: vec![
                Column::text("Taken for"),
                Column::number("Rows"),
                Column::number("Median distance"),
                Column::number("Nearer than 5"),
            ],
            rows: all.iter().enumerate().map(row).collect(),
            ..Table::default()
        }],
        grids: vec![Grid::of(Columns::Two, figures.collect())],
    };
    let by_class: Vec<Value> = all
        .iter()
        .enumerate()
        .map(|(k, values)| {
            let median = median(values);
            json!({
                "class": model.classes()[k],
                "rows": values.len(),
                "median": median.is_finite().then_some(median),
                "nearer_than_5": near(values),
            })
        })
        .collect();
    let value = json!({ "nearer_than_5": near(&seen.boundary), "by_class": by_class });
    Part { section, json: Some(("boundary", value)) }
}
