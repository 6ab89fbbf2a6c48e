//! Trust cards: for each row what there is to hold a prediction against, and whether to abstain.

use flowgmm_learners::knn;
use flowgmm_report::{Cell, Column, Columns, Grid, Plot, Section, Table};
use semisup::{
    Classifier,
    ndarray::{Array2, Axis},
};
use serde_json::{Value, json};

use super::{Part, Subject};
use crate::fit_report::{percent, short};

/// Cards shown.
const SHOWN: usize = 12;
/// Labelled rows named on a card.
const NEAREST: usize = 3;
/// A row whose log p is among so small a share of training rows, from either end, is not typical.
const UNTYPICAL: f64 = 0.02;
/// Without prediction sets, a prediction less sure than this is none.
const UNSURE: f64 = 0.5;

/// What is known about trusting one row.
struct Card {
    row: usize,
    /// Calibrated p, `[K]`.
    probabilities: Vec<f64>,
    set: Option<Vec<usize>>,
    abstain: Option<&'static str>,
}

impl Card {
    fn new(subject: &Subject, row: usize) -> Self {
        let seen = &subject.seen;
        let (log_probs, set) = match &subject.judged {
            Some(judged) => {
                let (log_probs, set) = judged.of(subject.model, seen, row);
                (log_probs, Some(set))
            }
            None => (seen.scores.log_probs.row(row).to_vec(), None),
        };
        let probabilities: Vec<f64> = log_probs.iter().map(|l| l.exp()).collect();
        let abstain = match &set {
            _ if seen.typicality[row] < UNTYPICAL => Some("unlike training"),
            Some(set) if set.is_empty() => Some("unclear"),
            Some(set) if set.len() > 1 => Some("ambiguous"),
            None if probabilities[seen.predicted[row]] < UNSURE => Some("unsure"),
            _ => None,
        };
        Self { row, probabilities, set, abstain }
    }

    fn confidence(&self) -> f64 {
        self.probabilities.iter().copied().fold(0.0, f64::max)
    }
}

/// The section.
pub fn part(subject: &Subject) -> Part {
    let seen = &subject.seen;
    let cards: Vec<Card> = (0..seen.rows.n()).map(|row| Card::new(subject, row)).collect();
    let mut least: Vec<&Card> = cards.iter().collect();
    least.sort_by(|a, b| a.confidence().total_cmp(&b.confidence()).then(a.row.cmp(&b.row)));
    least.truncate(SHOWN);
    let near = Nearest::of(subject, &least.iter().map(|card| card.row).collect::<Vec<_>>());
    let abstaining = cards.iter().filter(|card| card.abstain.is_some()).count();
    let what = subject.what();
    let mut text = format!(
        "The {} {what} the model is least sure of. Probabilities are calibrated{}; typicality is near 0 for {what} less \
         likely, or more likely, than nearly all training rows; the boundary is the latent distance at which the class would \
         change.",
        least.len(),
        if subject.judged.is_some() { " on the labels given" } else { " as the model file has it" }
    );
    text += &format!(
        "\n\nAbstaining is advised if the prediction set does not hold exactly one class{}, or if typicality is below \
         {UNTYPICAL}: for {abstaining} of {} {what} here. Beside the nearest labelled {what}, nearest in the latent space, \
         stand where they are and how far. --json has a card for each.",
        if subject.judged.is_some() { "" } else { " (without labels: if no class has half the probability)" },
        cards.len()
    );
    let grids = match subject.show.layout() {
        Some(_) => vec![Grid::of(Columns::One, vec![sheet(subject, &least, &near).figure()])],
        None => Vec::new(),
    };
    let section =
        Section { heading: "Trust cards".into(), text, tables: vec![table(subject, &least, &near)], grids };
    let value = cards.iter().map(|card| to_json(subject, card)).collect::<Vec<Value>>();
    Part { section, json: Some(("trust", json!(value))) }
}

