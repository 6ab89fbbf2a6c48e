//! Trust cards: for each row, what speaks for and against its prediction, and whether to abstain.

use flowgmm_learners::knn;
use flowgmm_report::{GridWidth, Section, Table, TableCell, TableColumn};
use ndarray::Axis;
use serde::Serialize;

use super::{
    display::{CLASS, Display, SheetRows, ShownRows, class_name},
    subject::Subject,
};
use crate::pages::{percent, short};

/// Cards shown on a page.
const SHOWN: usize = 12;
/// Labelled rows named on a card.
const NEAREST: usize = 3;
/// Rows with a typicality below this are atypical.
const ATYPICAL: f64 = 0.02;
/// Without prediction sets, a prediction with a smaller probability is uncertain.
const UNCERTAIN: f64 = 0.5;

/// A card for each row; in JSON, an array of cards.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct TrustCards {
    /// One for each row, in their order.
    pub cards: Vec<TrustCard>,
    /// The cards that a page shows: those of least confidence first.
    #[serde(skip)]
    shown: Vec<ShownCard>,
    #[serde(skip)]
    rows: ShownRows,
    /// Images on these cards, and below them their nearest labelled images.
    #[serde(skip)]
    sheet: SheetRows,
}

/// How far the prediction of one row can be trusted.
#[derive(Clone, Debug, Serialize)]
pub struct TrustCard {
    /// The line of the row, or the name of the image.
    pub row: String,
    /// The predicted class.
    pub class: String,
    /// The class by the flow alone, to which log p(x) and the boundary belong, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_by_flow: Option<String>,
    /// The true class, where it is known.
    pub label: Option<String>,
    /// The probability of each class: calibrated on the labels if there are enough, else as stored in the model.
    pub p: Vec<f64>,
    /// The classes of the prediction set, if there are enough labels for one.
    pub set: Option<Vec<String>>,
    /// log p(x).
    pub log_p: f64,
    /// How unusual log p(x) is among rows that the flow was not trained on: a p-value, near 0 for rows less likely, or more
    /// likely, than nearly all of them.
    pub typicality: f64,
    /// Latent distance to the decision boundary; infinite, in JSON null, for a single class.
    pub boundary: f64,
    /// Whether it is better not to answer.
    pub abstain: bool,
    /// Why.
    pub why: Option<Abstention>,
}

/// Why it is better not to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Abstention {
    /// The row is unlike the training rows.
    Atypical,
    /// The prediction set is empty: no class is plausible at the chosen level.
    Unclear,
    /// The prediction set holds several classes.
    Ambiguous,
    /// There is no prediction set, and no class has half the probability.
    Uncertain,
}

impl Abstention {
    /// The advice on a page.
    fn advice(self) -> &'static str {
        match self {
            Self::Atypical => "abstain: atypical",
            Self::Unclear => "abstain: no plausible class",
            Self::Ambiguous => "abstain: several plausible classes",
            Self::Uncertain => "abstain: uncertain",
        }
    }
}

#[derive(Clone, Debug)]
struct ShownCard {
    card: usize,
    nearest: Vec<Neighbour>,
}

/// A labelled row, near in the latent space.
#[derive(Clone, Debug)]
struct Neighbour {
    row: usize,
    name: String,
    class: String,
    distance: f64,
}

impl TrustCards {
    pub(super) fn find(subject: &Subject) -> Self {
        let seen = &subject.seen;
        let cards: Vec<TrustCard> = (0..seen.rows.n()).map(|row| TrustCard::find(subject, row)).collect();
        let confidence = |row: usize| cards[row].p.iter().copied().fold(0.0, f64::max);
        let mut least: Vec<usize> = (0..cards.len()).collect();
        least.sort_by(|&a, &b| confidence(a).total_cmp(&confidence(b)).then(a.cmp(&b)));
        least.truncate(SHOWN);
        let nearest = nearest(subject, &least);
        let sheet = if subject.display.is_images() { sheet(subject, &least, &nearest) } else { Vec::new() };
        let shown = least.iter().zip(nearest).map(|(&card, nearest)| ShownCard { card, nearest }).collect();
        Self { cards, shown, rows: ShownRows::of(&seen.rows, &least), sheet }
    }

    /// Number of rows for which it is better not to answer.
    pub fn abstentions(&self) -> usize {
        self.cards.iter().filter(|card| card.abstain).count()
    }

