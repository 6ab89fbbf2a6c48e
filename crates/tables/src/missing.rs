//! Which cells are missing.

use std::sync::Arc;

use flowgmm_data::read_number;

use crate::Options;

/// Texts that usually mean a missing cell: R, pandas, SQL, Python, UCI and spreadsheets.
pub const MISSING_TOKENS: [&str; 7] = ["NA", "N/A", "NaN", "null", "none", "?", "-"];

/// The missing cells of one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing(Arc<Tokens>);

#[derive(Debug, Default)]
struct Tokens {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

impl Missing {
    /// Whether a text, trimmed and not a number, is a missing cell.
    pub fn text(&self, text: &str) -> bool {
        text.is_empty() || self.0.texts.iter().any(|token| token.eq_ignore_ascii_case(text))
    }

    /// Whether a number is a missing cell.
    pub fn number(&self, value: f64) -> bool {
        self.0.numbers.contains(&value)
    }
}

/// The missing cells of every column.
#[derive(Clone, Debug)]
pub(crate) struct MissingRules {
    usual: Missing,
    literal: Vec<String>,
}

impl MissingRules {
    pub fn new(options: &Options) -> Self {
        let mut tokens = Tokens::default();
        for token in &options.missing {
            match read_number(token) {
                Some(value) => tokens.numbers.push(value),
                None => tokens.texts.push(token.trim().to_string()),
            }
        }
        Self { usual: Missing(Arc::new(tokens)), literal: options.literal.clone() }
    }

    pub fn of(&self, column: &str) -> Missing {
        if self.literal.iter().any(|name| name == column) { Missing::default() } else { self.usual.clone() }
    }
}
