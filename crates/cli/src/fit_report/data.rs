//! What the data looked like: labels per class, columns, and the columns that separate the classes.

use flowgmm_data::{Cells, Kind, schema::ColumnSummary};
use flowgmm_report::{Bar, Bars, Cell, Column, Columns, Grid, Histogram, Plot, Section, Table};
use ndarray::Axis;
use semisup::{metrics, metrics::arg_max};

use super::{Subject, percent, short, spread};

/// Columns listed.
const LISTED: usize = 30;
/// Columns drawn.
const DRAWN: usize = 6;
/// More classes than this overlap too much to be drawn one by one.
const CLASSES: usize = 4;
/// Rows that columns are judged and drawn by.
const ROWS: usize = 4000;
/// Unlabelled rows whose predictions are counted.
const GUESSED: usize = 20_000;

/// The table's columns, those that separate the classes best first: by the share of variance between classes, with
/// the model's word for rows without a label.
pub fn separating(subject: &Subject) -> Vec<String> {
    let Some(encoding) = subject.model.encoding() else { return Vec::new() };
    let (x, classes) = sample(subject);
    let shares = metrics::separation(x.view(), &classes, subject.data.n_classes());
    let mut columns: Vec<(String, f64)> = Vec::new();
    for (feature, share) in encoding.features().iter().zip(shares) {
        match columns.iter_mut().find(|(name, _)| *name == feature.column) {
            Some((_, best)) => *best = best.max(share),
            None => columns.push((feature.column.clone(), share)),
        }
    }
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    columns.into_iter().map(|(name, _)| name).collect()
}

fn sample(subject: &Subject) -> (ndarray::Array2<f64>, Vec<usize>) {
    let data = subject.data;
    let rows = spread(data.n(), ROWS);
    let x = data.x().select(Axis(0), &rows);
    let guessed = arg_max(subject.model.score(x.view()).log_probs.view());
    let classes = rows.iter().zip(guessed).map(|(&row, guess)| data.y()[row].unwrap_or(guess)).collect();
    (x, classes)
}

/// The section.
pub fn section(subject: &Subject, columns: &[String]) -> Section {
    let data = subject.data;
    let all = subject.schema.summary();
    let used = subject.schema.columns().iter().filter(|column| column.kind.is_encoded()).count();
    let guessed = guessed(subject);
    let bars = Grid::of(Columns::Two, [labels(subject)].iter().chain(&guessed).map(Plot::figure).collect());
    let mut histograms = Grid::of(Columns::Three, histograms(subject, columns));
    histograms.label = "Columns that separate the classes most, without the outermost percent of rows".into();
    let grids = [bars, histograms].into_iter().filter(|grid| !grid.figures.is_empty());
    Section {
        heading: "The data".into(),
        text: format!(
            "{} rows, {} of them labelled ({}). Of {} columns besides the label {used} are used and become {} \
             dimensions.",
            data.n(),
            data.labelled().len(),
            percent(data.labelled().len() as f64 / data.n() as f64),
            subject.schema.columns().len(),
            data.dim()
        ),
        tables: [Some(table(&all, subject, columns)), warnings(&all)].into_iter().flatten().collect(),
        grids: grids.collect(),
    }
}

fn labels(subject: &Subject) -> Bars {
    let counts = subject.data.classes().iter().zip(subject.data.class_counts());
    let bar = |(k, (name, n)): (usize, (&String, usize))| Bar {
        name: name.clone(),
        value: n as f64,
        shown: n.to_string(),
        colour: k,
    };
    Bars {
        title: "Labels per class".into(),
        caption: "A class with few labels is learnt from few examples, however many rows there are.".into(),
        bars: counts.enumerate().map(bar).collect(),
    }
}

/// How often each class is predicted where there is no label.
fn guessed(subject: &Subject) -> Option<Bars> {
    let data = subject.data;
    let unlabelled = data.unlabelled();
    let rows: Vec<usize> = spread(unlabelled.len(), GUESSED).into_iter().map(|i| unlabelled[i]).collect();
    if rows.is_empty() {
        return None;
    }
    let log_probs = subject.model.score(data.x().select(Axis(0), &rows).view()).log_probs;
    let mut counts = vec![0; data.n_classes()];
    arg_max(log_probs.view()).into_iter().for_each(|k| counts[k] += 1);
    let bar = |(k, (name, n)): (usize, (&String, usize))| {
        let value = n as f64 / rows.len() as f64;
        Bar { name: name.clone(), value, shown: percent(value), colour: k }
    };
    Some(Bars {
        title: "Predicted classes of unlabelled rows".into(),
        caption: "If this is far from what you know of these rows, labels of the rare or common class are needed, or a \
                  class prior (architecture.prior in --config)."
            .into(),
        bars: data.classes().iter().zip(counts).enumerate().map(bar).collect(),
    })
}

