//! A map of the latent space: rows and Gaussians in the plane that separates the class means most.

use flowgmm_core::analysis;
use flowgmm_report::{Ellipse, Grid, GridWidth, Layer, Legend, Mark, Panel, Plot, Section};
use ndarray::Axis;
use semisup::split::evenly_spaced;

use super::{display::Display, subject::Subject};
use crate::pages::{around, ellipses, points};

/// Rows drawn.
const DRAWN: usize = 1500;
/// Colours there are.
const COLOURS: usize = 10;

/// Rows and Gaussians in the plane of the latent space that shows most of the distances between class means.
#[derive(Clone, Debug)]
pub struct LatentMap {
    /// The rows that are drawn.
    pub points: Vec<MapPoint>,
    /// Dimensions of the latent space.
    pub dim: usize,
    /// The Gaussians' projections on the plane.
    ellipses: Vec<Ellipse>,
}

/// A row on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapPoint {
    /// Its place in the plane.
    pub at: [f64; 2],
    /// Its label, or its predicted class if it has none.
    pub class: usize,
    /// Whether it has a label that differs from its prediction.
    pub wrong: bool,
}

impl LatentMap {
    pub(super) fn find(subject: &Subject) -> Self {
        let (model, seen) = (subject.model, &subject.seen);
        let z = &seen.predictions.z;
        let rows = evenly_spaced(seen.rows.n(), DRAWN);
        let plane = analysis::class_plane(model.gmm(), z.view());
        let point = |(&row, at): (&usize, [f64; 2])| MapPoint {
            at,
            class: seen.class(row),
            wrong: seen.rows.y[row].is_some_and(|y| y != seen.predicted[row]),
        };
        let projected = points(z.select(Axis(0), &rows).dot(&plane).view());
        Self {
            points: rows.iter().zip(projected).map(point).collect(),
            dim: model.gmm().dim(),
            ellipses: ellipses(model, &plane),
        }
    }
}

pub(super) const HEADING: &str = "Map of the latent space";

pub(super) fn section(found: &LatentMap, display: &Display) -> Section {
    let frame = around(&found.points.iter().map(|point| point.at).collect::<Vec<_>>(), &found.ellipses);
    let drawn = |wrong: bool| {
        let points = found.points.iter().filter(|point| point.wrong == wrong);
        points.map(|point| (point.at, point.class)).collect::<Vec<_>>()
    };
    let (right, wrong) = (drawn(false), drawn(true));
    let classes = display.classes();
    let mut legend: Vec<(Mark, String)> =
        classes.iter().enumerate().map(|(k, name)| (Mark::Class(k), name.clone())).collect();
    if !wrong.is_empty() {
        legend.push((Mark::Labelled, "predicted wrongly, in the colour of its label".into()));
    }
    legend.push((Mark::Component, "Gaussian of a class, 1σ and 2σ".into()));
    let panel = Panel {
        title: "z = f(x)".into(),
        caption: "In the plane of the latent space that shows most of the distances between class means."
            .into(),
        viewport: frame,
        layers: vec![Layer::ByClass(right), Layer::Labelled(wrong), Layer::Ellipses(found.ellipses.clone())],
    };
    let hidden = match found.dim.saturating_sub(2) {
        0 => String::new(),
        n => format!(" Classes that overlap here may still be apart in the other {n} dimensions."),
    };
    let by_flow = match display.is_blend() {
        true => {
            " The map is the flow's alone, predictions are not: a dot may lie in the Gaussian of another class."
        }
        false => "",
    };
    let repeated = if classes.len() > COLOURS { " Colours repeat after ten classes." } else { "" };
    Section {
        heading: HEADING.into(),
        text: format!(
            "Each dot is one of {} {}, in the colour of its label, or of its predicted class if it has none.{by_flow}{hidden}{repeated}",
            found.points.len(),
            display.noun()
        ),
        grids: vec![Grid::of(GridWidth::Two, vec![panel.figure()]).with_legend(Legend { items: legend })],
        ..Section::default()
    }
}
