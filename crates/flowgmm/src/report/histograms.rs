//! Distributions of the columns that separate the classes most.

use flowgmm_data::{Cells, ColumnKind};
use flowgmm_report::{Figure, Histogram, Plot};
use serde::Serialize;

use super::{data::ClassedRows, subject::Subject};
use crate::{error::Result, pages::short};

/// Columns drawn.
const DRAWN: usize = 6;
/// More classes than this overlap too much to be drawn one by one.
const CLASSES: usize = 4;

/// Values of a numeric column in some of the rows, by class if there are few classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnValues {
    /// The column.
    pub column: String,
    /// Bins that suit its values.
    pub n_bins: usize,
    /// Name of the class, or `all rows`, and the values; NaN for missing and extreme ones.
    #[serde(skip)]
    pub samples: Vec<(String, Vec<f64>)>,
}

impl ColumnValues {
    /// The histogram.
    pub(super) fn figure(&self) -> Figure {
        let Self { column, n_bins, samples } = self;
        let (title, x_label, samples) = (short(column, 40), column.clone(), samples.clone());
        Histogram { title, x_label, n_bins: *n_bins, samples, ..Histogram::default() }.figure()
    }
}

/// Values of the first columns that hold numbers.
pub(super) fn find(subject: &Subject, rows: &ClassedRows, columns: &[String]) -> Result<Vec<ColumnValues>> {
    let frame = subject.rows().decode(rows.x.view())?;
    let names = subject.data().classes();
    let values = |column: &String| {
        let Some(Cells::Numbers(values)) = frame.column(column) else { return None };
        let values = middle(values);
        let of = |k: usize| {
            let own = values.iter().zip(&rows.classes).filter(|(_, class)| **class == k);
            own.map(|(value, _)| *value).collect()
        };
        let n_bins = bins(subject, column, &values);
        let samples = if names.len() <= CLASSES {
            names.iter().enumerate().map(|(k, name)| (name.clone(), of(k))).collect()
        } else {
            vec![("all rows".to_string(), values)]
        };
        Some(ColumnValues { column: column.clone(), n_bins, samples })
    };
    Ok(columns.iter().filter_map(values).take(DRAWN).collect())
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
    let schema = subject.fit.training.schema.as_ref();
    let step = match schema.and_then(|schema| schema.column(column)).map(|column| &column.kind) {
        Some(ColumnKind::Numeric { facts, .. }) => facts.grid.or(facts.step),
        _ => None,
    };
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    match step.map(|step| ((high - low) / step).round()) {
        Some(steps) if (1.0..=40.0).contains(&steps) => steps as usize + 1,
        _ => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn a_long_tail_is_cut() {
        let mut values: Vec<f64> = (0..400).map(f64::from).collect();
        values[399] = 1e9;
        let cut = middle(&values);
        assert_eq!(cut.iter().filter(|v| v.is_nan()).count(), 4, "half a percent on each side");
        assert!(cut[399].is_nan() && cut[200] == 200.0);
        assert_eq!(middle(&[]), Vec::<f64>::new());
    }
}
