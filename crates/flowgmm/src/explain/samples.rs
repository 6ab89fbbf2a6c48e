//! What the classes look like to the model (paper, appendix H): their means, decoded, and draws.

use flowgmm_report::{Cell, Column, Columns, Grid, Plot, Section, Table};
use semisup::ndarray::Axis;

use super::{Part, Subject};
use crate::images::sheet;

/// Draws of each class.
const IMAGES: usize = 8;
const ROWS: usize = 2;
/// Standard deviations are multiplied by this.
const TEMPERATURE: f64 = 0.5;
/// Classes shown.
const CLASSES: usize = 20;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let heading = "What classes look like to it".to_string();
    let model = subject.model;
    if subject.show.is_text() {
        let text = "Means and draws are embeddings, and texts cannot be made of those.".into();
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    }
    let n = if subject.show.layout().is_some() { IMAGES } else { ROWS };
    let means = sheet::means(model, None);
    let draws = sheet::drawn(model, None, n, TEMPERATURE, subject.seed);
    let text = format!(
        "The mean of each class's Gaussian, decoded: f\u{207b}\u{b9}(\u{3bc}), the most likely point of the latent space and \
         not always a likely {}. Beside it draws at temperature {TEMPERATURE}.",
        if subject.show.layout().is_some() { "image" } else { "row" }
    );
    let pairs = means.into_iter().zip(draws).take(CLASSES);
    let section = if subject.show.layout().is_some() {
        let rows = pairs.map(|(mut mean, draws)| {
            mean.x.append(Axis(0), draws.x.view()).expect("as many pixels");
            (crate::fit_report::short(&mean.class, 16), mean.x)
        });
        let sheet =
            subject.show.sheet("Mean and draws", "The first image of each row is the mean.", rows.collect());
        Section {
            heading,
            text,
            grids: vec![Grid::of(Columns::Two, vec![sheet.figure()])],
            ..Section::default()
        }
    } else {
        let mut rows = Vec::new();
        for (mean, draws) in pairs {
            for (what, x) in [("mean", &mean.x), ("draw", &draws.x)] {
                for x in x.rows() {
                    let mut cells =
                        vec![Cell::from(crate::fit_report::short(&mean.class, 24)), Cell::from(what)];
                    cells.extend(subject.show.cells_of(x));
                    rows.push(cells);
                }
            }
        }
        let mut columns = vec![Column::text("Class"), Column::text("What")];
        columns.extend(subject.show.heads());
        let caption = "The columns that separate the classes most.".into();
        Section { heading, text, tables: vec![Table { caption, columns, rows }], ..Section::default() }
    };
    Part { section, json: None }
}
