//! What the data look like: labels per class, columns, and the columns that separate the classes.

use flowgmm_data::{Schema, schema::ColumnSummary};
use flowgmm_report::{Bar, Bars, Grid, GridWidth, Plot, Section, Table, TableCell, TableColumn};
use ndarray::{Array2, Axis};
use semisup::metrics::{self, arg_max};
use serde::Serialize;

use super::{
    Overview,
    histograms::{self, ColumnValues},
    subject::{ScoredRows, Subject, evenly_spaced},
};
use crate::{error::Result, pages::percent, rows::Rows};

/// Columns listed.
const LISTED: usize = 30;
/// Rows by which columns are judged and drawn.
const ROWS: usize = 4000;

/// What the data look like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataOverview {
    /// Labels and predictions of each class.
    pub classes: Vec<ClassCount>,
    /// The columns of a table besides the label; empty for a matrix and for images.
    pub columns: Vec<ColumnFacts>,
    /// How many of these columns are used.
    pub used_columns: usize,
    /// How many numbers a row becomes.
    pub dim: usize,
    /// The columns by how well they separate the classes, best first; empty for images.
    pub separating: Vec<String>,
    /// Values of the numeric columns that separate the classes best.
    pub histograms: Vec<ColumnValues>,
}

/// A class among the training rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassCount {
    /// Its name.
    pub name: String,
    /// Number of its labels.
    pub labelled: usize,
    /// Share of the unlabelled rows that are predicted to be of this class; `None` without unlabelled rows.
    pub predicted_share: Option<f64>,
}

/// What was made of a column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Its kind in one word.
    pub kind: &'static str,
    /// The share of its cells that is missing.
    pub missing: f64,
    /// What its cells look like.
    pub values: String,
    /// What it becomes.
    pub becomes: String,
    /// What the user should know.
    pub warning: Option<String>,
}

/// Training rows and their classes, predicted where there is no label.
pub(super) struct ClassedRows {
    /// `[n, dim]`
    pub(super) x: Array2<f64>,
    /// `[n]`
    pub(super) classes: Vec<usize>,
}

