//! Plain tables of the UCI repository: one row a line, the label first or last, usually without a header.

use std::{collections::BTreeMap, path::Path};

use semisup::{Labelled, ndarray::Array2};

use crate::{
    Error, Result,
    rows::{Between, Lines},
};

const FORMAT: &str = "a UCI table";

/// Where a row keeps its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelAt {
    /// In the first cell.
    First,
    /// In the last cell.
    Last,
}

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One comma.
    Comma,
    /// Any number of blanks.
    Blank,
}

/// The rows of these files one after the other, plain or gzipped. Classes are sorted, as numbers if they all are.
///
/// A first line whose features are no numbers names the columns; else they are `c1`, `c2`, ...
pub fn read_uci(paths: &[&Path], separator: Separator, label: LabelAt) -> Result<Labelled> {
    let between = if separator == Separator::Comma { Between::Commas } else { Between::Spaces };
    let mut table = Table::default();
    for path in paths {
        let mut lines = Lines::open(path, FORMAT)?;
        let mut first = true;
        while lines.next()?.is_some() {
            table.push(&lines, between, label, std::mem::take(&mut first))?;
        }
    }
    let last = paths.last().copied().unwrap_or("no file".as_ref());
    table.finish(last)
}

#[derive(Default)]
struct Table {
    x: Vec<f64>,
    labels: Vec<String>,
    columns: Vec<String>,
}

impl Table {
    fn push(&mut self, lines: &Lines, between: Between, at: LabelAt, first: bool) -> Result<()> {
        let cells = lines.cells(between);
        let (label, features) = match (at, &cells[..]) {
            (LabelAt::First, [label, features @ ..]) | (LabelAt::Last, [features @ .., label]) => {
                (label, features)
            }
            _ => return Err(lines.damaged("the row is empty")),
        };
        if first && !features.is_empty() && features.iter().all(|cell| cell.parse::<f64>().is_err()) {
            self.columns = features.iter().map(|name| name.to_string()).collect();
            return Ok(());
        }
        if self.columns.is_empty() {
            self.columns = (1..=features.len()).map(|at| format!("c{at}")).collect();
        }
        if features.len() != self.columns.len() || features.is_empty() {
            let why = format!("found {} columns, expected {}", cells.len(), self.columns.len().max(1) + 1);
            return Err(lines.damaged(why));
        }
        for (at, cell) in features.iter().enumerate() {
            self.x.push(lines.number(cell, at)?);
        }
        if label.is_empty() {
            return Err(lines.damaged("the label is empty"));
        }
        self.labels.push(label.to_string());
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<Labelled> {
        if self.labels.is_empty() {
            return Err(Error::damaged(path, FORMAT, "it has no rows"));
        }
        let mut classes: Vec<&String> = self.labels.iter().collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.iter().all(|class| class.parse::<f64>().is_ok()) {
            classes.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        let index: BTreeMap<&String, usize> =
            classes.iter().enumerate().map(|(k, class)| (*class, k)).collect();
        let y = self.labels.iter().map(|label| index[label]).collect();
        let x = Array2::from_shape_vec((self.labels.len(), self.columns.len()), self.x);
        let x = x.expect("every row was checked for its length");
        let classes = classes.into_iter().cloned().collect();
        Labelled::new(x, y, classes, self.columns).map_err(|error| Error::content(path, error))
    }
}

fn number(class: &str) -> f64 {
    class.parse().unwrap_or(f64::NAN)
}