/// All columns, or those with a warning and those that matter most.
fn table(all: &[ColumnSummary], subject: &Subject, separating: &[String]) -> Table {
    let rank = |c: &ColumnSummary| separating.iter().position(|name| *name == c.name).unwrap_or(usize::MAX);
    let mut listed: Vec<usize> = (0..all.len()).collect();
    listed.sort_by_key(|&at| (all[at].warning.is_none(), rank(&all[at]), at));
    listed.truncate(LISTED);
    listed.sort_unstable();
    let row = |at: usize| {
        let (c, missing) = (&all[at], subject.schema.columns()[at].missing);
        let shown = if missing > 0.0 { percent(missing) } else { "0".into() };
        let kind = Cell::from(c.kind);
        let name = Cell::from(short(&c.name, 40));
        vec![name, kind, Cell::shown(missing, shown), without_gaps(&c.saw).into(), c.becomes.as_str().into()]
    };
    let columns = vec![
        Column::text("Column"),
        Column::text("Kind"),
        Column::number("Missing"),
        Column::text("Values"),
        Column::text("Becomes"),
    ];
    let caption = match all.len() {
        n if n > LISTED => {
            format!(
                "{LISTED} of {n} columns: those with a warning, then those that separate the classes most."
            )
        }
        _ => "Columns besides the label.".into(),
    };
    Table { caption, columns, rows: listed.into_iter().map(row).collect() }
}

/// What the user should look at, if anything.
fn warnings(all: &[ColumnSummary]) -> Option<Table> {
    let row = |c: &ColumnSummary| Some(vec![Cell::from(short(&c.name, 40)), c.warning.clone()?.into()]);
    let rows: Vec<_> = all.iter().filter_map(row).collect();
    let columns = vec![Column::text("Column"), Column::text("Look at this")];
    (!rows.is_empty()).then(|| Table { caption: "Warnings.".into(), columns, rows })
}

/// The share of missing cells has its own column.
fn without_gaps(saw: &str) -> &str {
    match saw.rsplit_once(", ") {
        Some((rest, last)) if last.ends_with("% missing") => rest,
        _ => saw,
    }
}

/// Histograms of columns of numbers, by class if there are few.
fn histograms(subject: &Subject, columns: &[String]) -> Vec<flowgmm_report::Figure> {
    let Some(encoding) = subject.model.encoding() else { return Vec::new() };
    let (x, classes) = sample(subject);
    let frame = encoding.decode(x.view());
    let names = subject.data.classes();
    let histogram = |column: &String| {
        let Some(Cells::Numbers(values)) = frame.column(column) else { return None };
        let values = middle(values);
        let of = |k: usize| values.iter().zip(&classes).filter(|(_, c)| **c == k).map(|(v, _)| *v).collect();
        let samples = if names.len() <= CLASSES {
            names.iter().enumerate().map(|(k, name)| (short(name, 24), of(k))).collect()
        } else {
            vec![("all rows".to_string(), values.clone())]
        };
        let (title, x_label, n_bins) = (short(column, 40), short(column, 40), bins(subject, column, &values));
        Some(Histogram { title, x_label, n_bins, samples, ..Histogram::default() }.figure())
    };
    columns.iter().filter_map(histogram).take(DRAWN).collect()
}

/// The values with NaN for the outermost half percent on each side: a long tail would hide the rest.
fn middle(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let trim = sorted.len() / 200;
    let (Some(&low), Some(&high)) = (sorted.get(trim), sorted.iter().rev().nth(trim)) else {
        return values.to_vec();
    };
    values.iter().map(|&v| if (low..=high).contains(&v) { v } else { f64::NAN }).collect()
}

/// One bin for each step of a column that has few, else 24: other numbers of bins would show gaps that are not there.
fn bins(subject: &Subject, column: &str, values: &[f64]) -> usize {
    let step = match subject.schema.column(column).map(|column| &column.kind) {
        Some(Kind::Numeric { facts, .. }) => facts.grid.or(facts.step),
        _ => None,
    };
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    match step.map(|step| ((high - low) / step).round()) {
        Some(steps) if (1.0..=40.0).contains(&steps) => steps as usize + 1,
        _ => 24,
    }
}
