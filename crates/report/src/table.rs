//! Tables in the manner of `booktabs`: three rules, numbers right-aligned, the best of a column in bold.

use minijinja::{Value, context};

use crate::glossary::Linker;
use crate::safe_text::with_tooltip;
use crate::svg::text_width;

/// A table of a page.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Above the table; may be empty.
    pub caption: String,
    /// Headings, left to right.
    pub columns: Vec<TableColumn>,
    /// Cells, top to bottom; a short row is filled up with blanks.
    pub rows: Vec<Vec<TableCell>>,
}

/// How a column is headed and read.
#[derive(Clone, Debug)]
pub struct TableColumn {
    name: String,
    /// What a tooltip adds to the name.
    full: Option<String>,
    align: Align,
    best: Best,
}

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Sentences, which want room.
    Prose,
    /// Numbers.
    Right,
}

/// Which of a column's numbers is set in bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// None is.
    Unranked,
    /// Accuracy, for example.
    Highest,
    /// Error, for example.
    Lowest,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// Names from outside, cut to fit, with the whole names as a tooltip.
    Name {
        /// As much as is shown.
        shown: String,
        /// All of it, if that is more.
        full: Option<String>,
    },
    /// A number, and how it is written.
    Number {
        /// For ranking.
        value: f64,
        /// For reading.
        shown: String,
    },
    /// Nothing to report: a dash.
    Missing,
}

impl TableColumn {
    fn new(name: String, align: Align) -> Self {
        TableColumn { name, full: None, align, best: Best::Unranked }
    }

    /// A column of words.
    pub fn text(name: impl Into<String>) -> Self {
        TableColumn::new(name.into(), Align::Left)
    }

    /// A column of sentences.
    pub fn prose(name: impl Into<String>) -> Self {
        TableColumn::new(name.into(), Align::Prose)
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        TableColumn::new(name.into(), Align::Right)
    }

    /// Heads the column with a name from outside, in at most `max_chars` characters; the whole name is a tooltip.
    pub fn named(self, name: &str, max_chars: usize) -> Self {
        let (shown, full) = with_tooltip(name, max_chars);
        TableColumn { name: shown.into_owned(), full: full.map(Into::into), ..self }
    }

    /// Sets the largest number in bold.
    pub fn highest(self) -> Self {
        TableColumn { best: Best::Highest, ..self }
    }

    /// Sets the smallest number in bold.
    pub fn lowest(self) -> Self {
        TableColumn { best: Best::Lowest, ..self }
    }

    fn view(&self, terms: &mut Linker) -> Value {
        let parts = match self.full {
            None => terms.whole(&self.name),
            Some(_) => Value::from(vec![context! { text => self.name.as_str() }]),
        };
        context! { parts, full => self.full.as_deref(), class => self.class(false) }
    }

    fn class(&self, is_best: bool) -> &'static str {
        match (self.align, is_best) {
            (Align::Left, false) => "left",
            (Align::Left, true) => "left best",
            (Align::Prose, _) => "prose",
            (Align::Right, false) => "right",
            (Align::Right, true) => "right best",
        }
    }
}

impl TableCell {
    /// `value` with that many decimals; a dash if it is not finite.
    pub fn number(value: f64, decimals: usize) -> Self {
        TableCell::shown(value, format!("{value:.decimals$}").replace('-', "\u{2212}"))
    }

    /// `value` written in your own way, for example `98.2 ± 0.3`.
    pub fn shown(value: f64, shown: impl Into<String>) -> Self {
        if value.is_finite() { TableCell::Number { value, shown: shown.into() } } else { TableCell::Missing }
    }

    /// A name from outside in at most `max_chars` characters; the whole name is a tooltip.
    pub fn name(name: &str, max_chars: usize) -> Self {
        let (shown, full) = with_tooltip(name, max_chars);
        TableCell::Name { shown: shown.into_owned(), full: full.map(Into::into) }
    }

    /// Words with names in them that were cut, and the same words with the whole names, for a tooltip.
    pub fn titled(shown: impl Into<String>, full: &str) -> Self {
        let shown = shown.into();
        let full = with_tooltip(full, 0).1.filter(|full| full.as_ref() != shown);
        TableCell::Name { full: full.map(Into::into), shown }
    }

    fn as_str(&self) -> &str {
        match self {
            TableCell::Text(text) => text,
            TableCell::Name { shown, .. } => shown,
            TableCell::Number { shown, .. } => shown,
            TableCell::Missing => "–",
        }
    }

    fn value(&self) -> Option<f64> {
        match self {
            TableCell::Number { value, .. } => Some(*value),
            TableCell::Text(_) | TableCell::Name { .. } | TableCell::Missing => None,
        }
    }

    /// Its parts for the template. A name from outside is no term, whatever it reads like.
    fn parts(&self, terms: &mut Linker) -> Value {
        match self {
            TableCell::Text(text) => terms.whole(text),
            other => Value::from(vec![context! { text => other.as_str() }]),
        }
    }

