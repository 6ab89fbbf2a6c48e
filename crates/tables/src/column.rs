//! A column while it is read: numbers until a cell is a text. Texts of verbatim columns, such as labels, stay as written.

use flowgmm_data::{Cells, TextCells, number_text};

use crate::{missing::Missing, number};

/// Cells of one column, added from the top.
pub(crate) struct ColumnBuilder {
    cells: Cells,
    missing: Missing,
}

impl ColumnBuilder {
    pub fn new(missing: Missing, rows: usize) -> Self {
        Self { cells: Cells::Numbers(Vec::with_capacity(rows)), missing }
    }

    /// Whether texts are kept as they are written, even those that read as numbers.
    #[inline]
    pub fn is_verbatim(&self) -> bool {
        self.missing.verbatim
    }

    /// Adds a cell of UTF-8 text: a number, a missing cell, or a text.
    #[inline]
    pub fn bytes(&mut self, cell: &[u8]) {
        match number::parse(trim_spaces(cell)) {
            Some(value) if !self.is_verbatim() => self.number(value),
            // The reader has checked that it is UTF-8; a replacement character is still better than a panic.
            _ => self.text(&String::from_utf8_lossy(cell)),
        }
    }

    /// Adds a text: a number, a missing cell, or itself.
    pub fn text(&mut self, text: &str) {
        let text = text.trim();
        match number::parse(text.as_bytes()) {
            Some(value) if !self.is_verbatim() => self.number(value),
            _ if self.missing.text(text) => self.missing(),
            _ => self.texts().push(Some(text)),
        }
    }

    /// Adds a number; NaN is missing, and an infinity the text `inf`, as it would be in a CSV file. Whoever needs numbers
    /// of the column refuses such a text by its line; a column that nobody needs may hold it.
    #[inline]
    pub fn number(&mut self, value: f64) {
        if self.missing.number(value) {
            return self.missing();
        }
        match &mut self.cells {
            _ if value.is_infinite() => self.texts().push(Some(if value > 0.0 { "inf" } else { "-inf" })),
            Cells::Numbers(values) => values.push(value),
            Cells::Texts(texts) if value.is_nan() => texts.push(None),
            Cells::Texts(texts) => texts.push(Some(&number_text(value))),
        }
    }

    /// Adds a truth value.
    pub fn truth(&mut self, value: bool) {
        self.texts().push(Some(if value { "true" } else { "false" }));
    }

    /// Adds a missing cell.
    pub fn missing(&mut self) {
        match &mut self.cells {
            Cells::Numbers(values) => values.push(f64::NAN),
            Cells::Texts(texts) => texts.push(None),
        }
    }

    pub fn finish(self) -> Cells {
        self.cells
    }

    fn texts(&mut self) -> &mut TextCells {
        if let Cells::Numbers(values) = &self.cells {
            let mut texts = TextCells::default();
            values.iter().for_each(|&v| texts.push((!v.is_nan()).then(|| number_text(v)).as_deref()));
            self.cells = Cells::Texts(texts);
        }
        match &mut self.cells {
            Cells::Texts(texts) => texts,
            Cells::Numbers(_) => unreachable!("just turned into texts"),
        }
    }
}

/// Strips white space; most cells have none, which their first and last bytes show.
#[inline]
fn trim_spaces(cell: &[u8]) -> &[u8] {
    match cell {
        [first, .., last] if *first > b' ' && *last > b' ' => cell,
        _ => cell.trim_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, missing::MissingRules};

    fn cells(options: &Options, texts: &[&str]) -> Vec<Option<String>> {
        let mut column = ColumnBuilder::new(MissingRules::new(options).of("a"), 0);
        texts.iter().for_each(|text| column.bytes(text.as_bytes()));
        let cells = column.finish();
        (0..cells.len()).map(|row| cells.text(row).map(|text| text.into_owned())).collect()
    }

    #[test]
    fn cells_are_numbers_nothing_or_texts() {
        let plain = Options::default();
        let read = cells(&plain, &[" 3.0 ", "n/a", "", "\u{a0}x\u{a0}", "03", "-", "inf", "-inf"]);
        let expected = [Some("3"), None, None, Some("x"), Some("3"), None, Some("inf"), Some("-inf")];
        assert_eq!(read.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn tokens_are_the_callers_choice() {
        let own = Options { missing: vec!["-999".into(), "unknown".into()], ..Options::default() };
        assert_eq!(cells(&own, &["-999.0", "Unknown", "1"]), [None, None, Some("1".into())]);
        assert_eq!(cells(&own, &["NA"]), [Some("NA".into())]);
        let label = Options { literal: vec!["a".into()], ..Options::default() };
        assert_eq!(cells(&label, &["none", "", "-"]), [Some("none".into()), None, Some("-".into())]);
        let verbatim = [" 1.0 ", "01", "1", "inf"].map(|text| Some(text.trim().to_string()));
        assert_eq!(cells(&label, &[" 1.0 ", "01", "1", "inf"]), verbatim);
        let infinite = Options { missing: vec!["inf".into()], ..Options::default() };
        assert_eq!(cells(&infinite, &["inf", "1"]), [None, Some("1".into())]);
        let mut typed = ColumnBuilder::new(MissingRules::new(&infinite).of("a"), 0);
        [f64::INFINITY, f64::NEG_INFINITY].into_iter().for_each(|value| typed.number(value));
        assert_eq!((typed.cells.text(0), typed.cells.text(1).as_deref()), (None, Some("-inf")));
    }
}
