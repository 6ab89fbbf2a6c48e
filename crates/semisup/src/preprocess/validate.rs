//! Checks of a map that was read from a file: sizes agree, numbers are finite, R^T R = I. An untrusted file may hold
//! anything that parses.

use super::Preprocess;
use crate::{Error, Result};

/// How far R^T R may be from I; far above rounding, far below anything that would spoil the inverse.
const ORTHONORMAL: f64 = 1e-8;

impl Preprocess {
    /// Checks that the map is finite, invertible on what it keeps, and of consistent size.
    pub fn validate(&self) -> Result<()> {
        let dim_in = self.shift.len();
        ensure(dim_in > 0, || "it has no columns".into())?;
        ensure(self.scale.len() == dim_in, || format!("{} scales for {dim_in} columns", self.scale.len()))?;
        ensure(self.constant.iter().all(|&column| column < dim_in), || {
            format!("a constant column beyond the {dim_in} columns")
        })?;
        ensure(self.column_maps.is_empty() || self.column_maps.len() == dim_in, || {
            format!("{} column maps for {dim_in} columns", self.column_maps.len())
        })?;
        if let Some(fault) = self.column_maps.iter().flatten().find_map(|map| map.fault()) {
            return ensure(false, || fault.into());
        }
        all_finite("shift", &self.shift)?;
        all_scales("scale", &self.scale)?;
        let Some(projection) = &self.projection else { return Ok(()) };
        let dim_out = projection.gain.len();
        ensure((1..=dim_in).contains(&dim_out), || format!("{dim_out} directions of {dim_in} columns"))?;
        let found = projection.directions.len();
        ensure(dim_in.checked_mul(dim_out) == Some(found), || {
            format!("{found} direction entries for {dim_in} x {dim_out}")
        })?;
        all_finite("direction", &projection.directions)?;
        all_scales("gain", &projection.gain)?;
        ensure(
            projection.residual == 0. || projection.residual.is_normal() && projection.residual > 0.,
            || format!("the dropped variance is {}", projection.residual),
        )?;
        let r = self.directions(projection);
        let orthonormal = r.t().dot(&r).indexed_iter().all(|((i, j), value)| {
            let expected = if i == j { 1. } else { 0. };
            (value - expected).abs() < ORTHONORMAL
        });
        ensure(orthonormal, || "the directions are not orthonormal".into())
    }
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::BadPreprocess { why: why() }) }
}

fn all_finite(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => ensure(false, || format!("{what} {} is {}", at + 1, values[at])),
        None => Ok(()),
    }
}

/// A scale must be positive, and so must its reciprocal be finite.
fn all_scales(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|&value| !(value.is_normal() && value > 0. && value.recip().is_normal())) {
        Some(at) => ensure(false, || format!("{what} {} is {}", at + 1, values[at])),
        None => Ok(()),
    }
}
