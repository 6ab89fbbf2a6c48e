//! Inference of a column's kind from its cells: rules in order, of which the first that holds decides.
//!
//! ```text
//! declared ignored or text -> empty -> constant -> declared kind
//!   numbers: one value and missing cells -> categorical; identifier; else numeric, few whole ones with their codes
//!   texts:   boolean; date; identifier; free text; else categorical
//! ```

use super::levels::Tally;
use super::{ColumnKind, ColumnSchema, Concern, DateFormat, DeclaredKind, NumberFacts, Strays, Warning};
use super::{codes, date::Cycle, identifier, leak::Target};
use crate::error::wording::count;
use crate::{Cells, Column, Frame, Result, read_number};

mod seen;

use seen::Seen;

/// A column of texts looks like one of numbers or dates with stray texts if at least this share of its cells is one.
const MOSTLY: f64 = 0.8;
/// Shares of missing cells above this give a warning.
const MOSTLY_MISSING: f64 = 0.95;

/// The kind of a column, the reason and the warnings.
struct Verdict {
    kind: ColumnKind,
    reason: String,
    warnings: Vec<Warning>,
    /// Number of cells that are present but count as missing.
    unreadable: usize,
}

/// Infers the kind of a column.
pub(super) fn column(
    frame: &Frame,
    column: &Column,
    asked: Option<DeclaredKind>,
    target: Option<&Target>,
) -> Result<ColumnSchema> {
    let cells = &column.cells;
    let present = match cells {
        Cells::Numbers(values) => values.iter().filter(|value| !value.is_nan()).count(),
        Cells::Texts(texts) => texts.iter().flatten().count(),
    };
    let seen = Seen { frame, name: &column.name, cells, n: frame.n(), present };
    let Verdict { kind, reason, mut warnings, unreadable } = decide(&seen, asked)?;
    let present = present - unreadable;
    let missing = (seen.n - present) as f64 / seen.n as f64;
    if kind.is_encoded() {
        if missing > MOSTLY_MISSING {
            let message =
                format!("only {present} of {} cells are present: it carries little information", seen.n);
            warnings.push(Warning::new(Concern::Missing, message));
        }
        if let Some(why) = target.and_then(|target| target.leak(cells)) {
            let message = format!("{why}. Leave it out if it is not known before the label is");
            warnings.push(Warning::new(Concern::Leak, message));
        }
    }
    Ok(ColumnSchema { name: column.name.clone(), kind, missing, reason, warnings })
}

fn decide(seen: &Seen, asked: Option<DeclaredKind>) -> Result<Verdict> {
    match asked {
        Some(DeclaredKind::Ignore) => return Ok(Verdict::new(ColumnKind::Ignored, "excluded on request")),
        Some(DeclaredKind::Text) => return Ok(Verdict::new(ColumnKind::Text, "declared to be text")),
        _ => {}
    }
    if seen.present == 0 {
        let verdict = Verdict::new(ColumnKind::Empty, "every cell is missing");
        return Ok(verdict.warn(Concern::Missing, "every cell is missing: the column is not used"));
    }
    let only = seen.only_value();
    if let Some(value) = &only
        && seen.present == seen.n
    {
        return Ok(Verdict::new(ColumnKind::Constant { value: value.clone() }, "the same in every row"));
    }
    match (asked, seen.cells) {
        (Some(DeclaredKind::Numeric), _) => declared_numeric(seen),
        (Some(DeclaredKind::Date), _) => declared_date(seen),
        (Some(DeclaredKind::Categorical), _) => {
            Ok(categorical(&Tally::of(seen.cells), "declared categorical"))
        }
        (_, Cells::Numbers(_)) if only.is_some() => {
            Ok(categorical(&Tally::of(seen.cells), "one value, or missing"))
        }
        (_, Cells::Numbers(values)) => numbers(seen, values),
        (_, Cells::Texts(_)) => texts(seen),
    }
}

fn numbers(seen: &Seen, values: &[f64]) -> Result<Verdict> {
    if seen.present == seen.n
        && let Some(why) = identifier::of_numbers(seen.name, values)
    {
        return Ok(Verdict::identifier(why));
    }
    let facts = seen.facts(values.to_vec())?;
    let codes = codes::of(values);
    let named = facts.integer && facts.distinct < seen.n / 2 && identifier::is_name(seen.name);
    let used_as_categories = !codes.is_empty();
    let reason = match codes.len() {
        0 => "every cell is a number".into(),
        n => format!("{n} different whole numbers, which may be codes"),
    };
    let verdict = Verdict::new(ColumnKind::Numeric { facts, strays: Strays::Refused, codes }, reason);
    if !named || used_as_categories {
        return Ok(verdict);
    }
    Ok(verdict.warn(
        Concern::Identifier,
        "it is named like an identifier and its numbers repeat: if they are codes and not quantities, declare it \
         categorical",
    ))
}

