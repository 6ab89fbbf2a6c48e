//! Imputation: missing numbers filled in from the rest of their row, with regressions learnt on training rows.
//!
//! ```text
//! z = (x - centre) / scale            per dimension, over the cells that are present
//! missing cells of a row: the median, then in up to three sweeps  z_j <- intercept_j + sum_k coefficient_jk z_k
//! ```
//!
//! clamped to the range of the training rows. The ridge regressions ([`super::ridge`]) are learnt by chained equations
//! (MICE) without noise: impute medians, regress, impute with the regressions, regress again. Below 20 rows or above 300
//! dimensions medians are imputed. Only the row itself is used, so that the result does not depend on the batch.

use std::collections::HashMap;

use ndarray::{ArrayView1, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ridge::{Regression, regressions};
use crate::schema::{ColumnKind, NumberFacts, Schema};

const SWEEPS: usize = 3;
const FEWEST_ROWS: usize = 20;
const MOST_DIMS: usize = 300;
/// Regressions are learnt on at most this many rows, evenly spaced, and with about this many multiplications.
const MOST_ROWS: usize = 20_000;
const MOST_WORK: usize = 10_000_000_000;

/// How missing numbers are imputed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Imputer {
    pub centre: Vec<f64>, // [dim]
    pub scale: Vec<f64>,  // [dim]
    pub values: Vec<Value>,
}

/// How a dimension that holds a number or a date is imputed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub dim: usize,
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub regression: Option<Regression>,
}

/// How missing numbers of a row `[dim]` are imputed, for those who write it down in another language: those of a row begin at
/// their medians, standardised by centre and scale; so many times, each is predicted from the others and clamped to its range.
#[derive(Clone, Debug)]
pub struct Imputation<'a> {
    /// What is taken from each dimension.
    pub centre: &'a [f64],
    /// What it is divided by then.
    pub scale: &'a [f64],
    /// Dimensions that hold numbers, in the order in which they are predicted.
    pub values: Vec<ImputedValue<'a>>,
    /// How many times.
    pub sweeps: usize,
}

/// How the number of one dimension is imputed.
#[derive(Clone, Debug)]
pub struct ImputedValue<'a> {
    /// The dimension.
    pub dim: usize,
    /// The median of training rows.
    pub median: f64,
    /// The least of them.
    pub low: f64,
    /// The greatest of them.
    pub high: f64,
    /// Intercept and coefficients `[dim]` of the standardised row; without them the median stays.
    pub regression: Option<(f64, &'a [f32])>,
}