fn table(subject: &Subject, cards: &[&Card], near: &Nearest) -> Table {
    let (seen, show) = (&subject.seen, &subject.show);
    let labelled = seen.rows.y.iter().any(Option::is_some);
    let row = |(at, card): (usize, &&Card)| {
        let row = card.row;
        let mut order: Vec<usize> = (0..card.probabilities.len()).collect();
        order.sort_by(|&a, &b| card.probabilities[b].total_cmp(&card.probabilities[a]));
        let guess = |k: usize| format!("{}\u{a0}({})", show.class(k), percent(card.probabilities[k]));
        let mut cells = vec![Cell::from(short(&seen.rows.names[row], 28))];
        cells.push(Cell::from(order.iter().take(2).map(|&k| guess(k)).collect::<Vec<_>>().join(", ")));
        if labelled {
            cells.push(seen.rows.y[row].map_or(Cell::Missing, |k| Cell::from(show.class(k))));
        }
        if let Some(set) = &card.set {
            let names: Vec<String> = set.iter().map(|&k| show.class(k)).collect();
            let shown = if set.is_empty() { "no class".into() } else { names.join(", ") };
            cells.push(Cell::from(short(&shown, 48)));
        }
        cells.push(Cell::number(seen.typicality[row], 2));
        cells.push(Cell::number(seen.boundary[row], 2));
        if near.known() {
            cells.push(Cell::from(near.words(subject, at)));
        }
        cells.push(Cell::from(card.abstain.map_or("answer".into(), |why| format!("abstain ({why})"))));
        cells.extend(show.cells(&seen.rows, row));
        cells
    };
    let first = if show.layout().is_some() { "Image" } else { "Line" };
    let mut columns = vec![Column::text(first), Column::text("Guesses")];
    columns.extend(labelled.then(|| Column::text("Label")));
    columns.extend(subject.judged.is_some().then(|| Column::text("Set")));
    columns.extend([Column::number("Typicality"), Column::number("Boundary")]);
    columns.extend(near.known().then(|| Column::text("Nearest labelled")));
    columns.push(Column::text("Advice"));
    columns.extend(show.heads());
    Table { columns, rows: cards.iter().enumerate().map(row).collect(), ..Table::default() }
}

fn sheet(subject: &Subject, cards: &[&Card], near: &Nearest) -> flowgmm_report::ImageSheet {
    let x = &subject.seen.rows.x;
    let mut rows =
        vec![("image".to_string(), x.select(Axis(0), &cards.iter().map(|c| c.row).collect::<Vec<_>>()))];
    for place in 0..near.count() {
        let of: Vec<usize> = (0..cards.len()).map(|at| near.rows[[at, place]]).collect();
        rows.push((
            if place == 0 { "nearest labelled".into() } else { String::new() },
            x.select(Axis(0), &of),
        ));
    }
    let caption = if near.known() {
        "From left to right the cards from top to bottom; below each image the labelled images nearest to it in the latent \
         space."
    } else {
        "From left to right the cards from top to bottom."
    };
    subject.show.sheet("The images on the cards", caption, rows)
}

/// Labelled rows nearest to some rows in the latent space.
struct Nearest {
    rows: Array2<usize>, // [asked, count]
    distances: Array2<f64>,
}

impl Nearest {
    fn of(subject: &Subject, asked: &[usize]) -> Self {
        let seen = &subject.seen;
        let labelled: Vec<usize> = (0..seen.rows.n()).filter(|&row| seen.rows.y[row].is_some()).collect();
        // A row is its own nearest: one more is asked for and itself left out.
        let queries = seen.z.select(Axis(0), asked);
        let (index, squared) = knn(seen.z.select(Axis(0), &labelled).view(), queries.view(), NEAREST + 1);
        let count = NEAREST.min(labelled.len().saturating_sub(1));
        let mut found = Self {
            rows: Array2::zeros((asked.len(), count)),
            distances: Array2::zeros((asked.len(), count)),
        };
        for (at, &row) in asked.iter().enumerate() {
            let others = (0..index.ncols()).filter(|&i| labelled[index[[at, i]]] != row).take(count);
            for (place, i) in others.enumerate() {
                found.rows[[at, place]] = labelled[index[[at, i]]];
                found.distances[[at, place]] = squared[[at, i]].sqrt();
            }
        }
        found
    }

    fn count(&self) -> usize {
        self.rows.ncols()
    }

    fn known(&self) -> bool {
        self.count() > 0
    }

    fn words(&self, subject: &Subject, at: usize) -> String {
        let of = |place: usize| {
            let row = self.rows[[at, place]];
            let name = short(&subject.seen.rows.names[row], 16);
            format!(
                "{}\u{a0}({name}; {:.1})",
                subject.show.class(subject.seen.class(row)),
                self.distances[[at, place]]
            )
        };
        (0..self.count()).map(of).collect::<Vec<_>>().join(", ")
    }
}

fn to_json(subject: &Subject, card: &Card) -> Value {
    let (seen, classes) = (&subject.seen, subject.model.classes());
    let row = card.row;
    json!({
        "row": seen.rows.names[row],
        "class": classes[seen.predicted[row]],
        "label": seen.rows.y[row].map(|k| &classes[k]),
        "p": card.probabilities,
        "set": card.set.as_ref().map(|set| set.iter().map(|&k| &classes[k]).collect::<Vec<_>>()),
        "log_p": seen.scores.log_marginal[row],
        "typicality": seen.typicality[row],
        "boundary": seen.boundary[row].is_finite().then_some(seen.boundary[row]),
        "abstain": card.abstain.is_some(),
        "why": card.abstain,
    })
}
