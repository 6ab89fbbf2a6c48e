//! The invertibility certificate: does f^-1(f(x)) give x back, and is the log-det the Jacobian's?
//!
//! The flow is a bijection on paper; this measures how far single precision keeps it one, on given rows. The
//! Jacobian is taken by central differences of the same flow in double precision and its determinant by
//! elimination with pivoting, so the check shares no code with the couplings' own log-dets.

use ndarray::{Array2, ArrayView2};
use semisup::{Part, Stopped, Watch};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    bijection::{Bijection, Mapped},
    flow::Flow,
    model::FlowGmm,
    tensor::{Place, to_array, to_vec},
};

/// The worst deviations found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Rows whose round trip was measured.
    pub rows: usize,
    /// max |f^-1(f(x)) - x| over rows and columns, relative to 1 + |x|, as the model computes.
    #[serde(deserialize_with = "number_or_nan")]
    pub round_trip: f64,
    /// max |f^-1(f(x)) - x| over rows and columns, relative to 1 + |x|, in double precision.
    #[serde(deserialize_with = "number_or_nan")]
    pub round_trip_f64: f64,
    /// Rows whose Jacobian was measured; none if there are too many columns for it.
    pub jacobians: usize,
    /// max |log_det - log|det J|| over those rows, relative to 1 + |log_det|; 0 without rows.
    #[serde(deserialize_with = "number_or_nan")]
    pub log_det: f64,
}

impl Certificate {
    /// In words; `nouns` is what its rows are called: `rows` or `images`.
    pub fn describe(&self, nouns: &str) -> String {
        let Self { rows, round_trip, round_trip_f64, jacobians, log_det } = self;
        let trip = format!(
            "f^-1(f(x)) = x within {round_trip:.1e} ({round_trip_f64:.1e} in double precision) on {rows} {nouns}"
        );
        match jacobians {
            0 => format!("{trip}; too many columns to measure det J"),
            _ => format!("{trip}; log-det = log|det J| within {log_det:.1e} on {jacobians}"),
        }
    }
}

/// JSON has no NaN and writes null; a model whose flow failed must still be readable, to see that it failed.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Step of the central differences in double precision.
const STEP: f64 = 1e-5;
/// Rows whose Jacobian is taken: O(dim) passes each, and a few rows are enough to catch a wrong formula.
const JACOBIANS: usize = 16;
/// Columns from which one row must suffice: passes and elimination grow with their square and cube.
const WIDE: usize = 512;
/// Columns from which a Jacobian would take minutes: colour images. The layers' formulas are the same at any size.
const TOO_WIDE: usize = 2048;
/// Shifted rows in one pass, which bounds memory.
const PASS: usize = 256;

/// Measures a model's flow on rows of its own (preprocessed) space.
pub fn certify(gmm: &FlowGmm, x: ArrayView2<f64>) -> Certificate {
    certify_watched(gmm, x, &()).expect("nobody stops it")
}

/// [`certify`], watched.
pub fn certify_watched(
    gmm: &FlowGmm,
    x: ArrayView2<f64>,
    watch: &dyn Watch,
) -> std::result::Result<Certificate, Stopped> {
    let z = gmm.encode(x);
    watch.at(0.1)?;
    let working = gmm.decode(z.view());
    watch.at(0.2)?;
    let exact = gmm.to_place(&Place::cpu_f64());
    let place = exact.place();
    let Mapped { value: z, log_det } = exact.flow().forward(place.rows(x));
    watch.at(0.3)?;
    let back = to_array(&exact.flow().inverse(z));
    let log_det = to_vec(&log_det);
    let jacobians = x.nrows().min(match gmm.dim() {
        ..WIDE => JACOBIANS,
        WIDE..TOO_WIDE => 1,
        TOO_WIDE.. => 0,
    });
    let rest = Part::new(watch, 0.4..1.0);
    let gaps = (0..jacobians).map(|row| {
        let part = Part::of(&rest, row, jacobians);
        let j = jacobian_watched(exact.flow(), x.row(row).to_vec(), &place, &Part::of(&part, 0, 2))?;
        let numeric = log_abs_det_watched(j, &Part::of(&part, 1, 2))?;
        Ok((log_det[row] - numeric).abs() / (1.0 + log_det[row].abs()))
    });
    let gaps = gaps.collect::<std::result::Result<Vec<f64>, Stopped>>()?;
    Ok(Certificate {
        rows: x.nrows(),
        round_trip: deviation(x, working.view()),
        round_trip_f64: deviation(x, back.view()),
        jacobians,
        log_det: worst(gaps.into_iter()),
    })
}

fn deviation(x: ArrayView2<f64>, back: ArrayView2<f64>) -> f64 {
    worst(x.iter().zip(back).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())))
}

/// The largest value. `max` would drop a NaN; a certificate must not.
fn worst(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |worst, v| if v.is_nan() || v > worst { v } else { worst })
}

/// df/dx at one row by central differences, `[dim, dim]`.
pub fn jacobian(flow: &Flow, x: Vec<f64>, place: &Place) -> Array2<f64> {
    jacobian_watched(flow, x, place, &()).expect("nobody stops it")
}

fn jacobian_watched(
    flow: &Flow,
    x: Vec<f64>,
    place: &Place,
    watch: &dyn Watch,
) -> std::result::Result<Array2<f64>, Stopped> {
    let dim = x.len();
    let mut jacobian = Array2::zeros((dim, dim));
    for start in (0..dim).step_by(PASS / 2) {
        watch.at(start as f64 / dim as f64)?;
        let columns = start..(start + PASS / 2).min(dim);
        let n = columns.len();
        // Column by column, up and then down.
        let shifted = Array2::from_shape_fn((2 * n, dim), |(row, j)| {
            let sign = if row < n { 1.0 } else { -1.0 };
            x[j] + if start + row % n == j { sign * STEP } else { 0.0 }
        });
        let z = to_array(&flow.forward(place.rows(shifted.view())).value);
        for (at, j) in columns.enumerate() {
            jacobian.column_mut(j).assign(&((&z.row(at) - &z.row(at + n)) / (2.0 * STEP)));
        }
    }
    Ok(jacobian)
}

/// log|det A| by Gaussian elimination with partial pivoting.
pub fn log_abs_det(a: Array2<f64>) -> f64 {
    log_abs_det_watched(a, &()).expect("nobody stops it")
}

fn log_abs_det_watched(mut a: Array2<f64>, watch: &dyn Watch) -> std::result::Result<f64, Stopped> {
    let n = a.nrows();
    let mut total = 0.0;
    for column in 0..n {
        watch.at(column as f64 / n as f64)?;
        let pivot = (column..n).max_by(|&i, &j| a[[i, column]].abs().total_cmp(&a[[j, column]].abs()));
        let pivot = pivot.expect("column < n");
        for j in 0..n {
            a.swap([column, j], [pivot, j]);
        }
        total += a[[column, column]].abs().ln();
        for i in column + 1..n {
            let factor = a[[i, column]] / a[[column, column]];
            for j in column..n {
                a[[i, j]] -= factor * a[[column, j]];
            }
        }
    }
    Ok(total)
}
