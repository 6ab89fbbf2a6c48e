//! Columns that leak the label: they equal it, they determine it, or they are present only where it is.
//!
//! Detected on labelled rows, and only with enough of them: with few labels a good feature is pure by chance.

use std::collections::HashMap;

use super::labels;
use crate::{Cells, Error, Frame, Result, read_number};

/// The labels of a frame.
pub(super) struct Target {
    y: Vec<Option<usize>>, // [n]
    classes: Vec<String>,
    n_labelled: usize,
}

/// The smallest number of labelled rows on which a leak is detected.
const ENOUGH: usize = 5;
/// Labelled rows that each of at least three pure levels needs, and each of two.
const SUPPORT: (usize, usize) = (5, 20);
/// A column with more distinct values than this does not determine the label.
const MOST_LEVELS: usize = 50;

impl Target {
    /// The labels in the column of this name.
    pub fn of(frame: &Frame, label: &str) -> Result<Self> {
        let cells = frame.column(label);
        let cells =
            cells.ok_or_else(|| Error::no_label_column(frame.name(), label, &frame.column_names()))?;
        let (y, classes) = labels::read(cells, &[]);
        let n_labelled = y.iter().flatten().count();
        Ok(Self { y, classes, n_labelled })
    }

    /// Why the column seems to leak the label.
    pub fn leak(&self, cells: &Cells) -> Option<String> {
        if self.n_labelled < ENOUGH || self.classes.len() < 2 {
            return None;
        }
        self.equal(cells).or_else(|| self.present_where_labelled(cells)).or_else(|| self.pure(cells))
    }

    fn equal(&self, cells: &Cells) -> Option<String> {
        let numbers: Vec<Option<f64>> = self.classes.iter().map(|class| read_number(class)).collect();
        let keys: Vec<String> = self.classes.iter().map(|class| labels::key(class)).collect();
        let same = |row: usize, k: usize| match cells {
            Cells::Numbers(values) => numbers[k] == Some(values[row]),
            Cells::Texts(texts) => texts.get(row).is_some_and(|text| labels::key(text) == keys[k]),
        };
        self.labelled()
            .all(|(row, k)| same(row, k))
            .then(|| format!("it equals the label in all {} labelled rows", self.n_labelled))
    }

    fn present_where_labelled(&self, cells: &Cells) -> Option<String> {
        let n_unlabelled = self.y.len() - self.n_labelled;
        let exactly = || self.y.iter().enumerate().all(|(row, y)| present(cells, row) == y.is_some());
        (n_unlabelled >= ENOUGH && exactly()).then(|| {
            "its cells are missing exactly where the label is: it may be known only afterwards".into()
        })
    }

    /// Whether every level, a missing cell being one, occurs in one class only, and often enough.
    fn pure(&self, cells: &Cells) -> Option<String> {
        let mut levels: HashMap<Key, (usize, usize)> = HashMap::new(); // class, rows
        for (row, k) in self.labelled() {
            let level = levels.entry(Key::of(cells, row)).or_insert((k, 0));
            level.1 += 1;
            if level.0 != k {
                return None;
            }
            if levels.len() > MOST_LEVELS {
                return None;
            }
        }
        let needed = if levels.len() >= 3 { SUPPORT.0 } else { SUPPORT.1 };
        let supported: Vec<(usize, usize)> =
            levels.values().copied().filter(|(_, rows)| *rows >= needed).collect();
        let covered: usize = supported.iter().map(|(_, rows)| rows).sum();
        let tells_apart = supported.iter().any(|(k, _)| *k != supported[0].0);
        let enough_levels = supported.len() >= if levels.len() >= 3 { 3 } else { 2 };
        (tells_apart && enough_levels && covered as f64 >= 0.95 * self.n_labelled as f64).then(|| {
            let (levels, rows) = (levels.len(), self.n_labelled);
            format!("it determines the label: each of its {levels} values has one class only, in {rows} labelled rows")
        })
    }

    fn labelled(&self) -> impl Iterator<Item = (usize, usize)> {
        self.y.iter().enumerate().filter_map(|(row, y)| y.map(|k| (row, k)))
    }
}

/// A value to count by, without writing numbers out as text.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Missing,
    Number(u64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    fn of(cells: &'a Cells, row: usize) -> Self {
        match cells {
            Cells::Numbers(values) if values[row].is_nan() => Self::Missing,
            Cells::Numbers(values) => Self::Number((values[row] + 0.).to_bits()),
            Cells::Texts(texts) => texts.get(row).map_or(Self::Missing, Self::Text),
        }
    }
}

fn present(cells: &Cells, row: usize) -> bool {
    Key::of(cells, row) != Key::Missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    /// The leak of a column whose cells are given per row, with the label "a", "b", "c" in turn, every third missing.
    fn leak(n: usize, cell: impl Fn(usize, Option<&str>) -> Option<String>) -> Option<String> {
        let label = |row: usize| (row % 3 != 2).then(|| ["a", "b", "c"][row / 3 % 3]);
        let column = |name: &str, texts: Vec<Option<String>>| Column {
            name: name.into(),
            cells: Cells::from_texts(texts.iter().map(|text| text.as_deref()).collect()),
        };
        let labels = column("y", (0..n).map(|row| label(row).map(String::from)).collect());
        let feature = column("x", (0..n).map(|row| cell(row, label(row))).collect());
        let frame = Frame::new("t", vec![labels, feature], (1..=n as u64).collect()).unwrap();
        Target::of(&frame, "y").unwrap().leak(frame.column("x").unwrap())
    }

    #[test]
    fn what_leaks_the_label() {
        let copied = leak(30, |_, y| Some(y.unwrap_or("a").into())).unwrap();
        assert!(copied.contains("equals the label in all 20"), "{copied}");
        let recoded = |y: Option<&str>| y.map_or("7".into(), |y| (y.as_bytes()[0] * 2).to_string());
        assert!(leak(60, |_, y| Some(recoded(y))).unwrap().contains("determines the label"));
        let afterwards = leak(30, |row, y| y.map(|_| (row * row % 97).to_string())).unwrap();
        assert!(afterwards.contains("missing exactly where the label is"), "{afterwards}");
    }

    #[test]
    fn what_is_only_a_good_feature() {
        assert_eq!(leak(15, |_, y| Some(y.unwrap_or("a").repeat(2))), None, "too few rows to be sure");
        let hint = |row: usize, y: Option<&str>| {
            if row.is_multiple_of(20) { "?".into() } else { y.unwrap_or("a").repeat(2) }
        };
        assert_eq!(leak(90, |row, y| Some(hint(row, y))), None);
        assert_eq!(leak(90, |row, _| Some(row.to_string())), None);
        assert_eq!(leak(90, |row, y| y.filter(|_| row % 7 > 0).map(|_| row.to_string())), None);
    }
}
