//! A schema as the rows of a printed table: name, kind, cells, encoding, warnings.

use super::{ColumnKind, ColumnSchema, NumberFacts, Schema};
use crate::error::wording::count;
use crate::number_text;

/// A row of the table: one column of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its kind in one word.
    pub kind: &'static str,
    /// What its cells look like.
    pub saw: String,
    /// How it is encoded.
    pub becomes: String,
    /// What the user should know.
    pub warning: Option<String>,
}

impl Schema {
    /// One row for each column, in the order of the frame.
    pub fn summary(&self) -> Vec<ColumnSummary> {
        self.columns.iter().map(summarised).collect()
    }
}

fn summarised(column: &ColumnSchema) -> ColumnSummary {
    let mut saw = match &column.kind {
        ColumnKind::Numeric { facts, .. } => range(facts),
        ColumnKind::Date { format, facts, .. } => {
            format!("{} to {}", format.write(facts.min), format.write(facts.max))
        }
        ColumnKind::Boolean { no, yes } => format!("{no}, {yes}"),
        ColumnKind::Categorical { levels, other } => few(levels, other.is_some()),
        ColumnKind::Constant { value } => format!("always {}", short(value)),
        ColumnKind::Text | ColumnKind::Identifier | ColumnKind::Empty | ColumnKind::Ignored => {
            column.reason.clone()
        }
    };
    if column.missing > 0. && column.missing < 1. {
        saw.push_str(&format!(", {} missing", percent(column.missing)));
    }
    let becomes = match &column.kind {
        ColumnKind::Numeric { codes, .. } if codes.is_empty() => with_gaps("a number", column),
        ColumnKind::Numeric { codes, .. } => {
            with_gaps(&format!("a number and {} columns of 0 or 1", codes.len()), column)
        }
        ColumnKind::Date { cycles, .. } => {
            let parts = cycles.iter().map(|cycle| cycle.name());
            let parts: Vec<&str> = std::iter::once("days since 1970-01-01").chain(parts).collect();
            with_gaps(&parts.join(", "), column)
        }
        ColumnKind::Boolean { .. } | ColumnKind::Categorical { .. } => one_hot(column),
        ColumnKind::Constant { .. } => "left out, written back".into(),
        _ => "not used".into(),
    };
    let warnings: Vec<&str> = column.warnings.iter().map(|warning| warning.message.as_str()).collect();
    let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
    ColumnSummary { name: column.name.clone(), kind: column.kind.name(), saw, becomes, warning }
}

fn range(facts: &NumberFacts) -> String {
    let mut saw = match (facts.distinct, facts.integer) {
        (2, _) => format!("{} or {}", number_text(facts.min), number_text(facts.max)),
        (_, true) => format!("whole numbers {} to {}", number_text(facts.min), number_text(facts.max)),
        (_, false) => format!("numbers {} to {}", number_text(facts.min), number_text(facts.max)),
    };
    let step = facts.grid.or(facts.step).filter(|step| *step != 1. && facts.distinct > 2);
    if let Some(step) = step {
        saw.push_str(&format!(" in steps of {}", number_text(step)));
    }
    if facts.common_share > 0.3 {
        saw.push_str(&format!(", {} are {}", percent(facts.common_share), number_text(facts.common)));
    }
    if facts.skewness.abs() > 2. {
        saw.push_str(", skewed");
    }
    if facts.heavy_tailed {
        saw.push_str(", heavy tails");
    }
    saw
}

fn few(levels: &[String], other: bool) -> String {
    let shown: Vec<String> = levels.iter().take(4).map(|level| short(level)).collect();
    let more = match levels.len().saturating_sub(4) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let rest = if other { ", and rarer ones" } else { "" };
    format!("{}: {}{more}{rest}", count(levels.len(), "level"), shown.join(", "))
}

fn with_gaps(what: &str, column: &ColumnSchema) -> String {
    if column.missing > 0. { format!("{what}, and whether it is missing") } else { what.into() }
}

fn one_hot(column: &ColumnSchema) -> String {
    let levels = match &column.kind {
        ColumnKind::Categorical { levels, other } => levels.len() + usize::from(other.is_some()),
        _ => 2,
    };
    match levels + usize::from(column.missing > 0.) {
        2 => "0 or 1".into(),
        slots => format!("{slots} columns of 0 or 1"),
    }
}

fn percent(share: f64) -> String {
    match 100. * share {
        little if little < 1. => "under 1%".into(),
        much if much > 99. => "over 99%".into(),
        percent => format!("{percent:.0}%"),
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= 24 {
        return text.into();
    }
    text.chars().take(23).chain(['…']).collect()
}
