//! Terms of art that pages use: where a page first uses one, it is a link to what it means, at the end of the page.
//!
//! A [`Linker`] goes through a page's text in reading order. Prose may use a term anywhere; a cell or a heading of a table
//! is a term only as a whole, and never an everyday word, which may well be the name of somebody's column.

use std::collections::BTreeSet;

use minijinja::{Value, context};

mod terms;

use terms::TERMS;

/// A term and what it means.
pub(crate) struct Term {
    /// What links to it refer to.
    id: &'static str,
    /// Its heading in the list.
    name: &'static str,
    /// How texts write it. The first letter may be a capital.
    spellings: &'static [&'static str],
    /// In a sentence or two.
    meaning: &'static str,
    /// Whether it is also an ordinary word.
    everyday: bool,
}

/// Links each term once, and remembers which were used.
#[derive(Default)]
pub(crate) struct Linker {
    used: BTreeSet<usize>,
}

impl Linker {
    /// A text as parts, each of them plain or the first use of a term.
    pub fn prose(&mut self, text: &str) -> Value {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((at, len, term)) = self.next_term(rest) {
            parts.push(plain(&rest[..at]));
            parts.push(self.linked(term, &rest[at..at + len]));
            rest = &rest[at + len..];
        }
        parts.push(plain(rest));
        Value::from(parts)
    }

    /// A short text that is a term as a whole, or none.
    pub fn whole(&mut self, text: &str) -> Value {
        let is_term = |term: &Term| {
            !term.everyday && term.spellings.iter().any(|s| matches(text, s) == Some(text.len()))
        };
        match TERMS.iter().position(is_term).filter(|at| !self.used.contains(at)) {
            Some(term) => Value::from(vec![self.linked(term, text)]),
            None => Value::from(vec![plain(text)]),
        }
    }

    /// The terms that were used, by name.
    pub fn list(&self) -> Value {
        let mut used: Vec<&Term> = self.used.iter().map(|&at| &TERMS[at]).collect();
        used.sort_by_key(|term| term.name.to_lowercase());
        let view = |term: &Term| context! { id => term.id, name => term.name, meaning => term.meaning };
        Value::from_iter(used.into_iter().map(view))
    }

    /// The first use of a term not used before: where it is, how long, and which. The longest of those that begin there.
    fn next_term(&self, text: &str) -> Option<(usize, usize, usize)> {
        let mut before: Option<char> = None;
        for (at, c) in text.char_indices() {
            let begins = c.is_alphanumeric() && !before.is_some_and(char::is_alphanumeric);
            before = Some(c);
            if !begins {
                continue;
            }
            let fresh = TERMS.iter().enumerate().filter(|(term, _)| !self.used.contains(term));
            let found = fresh.filter_map(|(term, t)| {
                let longest = t.spellings.iter().filter_map(|s| matches(&text[at..], s)).max()?;
                Some((at, longest, term))
            });
            if let Some(found) = found.max_by_key(|(_, len, _)| *len) {
                return Some(found);
            }
        }
        None
    }

    fn linked(&mut self, term: usize, text: &str) -> Value {
        self.used.insert(term);
        let Term { id, meaning, .. } = TERMS[term];
        context! { text, id, meaning }
    }
}

fn plain(text: &str) -> Value {
    context! { text }
}

/// How many bytes of `text` are this spelling, as whole words.
fn matches(text: &str, spelling: &str) -> Option<usize> {
    let (mut letters, mut wanted) = (text.chars(), spelling.chars());
    let first = letters.next()?;
    let capital = wanted.next()?;
    if first != capital && !first.to_lowercase().eq(capital.to_lowercase()) {
        return None;
    }
    let rest = letters.as_str().strip_prefix(wanted.as_str())?;
    let ends = !rest.chars().next().is_some_and(char::is_alphanumeric);
    ends.then_some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which texts became links.
    fn links(parts: &Value) -> Vec<String> {
        let parts = parts.try_iter().unwrap();
        let linked = parts.filter(|part| !part.get_attr("id").unwrap().is_undefined());
        linked.map(|part| part.get_attr("text").unwrap().to_string()).collect()
    }

    fn text(parts: &Value) -> String {
        parts.try_iter().unwrap().map(|part| part.get_attr("text").unwrap().to_string()).collect()
    }

    #[test]
    fn a_term_is_linked_where_it_is_first_used_and_only_there() {
        let mut linker = Linker::default();
        let first = linker.prose("Typicality and ECE; the ECE again, precedence, ECEs.");
        assert_eq!(links(&first), ["Typicality", "ECE"]);
        assert_eq!(text(&first), "Typicality and ECE; the ECE again, precedence, ECEs.");
        assert!(links(&linker.prose("typicality, ECE")).is_empty());
        let listed: Vec<String> =
            linker.list().try_iter().unwrap().map(|term| term.get_attr("id").unwrap().to_string()).collect();
        assert_eq!(listed, ["term-ece", "term-typicality"]);
    }

    #[test]
    fn the_longest_of_several_terms_is_meant() {
        let mut linker = Linker::default();
        assert_eq!(links(&linker.prose("the classwise ECE, and ECE")), ["classwise ECE", "ECE"]);
    }

    #[test]
    fn a_cell_is_a_term_only_as_a_whole_and_no_everyday_word() {
        let mut linker = Linker::default();
        assert!(links(&linker.whole("my ECE")).is_empty());
        assert!(links(&linker.whole("temperature")).is_empty(), "may be the name of a column");
        assert_eq!(links(&linker.whole("Brier score")), ["Brier score"]);
        assert_eq!(text(&linker.whole("")), "");
    }

    #[test]
    fn text_in_any_script_is_kept() {
        let mut linker = Linker::default();
        for plain in ["", "ΖΕΎΣ", "日本語 log", "…", "ß"] {
            assert_eq!(text(&linker.prose(plain)), plain);
        }
    }

    #[test]
    fn every_term_can_be_linked_to() {
        let ids: BTreeSet<&str> = TERMS.iter().map(|term| term.id).collect();
        assert_eq!(ids.len(), TERMS.len());
        for term in &TERMS {
            assert!(
                term.id.starts_with("term-") && term.meaning.ends_with('.') && !term.spellings.is_empty()
            );
            let used = links(&Linker::default().prose(term.spellings[0]));
            assert_eq!(used, [term.spellings[0]], "{}", term.name);
        }
    }
}