    fn tooltip(&self) -> Option<&str> {
        match self {
            TableCell::Name { full, .. } => full.as_deref(),
            _ => None,
        }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        TableCell::Text(text.to_string())
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        TableCell::Text(text)
    }
}

impl From<usize> for TableCell {
    fn from(count: usize) -> Self {
        TableCell::Number { value: count as f64, shown: count.to_string() }
    }
}

/// Tables estimated to be this wide or less may share a line with figures.
const HALF: f64 = 460.0;
/// Longer texts wrap.
const WRAP: f64 = 170.0;

/// How much of a section's width a table or a grid takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// A place beside figures.
    Half,
    /// All of it.
    Full,
}

impl Span {
    /// That of the tables of a section: they look alike, so one wide table makes all of them wide.
    pub fn of_tables(tables: &[Table]) -> Self {
        let narrow = tables.iter().all(|table| table.estimated_width() <= HALF);
        if narrow { Span::Half } else { Span::Full }
    }

    /// Its name in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Span::Half => "half",
            Span::Full => "full",
        }
    }
}

impl Table {
    /// What the template sees: caption, head, rows; each cell with its text and style class.
    pub(crate) fn view(&self, span: Span, terms: &mut Linker) -> Value {
        let caption_parts = terms.prose(&self.caption);
        let best: Vec<Option<&TableCell>> = (0..self.columns.len()).map(|c| self.best_of(c)).collect();
        let head: Vec<Value> = self.columns.iter().map(|column| column.view(terms)).collect();
        let mut row_view = |row: &Vec<TableCell>| -> Value {
            let cells = self.columns.iter().enumerate().map(|(c, column)| {
                let blank = TableCell::Text(String::new());
                let cell = row.get(c).unwrap_or(&blank);
                let is_best = best[c].is_some_and(|best| ties(cell, best));
                context! { parts => cell.parts(terms), full => cell.tooltip(), class => column.class(is_best) }
            });
            Value::from(cells.collect::<Vec<_>>())
        };
        let rows: Vec<Value> = self.rows.iter().map(&mut row_view).collect();
        context! { kind => "table", span => span.class(), caption => self.caption.as_str(), caption_parts, head, rows }
    }

    /// About how many pixels across the table wants.
    pub(crate) fn estimated_width(&self) -> f64 {
        const FONT: f64 = 14.0;
        const GAP: f64 = 24.0;
        let width = |(c, column): (usize, &TableColumn)| {
            let cells = self.rows.iter().filter_map(|row| row.get(c)).map(TableCell::as_str);
            let widest = cells.map(|text| text_width(text, FONT)).fold(0.0, f64::max);
            let head = text_width(&column.name, FONT).min(0.6 * WRAP);
            let wraps = column.align != Align::Right;
            GAP + head.max(if wraps { widest.min(WRAP) } else { widest })
        };
        self.columns.iter().enumerate().map(width).sum()
    }

    fn best_of(&self, column: usize) -> Option<&TableCell> {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| cell.value().is_some());
        let by_value =
            |a: &&TableCell, b: &&TableCell| a.value().partial_cmp(&b.value()).expect("numbers are finite");
        match self.columns[column].best {
            Best::Unranked => None,
            Best::Highest => cells.max_by(by_value),
            Best::Lowest => cells.min_by(by_value),
        }
    }
}

/// Numbers that read the same rank the same: the hidden digits of 98.2 are no reason for bold type.
fn ties(cell: &TableCell, best: &TableCell) -> bool {
    cell.value().is_some() && (cell.value() == best.value() || cell.as_str() == best.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    #[test]
    fn a_tooltip_is_there_only_if_it_says_more() {
        let tooltip = |shown: &str, full: &str| TableCell::titled(shown, full).tooltip().map(String::from);
        assert_eq!(tooltip("a… (3)", "a class (3)").as_deref(), Some("a class (3)"));
        assert_eq!(tooltip("b (3)", "b (3)"), None);
        assert_eq!(tooltip("", ""), None);
    }

    #[test]
    fn the_best_of_a_column_is_marked_with_its_ties() {
        let table = Table {
            columns: vec![
                TableColumn::text("method"),
                TableColumn::number("acc").highest(),
                TableColumn::number("nll").lowest(),
            ],
            rows: vec![
                vec!["a".into(), TableCell::number(98.24, 1), TableCell::number(-0.3, 2)],
                vec!["b".into(), TableCell::number(98.21, 1), TableCell::number(f64::NAN, 2)],
                vec!["c".into(), TableCell::Missing],
            ],
            ..Table::default()
        };
        let html = Page { headline: Some(table), ..Page::default() }.to_html();
        let cells: Vec<&str> = html.lines().filter(|line| line.starts_with("<tr><td")).collect();
        let right = |class: &str, text: &str| format!(r#"<td class="right{class}">{text}</td>"#);
        assert!(cells[0].contains(&(right(" best", "98.2") + &right(" best", "−0.30"))));
        assert!(cells[1].contains(&(right(" best", "98.2") + &right("", "–"))));
        assert!(cells[2].contains(&(right("", "–") + &right("", ""))));
    }
}
