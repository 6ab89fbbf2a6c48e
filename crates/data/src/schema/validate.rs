//! Checks of a schema that was read from a file: names and levels are distinct, statistics are possible.

use std::collections::HashSet;

use super::{ColumnKind, ColumnSchema, NumberFacts, Schema, are_codes, are_cycles};
use crate::{Error, Result};

impl Schema {
    /// Checks that nothing in it contradicts itself.
    pub fn validate(&self) -> Result<()> {
        ensure(!self.columns.is_empty() && self.n > 0, || "it has no columns or no rows".into())?;
        let mut names: HashSet<&str> = self.label.iter().map(String::as_str).collect();
        for column in &self.columns {
            let name = &column.name;
            ensure(!name.is_empty(), || "a column has no name".into())?;
            ensure(names.insert(name), || format!("two columns are named '{name}'"))?;
            problem(column).map_or(Ok(()), |why| ensure(false, || format!("column '{name}' {why}")))?;
        }
        Ok(())
    }
}

/// What is impossible about a column.
fn problem(column: &ColumnSchema) -> Option<&'static str> {
    if !(0. ..=1.).contains(&column.missing) {
        return Some("has an impossible share of missing cells");
    }
    match &column.kind {
        ColumnKind::Numeric { facts, codes, .. } if are_codes(codes) => facts_problem(facts),
        ColumnKind::Numeric { .. } => Some("has impossible codes"),
        ColumnKind::Date { format, .. } if !format.is_valid() => Some("has an impossible date format"),
        ColumnKind::Date { cycles, .. } if !are_cycles(cycles) => Some("has a cycle twice"),
        ColumnKind::Date { facts, .. } => facts_problem(facts),
        ColumnKind::Boolean { no, yes } if no.eq_ignore_ascii_case(yes) => {
            Some("has the same word for yes and no")
        }
        ColumnKind::Categorical { levels, other } => {
            let mut seen = HashSet::new();
            let differ = levels.iter().chain(other).all(|level| seen.insert(level));
            (levels.is_empty() || !differ).then_some("has no levels, or one twice")
        }
        _ => None,
    }
}

fn facts_problem(facts: &NumberFacts) -> Option<&'static str> {
    let numbers = [facts.min, facts.max, facts.median, facts.common, facts.common_share, facts.skewness];
    let in_range = numbers.iter().all(|value| value.abs() <= f64::from(f32::MAX));
    let ordered = (facts.min..=facts.max).contains(&facts.median) && (0. ..=1.).contains(&facts.common_share);
    let steps = [facts.grid, facts.step].into_iter().flatten().all(|step| step.is_normal() && step > 0.);
    (!(in_range && ordered && steps && facts.distinct > 0)).then_some("has impossible facts")
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::BadSchema { why: why() }) }
}
