//! What the first bytes of delimited text show: its delimiter, and whether its first row names columns.

use csv::{ByteRecord, ReaderBuilder, Terminator};
use flowgmm_data::read_number;

use crate::Delimiter;

/// Rows below the first that are looked at.
const ROWS: usize = 20;

/// How much of a text its first bytes are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// The last row may be incomplete.
    Cut,
}

/// The delimiter of a text by its first bytes; the rule is that of [`crate::InputFormat::Delimited`].
pub(crate) fn delimiter(head: &[u8], extent: Extent) -> Delimiter {
    let widths = Delimiter::ALL.map(|delimiter| (delimiter, widths(head, extent, delimiter)));
    let steady = || widths.iter().filter(|(_, w)| w.first() >= Some(&2) && w.iter().all(|n| n == &w[0]));
    let clean = steady().find(|(delimiter, _)| quotes_enclose_cells(head, delimiter.byte()));
    let widest = widths.iter().rev().max_by_key(|(_, w)| w.first()); // the first of equals, seen from the back
    clean.or(steady().next()).or(widest).map_or(Delimiter::Comma, |(delimiter, _)| *delimiter)
}

/// Whether every quote opens a cell, closes one, or is doubled within one.
fn quotes_enclose_cells(head: &[u8], delimiter: u8) -> bool {
    let ends_cell = |byte: Option<&u8>| byte.is_none_or(|b| *b == delimiter || matches!(b, b'\n' | b'\r'));
    let (mut inside, mut at) = (false, 0);
    while at < head.len() {
        let before = at.checked_sub(1).map(|at| &head[at]);
        match (head[at] == b'"', inside, head.get(at + 1)) {
            (false, ..) => {}
            (true, false, _) if ends_cell(before) => inside = true,
            (true, true, Some(b'"')) => at += 1,
            (true, true, next) if ends_cell(next) => inside = false,
            _ => return false,
        }
        at += 1;
    }
    true
}

/// Cells of each of the first rows.
fn widths(head: &[u8], extent: Extent, delimiter: Delimiter) -> Vec<usize> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter.byte())
        .terminator(Terminator::Any(b'\n'))
        .from_reader(head);
    let (mut widths, mut record) = (Vec::new(), ByteRecord::new());
    while widths.len() <= ROWS && reader.read_byte_record(&mut record).unwrap_or(false) {
        let cut = extent == Extent::Cut && reader.position().byte() >= head.len() as u64;
        let blank = record.len() == 1 && record[0].trim_ascii().is_empty();
        if !cut && !blank {
            widths.push(record.len());
        }
    }
    widths
}

/// Whether a header looks like a row of data: all its cells but at most one (the label) are numbers. Numbers that
/// count up one by one, as in the years of a wide table or pandas' default names, are names.
pub(crate) fn looks_like_data(cells: &[String]) -> bool {
    let numbers: Vec<f64> = cells.iter().filter_map(|cell| read_number(cell)).collect();
    let enough = numbers.len() == cells.len() || (numbers.len() >= 2 && numbers.len() + 1 == cells.len());
    let counting = numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
    enough && !numbers.is_empty() && !counting
}

/// The first cells of a row, for a message.
pub(crate) fn first_cells(cells: &[String]) -> String {
    let mut text = cells.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    if cells.len() > 4 {
        text.push_str(", ..");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_steady_one() {
        let sniff = |text: &str| delimiter(text.as_bytes(), Extent::Whole);
        assert_eq!(sniff("a,b\n1,2\n"), Delimiter::Comma);
        assert_eq!(sniff("a;b;c\n1,5;2,5;3\n"), Delimiter::Semicolon, "decimal commas");
        assert_eq!(sniff("text\tlabel\nwell, yes\tx\nno; never\ty\n"), Delimiter::Tab);
        assert_eq!(sniff("id\tname, first\tn\n1\ta, b, c\t2\n"), Delimiter::Tab);
        assert_eq!(sniff("a,b\n\"x;y\",2\n"), Delimiter::Comma);
        assert_eq!(sniff("a\t\"p, \"\"q\"\"\"\nx,\t1\n"), Delimiter::Tab, "commas would cut a quoted cell");
        assert_eq!(sniff("a,b\n5\" pipe,2\n"), Delimiter::Comma, "a stray quote is no reason against commas");
        assert_eq!(sniff("a,b\n1;2,3;4;5\n"), Delimiter::Comma);
        assert_eq!(
            sniff("a,b,y\n1,2\n"),
            Delimiter::Comma,
            "ragged rows are an error later, not another format"
        );
        assert_eq!(sniff("single\n1\n2\n"), Delimiter::Comma);
        assert_eq!(sniff(""), Delimiter::Comma);
        let cut = b"id	name, first, last	n
1	a	2
3";
        assert_eq!(delimiter(cut, Extent::Cut), Delimiter::Tab, "the last row is cut");
        assert_eq!(
            delimiter(cut, Extent::Whole),
            Delimiter::Comma,
            "no delimiter is steady, and comma comes first"
        );
    }

    #[test]
    fn values_are_told_from_names() {
        let data = |header: &str| looks_like_data(&header.split(',').map(String::from).collect::<Vec<_>>());
        assert!(data("0,1,6,15,12") && data("28.7,16.0,g") && data("5.1") && data("M,1.5,2,3"));
        assert!(
            !data("a,b") && !data("0,1,2,target") && !data("country,2019,2020,2021") && !data("2020,value")
        );
    }
}
