//! The map of the latent space.

use flowgmm::analysis;
use flowgmm_report::{Columns, Grid, Layer, Legend, Mark, Panel, Plot, Section};
use semisup::{Classifier, ndarray::Axis};

use super::{Part, Subject};
use crate::fit_report::{
    latent::{around, ellipses, points},
    spread,
};

/// Rows drawn.
const DRAWN: usize = 1500;
/// Colours there are.
const COLOURS: usize = 10;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let (model, seen) = (subject.model, &subject.seen);
    let rows = spread(seen.rows.n(), DRAWN);
    let z = seen.z.select(Axis(0), &rows);
    let plane = analysis::class_plane(model.gmm(), seen.z.view());
    let points = points(z.dot(&plane).view());
    let ellipses = ellipses(model, &plane);
    let frame = around(&points, &ellipses);
    let wrong = |row: usize| seen.rows.y[row].is_some_and(|y| y != seen.predicted[row]);
    let (mut classed, mut missed) = (Vec::new(), Vec::new());
    for (&row, &point) in rows.iter().zip(&points) {
        if wrong(row) {
            missed.push((point, seen.class(row)))
        } else {
            classed.push((point, seen.class(row)))
        }
    }
    let mut legend: Vec<(Mark, String)> =
        model.classes().iter().enumerate().map(|(k, name)| (Mark::Class(k), name.clone())).collect();
    let n_missed = missed.len();
    if n_missed > 0 {
        legend.push((Mark::Labelled, "predicted wrong, in the colour of its label".into()));
    }
    legend.push((Mark::Component, "Gaussian of a class, 1σ and 2σ".into()));
    let panel = Panel {
        title: "Where the flow carries them".into(),
        caption:
            "In the plane through the latent space that shows most of the distances between class means."
                .into(),
        frame,
        layers: vec![Layer::ByClass(classed), Layer::Labelled(missed), Layer::Ellipses(ellipses)],
    };
    let hidden = match model.gmm().dim().saturating_sub(2) {
        0 => String::new(),
        n => format!(" Classes that overlap here may still be apart in the other {n} dimensions."),
    };
    let repeated = if model.classes().len() > COLOURS { " Colours repeat after ten classes." } else { "" };
    let section = Section {
        heading: "Map of the latent space".into(),
        text: format!(
            "Each dot is one of {} {}, in the colour of its label, or of its guess if it has none.{hidden}{repeated}",
            rows.len(),
            subject.what()
        ),
        grids: vec![Grid::of(Columns::Two, vec![panel.figure()]).with_legend(Legend { items: legend })],
        ..Section::default()
    };
    Part { section, json: None }
}
