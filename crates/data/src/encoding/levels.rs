//! Levels as 0/1 dimensions: one per slot, a slot being a level, `(other)` or `(missing)`; of two slots the second
//! alone.
//!
//! ```text
//! levels a, b, c      a -> 1 0 0    unseen -> 0 0 0, or (other) if there is that
//! levels no, yes      yes -> 1      unseen -> 1/2, as far from one as from the other
//! ```
//!
//! A level is unseen if training rows did not have it, not even as one of the rare ones that share `(other)`, which are
//! remembered by a 64-bit digest each. A missing cell has its own slot if training rows had missing cells, else it is
//! imputed with the most frequent level.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use ndarray::{ArrayView1, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use super::Role;
use super::column::Unknowns;
use super::unseen::UnseenCounts;
use crate::Cells;

/// More rare texts than this are not remembered.
const MOST_RARE: usize = 10_000;

/// The name of the slot of missing cells.
pub(super) const MISSING: &str = "(missing)";

/// The slots of a column: its levels, then `(other)`, then `(missing)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LevelCode {
    pub levels: Vec<String>,
    pub other: Option<String>,
    pub letters: Letters,
    pub gaps: bool,
    pub most_frequent: usize,
    /// Digests, ascending, of the texts that share `(other)`; nothing if they are too many to remember.
    pub rare: Option<Vec<u64>>,
}

/// Whether upper and lower case are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Letters {
    Cased,
    Uncased,
}

impl LevelCode {
    /// The slots of a categorical column.
    pub fn categorical(levels: &[String], other: Option<&String>, training: &Cells) -> Self {
        Self::learn(levels.to_vec(), other.cloned(), Letters::Cased, training)
    }

    /// The slots of a boolean column, 0 and 1.
    pub fn boolean(no: &str, yes: &str, training: &Cells) -> Self {
        Self::learn(vec![no.into(), yes.into()], None, Letters::Uncased, training)
    }

    fn learn(levels: Vec<String>, other: Option<String>, letters: Letters, training: &Cells) -> Self {
        let code = Self { levels, other, letters, gaps: false, most_frequent: 0, rare: None };
        let index = code.index();
        let mut counts = vec![0_usize; code.levels.len()];
        let mut rare = BTreeSet::new();
        let mut gaps = false;
        for row in 0..training.len() {
            let Some(text) = training.text(row) else {
                gaps = true;
                continue;
            };
            match index.get(letters.key(&text).as_ref()) {
                Some(&slot) => counts[slot] += 1,
                None if rare.len() <= MOST_RARE => drop(rare.insert(digest(&text))),
                None => {}
            }
        }
        let most_frequent = (0..counts.len()).rev().max_by_key(|&slot| counts[slot]).unwrap_or(0);
        let rare = (rare.len() <= MOST_RARE).then(|| rare.into_iter().collect());
        Self { gaps, most_frequent, rare, ..code }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.levels.len() + usize::from(self.other.is_some()) + usize::from(self.gaps)
    }

    /// The level, if it is the only slot.
    pub fn only(&self) -> Option<&str> {
        (self.slots() == 1).then(|| self.levels[0].as_str())
    }

    /// Number of dimensions.
    pub fn width(&self) -> usize {
        if self.slots() == 2 { 1 } else { self.slots() }
    }

    /// What each dimension is, `[width]`.
    pub fn roles(&self) -> Vec<Role> {
        let names = self.levels.iter().chain(&self.other).map(String::as_str);
        let names = names.chain(self.gaps.then_some(MISSING));
        names.skip(self.slots() - self.width()).map(|level| Role::Level { level: level.into() }).collect()
    }

    /// Writes the cells into x `[n, width]`, all 0 before.
    pub fn apply(&self, column: &str, cells: &Cells, mut x: ArrayViewMut2<f64>) -> Unknowns {
        let index = self.index();
        let mut unseen = UnseenCounts::default();
        let mut imputed = 0;
        for (row, mut x) in x.rows_mut().into_iter().enumerate() {
            let slot = match cells.text(row) {
                None if self.gaps => Some(self.slots() - 1),
                None => {
                    imputed += 1;
                    Some(self.most_frequent)
                }
                Some(text) => index.get(self.letters.key(&text).as_ref()).copied().or_else(|| {
                    if self.is_unseen(&text) {
                        unseen.add(text.into_owned());
                    }
                    self.other.is_some().then_some(self.levels.len())
                }),
            };
            match (slot, self.width()) {
                (Some(slot), 1) => x[0] = slot as f64,
                (None, 1) => x[0] = 0.5,
                (Some(slot), _) => x[slot] = 1.,
                (None, _) => {}
            }
        }
        Unknowns { unseen: unseen.sorted(column), imputed }
    }

    /// The level of the largest dimension, `None` for a missing cell.
    pub fn invert(&self, x: ArrayView1<f64>) -> Option<&str> {
        let slot = match self.width() {
            1 => usize::from(x[0] > 0.5),
            width => (1..width).fold(0, |best, slot| if x[slot] > x[best] { slot } else { best }),
        };
        let level = self.levels.get(slot);
        match level {
            None if slot == self.levels.len() => self.other.as_deref(), // or missing, if there is no other
            level => level.map(String::as_str),
        }
    }

    /// Whether this text, which is no level, is not in the training rows.
    fn is_unseen(&self, text: &str) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.binary_search(&digest(text)).is_err())
    }

    /// The slot of each level, by its letters.
    pub fn index(&self) -> HashMap<Cow<'_, str>, usize> {
        self.levels.iter().enumerate().map(|(slot, level)| (self.letters.key(level), slot)).collect()
    }
}

impl Letters {
    fn key(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Cased => text.into(),
            Self::Uncased => text.to_ascii_lowercase().into(),
        }
    }
}

/// FNV-1a, the same on every machine.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
