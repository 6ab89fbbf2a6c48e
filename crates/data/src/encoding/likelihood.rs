//! Whether a density over the encoded dimensions is a density of the user's rows.
//!
//! It is when every column is continuous and complete: then the encoding is the identity. Anything discrete (steps,
//! levels, missing cells, an atom) is dequantised by noise or has dimensions of 0 and 1, a date may have dimensions that
//! follow from it, and a log-likelihood of the encoded rows is then a bound, which compares models of the same encoding but not of different ones. For values in
//! steps,
//!
//! ```text
//! E_u log p(x + u) + log step <= log P(x),   u ~ U(-step/2, step/2),
//! ```
//!
//! the left side being what training with uniform dequantisation maximises, P(x) the probability of the value.

use super::Encoding;
use super::column::{Code, ColumnCode};
use crate::error::wording::list;
use crate::number_text;

/// How a log-likelihood of encoded rows relates to that of the user's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Likelihood {
    /// They are equal.
    Exact,
    /// It is a bound, because some columns are discrete.
    Bound {
        /// Which columns, and why.
        why: String,
    },
}

impl Encoding {
    /// How a log-likelihood of encoded rows relates to that of the user's rows.
    pub fn likelihood(&self) -> Likelihood {
        let reasons: [(&str, Holds); 5] = [
            ("categories", |code| matches!(code, Code::Levels(_))),
            (
                "missing cells",
                |code| matches!(code, Code::Number { gaps, .. } | Code::Date { gaps, .. } if *gaps),
            ),
            ("values in steps", |code| {
                matches!(code, Code::Number { step: Some(_), .. } | Code::Date { step: Some(_), .. })
            }),
            (
                "cycles of the calendar",
                |code| matches!(code, Code::Date { cycles, .. } if !cycles.is_empty()),
            ),
            ("one value in many rows", |code| matches!(code, Code::Number { atom: Some(_), .. })),
        ];
        let found: Vec<String> = reasons
            .iter()
            .filter_map(|(what, holds)| {
                let names: Vec<String> =
                    self.columns.iter().filter(|column| holds(&column.code)).map(detailed).collect();
                (!names.is_empty()).then(|| format!("{what} in {}", list(&names)))
            })
            .collect();
        if found.is_empty() { Likelihood::Exact } else { Likelihood::Bound { why: found.join("; ") } }
    }
}

/// A condition on a column.
type Holds = fn(&Code) -> bool;

fn detailed(column: &ColumnCode) -> String {
    match &column.code {
        Code::Number { step: Some(step), .. } => format!("{} (by {})", column.name, number_text(*step)),
        Code::Number { atom: Some(atom), .. } => format!("{} (often {})", column.name, number_text(*atom)),
        _ => column.name.clone(),
    }
}
