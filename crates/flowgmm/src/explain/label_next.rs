//! Active learning: which rows to label next.

use flowgmm_report::{GridWidth, Section, Table, TableCell, TableColumn};
use ndarray::Axis;
use semisup::metrics::arg_max;
use serde::Serialize;

use super::{
    display::{Display, SheetRows, ShownRows, class_name},
    subject::Subject,
};
use crate::{insight::suggestions, pages::percent};

/// Rows suggested.
const SHOWN: usize = 12;
/// Most candidates: the neighbours of each are searched for.
const MOST: usize = 10_000;
/// Images on a line of a sheet.
const ACROSS: usize = 6;

/// Rows most worth labelling, best first; in JSON, an array of them.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct LabelNext {
    /// The rows, best first.
    pub suggestions: Vec<LabelSuggestion>,
    /// What they were chosen from: `1200 rows`.
    #[serde(skip)]
    candidates: String,
    #[serde(skip)]
    rows: ShownRows,
}

/// A row worth labelling.
#[derive(Clone, Debug, Serialize)]
pub struct LabelSuggestion {
    /// The line of the row, or the name of the image.
    pub row: String,
    /// The predicted class.
    pub guess: String,
    /// Its probability.
    #[serde(skip)]
    pub p: f64,
    /// The criterion that it was chosen by; comparable only within one choice.
    pub gain: f64,
    /// Entropy of the model's probabilities as a share of log K.
    pub entropy: f64,
    /// Share of candidates in less dense regions.
    pub density: f64,
    /// Distance to the nearest row that is labelled or was chosen before.
    pub distance: f64,
}

impl LabelNext {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        let (seen, model) = (&subject.seen, subject.model);
        let (rows, mut candidates) = match &subject.unlabelled {
            Some(rows) => (rows, (0..rows.n()).collect()),
            None => (&seen.rows, seen.unlabelled()),
        };
        candidates.truncate(MOST);
        if candidates.is_empty() {
            return None;
        }
        let x = rows.x.select(Axis(0), &candidates);
        let log_probs = match &subject.unlabelled {
            Some(_) => model.score(x.view()).log_probs,
            None => seen.predictions.log_probs.select(Axis(0), &candidates),
        };
        let labelled = seen.labelled();
        let known = seen.rows.x.select(Axis(0), &labelled);
        let known = (!labelled.is_empty()).then_some(known.view());
        let found = suggestions(model, x.view(), log_probs.view(), known, SHOWN);
        let guesses = arg_max(log_probs.view());
        let shown: Vec<usize> = found.iter().map(|suggestion| candidates[suggestion.row]).collect();
        let suggestions = found.iter().map(|suggestion| {
            let guess = guesses[suggestion.row];
            LabelSuggestion {
                row: rows.names[candidates[suggestion.row]].clone(),
                guess: model.classes_ref()[guess].clone(),
                p: log_probs[[suggestion.row, guess]].exp(),
                gain: suggestion.gain,
                entropy: suggestion.entropy,
                density: suggestion.density,
                distance: suggestion.distance,
            }
        });
        Some(Self {
            suggestions: suggestions.collect(),
            candidates: rows.described(model.rows().noun()),
            rows: ShownRows::of(rows, &shown),
        })
    }
}

pub(super) const HEADING: &str = "Label these next";

pub(super) fn section(found: Option<&LabelNext>, display: &Display) -> Section {
    let (heading, noun) = (HEADING.to_string(), display.noun());
    let Some(found) = found else {
        let text = format!(
            "All {noun} here have labels. Given {noun} without labels, this section suggests which of them to label."
        );
        return Section { heading, text, ..Section::default() };
    };
    let text = format!(
        "The {noun} whose labels would teach the model most, chosen from {}. The model is uncertain about them (entropy, \
         from 0 for certainty to 1 if all classes are equally probable), they represent others (density, the share of {noun} in less dense \
         regions), and they are far from those that are labelled or already chosen (distance), so that no two of them are \
         alike.",
        found.candidates
    );
    let x = &found.rows.x;
    let lines: SheetRows =
        (x.axis_chunks_iter(Axis(0), ACROSS)).map(|x| (String::new(), x.to_owned())).collect();
    let grids = display.sheet(GridWidth::Two, "Images to label", "Best first, line by line.", &lines);
    Section { heading, text, tables: vec![table(found, display)], grids }
}

fn table(found: &LabelNext, display: &Display) -> Table {
    let row = |(at, suggestion): (usize, &LabelSuggestion)| {
        let guess = |class: &str| format!("{class}\u{a0}({})", percent(suggestion.p));
        let shown = guess(&class_name(&suggestion.guess));
        let mut cells =
            vec![display.name(&suggestion.row), TableCell::titled(shown, &guess(&suggestion.guess))];
        let numbers = [suggestion.entropy, suggestion.density, suggestion.distance];
        cells.extend(numbers.map(|number| TableCell::number(number, 2)));
        cells.extend(display.cells(&found.rows, at));
        cells
    };
    let mut columns = vec![display.name_head(), TableColumn::text("Prediction")];
    columns.extend(["Entropy", "Density", "Distance"].map(TableColumn::number));
    columns.extend(display.heads());
    Table { columns, rows: found.suggestions.iter().enumerate().map(row).collect(), ..Table::default() }
}
