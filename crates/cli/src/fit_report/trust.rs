//! How good the predictions are and how far to trust their probabilities: metrics, confusion, reliability.

use std::collections::BTreeSet;

use flowgmm_report::{Column, Columns, Confusion, Grid, Plot, Reliability, ReliabilityBin, Section, Table};
use ndarray::Array2;
use semisup::{Interval, Scores, metrics, share_interval};

use super::{Subject, held::HeldOut, percent};

const BINS: usize = 10;
/// A confusion matrix of more classes needs the width of the page.
const BESIDE: usize = 11;

/// Predictions of rows the model had not seen, and their scores.
pub struct Judged {
    /// How good they are.
    pub scores: Scores,
    log_probs: Array2<f64>,
    y: Vec<usize>,
    source: Source,
}

/// Which rows those are.
enum Source {
    Test { n: usize },
    Held { n: usize, repeats: usize },
}

impl Judged {
    /// On the test rows if there are any, else on held-out labelled rows.
    pub fn new(subject: &Subject, held: Option<&HeldOut>) -> Option<Self> {
        let (log_probs, y, source) = match (subject.test, held) {
            (Some(test), _) => {
                let log_probs = subject.model.score(test.x.view()).log_probs;
                (log_probs, test.y.clone(), Source::Test { n: test.y.len() })
            }
            (None, Some(held)) => {
                let n = held.rows.iter().collect::<BTreeSet<_>>().len();
                let source = Source::Held { n, repeats: held.plan.repeats };
                (held.log_probs.clone(), held.y.clone(), source)
            }
            (None, None) => return None,
        };
        Some(Self { scores: Scores::from_log_probs(&log_probs, &y), log_probs, y, source })
    }

    /// What the accuracy may be: a row that was held out twice is still one row.
    pub fn interval(&self) -> Interval {
        share_interval(self.scores.accuracy, self.n())
    }

    fn n(&self) -> usize {
        match self.source {
            Source::Test { n } | Source::Held { n, .. } => n,
        }
    }

    /// How good the predictions are, in a sentence.
    pub fn sentence(&self) -> String {
        let Interval { low, high } = self.interval();
        let accuracy = percent(self.scores.accuracy);
        let interval = format!("95\u{a0}% interval {} to {}", percent(low), percent(high));
        match self.source {
            Source::Test { n } => format!("It is right on {accuracy} of {n} test rows ({interval})."),
            Source::Held { n, .. } => format!(
                "Held back in turn, {accuracy} of {n} labelled rows are predicted right by fits that had not seen \
                 them ({interval})."
            ),
        }
    }

    /// `on test rows`.
    pub fn by(&self) -> &'static str {
        match self.source {
            Source::Test { .. } => "on test rows",
            Source::Held { .. } => "by cross-validation",
        }
    }
}

/// The section.
pub fn section(subject: &Subject, judged: Option<&Judged>) -> Section {
    let heading = "How good are the predictions?".to_string();
    let Some(judged) = judged else {
        let text = "There is nothing to judge by: no --test rows were given, and there are too few labels to hold \
                    any back.";
        return Section { heading, text: text.into(), ..Section::default() };
    };
    let figures = vec![confusion(subject, judged).figure(), reliability(judged).figure()];
    let columns = if subject.data.n_classes() > BESIDE { Columns::One } else { Columns::Two };
    Section {
        heading,
        text: text(judged),
        tables: vec![table(judged)],
        grids: vec![Grid::of(columns, figures)],
    }
}

fn text(judged: &Judged) -> String {
    match judged.source {
        Source::Test { n } => {
            format!("Measured on the {n} labelled rows of --test, which were used for nothing else.")
        }
        Source::Held { n, repeats } => format!(
            "No --test rows were given, so this is cross-validation: {n} labelled rows were predicted by short fits \
             that had not seen them{}. Two things are a little too kind: settings were chosen, and confidence was \
             calibrated, with these labels in view. One is too strict: the short fits had fewer steps and fewer \
             labels than the model. And accuracy is that of the labels' own mix of classes, which other rows need \
             not share.",
            if repeats > 1 { ", each of them twice" } else { "" }
        ),
    }
}

fn table(judged: &Judged) -> Table {
    let scores = &judged.scores;
    let Interval { low, high } = judged.interval();
    let row = |name: &str, value: String, meaning: &str| vec![name.into(), value.into(), meaning.into()];
    Table {
        columns: vec![Column::text("Measure"), Column::number("Value"), Column::text("What it is")],
        rows: vec![
            row(
                "Accuracy",
                percent(scores.accuracy),
                &format!("share predicted right; 95\u{a0}% interval {} to {}", percent(low), percent(high)),
            ),
            row(
                "Balanced accuracy",
                percent(scores.balanced_accuracy),
                "mean of the classes' own accuracies",
            ),
            row("Macro F1", percent(scores.macro_f1), "mean of the classes' F1 scores"),
            row(
                "Negative log-likelihood",
                format!("{:.3}", scores.nll),
                "nats per label; sure and wrong costs most",
            ),
            row("Brier score", format!("{:.3}", scores.brier), "squared error of the probabilities, 0 to 2"),
            row(
                "Calibration error",
                format!("{:.3}", scores.ece),
                "mean distance of confidence from accuracy (ECE)",
            ),
        ],
        ..Table::default()
    }
}

fn confusion(subject: &Subject, judged: &Judged) -> Confusion {
    Confusion {
        title: "Confusion".into(),
        caption: format!(
            "Rows by true class (down) and predicted class (across){}. Tints are shares of a row.",
            match judged.source {
                Source::Held { repeats: 2.., .. } =>
                    "; each labelled row counts twice, as it was held out twice",
                _ => "",
            }
        ),
        classes: subject.data.classes().to_vec(),
        counts: judged.scores.confusion.clone(),
    }
}

fn reliability(judged: &Judged) -> Reliability {
    let probabilities = judged.log_probs.exp();
    let bins = metrics::reliability(probabilities.view(), &judged.y, BINS).into_iter().map(|bin| {
        let metrics::Bin { lo, hi, n, confidence, accuracy } = bin;
        ReliabilityBin { low: lo, high: hi, confidence, accuracy, count: n }
    });
    Reliability {
        title: "Reliability".into(),
        caption: "On the diagonal, 90\u{a0}% sure is 90\u{a0}% right. Bars below it are over-confident, above it too modest; \
                  the strip counts predictions."
            .into(),
        note: format!("ECE {:.3}", judged.scores.ece),
        bins: bins.collect(),
    }
}
