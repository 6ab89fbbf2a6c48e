//! A model beside rows that stay in memory: what somebody who looks around asks, row by row and all at once.
//!
//! ```text
//! Source ─all rows, at most a million→ x, labels, the user's own cells ─one pass through the flow→ Study
//!   ─field, column→ one number for each row     a map of all rows: latent plane, class, certainty, log p, ...
//!   ─card→ what speaks for and against the prediction of a row, and what would change it
//!   ─path, counterfactual, label_next→ rows between two rows, across the boundary, worth a label
//! ```
//!
//! Where [`explain`](crate::explain()) reports on a sample of rows once, a study answers one question at a time.

mod card;
mod decoded;
mod fields;
mod moves;

use std::sync::OnceLock;

use flowgmm_core::analysis;
use flowgmm_data::{Cells, Frame};
use ndarray::{Array2, Axis};
use semisup::metrics::Conformal;

use crate::{
    Error, Model, Predictions, Result, Source,
    model::Predictions as Scored,
    observer::Observer,
    rows::Rows,
    source::{Chunks, RowNames, Wanted},
};

pub use card::{Change, CounterfactualCard, Nearest, RowCard};
pub use decoded::{Cell, Decoded, decoded};
pub use fields::{ColumnFacts, Field};
pub use moves::{LatentEnd, PathPoint};

/// Rows of a source that are kept, at most; the first ones.
pub const MOST_ROWS: usize = 1_000_000;
/// Fewer labelled rows say too little about prediction sets.
const LEAST_LABELS: usize = 20;
/// The share of rows whose prediction set may lack the true class.
const ALPHA: f64 = 0.1;

/// A model's rows and what it says about them.
#[derive(Debug)]
pub struct Study {
    name: String,
    x: Array2<f64>,
    y: Vec<Option<usize>>,
    names: RowNames,
    /// The rows in the user's own columns, labels included; none of images.
    frame: Option<Frame>,
    /// The column of the labels.
    label: Option<String>,
    predictions: Predictions,
    predicted: Vec<usize>,
    typicality: Vec<f64>,
    boundary: OnceLock<Vec<f64>>,
    /// Two directions of the latent space, `[dim, 2]`.
    plane: Array2<f64>,
    conformal: Option<Conformal>,
    /// Whether the source has more rows.
    cut: bool,
    warnings: Vec<String>,
}

impl Study {
    /// Reads the rows of a source, with their labels if it has some.
    pub fn read(model: &Model, source: &Source, observer: &mut dyn Observer) -> Result<Self> {
        Self::read_at_most(model, source, MOST_ROWS, observer)
    }

    fn read_at_most(
        model: &Model,
        source: &Source,
        most: usize,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut chunks = Chunks::open(source, model.rows(), model.classes_ref(), Wanted::RowsAndLabels)?;
        let mut x = Array2::zeros((0, model.rows().dim()));
        let mut y = Vec::new();
        let mut names: Option<RowNames> = None;
        let mut frame: Option<Frame> = None;
        let mut cut = false;
        while let Some(chunk) = chunks.next(observer)? {
            x.append(Axis(0), chunk.x.view()).expect("as many columns");
            y.extend(chunk.y);
            match (&mut names, chunk.names) {
                (Some(RowNames::Lines(all)), RowNames::Lines(more)) => all.extend(more),
                (Some(RowNames::Images(all)), RowNames::Images(more)) => all.extend(more),
                (names, more) => *names = Some(more),
            }
            match (&mut frame, chunk.frame) {
                (Some(all), Some(more)) => all.append(more, &[])?,
                (frame @ None, more) => *frame = more,
                (Some(_), None) => {}
            }
            if y.len() >= most {
                cut = y.len() > most || chunks.next(observer)?.is_some();
                break;
            }
        }
        let name = chunks.name().to_string();
        let (Some(mut names), false) = (names, y.is_empty()) else {
            return Err(Error::Content(format!("{name} has no rows")));
        };
        if y.len() > most {
            x = x.slice_move(ndarray::s![..most, ..]);
            y.truncate(most);
            match &mut names {
                RowNames::Lines(lines) => lines.truncate(most),
                RowNames::Images(names) => names.truncate(most),
            }
            frame = frame.map(|frame| frame.select(&(0..most).collect::<Vec<_>>()));
        }
        let mut warnings = chunks.into_warnings();
        if cut {
            warnings.push(format!("{name}: only the first {most} rows are looked at"));
        }
        let label = source.label().or(model.rows().label()).map(String::from);
        let study = Self::of(model, Parts { name, x, y, names, frame, label })?;
        Ok(Self { cut, warnings, ..study })
    }

    /// Rows that the model itself draws, for whoever has no data at hand.
    pub fn of_samples(model: &Model, n: usize, seed: u64) -> Result<Self> {
        let (x, _) = model.sample(n, None, 1.0, &mut semisup::rng(seed));
        let x = model.rows().possible(x);
        let frame = match model.rows() {
            Rows::Images { .. } => None,
            Rows::Matrix { .. } | Rows::Table { .. } => Some(model.rows().decode(x.view())?),
        };
        let names = match model.rows() {
            Rows::Images { .. } => RowNames::Images((0..n).map(|at| at.to_string()).collect()),
            Rows::Matrix { .. } | Rows::Table { .. } => RowNames::Lines((1..=n as u64).collect()),
        };
        let name = "samples of the model".to_string();
        Self::of(model, Parts { name, y: vec![None; n], x, names, frame, label: None })
    }

