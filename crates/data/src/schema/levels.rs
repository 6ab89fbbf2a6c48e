//! The distinct texts of a column with their counts, and what they look like.

use std::{borrow::Cow, collections::HashMap};

use super::ColumnKind;
use crate::{Cells, read_number};

/// A categorical column of more levels keeps the most frequent ones, one fewer than this, and one level for the rest.
const MOST_LEVELS: usize = 50;

/// Pairs of words that mean no and yes.
const BOOLEANS: [[&str; 2]; 4] = [["false", "true"], ["no", "yes"], ["f", "t"], ["n", "y"]];

/// How often each text occurs.
pub(super) struct Tally<'a> {
    counts: HashMap<Cow<'a, str>, usize>,
    present: usize,
}

impl<'a> Tally<'a> {
    pub fn of(cells: &'a Cells) -> Self {
        let mut counts = HashMap::new();
        for text in (0..cells.len()).filter_map(|row| cells.text(row)) {
            *counts.entry(text).or_insert(0) += 1;
        }
        let present = counts.values().sum();
        Self { counts, present }
    }

    /// Number of distinct texts.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Whether at least 99% of the cells are distinct.
    pub fn nearly_distinct(&self) -> bool {
        self.distinct() as f64 >= 0.99 * self.present as f64
    }

    /// The distinct texts, in no order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.counts.keys().map(AsRef::as_ref)
    }

    /// A boolean, if the texts are two words that mean no and yes, each in its most frequent spelling.
    pub fn boolean(&self) -> Option<ColumnKind> {
        // At most "no", "No", "NO", "nO" and as many for the other word.
        let texts: Vec<&str> = self.texts().take(64).collect();
        let pair = BOOLEANS
            .iter()
            .find(|pair| texts.iter().all(|text| pair.iter().any(|word| text.eq_ignore_ascii_case(word))))?;
        let [no, yes] = pair.map(|word| self.mostly_written(word));
        Some(ColumnKind::Boolean { no: no?, yes: yes? })
    }

    /// The levels of a categorical column.
    pub fn categorical(&self) -> ColumnKind {
        let mut counted: Vec<(usize, &str)> =
            self.counts.iter().map(|(text, n)| (*n, text.as_ref())).collect();
        // Most frequent first; equally frequent ones in the order of the alphabet.
        counted.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let other = counted.len() > MOST_LEVELS;
        counted.truncate(if other { MOST_LEVELS - 1 } else { MOST_LEVELS });
        let levels = sorted(counted.into_iter().map(|(_, text)| text.to_owned()).collect());
        let other = other.then(|| unused("(other)", &levels));
        ColumnKind::Categorical { levels, other }
    }

    /// Whether these are sentences or names rather than levels: long, or of many words, or nearly all distinct.
    pub fn is_free_text(&self) -> bool {
        let (present, distinct) = (self.present as f64, self.distinct() as f64);
        let weighted = |measure: fn(&str) -> usize| {
            self.counts.iter().map(|(text, n)| (n * measure(text)) as f64).sum::<f64>() / present
        };
        let nearly_all_different = self.present >= 10 && distinct > 0.9 * present;
        let mostly_different = self.distinct() > MOST_LEVELS && distinct > 0.5 * present;
        let wordy = self.distinct() > 10
            && distinct > 0.2 * present
            && weighted(|text| text.split_whitespace().count()) >= 4.;
        let long = self.distinct() > 2 && weighted(|text| text.chars().count()) > 60.;
        nearly_all_different || mostly_different || wordy || long
    }

    fn mostly_written(&self, word: &str) -> Option<String> {
        let spellings = self.counts.iter().filter(|(text, _)| text.eq_ignore_ascii_case(word));
        let mostly = spellings.max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        mostly.map(|(text, _)| text.clone().into_owned())
    }
}

/// The texts sorted, by value if all are numbers.
pub(super) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    if texts.iter().all(|text| read_number(text).is_some()) {
        let value = |text: &String| read_number(text).expect("all are numbers");
        texts.sort_by(|a, b| value(a).total_cmp(&value(b))); // stable: equal numbers stay in text order
    }
    texts
}

/// The name, with more brackets around it if a level has this name.
fn unused(name: &str, levels: &[String]) -> String {
    let mut name = name.to_owned();
    while levels.contains(&name) {
        name = format!("({name})");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: &[&str]) -> Cells {
        Cells::from_texts(texts.iter().map(|text| Some(*text)).collect())
    }

    #[test]
    fn booleans_are_two_words_in_any_case() {
        let boolean = |texts: &[&str]| Tally::of(&cells(texts)).boolean();
        let want = |no: &str, yes: &str| Some(ColumnKind::Boolean { no: no.into(), yes: yes.into() });
        assert_eq!(boolean(&["Yes", "no", "Yes", "yes"]), want("no", "Yes"));
        assert_eq!(boolean(&["TRUE", "FALSE"]), want("FALSE", "TRUE"));
        assert_eq!(boolean(&["t", "f"]), want("f", "t"));
        assert_eq!(boolean(&["y", "N"]), want("N", "y"));
        assert_eq!(boolean(&["yes", "false"]), None);
        assert_eq!(boolean(&["yes", "yes"]), None);
        assert_eq!(boolean(&["yes", "no", "maybe"]), None);
    }

    #[test]
    fn levels_are_sorted_and_the_rare_ones_shared() {
        let categorical = |texts: &[&str]| Tally::of(&cells(texts)).categorical();
        let names = |levels: &[&str]| levels.iter().map(|level| level.to_string()).collect::<Vec<_>>();
        let few = categorical(&["b", "a", "b", "10", "9"]);
        assert_eq!(few, ColumnKind::Categorical { levels: names(&["10", "9", "a", "b"]), other: None });
        let numbers = categorical(&["10", "9", "-1"]);
        assert_eq!(numbers, ColumnKind::Categorical { levels: names(&["-1", "9", "10"]), other: None });

        let mut texts: Vec<String> = (0..60).map(|i| format!("level {i:02}")).collect();
        texts.extend(["level 59", "level 58", "(other)", "(other)"].map(String::from));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ColumnKind::Categorical { levels, other } = categorical(&texts) else { panic!() };
        assert_eq!((levels.len(), other.as_deref()), (49, Some("((other))")));
        assert!(levels.contains(&"level 59".into()) && !levels.contains(&"level 57".into()));
        assert!(levels.is_sorted());
    }

    #[test]
    fn sentences_are_free_text_and_codes_are_not() {
        let running = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            Tally::of(&cells(&texts)).is_free_text()
        };
        let repeated = |n: usize, of: usize, text: &str| -> Vec<String> {
            (0..n).map(|i| format!("{text}{}", i % of)).collect()
        };
        assert!(running(&repeated(40, 40, "name")));
        assert!(running(&repeated(200, 120, "name")));
        assert!(running(&repeated(40, 12, "the service was good, number ")));
        assert!(!running(&repeated(40, 3, "the service was good, number ")));
        assert!(!running(&repeated(40, 12, "code")));
        assert!(!running(&repeated(1000, 120, "zip")));
        assert!(!running(&repeated(5, 5, "city")));
        assert!(running(&repeated(100, 10, &"long ".repeat(20))));
    }
}
