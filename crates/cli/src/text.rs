//! Plain text for people: aligned columns and short numbers.

use flowgmm::{Classifier as _, Model, Scores};

/// Rows of cells as lines, the first column to the left, the others to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max();
    let widths: Vec<usize> = (0..n).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &width))| match c {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Rows of cells as lines, every column to the left; long cells are cut.
pub fn left_columns(rows: &[Vec<String>]) -> String {
    const WIDEST: usize = 48;
    let cut = |cell: &String| match cell.chars().count() {
        n if n > WIDEST => cell.chars().take(WIDEST - 1).chain(['…']).collect(),
        _ => cell.clone(),
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cut).collect()).collect();
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max();
    let widths: Vec<usize> = (0..n).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
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

/// How common a model takes its classes to be, in one line.
pub fn shares(model: &Model) -> String {
    let shares = model.classes().iter().zip(model.class_shares());
    list(&shares.map(|(class, share)| format!("{class} {}", percent(share))).collect::<Vec<_>>())
}

/// The first few of many names.
pub fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
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