    fn of(model: &Model, parts: Parts) -> Result<Self> {
        let Parts { name, x, y, names, frame, label } = parts;
        let predictions = model.score(x.view());
        predictions.check(&name, &names)?;
        let plane = analysis::class_plane(model.gmm(), some(&predictions, 20_000).view());
        let labelled: Vec<usize> = (0..y.len()).filter(|&row| y[row].is_some()).collect();
        let conformal = (labelled.len() >= LEAST_LABELS && model.classes_ref().len() > 1).then(|| {
            let truth: Vec<usize> = y.iter().flatten().copied().collect();
            Conformal::fit(predictions.log_probs.select(Axis(0), &labelled).view(), &truth, ALPHA)
        });
        Ok(Self {
            predicted: predictions.classes(),
            typicality: model.typicality(&predictions.log_marginal),
            boundary: OnceLock::new(),
            predictions,
            plane,
            conformal,
            name,
            x,
            y,
            names,
            frame,
            label,
            cut: false,
            warnings: Vec::new(),
        })
    }

    /// What messages call the rows' origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.y.len()
    }

    /// The class of each row, where it is known.
    pub fn labels(&self) -> &[Option<usize>] {
        &self.y
    }

    /// Whether the source has more rows than are looked at.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// What the user should know about the rows.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The rows in the user's own columns; none of images.
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// The rows as the model sees them, `[n, dim]`.
    pub fn x(&self) -> ndarray::ArrayView2<'_, f64> {
        self.x.view()
    }

    /// At most so many rows, evenly spaced, `[n, dim]`.
    pub fn spaced(&self, most: usize) -> Array2<f64> {
        self.x.select(Axis(0), &semisup::split::evenly_spaced(self.n(), most))
    }

    /// What the model says about the rows.
    pub fn predictions(&self) -> &Predictions {
        &self.predictions
    }

    /// Latent distance of each row to the decision boundary.
    pub fn boundary(&self, model: &Model) -> &[f64] {
        self.boundary.get_or_init(|| model.boundary(self.predictions.z.view()))
    }

    /// The rows again with other labels, to fit a model to: `labels` replaces those of the rows it names.
    pub fn relabelled(&self, model: &Model, labels: &[(usize, Option<usize>)]) -> Result<Source> {
        let mut y = self.y.clone();
        for &(row, label) in labels {
            self.check(row)?;
            y[row] = label;
        }
        let names: Vec<Option<String>> =
            y.iter().map(|y| y.map(|k| model.classes_ref()[k].clone())).collect();
        let source = match (&self.frame, model.rows()) {
            (_, Rows::Images { layout }) => {
                let pixels = self.x.rows().into_iter().flat_map(|row| layout.image(&row.to_vec()).pixels);
                let shape = semisup::ImageShape {
                    channels: layout.channels,
                    height: layout.height,
                    width: layout.width,
                };
                Source::images(crate::ImageArray::new(shape, pixels.collect())?)
            }
            (Some(frame), _) => {
                let columns =
                    frame.columns().iter().filter(|column| Some(&column.name) != self.label.as_ref());
                Source::frame(Frame::new(frame.name(), columns.cloned().collect(), frame.lines().to_vec())?)
            }
            (None, _) => Source::named_matrix(self.x.view(), &model.columns()),
        };
        Ok(match &self.label {
            Some(label) => source.named_labels(label.clone(), names),
            None => source.labels(names),
        })
    }

    /// The rows with their labels, some of them replaced, and predictions in further columns.
    pub fn table(&self, model: &Model, labels: &[(usize, Option<usize>)]) -> Result<Frame> {
        let mut y = self.y.clone();
        for &(row, label) in labels {
            self.check(row)?;
            y[row] = label;
        }
        let mut columns = Vec::new();
        let mut add = |name: &str, cells: Cells| {
            let mut name = name.to_string();
            while columns.iter().any(|column: &flowgmm_data::Column| column.name == name) {
                name.push('_');
            }
            columns.push(flowgmm_data::Column { name, cells });
        };
        if let Some(frame) = &self.frame {
            for column in frame.columns().iter().filter(|column| Some(&column.name) != self.label.as_ref()) {
                add(&column.name, column.cells.clone());
            }
        }
        let class = |k: usize| model.classes_ref()[k].as_str();
        add(self.label.as_deref().unwrap_or("label"), Cells::Texts(y.iter().map(|y| y.map(class)).collect()));
        let predictions = self.predictions.to_frame(model, &self.names)?;
        for column in predictions.columns().iter().filter(|column| !column.name.starts_with("log_p_")) {
            add(&column.name, column.cells.clone());
        }
        Ok(Frame::new(&self.name, columns, (1..=self.n() as u64).collect())?)
    }

    /// An error unless there is such a row.
    fn check(&self, row: usize) -> Result<()> {
        match row < self.n() {
            true => Ok(()),
            false => Err(Error::Request(format!("there is no row {row}: rows are 0 to {}", self.n() - 1))),
        }
    }
}

/// What a study is made of, before the model looks at it.
struct Parts {
    name: String,
    x: Array2<f64>,
    y: Vec<Option<usize>>,
    names: RowNames,
    frame: Option<Frame>,
    label: Option<String>,
}

/// Latent points of some rows, evenly spaced.
fn some(of: &Scored, most: usize) -> Array2<f64> {
    of.z.select(Axis(0), &semisup::split::evenly_spaced(of.z.nrows(), most))
}