fn texts(seen: &Seen) -> Result<Verdict> {
    seen.refuse_infinities()?;
    let tally = Tally::of(seen.cells);
    if let Some(kind) = tally.boolean() {
        return Ok(Verdict::new(kind, "two words that mean yes and no"));
    }
    if let Some(verdict) = dates(seen, |_| true, Strays::Refused)? {
        return Ok(verdict);
    }
    if let Some(why) = identifier::of_texts(seen.name, &tally) {
        return Ok(Verdict::identifier(why));
    }
    let verdict = if tally.is_free_text() {
        Verdict::new(
            ColumnKind::Text,
            format!("{} different texts in {} cells", tally.distinct(), seen.present),
        )
    } else {
        categorical(&tally, &count(tally.distinct(), "different text"))
    };
    let is_date = |text: &str| DateFormat::of([text]).is_some();
    for (what, declare, reads) in [
        ("numbers", "numeric", &(|text: &str| read_number(text).is_some()) as &dyn Fn(&str) -> bool),
        ("dates", "a date", &is_date),
    ] {
        let strays = seen.strays(reads);
        if strays.rows > 0 && (seen.present - strays.rows) as f64 >= MOSTLY * seen.present as f64 {
            let named = strays.named;
            let message = format!(
                "nearly all of its cells are {what}, but not {named}. Correct them, or declare the column {declare} to \
                 treat them as missing"
            );
            return Ok(verdict.warn(Concern::Strays, message));
        }
    }
    Ok(verdict)
}

fn categorical(tally: &Tally, reason: &str) -> Verdict {
    let kind = tally.categorical();
    let kept = match &kind {
        ColumnKind::Categorical { levels, other: Some(_) } => levels.len(),
        _ => return Verdict::new(kind, reason),
    };
    let message = format!(
        "of {} different values the {kept} most frequent are kept, the others are treated as one",
        tally.distinct()
    );
    Verdict::new(kind, reason).warn(Concern::ManyLevels, message)
}

fn declared_numeric(seen: &Seen) -> Result<Verdict> {
    seen.refuse_infinities()?;
    let numbers = (0..seen.n).map(|row| seen.cells.number(row).ok().flatten().unwrap_or(f64::NAN)).collect();
    let stray = seen.strays(|text| read_number(text).is_some());
    if stray.rows == seen.present {
        return Err(
            seen.bad(format!("declared numeric, but not one cell is a number: found {}", stray.named))
        );
    }
    let (strays, warning) = stray.as_missing();
    let kind = ColumnKind::Numeric { facts: seen.facts(numbers)?, strays, codes: Vec::new() };
    let mut verdict = Verdict::new(kind, "declared numeric");
    verdict.warnings.extend(warning);
    verdict.unreadable = stray.rows;
    Ok(verdict)
}

fn declared_date(seen: &Seen) -> Result<Verdict> {
    let is_date = |text: &str| DateFormat::of([text]).is_some();
    let stray = seen.strays(is_date);
    if stray.rows == seen.present {
        return Err(seen.bad(format!("declared a date, but not one cell is: found {}", stray.named)));
    }
    let (strays, warning) = stray.as_missing();
    let Some(mut verdict) = dates(seen, is_date, strays)? else {
        return Err(
            seen.bad("declared a date, but its dates are written in several ways: use one of them".into())
        );
    };
    verdict.reason = "declared a date".into();
    verdict.warnings.extend(warning);
    verdict.unreadable = stray.rows;
    Ok(verdict)
}

/// A date, if all cells that count are written in one format.
fn dates(seen: &Seen, counts: impl Fn(&str) -> bool, strays: Strays) -> Result<Option<Verdict>> {
    let texts: Vec<_> = seen.texts().filter(|text| counts(text)).collect();
    let Some(found) = DateFormat::of(texts.iter().map(AsRef::as_ref)) else { return Ok(None) };
    let days: Vec<f64> = texts.iter().map(|text| found.format.read(text).expect("read before")).collect();
    let example = found.format.example();
    let times: Vec<f64> = days.iter().map(|&days| found.format.local(days)).collect();
    let cycles = Cycle::that_vary(&times);
    let kind = ColumnKind::Date { format: found.format, facts: NumberFacts::of(days), strays, cycles };
    let verdict = Verdict::new(kind, format!("every cell is a date like {example}"));
    if !found.ambiguous {
        return Ok(Some(verdict));
    }
    let message = format!(
        "no cell shows whether the day or the month comes first: read as day, month, year, so 31 January 2024 is \
         {example}. Write dates as 2024-01-31 to be sure"
    );
    Ok(Some(verdict.warn(Concern::AmbiguousDate, message)))
}

impl Verdict {
    fn new(kind: ColumnKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), warnings: Vec::new(), unreadable: 0 }
    }

    fn identifier(why: &str) -> Self {
        Self::new(ColumnKind::Identifier, why).warn(
            Concern::Identifier,
            format!("it looks like an identifier ({why}) and is not used: declare what it is to use it"),
        )
    }

    fn warn(mut self, concern: Concern, message: impl Into<String>) -> Self {
        self.warnings.push(Warning::new(concern, message));
        self
    }
}
