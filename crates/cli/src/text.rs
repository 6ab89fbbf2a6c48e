//! Plain text for people: aligned columns, short numbers, and names from strangers that cannot act on a terminal.

use std::{borrow::Cow, path::Path};

use flowgmm::{
    Classifier as _, Decision, Model, Scores,
    figures::{MAX_NAME_CHARS, safe_text},
};

/// A class, column or other name from a file, in one short line without anything that acts on a terminal.
pub fn name(name: &str) -> Cow<'_, str> {
    safe_text(name, MAX_NAME_CHARS)
}

/// A path, in one line without anything that acts on a terminal.
pub fn path(path: &Path) -> String {
    safe_text(&path.display().to_string(), usize::MAX).into_owned()
}

/// Text of several lines without anything that acts on a terminal. Everything that the program says passes here.
pub fn safe_lines(text: &str) -> Cow<'_, str> {
    match text.lines().all(|line| matches!(safe_text(line, usize::MAX), Cow::Borrowed(_))) {
        true => Cow::Borrowed(text),
        false => {
            text.split('\n').map(|line| safe_text(line, usize::MAX)).collect::<Vec<_>>().join("\n").into()
        }
    }
}

/// JSON without anything that acts on a terminal: such characters become escapes, which mean the same.
pub fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        let alone = c.encode_utf8(&mut [0; 4]).to_owned();
        match c.is_ascii_graphic() || c == ' ' || c == '\n' || safe_text(&alone, 1) == alone {
            true => safe.push(c),
            false => {
                c.encode_utf16(&mut units).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")))
            }
        }
    }
    safe
}

/// Rows of cells as lines, the first column to the left, the others to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    aligned(rows, |c| if c == 0 { Side::Left } else { Side::Right })
}

/// Rows of cells as lines, every column to the left; long cells are cut.
pub fn left_columns(rows: &[Vec<String>]) -> String {
    const WIDEST: usize = 48;
    let cut = |cell: &String| safe_text(cell, WIDEST).into_owned();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cut).collect()).collect();
    aligned(&rows, |_| Side::Left)
}

enum Side {
    Left,
    Right,
}

fn aligned(rows: &[Vec<String>], side: impl Fn(usize) -> Side) -> String {
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max();
    let widths: Vec<usize> = (0..n).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &width))| match side(c) {
            Side::Left => format!("{cell:<width$}"),
            Side::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Names and values as lines `name  value`.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// `0.9914` as `99.1 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// How common a model takes its classes to be, with 95 % intervals where there are some, in one line.
pub fn shares(model: &Model) -> String {
    let intervals = model.class_share_intervals();
    let shares = model.classes().iter().zip(model.class_shares()).enumerate();
    let shares = shares.map(|(k, (class, share))| match intervals.get(k) {
        None => format!("{} {}", name(class), percent(share)),
        Some(interval) => format!("{} {} ({})", name(class), percent(share), span(interval)),
    });
    list(&shares.collect::<Vec<_>>())
}

/// How often a model is expected to be right, and what that rests on.
pub fn expected(model: &Model) -> String {
    let rows = model.rows().noun();
    match model.evidence() {
        None => format!(
            "no estimate, since no label could be held out; `flowgmm evaluate` measures it on labelled {rows} of your own"
        ),
        Some(found) => format!(
            "{:.0} % right on {rows} like these (95 % interval {}), by {} held-out labels",
            100.0 * found.expected,
            span(&found.interval),
            found.n
        ),
    }
}

/// What would make a model better, as far as held-out labels tell.
pub fn improvement(model: &Model) -> Option<String> {
    let evidence = model.evidence()?;
    let weakest = evidence.weakest_class()?;
    let (class, found) = (name(&model.classes()[weakest]), evidence.classes[weakest]);
    let why = match found.n {
        0 => "it has too few to hold one out".into(),
        n => format!("{} of its {n} held-out labels were predicted right, the fewest", found.hits),
    };
    Some(format!("label more {} of class '{class}': {why}", model.rows().noun()))
}

/// `71 to 91 %`.
fn span([low, high]: &[f64; 2]) -> String {
    format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high)
}

/// What was decided, and why.
pub fn decision(decision: &Decision) -> String {
    format!("{} ({})", decision.choice, decision.why)
}

/// The first few of many names.
pub fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|item| name(item)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Scores on a test file, in one line.
pub fn tested(scores: &Scores) -> String {
    let (n, accuracy, nll) = (scores.n, percent(scores.accuracy), scores.nll);
    format!("accuracy {accuracy}, negative log-likelihood {nll:.3} on {n} rows")
}

/// Seconds as `5.2 s`, `12 min` or `3.4 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(safe_lines("a\nb\n"), "a\nb\n");
        assert_eq!(safe_lines("a\n\u{1b}[31mred\u{9b}\n"), "a\n\\u{1b}[31mred\\u{9b}\n");
        assert_eq!(name("line\nbreak"), "line\\nbreak");
        assert_eq!(name(&"x".repeat(1000)).chars().count(), MAX_NAME_CHARS);
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({ "a\u{9b}\u{202e}": "é 😀 \u{7f}\u{e0001}" });
        let safe = safe_json(&format!("{value:#}\n"));
        assert!(safe.contains("\\u009b\\u202e") && safe.contains("é 😀"), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