    fn has_sets(&self) -> bool {
        self.cards.iter().any(|card| card.set.is_some())
    }

    fn has_labels(&self) -> bool {
        self.cards.iter().any(|card| card.label.is_some())
    }

    fn has_nearest(&self) -> bool {
        self.shown.iter().any(|shown| !shown.nearest.is_empty())
    }
}

impl TrustCard {
    fn find(subject: &Subject, row: usize) -> Self {
        let (seen, classes) = (&subject.seen, subject.model.classes_ref());
        let (log_probs, set) = match &subject.assessment {
            Some(assessment) => {
                let (log_probs, set) = assessment.of_row(seen, row);
                (log_probs, Some(set))
            }
            None => (seen.predictions.log_probs.row(row).to_vec(), None),
        };
        let p: Vec<f64> = log_probs.iter().map(|l| l.exp()).collect();
        let why = match &set {
            _ if seen.typicality[row] < ATYPICAL => Some(Abstention::Atypical),
            Some(set) if set.is_empty() => Some(Abstention::Unclear),
            Some(set) if set.len() > 1 => Some(Abstention::Ambiguous),
            None if p[seen.predicted[row]] < UNCERTAIN => Some(Abstention::Uncertain),
            _ => None,
        };
        Self {
            row: seen.rows.names[row].clone(),
            class: classes[seen.predicted[row]].clone(),
            class_by_flow: seen.flow_differs(row).then(|| classes[seen.by_flow[row]].clone()),
            label: seen.rows.y[row].map(|k| classes[k].clone()),
            p,
            set: set.map(|set| set.iter().map(|&k| classes[k].clone()).collect()),
            log_p: seen.predictions.log_marginal[row],
            typicality: seen.typicality[row],
            boundary: seen.boundary[row],
            abstain: why.is_some(),
            why,
        }
    }
}

/// For each of some rows, the labelled rows nearest to it in the latent space, itself left out.
fn nearest(subject: &Subject, asked: &[usize]) -> Vec<Vec<Neighbour>> {
    let seen = &subject.seen;
    let (labelled, z) = (seen.labelled(), &seen.predictions.z);
    // A row is its own nearest neighbour, so one more is asked for.
    let queries = z.select(Axis(0), asked);
    let (index, squared) = knn(z.select(Axis(0), &labelled).view(), queries.view(), NEAREST + 1);
    let count = NEAREST.min(labelled.len().saturating_sub(1));
    let neighbour = |at: usize, i: usize| {
        let row = labelled[index[[at, i]]];
        Neighbour {
            row,
            name: seen.rows.names[row].clone(),
            class: subject.model.classes_ref()[seen.class(row)].clone(),
            distance: squared[[at, i]].sqrt(),
        }
    };
    let of = |(at, row): (usize, &usize)| {
        let all = (0..index.ncols()).map(|i| neighbour(at, i));
        all.filter(|neighbour| neighbour.row != *row).take(count).collect()
    };
    asked.iter().enumerate().map(of).collect()
}

fn sheet(subject: &Subject, cards: &[usize], nearest: &[Vec<Neighbour>]) -> SheetRows {
    let x = &subject.seen.rows.x;
    let mut lines = vec![("image".to_string(), x.select(Axis(0), cards))];
    for place in 0..nearest.iter().map(Vec::len).min().unwrap_or(0) {
        let rows: Vec<usize> = nearest.iter().map(|neighbours| neighbours[place].row).collect();
        let name = if place == 0 { "nearest labelled" } else { "" };
        lines.push((name.to_string(), x.select(Axis(0), &rows)));
    }
    lines
}

pub(super) const HEADING: &str = "Trust cards";

