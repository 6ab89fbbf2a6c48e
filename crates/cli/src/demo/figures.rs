//! What the sections of the report share: loss curves, points, and the figures that also become files.

use flowgmm::{Model, train::EpochRecord};
use flowgmm_report::{AxisScale, Figure, LineChart, Plot, Section, Series};
use semisup::ndarray::{Array2, ArrayView2};

/// A section of the report and its figures as files: name and SVG text.
pub struct Drawn {
    /// For the page.
    pub section: Section,
    /// For the directory.
    pub files: Vec<(String, String)>,
}

/// Collects figures, keeping each as a file too.
pub struct Album {
    prefix: String,
    /// Name and SVG text of each figure so far.
    pub files: Vec<(String, String)>,
}

impl Album {
    /// Files of this album begin with `prefix`.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), files: Vec::new() }
    }

    /// The figure for the page; its file is `prefix-name.svg`.
    pub fn add(&mut self, name: &str, plot: &impl Plot) -> Figure {
        self.files.push((format!("{}-{name}.svg", self.prefix), plot.to_svg()));
        plot.figure()
    }
}

/// The terms of a fit's loss, step by step.
pub fn losses(title: &str, model: &Model) -> LineChart {
    let epochs = &model.history().epochs;
    let curve = |colour: usize, term: &str, name: &str| {
        let value = |epoch: &EpochRecord| Some([epoch.step as f64, *epoch.terms.get(term)?]);
        let points: Vec<_> = epochs.iter().filter_map(value).collect();
        (!points.is_empty())
            .then(|| Series { name: name.into(), points, ..Series::default() }.coloured(colour))
    };
    let curves = TERMS.iter().enumerate().filter_map(|(colour, (term, name))| curve(colour, term, name));
    LineChart {
        title: title.into(),
        x_label: "training step".into(),
        y_label: "nats per row".into(),
        y_scale: AxisScale::Focused,
        series: curves.collect(),
        ..LineChart::default()
    }
}

/// Terms of a loss by their name in the history, with a name for people; each has its colour everywhere.
const TERMS: [(&str, &str); 6] = [
    ("labelled", "labelled"),
    ("unlabelled", "unlabelled"),
    ("consistency", "consistency"),
    ("cross_entropy", "cross-entropy"),
    ("soft_targets", "neighbours"),
    ("alignment", "class balance"),
];

/// The rows of a two-column array.
pub fn points(x: ArrayView2<f64>) -> Vec<[f64; 2]> {
    x.rows().into_iter().map(|row| [row[0], row[1]]).collect()
}

/// The reverse.
pub fn array(points: &[[f64; 2]]) -> Array2<f64> {
    Array2::from_shape_fn((points.len(), 2), |(i, j)| points[i][j])
}
