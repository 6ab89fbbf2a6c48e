//! Tables in the manner of `booktabs`: three rules, numbers right-aligned, the best of a column in bold.

use minijinja::{Value, context};

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
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Self {
        TableColumn { name: name.into(), align: Align::Left, best: Best::Unranked }
    }

    /// A column of sentences.
    pub fn prose(name: impl Into<String>) -> Self {
        TableColumn { name: name.into(), align: Align::Prose, best: Best::Unranked }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        TableColumn { name: name.into(), align: Align::Right, best: Best::Unranked }
    }

    /// Sets the largest number in bold.
    pub fn highest(self) -> Self {
        TableColumn { best: Best::Highest, ..self }
    }

    /// Sets the smallest number in bold.
    pub fn lowest(self) -> Self {
        TableColumn { best: Best::Lowest, ..self }
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

    fn as_str(&self) -> &str {
        match self {
            TableCell::Text(text) => text,
            TableCell::Number { shown, .. } => shown,
            TableCell::Missing => "–",
        }
    }

    fn value(&self) -> Option<f64> {
        match self {
            TableCell::Number { value, .. } => Some(*value),
            TableCell::Text(_) | TableCell::Missing => None,
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

impl Table {
    /// What the template sees: caption, head, rows; each cell with its text and style class.
    pub(crate) fn view(&self) -> Value {
        let best: Vec<Option<&TableCell>> = (0..self.columns.len()).map(|c| self.best_of(c)).collect();
        let head = self.columns.iter().map(|c| context! { text => c.name.as_str(), class => c.class(false) });
        let rows = self.rows.iter().map(|row| {
            let cells = self.columns.iter().enumerate().map(|(c, column)| {
                let is_best = row.get(c).is_some_and(|cell| best[c].is_some_and(|best| ties(cell, best)));
                context! { text => row.get(c).map_or("", TableCell::as_str), class => column.class(is_best) }
            });
            Value::from_iter(cells)
        });
        context! { caption => self.caption.as_str(), head => Value::from_iter(head), rows => Value::from_iter(rows) }
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
