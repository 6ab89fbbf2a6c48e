//! Which cells are missing, and which columns are kept verbatim.

use std::sync::Arc;

use flowgmm_data::read_number;

use crate::Options;

/// Texts that usually mean a missing cell: R, pandas, SQL, Python, UCI and spreadsheets.
pub const MISSING_TOKENS: [&str; 7] = ["NA", "N/A", "NaN", "null", "none", "?", "-"];

/// The missing cells of one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    tokens: Arc<Tokens>,
    /// Whether texts are kept as they are written, even those that read as numbers.
    pub verbatim: bool,
}

#[derive(Debug, Default)]
struct Tokens {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

impl Missing {
    /// Whether a text, trimmed and not a number, is a missing cell.
    pub fn text(&self, text: &str) -> bool {
        text.is_empty() || self.tokens.texts.iter().any(|token| token.eq_ignore_ascii_case(text))
    }

    /// Whether a number is a missing cell.
    pub fn number(&self, value: f64) -> bool {
        self.tokens.numbers.contains(&value)
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
            let text = token.trim();
            if let Some(value) = read_number(text) {
                tokens.numbers.push(value);
                continue;
            }
            // Numbers of typed formats may be infinite, too.
            tokens.numbers.extend(text.parse::<f64>().ok().filter(|value| value.is_infinite()));
            tokens.texts.push(text.to_string());
        }
        let usual = Missing { tokens: Arc::new(tokens), verbatim: false };
        Self { usual, literal: options.literal.clone() }
    }

    pub fn of(&self, column: &str) -> Missing {
        match self.literal.iter().any(|name| name == column) {
            true => Missing { verbatim: true, ..Missing::default() },
            false => self.usual.clone(),
        }
    }
}