impl Imputer {
    /// What imputation is made of.
    pub fn parts(&self) -> Imputation<'_> {
        let values = self.values.iter().map(|&Value { dim, median, low, high, ref regression }| {
            let regression =
                regression.as_ref().map(|found| (found.intercept, found.coefficients.as_slice()));
            ImputedValue { dim, median, low, high, regression }
        });
        Imputation { centre: &self.centre, scale: &self.scale, values: values.collect(), sweeps: SWEEPS }
    }

    /// Learns from x `[n, dim]`, NaN where a number is missing; `dims` hold numbers, each with its column.
    pub fn learn(x: ArrayView2<f64>, dims: &[(usize, &str)], schema: &Schema) -> Self {
        let moments = (0..x.ncols()).into_par_iter().map(|dim| centre_and_scale(x.column(dim)));
        let (centre, scale) = moments.unzip();
        let facts = facts(schema);
        let values = dims.par_iter();
        let values = values.map(|&(dim, column)| Value::of(dim, x.column(dim), facts[column]));
        let mut imputer = Self { centre, scale, values: values.collect() };
        if x.nrows() >= FEWEST_ROWS && x.ncols() <= MOST_DIMS {
            imputer.learn_regressions(x);
        }
        imputer
    }

    /// Imputes the missing numbers, NaN, of a row `[dim]`.
    pub fn fill(&self, row: &mut [f64]) {
        let gaps: Vec<&Value> = self.values.iter().filter(|value| row[value.dim].is_nan()).collect();
        if gaps.is_empty() {
            return;
        }
        let mut z = self.standardised(row);
        self.fill_standardised(&mut z, &gaps);
        for Value { dim, low, high, median, .. } in gaps {
            let filled = self.centre[*dim] + self.scale[*dim] * z[*dim];
            row[*dim] = if filled.is_finite() { filled.clamp(*low, *high) } else { *median };
        }
    }

    fn learn_regressions(&mut self, x: ArrayView2<f64>) {
        let (n, dim) = x.dim();
        let has_gaps = |v: &usize| x.column(self.values[*v].dim).iter().any(|x| x.is_nan());
        let (incomplete, complete): (Vec<usize>, Vec<usize>) = (0..self.values.len()).partition(has_gaps);
        let per_row = (incomplete.len() * SWEEPS + 1) * dim * dim / 2 + 1;
        let most = (MOST_WORK / per_row).clamp(1000.max(2 * dim), MOST_ROWS);
        let sample: Vec<usize> = (0..n).step_by(n.div_ceil(most)).collect();
        let present: Vec<Vec<bool>> = // [m, values]
            sample.iter().map(|&row| self.values.iter().map(|v| !x[[row, v.dim]].is_nan()).collect()).collect();
        let mut z: Vec<f64> = // [m, dim]
            sample.iter().flat_map(|&row| self.standardised(&x.row(row).to_vec())).collect();
        let sweeps = if incomplete.is_empty() { 0 } else { SWEEPS };
        self.refill(&mut z, &present);
        for _ in 0..sweeps {
            let learnt: Vec<Option<Regression>> =
                incomplete.par_iter().map(|&v| self.regress(&z, &present, v)).collect();
            for (&v, regression) in incomplete.iter().zip(learnt) {
                self.values[v].regression = regression;
            }
            self.refill(&mut z, &present);
        }
        let all: Vec<usize> = (0..sample.len()).collect();
        let targets: Vec<usize> = complete.iter().map(|&v| self.values[v].dim).collect();
        for (v, regression) in complete.into_iter().zip(regressions(&z, dim, &all, &targets)) {
            self.values[v].regression = Some(regression);
        }
    }

    /// The regression of a value over the rows that have it, if they are enough.
    fn regress(&self, z: &[f64], present: &[Vec<bool>], v: usize) -> Option<Regression> {
        let rows: Vec<usize> = (0..present.len()).filter(|&row| present[row][v]).collect();
        let target = [self.values[v].dim];
        (rows.len() >= FEWEST_ROWS).then(|| regressions(z, self.centre.len(), &rows, &target).remove(0))
    }

    fn refill(&self, z: &mut [f64], present: &[Vec<bool>]) {
        z.par_chunks_mut(self.centre.len()).zip(present).for_each(|(z, present)| {
            let gaps = self.values.iter().zip(present).filter(|(_, present)| !**present);
            self.fill_standardised(z, &gaps.map(|(value, _)| value).collect::<Vec<_>>());
        });
    }

    /// Imputes the dimensions `gaps` of z `[dim]`, whatever their values are.
    fn fill_standardised(&self, z: &mut [f64], gaps: &[&Value]) {
        for value in gaps {
            z[value.dim] = self.standard(value.dim, value.median);
        }
        // A single missing number depends on nothing that changes.
        let sweeps = if gaps.len() == 1 { 1 } else { SWEEPS };
        for _ in 0..sweeps {
            for Value { dim, median, low, high, regression } in gaps {
                let Some(regression) = regression else { continue };
                let predicted = regression.predict(z);
                let (low, high) = (self.standard(*dim, *low), self.standard(*dim, *high));
                z[*dim] = if predicted.is_finite() {
                    predicted.clamp(low, high)
                } else {
                    self.standard(*dim, *median)
                };
            }
        }
    }

    fn standardised(&self, row: &[f64]) -> Vec<f64> {
        row.iter().enumerate().map(|(dim, &x)| self.standard(dim, x)).collect()
    }

    fn standard(&self, dim: usize, x: f64) -> f64 {
        (x - self.centre[dim]) / self.scale[dim]
    }
}

impl Value {
    /// The median and range of the numbers that are present, or of the schema if there are none.
    fn of(dim: usize, x: ArrayView1<f64>, facts: &NumberFacts) -> Self {
        let mut present: Vec<f64> = x.iter().copied().filter(|value| !value.is_nan()).collect();
        present.sort_unstable_by(f64::total_cmp);
        let (median, low, high) = match present.as_slice() {
            [] => (facts.median, facts.min, facts.max),
            [low, .., high] => (crate::schema::median(&present), *low, *high),
            [only] => (*only, *only, *only),
        };
        Self { dim, median, low, high, regression: None }
    }
}

/// Mean and standard deviation of the numbers that are present; 0 and 1 if there are none, scale 1 if they do not vary.
fn centre_and_scale(x: ArrayView1<f64>) -> (f64, f64) {
    let present = || x.iter().filter(|value| !value.is_nan());
    let n = present().count().max(1) as f64;
    let mean = present().map(|value| value / n).sum::<f64>();
    let variance = present().map(|value| (value - mean) * (value - mean) / n).sum::<f64>();
    let scale = variance.sqrt();
    // Rounding error of a constant column is not a scale.
    (mean, if scale > 1e-12 * mean.abs() && scale.is_normal() { scale } else { 1. })
}

/// The statistics of the columns that hold numbers or dates, by name.
fn facts(schema: &Schema) -> HashMap<&str, &NumberFacts> {
    let columns = schema.columns().iter();
    let known = columns.filter_map(|column| match &column.kind {
        ColumnKind::Numeric { facts, .. } | ColumnKind::Date { facts, .. } => {
            Some((column.name.as_str(), facts))
        }
        _ => None,
    });
    known.collect()
}
