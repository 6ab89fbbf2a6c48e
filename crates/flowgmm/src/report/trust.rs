//! How good the predictions are and how far to trust their probabilities: metrics, confusion, reliability.

use std::collections::BTreeSet;

use flowgmm_report::{
    Confusion, Grid, GridWidth, Plot, Reliability, ReliabilityBin, Section, Table, TableColumn,
};
use semisup::{
    Interval, Scores,
    metrics::{self, Bin},
    share_interval,
};
use serde::Serialize;

use super::{Overview, held_out::HeldOut, subject::Subject};
use crate::pages::{percent, rests_on};

const BINS: usize = 10;
/// A confusion matrix of more classes needs the width of the page.
const BESIDE: usize = 11;

/// How good predictions of rows are that the fit had not seen.
#[derive(Clone, Debug, Serialize)]
pub struct Trust {
    /// Accuracy, negative log-likelihood, calibration and confusion.
    pub scores: Scores,
    /// 95 % interval of the accuracy; a row that was held out twice is still one row.
    pub accuracy_interval: Interval,
    /// Number of different rows.
    pub n: usize,
    /// How often each row was predicted: more than once if cross-validation was repeated.
    pub repeats: usize,
    /// Whether these are test rows; labelled training rows, held out in turn, if not.
    pub on_test_rows: bool,
    /// The reliability diagram.
    pub reliability: Vec<Bin>,
}

impl Trust {
    /// On the test rows if there are any, else on held-out labelled rows.
    pub(super) fn find(subject: &Subject, held: Option<&HeldOut>) -> Option<Self> {
        let (log_probs, y, n, repeats) = match (&subject.test, held) {
            (Some(test), _) => (&test.log_probs, &test.y, test.y.len(), 1),
            (None, Some(held)) => {
                let n = held.rows.iter().collect::<BTreeSet<_>>().len();
                (&held.log_probs, &held.y, n, held.plan.repeats)
            }
            (None, None) => return None,
        };
        let scores = Scores::from_log_probs(log_probs, y);
        Some(Self {
            accuracy_interval: share_interval(scores.accuracy, n),
            scores,
            n,
            repeats,
            on_test_rows: subject.test.is_some(),
            reliability: metrics::reliability(log_probs.exp().view(), y, BINS),
        })
    }

    /// How good the predictions are, in a sentence.
    pub(super) fn sentence(&self, overview: &Overview) -> String {
        let Interval { low, high } = self.accuracy_interval;
        let (n, rows) = (self.n, overview.nouns());
        let accuracy = percent(self.scores.accuracy);
        let interval = format!("95\u{a0}% interval {} to {}", percent(low), percent(high));
        match self.on_test_rows {
            true => format!("The model classifies {accuracy} of {n} test {rows} correctly ({interval})."),
            false => format!(
                "Held out in turn, {accuracy} of {n} labelled {rows} are classified correctly by fits that had not \
                 seen them ({interval})."
            ),
        }
    }

    /// `on test rows`, or how else the predictions were judged.
    pub(super) fn by(&self, overview: &Overview) -> String {
        match self.on_test_rows {
            true => format!("on test {}", overview.nouns()),
            false => "by cross-validation".into(),
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let (n, rows) = (self.n, overview.nouns());
        match self.on_test_rows {
            true => format!("Measured on the {n} labelled test {rows}, which were used for nothing else."),
            false => format!(
                "No test {rows} were given, so these numbers come from cross-validation: {n} labelled {rows} were \
                 predicted by short fits that had not seen them{}. Two things make the numbers a little optimistic: the \
                 settings were chosen, and the probabilities calibrated, with these labels in view. One makes them \
                 pessimistic: the short fits had fewer steps and fewer labels than the model. And the accuracy is that \
                 of the class mix among the labels, which other {rows} need not share.",
                if self.repeats > 1 { ", each of them twice" } else { "" }
            ),
        }
    }

    fn table(&self) -> Table {
        let scores = &self.scores;
        let Interval { low, high } = self.accuracy_interval;
        let accuracy =
            format!("share of correct predictions; 95\u{a0}% interval {} to {}", percent(low), percent(high));
        let row = |name: &str, value: String, meaning: &str| vec![name.into(), value.into(), meaning.into()];
        Table {
            columns: vec![
                TableColumn::text("Measure"),
                TableColumn::number("Value"),
                TableColumn::text("What it is"),
            ],
            rows: vec![
                row("Accuracy", percent(scores.accuracy), &accuracy),
                row(
                    "Balanced accuracy",
                    percent(scores.balanced_accuracy),
                    "mean of the classes' own accuracies",
                ),
                row("Macro F1", percent(scores.macro_f1), "mean of the classes' F1 scores"),
                row(
                    "Negative log-likelihood",
                    format!("{:.3}", scores.nll),
                    "nats per label; confident mistakes cost most",
                ),
                row(
                    "Brier score",
                    format!("{:.3}", scores.brier),
                    "squared error of the probabilities, 0 to 2",
                ),
                row(
                    "Calibration error",
                    format!("{:.3}", scores.ece),
                    "mean gap between confidence and accuracy (ECE)",
                ),
            ],
            ..Table::default()
        }
    }

    fn confusion(&self, overview: &Overview) -> Confusion {
        let twice = match self.repeats {
            2.. => format!("; each labelled {} counts twice, as it was held out twice", overview.noun),
            _ => String::new(),
        };
        Confusion {
            title: "Confusion".into(),
            caption: format!(
                "{} by true class (down) and predicted class (across){twice}. Tints show shares of the true class.",
                overview.capital()
            ),
            classes: overview.classes.clone(),
            counts: self.scores.confusion.clone(),
        }
    }

    fn diagram(&self) -> Reliability {
        let bins = self.reliability.iter().map(|&Bin { lo, hi, n, confidence, accuracy }| ReliabilityBin {
            low: lo,
            high: hi,
            confidence,
            accuracy,
            count: n,
        });
        Reliability {
            title: "Reliability".into(),
            caption: "On the diagonal, predictions made with 90\u{a0}% confidence are correct 90\u{a0}% of the time. Bars below \
                      it are overconfident, bars above it underconfident; the strip counts predictions."
                .into(),
            note: format!("ECE {:.3}", self.scores.ece),
            bins: bins.collect(),
        }
    }
}

/// The section of the page.
pub(super) fn section(trust: Option<&Trust>, overview: &Overview) -> Section {
    let heading = "How good are the predictions?".to_string();
    let Some(trust) = trust else {
        let text = format!(
            "There is nothing to judge by: no test {} were given, and there are too few labels to hold any out.",
            overview.nouns()
        );
        return Section { heading, text, ..Section::default() };
    };
    let figures = vec![trust.confusion(overview).figure(), trust.diagram().figure()];
    let columns = if overview.classes.len() > BESIDE { GridWidth::One } else { GridWidth::Two };
    let blend = rests_on(overview.flow_weight);
    Section {
        heading,
        text: if blend.is_empty() {
            trust.text(overview)
        } else {
            format!("{} {blend}", trust.text(overview))
        },
        tables: vec![trust.table()],
        grids: vec![Grid::of(columns, figures)],
    }
}
