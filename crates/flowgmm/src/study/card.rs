//! The trust card of one row: what speaks for and against its prediction, and what would change it.

use flowgmm_data::Cells;
use flowgmm_learners::graph::knn;
use ndarray::{ArrayView2, Axis};

use super::{
    Cell, Study,
    decoded::{Decoded, cells, decoded},
};
use crate::{Model, Result, insight, rows::Rows};

/// Labelled rows named on a card.
const NEAREST: usize = 5;
/// Labelled rows among which the nearest are searched, at most.
const SEARCHED: usize = 100_000;
/// How far a counterfactual goes past the boundary: a little, so that rounding does not bring it back.
const BEYOND: f64 = 1.1;
/// Changes below this share of a column's spread are not told.
const NOTICEABLE: f64 = 0.01;

/// What speaks for and against the prediction of one row.
#[derive(Clone, Debug)]
pub struct RowCard {
    /// Its line, or the name of the image.
    pub name: String,
    /// Its cells, or the image.
    pub row: Decoded,
    /// Its label.
    pub label: Option<usize>,
    /// The predicted class.
    pub class: usize,
    /// The class by the flow alone.
    pub class_by_flow: usize,
    /// p(k | x), as predictions have it.
    pub probabilities: Vec<f64>,
    /// Classes that are plausible: a conformal set that lacks the true one for at most a tenth of rows like the labelled
    /// ones. Absent if there are fewer than 20 labels.
    pub set: Option<Vec<usize>>,
    /// log p(x).
    pub log_p: f64,
    /// How typical the row is: a p-value.
    pub typicality: f64,
    /// Latent distance to the decision boundary; infinite for a single class.
    pub boundary: f64,
    /// The nearest labelled rows in the latent space, itself left out.
    pub nearest: Vec<Nearest>,
    /// The nearest row of another class by the flow.
    pub counterfactual: Option<CounterfactualCard>,
}

/// A labelled row near another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its number.
    pub row: usize,
    /// Its label.
    pub class: usize,
    /// Its latent distance.
    pub distance: f64,
}

/// A row just past the decision boundary.
#[derive(Clone, Debug)]
pub struct CounterfactualCard {
    /// The class there, by the flow.
    pub class: usize,
    /// Latent distance to the boundary.
    pub distance: f64,
    /// The row.
    pub row: Decoded,
    /// What differs, the largest change first in units of the column's spread; empty of images.
    pub changes: Vec<Change>,
}

/// A cell that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its column.
    pub column: String,
    /// What it is.
    pub from: Cell,
    /// What it would be.
    pub to: Cell,
}

impl Study {
    /// The card of a row.
    pub fn card(&self, model: &Model, row: usize) -> Result<RowCard> {
        self.check(row)?;
        let at = row..row + 1;
        let log_probs = self.predictions.log_probs.row(row);
        let joint = self.predictions.of_rows(at.clone());
        let boundary = match self.boundary.get() {
            Some(all) => all[row],
            None => model.boundary(self.predictions.z.slice(ndarray::s![at.clone(), ..]))[0],
        };
        Ok(RowCard {
            name: self.names.get(row).into_owned(),
            row: self.shown(model, row)?,
            label: self.y[row],
            class: self.predicted[row],
            class_by_flow: model.classes_by_flow(&joint)[0],
            probabilities: log_probs.iter().map(|l| l.exp()).collect(),
            set: self.conformal.map(|conformal| conformal.set(log_probs)),
            log_p: self.predictions.log_marginal[row],
            typicality: self.typicality[row],
            boundary,
            nearest: self.nearest(row),
            counterfactual: self.counterfactual(model, self.x.slice(ndarray::s![at, ..]), None)?,
        })
    }

    /// A row as its user knows it.
    pub fn shown(&self, model: &Model, row: usize) -> Result<Decoded> {
        self.check(row)?;
        match (&self.frame, model.rows()) {
            (Some(frame), Rows::Matrix { .. } | Rows::Table { .. }) => {
                Ok(Decoded::Row(cells(frame, row, self.label.as_deref())))
            }
            _ => {
                let one = decoded(model, self.x.slice(ndarray::s![row..row + 1, ..]))?;
                Ok(one.into_iter().next().expect("one row"))
            }
        }
    }

    /// The nearest row of class `target`, or of any other class by the flow; none if there is none, or `x` `[1, dim]` is of that
    /// class already.
    pub fn counterfactual(
        &self,
        model: &Model,
        x: ArrayView2<f64>,
        target: Option<usize>,
    ) -> Result<Option<CounterfactualCard>> {
        let (found, moved) = insight::counterfactuals(model, x, target, BEYOND);
        let Some(found) = found.into_iter().next().flatten() else { return Ok(None) };
        let row = decoded(model, moved.view())?.into_iter().next().expect("one row");
        let before = decoded(model, x)?.into_iter().next().expect("one row");
        let changes = self.changes(&before, &row);
        Ok(Some(CounterfactualCard { class: found.to, distance: found.distance, row, changes }))
    }

    fn changes(&self, before: &Decoded, after: &Decoded) -> Vec<Change> {
        let (Decoded::Row(before), Decoded::Row(after)) = (before, after) else { return Vec::new() };
        let size = |column: &str, from: &Cell, to: &Cell| match (from, to) {
            (Cell::Number(a), Cell::Number(b)) => {
                (b - a).abs() / self.spread(column).unwrap_or(1.0).max(1e-12)
            }
            (a, b) if a == b => 0.0,
            _ => 1.0,
        };
        let pairs = before
            .iter()
            .zip(after)
            .map(|((column, from), (_, to))| (size(column, from, to), column, from, to));
        let mut changes: Vec<_> = pairs.filter(|(size, ..)| *size >= NOTICEABLE).collect();
        changes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let change = |(_, column, from, to): (f64, &String, &Cell, &Cell)| Change {
            column: column.clone(),
            from: from.clone(),
            to: to.clone(),
        };
        changes.into_iter().map(change).collect()
    }

    /// The standard deviation of a column of numbers, of some rows.
    fn spread(&self, column: &str) -> Option<f64> {
        let Cells::Numbers(values) = self.frame.as_ref()?.column(column)? else { return None };
        let some = semisup::split::evenly_spaced(values.len(), 10_000);
        let values: Vec<f64> = some.into_iter().map(|at| values[at]).filter(|v| v.is_finite()).collect();
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        Some((values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()).filter(|sd| *sd > 0.0)
    }

    fn nearest(&self, row: usize) -> Vec<Nearest> {
        let labelled: Vec<usize> =
            (0..self.n()).filter(|&other| other != row && self.y[other].is_some()).take(SEARCHED).collect();
        if labelled.is_empty() {
            return Vec::new();
        }
        let z = &self.predictions.z;
        let query = z.select(Axis(0), &[row]);
        let (index, squared) = knn(z.select(Axis(0), &labelled).view(), query.view(), NEAREST);
        let one = |i: usize| {
            let at = labelled[index[[0, i]]];
            Nearest { row: at, class: self.y[at].expect("labelled"), distance: squared[[0, i]].sqrt() }
        };
        (0..index.ncols()).map(one).collect()
    }
}
