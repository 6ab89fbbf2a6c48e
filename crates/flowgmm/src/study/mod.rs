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
    facts: OnceLock<Vec<ColumnFacts>>,
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
            facts: OnceLock::new(),
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

#[cfg(test)]
mod tests {
    use ndarray::array;
    use semisup::{Learner as _, Toy};

    use super::*;
    use crate::{FitConfig, FlowGmmLearner};

    fn moons() -> (Model, Study) {
        let problem = Toy::Moons.problem(3);
        let mut config = FitConfig::toy();
        config.train.steps = 200;
        let model = FlowGmmLearner { name: "FlowGMM".into(), config }.fit(&problem.train, 0).unwrap();
        let labels = problem.train.y().iter().map(|y| y.map(|k| k.to_string()));
        let source = Source::matrix(problem.train.x()).labels(labels);
        let study = Study::read(&model, &source, &mut ()).unwrap();
        (model, study)
    }

    /// Fields and cards are what predictions say, and every row is there.
    #[test]
    fn a_study_says_what_predictions_say() {
        let (model, study) = moons();
        let found = model.score(study.x());
        assert_eq!((study.n(), study.labels().iter().flatten().count()), (1000, 10));
        let classes = study.field(&model, Field::Class);
        assert!(classes.iter().zip(found.classes()).all(|(a, b)| *a == b as f32));
        let labels = study.field(&model, Field::Label);
        assert_eq!(labels.iter().filter(|label| !label.is_nan()).count(), 10);
        let card = study.card(&model, 17).unwrap();
        assert_eq!(card.class, found.classes()[17]);
        assert_eq!(card.log_p, found.log_marginal[17]);
        assert_eq!(card.boundary, model.boundary(found.z.view())[17]);
        assert_eq!(card.nearest.len(), 5);
        assert!(card.nearest.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
        assert!(
            card.nearest.iter().all(|near| near.row != 17 && study.labels()[near.row] == Some(near.class))
        );
        let across = card.counterfactual.unwrap();
        assert_ne!(across.class, card.class_by_flow);
        assert!((across.distance - card.boundary).abs() < 1e-6);
        assert!(study.card(&model, 1000).is_err());
        // The map's coordinates in a latent plane are the latent points themselves, turned.
        let length = |a: f32, b: f32| f64::from(a).hypot(f64::from(b));
        let (x, y) = (study.field(&model, Field::X), study.field(&model, Field::Y));
        let z = found.z.row(5);
        assert!((length(x[5], y[5]) - z.dot(&z).sqrt()).abs() < 1e-4);
        assert!((study.explained().iter().sum::<f64>() - 1.0).abs() < 1e-6, "the latent space is a plane");
    }

    #[test]
    fn paths_lead_from_end_to_end() {
        let (model, study) = moons();
        let path = study.path(&model, LatentEnd::Row(3), LatentEnd::BoundaryOf(3), 9).unwrap();
        assert_eq!((path.len(), path[0].t, path[8].t), (9, 0.0, 1.0));
        let flow = |point: &PathPoint| point.probabilities[0] > 0.5;
        assert_ne!(flow(&path[0]), flow(&path[8]), "the other end is across the boundary");
        let Decoded::Row(cells) = &path[0].row else { panic!("a row") };
        let Cell::Number(x1) = cells[0].1 else { panic!("a number") };
        assert!((x1 - study.x()[[3, 0]]).abs() < 1e-3);
        let mean = study.path(&model, LatentEnd::Class(1), LatentEnd::Class(0), 2).unwrap();
        assert!(mean[0].probabilities[1] > 0.9 && mean[1].probabilities[0] > 0.9);
        assert!(study.path(&model, LatentEnd::Row(3), LatentEnd::Row(5000), 9).is_err());
        assert!(study.path(&model, LatentEnd::Row(3), LatentEnd::Row(4), 1).is_err());
    }

    #[test]
    fn labels_that_were_given_are_in_the_table_and_in_the_next_fit() {
        let (model, study) = moons();
        let next = study.label_next(&model, &[], 3);
        assert_eq!(next.len(), 3);
        assert!(next.iter().all(|next| study.labels()[next.row].is_none()));
        let row = next[0].row;
        assert!(study.label_next(&model, &[row], 3).iter().all(|next| next.row != row));
        let table = study.table(&model, &[(row, Some(1))]).unwrap();
        assert_eq!(table.column("label").unwrap().text(row).as_deref(), Some("1"));
        assert!(table.column("class").is_some() && table.column("log_p").is_some());
        let again = study.relabelled(&model, &[(row, Some(1))]).unwrap();
        let read = Study::read(&model, &again, &mut ()).unwrap();
        assert_eq!((read.n(), read.labels()[row]), (1000, Some(1)));
        assert!(study.relabelled(&model, &[(9999, None)]).is_err());
    }

    #[test]
    fn samples_stand_in_where_there_are_no_data() {
        let (model, _) = moons();
        let study = Study::of_samples(&model, 50, 1).unwrap();
        assert_eq!((study.n(), study.columns()), (50, vec!["x1".to_string(), "x2".into()]));
        assert!(study.column("x1").unwrap().iter().all(|v| v.is_finite()));
        assert!(study.column("x9").is_err());
        let source = Source::matrix(array![[0.0, 0.1], [0.3, 0.2], [0.1, 0.4]].view());
        let cut = Study::read_at_most(&model, &source, 2, &mut ()).unwrap();
        assert!(cut.n() == 2 && cut.is_cut() && cut.warnings().len() == 1);
    }
}
