//! Which rows to label next.

use flowgmm::insight::label_next;
use flowgmm_report::{Cell, Column, Columns, Grid, Plot, Section, Table};
use semisup::{Classifier, metrics::arg_max, ndarray::Axis};
use serde_json::{Value, json};

use super::{Part, Rows, Subject};
use crate::fit_report::{percent, short};

/// Rows suggested.
const SHOWN: usize = 12;
/// Candidates that are looked at: their neighbours are searched for.
const MOST: usize = 10_000;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let heading = "Label these next".to_string();
    let (seen, what) = (&subject.seen, subject.what());
    let own: Vec<usize> = (0..seen.rows.n()).filter(|&row| seen.rows.y[row].is_none()).collect();
    let (rows, candidates): (&Rows, Vec<usize>) = match &subject.pool {
        Some(pool) => (pool, (0..pool.n()).collect()),
        None => (&seen.rows, own),
    };
    let candidates: Vec<usize> = candidates.into_iter().take(MOST).collect();
    if candidates.is_empty() {
        let text = format!(
            "All {what} here have labels. Give {what} without any with --unlabelled, and the model says which of them it \
             would learn most from."
        );
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    }
    let labelled: Vec<usize> = (0..seen.rows.n()).filter(|&row| seen.rows.y[row].is_some()).collect();
    let known = seen.rows.x.select(Axis(0), &labelled);
    let x = rows.x.select(Axis(0), &candidates);
    let known = (!labelled.is_empty()).then_some(known.view());
    let found = label_next(subject.model, x.view(), known, SHOWN);
    let log_probs = subject.model.score(x.view()).log_probs;
    let guesses = arg_max(log_probs.view());
    let show = &subject.show;
    let cells = |suggestion: &flowgmm::insight::Suggestion| {
        let row = candidates[suggestion.row];
        let guess = guesses[suggestion.row];
        let mut cells = vec![Cell::from(short(&rows.names[row], 28))];
        cells.push(Cell::from(format!(
            "{}\u{a0}({})",
            show.class(guess),
            percent(log_probs[[suggestion.row, guess]].exp())
        )));
        cells.push(Cell::number(suggestion.undecided, 2));
        cells.push(Cell::number(suggestion.density, 2));
        cells.push(Cell::number(suggestion.distance, 2));
        cells.extend(show.cells(rows, row));
        cells
    };
    let first = if show.layout().is_some() { "Image" } else { "Line" };
    let mut columns = vec![Column::text(first), Column::text("Guess")];
    columns.extend(["Undecided", "Density", "Distance"].map(Column::number));
    columns.extend(show.heads());
    let grids = match show.layout() {
        Some(_) => {
            let chosen: Vec<usize> = found.iter().map(|s| candidates[s.row]).collect();
            let lines = chosen.chunks(6).map(|chosen| (String::new(), rows.x.select(Axis(0), chosen)));
            let sheet = show.sheet("What to label", "Best first, line by line.", lines.collect());
            vec![Grid::of(Columns::One, vec![sheet.figure()])]
        }
        None => Vec::new(),
    };
    let section = Section {
        heading,
        text: format!(
            "Chosen among {}, without labels: these would teach the model most. It is undecided about them (entropy, 1 is a coin), \
             they stand for others (share of {what} in thinner surroundings), and they are far from what is labelled or chosen \
             before, so that no two tell the same story.",
            rows.described(what),
        ),
        tables: vec![Table { columns, rows: found.iter().map(cells).collect(), ..Table::default() }],
        grids,
    };
    let value: Vec<Value> = found
        .iter()
        .map(|s| {
            json!({
                "row": rows.names[candidates[s.row]],
                "guess": subject.model.classes()[guesses[s.row]],
                "gain": s.gain,
                "undecided": s.undecided,
                "density": s.density,
                "distance": s.distance,
            })
        })
        .collect();
    Part { section, json: Some(("label_next", json!(value))) }
}
