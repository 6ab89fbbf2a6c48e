//! Each text once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The different texts of a call, in order of first appearance.
pub(crate) struct Distinct<'t> {
    texts: Vec<&'t str>,
    first: Vec<usize>, // [distinct]: where each text first stands in the call
    of: Vec<usize>,    // [n]: which distinct text each text of the call is
}

impl<'t> Distinct<'t> {
    pub(crate) fn of(texts: &[&'t str]) -> Distinct<'t> {
        let mut seen = HashMap::with_capacity(texts.len());
        let mut distinct = Distinct { texts: Vec::new(), first: Vec::new(), of: Vec::new() };
        for (at, &text) in texts.iter().enumerate() {
            let i = match seen.entry(text) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    distinct.texts.push(text);
                    distinct.first.push(at);
                    *entry.insert(distinct.texts.len() - 1)
                }
            };
            distinct.of.push(i);
        }
        distinct
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, i: usize) -> &'t str {
        self.texts[i]
    }

    /// The index of distinct text `i` in the call, for messages.
    pub(crate) fn place(&self, i: usize) -> usize {
        self.first[i]
    }

    /// [distinct, dim] -> [n, dim]
    pub(crate) fn spread(&self, rows: Vec<f32>, dim: usize) -> Vec<f32> {
        if self.texts.len() == self.of.len() {
            return rows;
        }
        self.of.iter().flat_map(|&i| &rows[i * dim..][..dim]).copied().collect()
    }
}
