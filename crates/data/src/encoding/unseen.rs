//! Values that are not in the training rows, counted.

use std::collections::HashMap;

/// A level or code that is not in the training rows: all its 0/1 dimensions are 0, or `(other)` is 1 if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The level.
    pub level: String,
    /// The number of rows that have it.
    pub count: usize,
}

/// The values of one column that are not in the training rows, and how many rows have them.
#[derive(Default)]
pub(super) struct UnseenCounts(HashMap<String, usize>);

impl UnseenCounts {
    /// Counts a row that has this value.
    pub fn add(&mut self, level: String) {
        *self.0.entry(level).or_insert(0) += 1;
    }

    /// All of them, the most frequent first.
    pub fn sorted(self, column: &str) -> Vec<Unseen> {
        let counted = self.0.into_iter();
        let mut unseen: Vec<Unseen> =
            counted.map(|(level, count)| Unseen { column: column.into(), level, count }).collect();
        unseen.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.level.cmp(&b.level)));
        unseen
    }
}
