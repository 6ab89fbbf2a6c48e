//! A monotone map that makes a column roughly normal (a quantile transform): u = Phi^-1(F(x)), F the column's distribution
//! function.
//!
//! F is kept at up to [`KNOTS`] of the column's values, u is linear between them and goes on linearly beyond the ends,
//! so the map inverts exactly everywhere and its slope is the Jacobian. A value that many rows share (the zeros of a
//! zero-inflated column) sits in the middle of its step of F.

use serde::{Deserialize, Serialize};

/// The largest number of knots of F.
const KNOTS: usize = 128;
/// Ranks are clipped to this distance from 0 and 1, so that one row in a thousand does not determine a tail.
const TAIL: f64 = 1e-3;

/// A strictly increasing piecewise linear map of the real line onto itself, which [`Preprocess`](crate::Preprocess) applies
/// to skewed or heavy-tailed columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monotone {
    x: Vec<f64>, // [m >= 2], increasing
    u: Vec<f64>, // [m], increasing
}

impl Monotone {
    /// Learns the map from a column; `None` if it has fewer than three values.
    pub fn to_normal(column: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = column.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        // Each distinct value with the middle of its step of F.
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut below = 0;
        while below < values.len() {
            let equal = values[below..].partition_point(|v| *v <= values[below]);
            steps.push((values[below], (below as f64 + 0.5 * equal as f64) / n));
            below += equal;
        }
        if steps.len() < 3 {
            return None;
        }
        let (mut x, mut u) = (Vec::new(), Vec::new());
        let mut last_rank = f64::NEG_INFINITY;
        let last = steps.len() - 1;
        for (i, (value, rank)) in steps.into_iter().enumerate() {
            // Evenly spread ranks; the largest value always closes the last segment.
            if rank - last_rank < 1.0 / KNOTS as f64 && i != last {
                continue;
            }
            last_rank = rank;
            let z = normal_quantile(rank.clamp(TAIL, 1.0 - TAIL));
            // Knots too close for a finite slope in both directions add nothing.
            let apart = x.last().zip(u.last()).is_none_or(|(&a, &b): (&f64, &f64)| {
                value - a > 1e-9 * value.abs().max(a.abs()) && z - b > 1e-6
            });
            if apart {
                x.push(value);
                u.push(z);
            }
        }
        (x.len() >= 2).then_some(Self { x, u })
    }

    /// The knots: x and u, increasing; the map is linear between them and beyond.
    pub fn knots(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.u)
    }

    /// u at x, and log du/dx.
    pub fn apply(&self, x: f64) -> (f64, f64) {
        let (i, slope) = self.segment(&self.x, x);
        (self.u[i] + slope * (x - self.x[i]), slope.ln())
    }

    /// x at u.
    pub fn invert(&self, u: f64) -> f64 {
        let (i, slope) = self.segment(&self.u, u);
        self.x[i] + (u - self.u[i]) / slope
    }

    /// The segment of a value among knots, and its slope du/dx.
    fn segment(&self, knots: &[f64], value: f64) -> (usize, f64) {
        let i = knots.partition_point(|knot| *knot <= value).clamp(1, knots.len() - 1) - 1;
        (i, (self.u[i + 1] - self.u[i]) / (self.x[i + 1] - self.x[i]))
    }

    /// Why a map read from an untrusted file is invalid; `None` if it is valid.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let increasing = |v: &[f64]| v.iter().all(|x| x.is_finite()) && v.windows(2).all(|w| w[0] < w[1]);
        let slopes = |m: &Self| {
            (1..m.x.len()).all(|i| {
                let slope = (m.u[i] - m.u[i - 1]) / (m.x[i] - m.x[i - 1]);
                slope.is_normal() && slope.recip().is_normal()
            })
        };
        if self.x.len() != self.u.len() || self.x.len() < 2 {
            Some("a column's map has too few knots")
        } else if !increasing(&self.x) || !increasing(&self.u) || !slopes(self) {
            Some("a column's map does not increase")
        } else {
            None
        }
    }
}

/// Phi^-1(p) for 0 < p < 1, to 1e-9 (Acklam's rational approximation).
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if p < 0.02425 {
        tail(p)
    } else if p > 1.0 - 0.02425 {
        -tail(1.0 - p)
    } else {
        let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
        q * polynomial(&A, r) / (polynomial(&B, r) * r + 1.0)
    }
}