impl DataOverview {
    /// Looks at the training rows.
    pub(super) fn find(subject: &Subject, unlabelled: &ScoredRows) -> Result<Self> {
        let schema = subject.fit.training.schema.as_ref();
        let mut found = Self {
            classes: class_counts(subject, unlabelled),
            columns: schema.map(columns).unwrap_or_default(),
            used_columns: schema
                .map_or(0, |schema| schema.columns().iter().filter(|c| c.kind.is_encoded()).count()),
            dim: subject.data().dim(),
            separating: Vec::new(),
            histograms: Vec::new(),
        };
        if subject.rows().layout().is_none() {
            let sample = ClassedRows::of(subject);
            found.separating = separating(subject, &sample);
            found.histograms = histograms::find(subject, &sample, &found.separating)?;
        }
        Ok(found)
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let bars = [Some(self.labels(overview)), self.predicted(overview)];
        let bars = Grid::of(GridWidth::Two, bars.iter().flatten().map(Plot::figure).collect());
        let mut drawn =
            Grid::of(GridWidth::Three, self.histograms.iter().map(ColumnValues::figure).collect());
        drawn.label =
            "Columns that separate the classes most, without the most extreme 1\u{a0}% of values".into();
        Section {
            heading: "The data".into(),
            text: self.text(overview),
            tables: [self.table(), self.warnings()].into_iter().flatten().collect(),
            grids: [bars, drawn].into_iter().filter(|grid| !grid.figures.is_empty()).collect(),
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let (labelled, n) = (overview.n_labelled, overview.n_labelled + overview.n_unlabelled);
        let rows = format!(
            "{n} {} {}, {labelled} of them labelled ({}).",
            overview.nouns(),
            overview.shape,
            percent(labelled as f64 / n as f64)
        );
        match self.columns.len() {
            0 => rows,
            all => format!(
                "{rows} Of {all} columns besides the label, {} are used; they become {} dimensions.",
                self.used_columns, self.dim
            ),
        }
    }

    fn labels(&self, overview: &Overview) -> Bars {
        let bar = |(k, class): (usize, &ClassCount)| Bar {
            name: class.name.clone(),
            value: class.labelled as f64,
            shown: class.labelled.to_string(),
            colour: k,
        };
        Bars {
            title: "Labels per class".into(),
            caption: format!(
                "A class with few labels is learnt from few examples, however many {} there are.",
                overview.nouns()
            ),
            bars: self.classes.iter().enumerate().map(bar).collect(),
        }
    }

    /// How often each class is predicted where there is no label.
    fn predicted(&self, overview: &Overview) -> Option<Bars> {
        let rows = overview.nouns();
        let bar = |(k, class): (usize, &ClassCount)| {
            let value = class.predicted_share?;
            Some(Bar { name: class.name.clone(), value, shown: percent(value), colour: k })
        };
        let bars: Vec<Bar> = self.classes.iter().enumerate().filter_map(bar).collect();
        (!bars.is_empty()).then(|| Bars {
            title: format!("Predicted classes of unlabelled {rows}"),
            caption: format!(
                "If this is far from what you know about these {rows}, label more of the classes that come out too often or \
                 too rarely, or set the class prior (architecture.prior)."
            ),
            bars,
        })
    }

    /// All columns, or those with a warning and those that matter most.
    fn table(&self) -> Option<Table> {
        let all = &self.columns;
        let rank = |c: &ColumnFacts| self.separating.iter().position(|name| *name == c.name);
        let mut listed: Vec<usize> = (0..all.len()).collect();
        listed.sort_by_key(|&at| (all[at].warning.is_none(), rank(&all[at]).unwrap_or(usize::MAX), at));
        listed.truncate(LISTED);
        listed.sort_unstable();
        let row = |at: usize| {
            let c = &all[at];
            let shown = if c.missing > 0.0 { percent(c.missing) } else { "0".into() };
            let (name, missing) = (TableCell::name(&c.name, 40), TableCell::shown(c.missing, shown));
            vec![name, TableCell::from(c.kind), missing, c.values.as_str().into(), c.becomes.as_str().into()]
        };
        let columns = vec![
            TableColumn::text("Column"),
            TableColumn::text("Kind"),
            TableColumn::number("Missing"),
            TableColumn::prose("Values"),
            TableColumn::prose("Becomes"),
        ];
        let caption = match all.len() {
            n if n > LISTED => format!(
                "{LISTED} of {n} columns: those with a warning, then those that separate the classes most."
            ),
            _ => "Columns besides the label.".into(),
        };
        (!all.is_empty()).then(|| Table { caption, columns, rows: listed.into_iter().map(row).collect() })
    }

    /// What the user should look at, if anything.
    fn warnings(&self) -> Option<Table> {
        let row = |c: &ColumnFacts| Some(vec![TableCell::name(&c.name, 40), c.warning.clone()?.into()]);
        let rows: Vec<_> = self.columns.iter().filter_map(row).collect();
        let columns = vec![TableColumn::text("Column"), TableColumn::text("Please check")];
        (!rows.is_empty()).then(|| Table { caption: "Warnings.".into(), columns, rows })
    }
}

impl ClassedRows {
    fn of(subject: &Subject) -> Self {
        let data = subject.data();
        let rows = evenly_spaced(data.n(), ROWS);
        let x = data.x().select(Axis(0), &rows);
        let predicted = subject.model().score(x.view()).classes();
        let classes = rows.iter().zip(predicted).map(|(&row, k)| data.y()[row].unwrap_or(k)).collect();
        Self { x, classes }
    }
}

/// The columns of the user's rows, those that separate the classes best first: by the share of variance between classes,
/// with the model's predictions for rows without a label.
fn separating(subject: &Subject, sample: &ClassedRows) -> Vec<String> {
    let shares = metrics::separation(sample.x.view(), &sample.classes, subject.data().n_classes());
    let origins: Vec<String> = match subject.rows() {
        Rows::Table { encoding, .. } => encoding.features().iter().map(|f| f.column.clone()).collect(),
        Rows::Matrix { columns } => columns.clone(),
        Rows::Images { .. } => Vec::new(),
    };
    let mut columns: Vec<(String, f64)> = Vec::new();
    for (origin, share) in origins.into_iter().zip(shares) {
        match columns.iter_mut().find(|(name, _)| *name == origin) {
            Some((_, best)) => *best = best.max(share),
            None => columns.push((origin, share)),
        }
    }
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    columns.into_iter().map(|(name, _)| name).collect()
}

fn class_counts(subject: &Subject, unlabelled: &ScoredRows) -> Vec<ClassCount> {
    let data = subject.data();
    let mut predicted = vec![0; data.n_classes()];
    arg_max(unlabelled.log_probs.view()).into_iter().for_each(|k| predicted[k] += 1);
    let n = unlabelled.rows.len();
    let share = |count: usize| (n > 0).then(|| count as f64 / n as f64);
    let counts = data.classes().iter().zip(data.class_counts()).zip(predicted);
    let count = |((name, labelled), predicted): ((&String, usize), usize)| ClassCount {
        name: name.clone(),
        labelled,
        predicted_share: share(predicted),
    };
    counts.map(count).collect()
}

fn columns(schema: &Schema) -> Vec<ColumnFacts> {
    let facts = |(summary, missing): (ColumnSummary, f64)| ColumnFacts {
        values: without_gaps(&summary.saw).to_string(),
        name: summary.name,
        kind: summary.kind,
        missing,
        becomes: summary.becomes,
        warning: summary.warning,
    };
    schema.summary().into_iter().zip(schema.columns().iter().map(|c| c.missing)).map(facts).collect()
}

/// The share of missing cells has its own column.
fn without_gaps(saw: &str) -> &str {
    match saw.rsplit_once(", ") {
        Some((rest, last)) if last.ends_with("% missing") => rest,
        _ => saw,
    }
}
