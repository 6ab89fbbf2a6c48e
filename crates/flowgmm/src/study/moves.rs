//! Straight paths in the latent space, and rows worth a label.

use ndarray::{Array1, Array2, Axis};

use super::{Decoded, Study, decoded};
use crate::{Error, Model, Result, insight};

/// Points of a path, at most.
pub const MOST_STEPS: usize = 256;
/// Rows among which those worth a label are searched, at most.
const CANDIDATES: usize = 10_000;

/// An end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatentEnd {
    /// A row.
    Row(usize),
    /// The mean of a class: that of its heaviest Gaussian.
    Class(usize),
    /// Across the decision boundary from a row: as far beyond the nearest point of another class as that is away.
    BoundaryOf(usize),
}

/// A point of a path.
#[derive(Clone, Debug)]
pub struct PathPoint {
    /// Share of the way, from 0 to 1.
    pub t: f64,
    /// The row there.
    pub row: Decoded,
    /// log p(x).
    pub log_p: f64,
    /// p(k | x).
    pub probabilities: Vec<f64>,
}

impl Study {
    /// The straight path in the latent space between two ends, in evenly spaced points.
    pub fn path(
        &self,
        model: &Model,
        from: LatentEnd,
        to: LatentEnd,
        steps: usize,
    ) -> Result<Vec<PathPoint>> {
        if !(2..=MOST_STEPS).contains(&steps) {
            return Err(Error::Request(format!("a path has 2 to {MOST_STEPS} steps, got {steps}")));
        }
        let (from, to) = (self.end(model, from)?, self.end(model, to)?);
        let t = |i: usize| i as f64 / (steps - 1) as f64;
        let z = Array2::from_shape_fn((steps, from.len()), |(i, j)| (1.0 - t(i)) * from[j] + t(i) * to[j]);
        let x = model.decode(z.view());
        let scored = model.score(x.view());
        let rows = decoded(model, x.view())?;
        let point = |(i, row): (usize, Decoded)| PathPoint {
            t: t(i),
            row,
            log_p: scored.log_marginal[i],
            probabilities: scored.log_probs.row(i).iter().map(|l| l.exp()).collect(),
        };
        Ok(rows.into_iter().enumerate().map(point).collect())
    }

    fn end(&self, model: &Model, end: LatentEnd) -> Result<Array1<f64>> {
        match end {
            LatentEnd::Row(row) => {
                self.check(row)?;
                Ok(self.predictions.z.row(row).to_owned())
            }
            LatentEnd::Class(k) => Ok(model.class_mean(k)),
            LatentEnd::BoundaryOf(row) => {
                self.check(row)?;
                let z = self.predictions.z.row(row);
                let found = insight::counterfactual(model, z, None)
                    .ok_or_else(|| Error::Request(format!("no other class can be reached from row {row}")))?;
                Ok(&z + &((&found.z - &z) * 2.0))
            }
        }
    }

    /// The rows most worth a label, best first, with the number of each; `labelled` has those that were labelled meanwhile.
    pub fn label_next(&self, model: &Model, labelled: &[usize], n: usize) -> Vec<insight::Suggestion> {
        let known = |row: &usize| self.y[*row].is_some() || labelled.contains(row);
        let free: Vec<usize> = (0..self.n()).filter(|row| !known(row)).collect();
        let candidates: Vec<usize> =
            semisup::split::evenly_spaced(free.len(), CANDIDATES).into_iter().map(|at| free[at]).collect();
        let labelled: Vec<usize> = (0..self.n()).filter(known).collect();
        let has = self.x.select(Axis(0), &labelled);
        let mut found = insight::suggestions(
            model,
            self.x.select(Axis(0), &candidates).view(),
            self.predictions.log_probs.select(Axis(0), &candidates).view(),
            (!labelled.is_empty()).then_some(has.view()),
            n,
        );
        found.iter_mut().for_each(|suggestion| suggestion.row = candidates[suggestion.row]);
        found
    }
}

impl Model {
    /// The mean of a class in the latent space: that of its heaviest Gaussian.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn class_mean(&self, class: usize) -> Array1<f64> {
        let mixture = self.gmm().mixture();
        let (values, class_of) = (mixture.values(), mixture.spec().class_of());
        let own = (0..class_of.len()).filter(|&c| class_of[c] == class);
        let heaviest =
            own.max_by(|&a, &b| values.log_weight[a].total_cmp(&values.log_weight[b]).then(b.cmp(&a)));
        values.means.row(heaviest.expect("a class has a Gaussian")).to_owned()
    }
}
