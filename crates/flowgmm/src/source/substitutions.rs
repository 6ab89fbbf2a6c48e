//! What had to be filled in or substituted while rows were encoded, for one message at the end.

use std::collections::HashMap;

use flowgmm_data::Encoded;

/// Different values that are counted, at most: a stream may never stop showing new ones.
const MOST_UNSEEN: usize = 1000;
/// Values that are named.
const SHOWN: usize = 5;

/// Missing cells that were imputed, and categories that training did not show.
#[derive(Default)]
pub(super) struct Substitutions {
    imputed: usize,
    unseen: Vec<(String, String, usize)>,
    positions: HashMap<(String, String), usize>, // in `unseen`
    uncounted: bool,
}

impl Substitutions {
    /// Adds those of a chunk.
    pub(super) fn add(&mut self, encoded: &Encoded) {
        self.imputed += encoded.imputed;
        for unseen in &encoded.unseen {
            let key = (unseen.column.clone(), unseen.level.clone());
            match self.positions.get(&key) {
                Some(&at) => self.unseen[at].2 += unseen.count,
                None if self.unseen.len() == MOST_UNSEEN => self.uncounted = true,
                None => {
                    self.unseen.push((key.0.clone(), key.1.clone(), unseen.count));
                    self.positions.insert(key, self.unseen.len() - 1);
                }
            }
        }
    }

    /// In words, of the rows called `name`.
    pub(super) fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.imputed > 0 {
            warnings.push(format!(
                "{name}: {} missing cells in columns that were complete in training were filled in",
                self.imputed
            ));
        }
        let shown: Vec<String> = (self.unseen.iter().take(SHOWN))
            .map(|(column, level, count)| format!("'{level}' in column '{column}' ({count} rows)"))
            .collect();
        if !shown.is_empty() {
            let more = match self.unseen.len().saturating_sub(SHOWN) {
                0 => String::new(),
                _ if self.uncounted => format!(" and more than {}", MOST_UNSEEN - SHOWN),
                n => format!(" and {n} more"),
            };
            warnings.push(format!("{name}: values that training did not show: {}{more}", shown.join(", ")));
        }
        warnings
    }
}