pub(super) fn section(found: &TrustCards, display: &Display) -> Section {
    let (noun, shown, all) = (display.noun(), found.shown.len(), found.cards.len());
    let source = match found.has_sets() {
        true => "Probabilities are calibrated on the labels given.",
        false => "Probabilities are those of the model as it is stored.",
    };
    let unless = match found.has_sets() {
        true => "unless the prediction set holds exactly one class",
        false => "if no class has half the probability (with enough labels, there would be prediction sets)",
    };
    let empty = match found.cards.iter().any(|card| card.why == Some(Abstention::Unclear)) {
        true => " An empty set means that no class is plausible at this level: the row resembles none of the classes clearly.",
        false => "",
    }
    .replace("row", display.one());
    let changes = match display.is_blend() {
        true => {
            "where the class by the flow alone changes; that class is named where it is not the predicted one"
        }
        false => "where the predicted class changes",
    };
    let mut text = format!(
        "The {shown} {noun} that the model is least confident about. {source} Typicality is near 0 for {noun} that are less \
         likely, or more likely, than nearly all {noun} of the kind that the model was fitted to. Boundary is the latent \
         distance to the decision boundary, {changes}.\n\nIt is better to abstain {unless}, or if typicality \
         is below {ATYPICAL}. That is the case for {} of {all} {noun} here.{empty}",
        found.abstentions()
    );
    if found.has_nearest() {
        text += &format!(
            " Nearest labelled lists the labelled {noun} nearest in the latent space by class, with name and distance in brackets."
        );
    }
    text += &format!(" The JSON output has a card for every one of the {noun}.");
    let caption = match found.has_nearest() {
        true => {
            "In the order of the table; below each image are the labelled images nearest to it in the latent space."
        }
        false => "In the order of the table.",
    };
    let grids = display.sheet(GridWidth::One, "The images on the cards", caption, &found.sheet);
    Section { heading: HEADING.into(), text, tables: vec![table(found, display)], grids }
}

fn table(found: &TrustCards, display: &Display) -> Table {
    let row = |(at, shown): (usize, &ShownCard)| {
        let card = &found.cards[shown.card];
        let mut cells = vec![display.name(&card.row), guesses(card, display)];
        if found.has_labels() {
            cells.push(
                card.label.as_deref().map_or(TableCell::Missing, |label| TableCell::name(label, CLASS)),
            );
        }
        if let Some(set) = &card.set {
            let names: Vec<String> = set.iter().map(|class| class_name(class)).collect();
            let shown = short(&names.join(", "), 48);
            cells.push(match set.is_empty() {
                true => "empty: no class is plausible".into(),
                false => TableCell::titled(shown, &set.join(", ")),
            });
        }
        cells.extend([TableCell::number(card.typicality, 2), boundary(card)]);
        if found.has_nearest() {
            cells.push(neighbours(&shown.nearest));
        }
        cells.push(card.why.map_or("use the prediction", Abstention::advice).into());
        cells.extend(display.cells(&found.rows, at));
        cells
    };
    let mut columns = vec![display.name_head(), TableColumn::text("Predictions")];
    columns.extend(found.has_labels().then(|| TableColumn::text("Label")));
    columns.extend(found.has_sets().then(|| TableColumn::text("Set")));
    columns.extend([TableColumn::number("Typicality"), TableColumn::number("Boundary")]);
    columns.extend(found.has_nearest().then(|| TableColumn::prose("Nearest labelled")));
    columns.push(TableColumn::text("Advice"));
    columns.extend(display.heads());
    Table { columns, rows: found.shown.iter().enumerate().map(row).collect(), ..Table::default() }
}

/// The distance to the boundary, and whose side it is on if not that of the predicted class.
fn boundary(card: &TrustCard) -> TableCell {
    match &card.class_by_flow {
        None => TableCell::number(card.boundary, 2),
        Some(class) => {
            let shown = format!("{:.2} (by the flow {})", card.boundary, class_name(class));
            TableCell::shown(card.boundary, shown)
        }
    }
}

/// The two most probable classes.
fn guesses(card: &TrustCard, display: &Display) -> TableCell {
    let mut order: Vec<usize> = (0..card.p.len()).collect();
    order.sort_by(|&a, &b| card.p[b].total_cmp(&card.p[a]));
    let listed = |name: fn(&str) -> String| {
        let guess = |&k: &usize| format!("{}\u{a0}({})", name(&display.classes()[k]), percent(card.p[k]));
        order.iter().take(2).map(guess).collect::<Vec<_>>().join(", ")
    };
    TableCell::titled(listed(class_name), &listed(str::to_string))
}

fn neighbours(nearest: &[Neighbour]) -> TableCell {
    let listed = |class: fn(&str) -> String, name: fn(&str) -> String| {
        let of = |n: &Neighbour| format!("{}\u{a0}({}; {:.1})", class(&n.class), name(&n.name), n.distance);
        nearest.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    TableCell::titled(listed(class_name, |name| short(name, 16)), &listed(str::to_string, str::to_string))
}
