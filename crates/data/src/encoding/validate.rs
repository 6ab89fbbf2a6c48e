//! Checks of an encoding that was read from a file: names and levels are distinct, sizes agree, numbers are finite. An
//! encoding that passes does not panic, even if the file is untrusted.

use std::collections::HashSet;

use super::Encoding;
use super::column::{Code, ColumnCode};
use super::impute::{Imputer, Value};
use super::levels::LevelCode;
use crate::schema::{are_codes, are_cycles};
use crate::{Error, Result};

impl Encoding {
    /// Checks that nothing in it contradicts itself.
    pub fn validate(&self) -> Result<()> {
        let dim = self.dim();
        ensure(dim > 0, || "it has no dimensions".into())?;
        let mut names = HashSet::new();
        for column in &self.columns {
            let name = &column.name;
            ensure(!name.is_empty(), || "a column has no name".into())?;
            ensure(names.insert(name), || format!("two columns are named '{name}'"))?;
            ensure(possible(column), || format!("column '{name}' is impossible"))?;
        }
        let Imputer { centre, scale, values } = &self.imputer;
        let sizes = centre.len() == dim && scale.len() == dim;
        ensure(sizes, || format!("{} centres and {} scales for {dim}", centre.len(), scale.len()))?;
        ensure(centre.iter().all(|value| in_range(*value)), || "a centre is out of range".into())?;
        ensure(scale.iter().all(|value| is_scale(*value)), || "a scale is out of range".into())?;
        let dims = self.value_dims();
        let same = values.iter().map(|value| value.dim).eq(dims.iter().map(|(dim, _)| *dim));
        ensure(same, || format!("imputations for {} values of {}", values.len(), dims.len()))?;
        for (value, (_, column)) in values.iter().zip(dims) {
            ensure(fillable(value, dim), || format!("the imputation of column '{column}' is impossible"))?;
        }
        Ok(())
    }
}

fn possible(column: &ColumnCode) -> bool {
    match &column.code {
        Code::Number { grid, step, atom, codes, .. } => {
            let scales = [grid, step].into_iter().flatten().all(|value| is_scale(*value));
            scales && atom.is_none_or(in_range) && are_codes(codes)
        }
        Code::Date { format, step, cycles, .. } => {
            format.is_valid() && step.is_none_or(is_scale) && are_cycles(cycles)
        }
        Code::Levels(levels) => distinct_levels(levels),
        Code::Constant { .. } => true,
    }
}

fn distinct_levels(code: &LevelCode) -> bool {
    let other = code.other.iter().all(|other| !code.levels.contains(other));
    let distinct = code.index().len() == code.levels.len();
    let rare = code.rare.as_ref().is_none_or(|rare| rare.is_sorted());
    other && distinct && rare && code.most_frequent < code.levels.len() && code.slots() >= 2
}

fn fillable(value: &Value, dim: usize) -> bool {
    let Value { median, low, high, regression, .. } = value;
    let regression = regression.as_ref().is_none_or(|regression| {
        regression.coefficients.len() == dim
            && regression.intercept.is_finite()
            && regression.coefficients.iter().all(|c| c.is_finite())
    });
    regression && [median, low, high].into_iter().all(|v| in_range(*v)) && low <= median && median <= high
}

fn in_range(value: f64) -> bool {
    value.abs() <= f64::from(f32::MAX)
}

fn is_scale(value: f64) -> bool {
    value.is_normal() && value > 0. && in_range(value)
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::BadEncoding { why: why() }) }
}
