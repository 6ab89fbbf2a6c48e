//! `flowgmm fit --report`: one page about one fit, for whoever has to decide whether to trust the model.
//!
//! ```text
//! Subject (model, rows, settings) -held::cross_validate-> held-out predictions with and without unlabelled rows
//!   -one module per section-> Page -> one HTML file
//! ```
//!
//! Everything on the page is measured here: short fits without a fold of the labels say how good predictions are and
//! whether unlabelled rows help, samples of the model are held against real rows. That takes about as long as the fit.

mod choices;
mod compare;
mod data;
mod hardest;
mod held;
mod help;
pub mod latent;
mod origins;
mod samples;
mod trust;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use flowgmm::{Model, tensor::Place};
use flowgmm_data::Schema;
use flowgmm_learners::TwoSample;
use flowgmm_report::{Page, Tile};
use semisup::{Scores, SemiSupervised};
use serde_json::{Value, json};

use crate::{
    evaluate::LabelledRows,
    exit::Result,
    output,
    progress::{Display, FitProgress},
    settings::Settings,
};

pub use origins::Origins;

use compare::Comparison;
use help::Help;

/// A fit to report on.
pub struct Subject<'a> {
    /// What came of it.
    pub model: &'a Model,
    /// What it was fitted to.
    pub data: &'a SemiSupervised,
    /// What the columns mean.
    pub schema: &'a Schema,
    /// How it was fitted.
    pub settings: &'a Settings,
    /// Where it computes.
    pub place: &'a Place,
    /// Where the rows come from.
    pub origins: &'a Origins,
    /// Rows to judge it by that it has not seen.
    pub test: Option<&'a LabelledRows>,
    /// The table's name.
    pub table: String,
    /// Where the model is.
    pub model_path: &'a Path,
    /// How long the fit took.
    pub seconds: Duration,
    /// Whether to work silently.
    pub quiet: bool,
}

/// What the report found, for the summary of the fit.
pub struct Answers {
    help: Help,
    two_sample: Option<TwoSample>,
    seconds: Duration,
}

/// Makes the report and puts it at `path`.
pub fn write(subject: &Subject, path: &Path) -> Result<Answers> {
    let began = Instant::now();
    let mut progress = FitProgress::new(Display::new(subject.quiet));
    let found = Found::look(subject, &mut progress);
    progress.finish();
    let found = found?;
    let page = page(subject, &found, began.elapsed())?;
    output::write_whole(path, page.to_html().as_bytes())?;
    Ok(Answers { help: found.help, two_sample: found.two_sample, seconds: began.elapsed() })
}

/// What the sections share.
struct Found {
    /// Predictions of labelled rows by fits that did not see them.
    held: Option<held::HeldOut>,
    help: Help,
    two_sample: Option<TwoSample>,
    /// Columns of the table, those that separate the classes best first.
    columns: Vec<String>,
}

impl Found {
    fn look(subject: &Subject, progress: &mut FitProgress) -> Result<Self> {
        let held = held::cross_validate(subject, progress)?;
        let by_test = compare::on_test(subject, progress)?;
        let by_folds = held.as_ref().map(Comparison::of_held);
        let help = Help::new(subject, by_test, by_folds);
        let two_sample = samples::test(subject)?;
        Ok(Self { held, help, two_sample, columns: data::separating(subject) })
    }
}

fn page(subject: &Subject, found: &Found, took: Duration) -> Result<Page> {
    let judged = trust::Judged::new(subject, found.held.as_ref());
    Ok(Page {
        title: format!("What flowgmm learnt from {}", subject.table),
        lead: format!("{}\n\n{}", summary(subject, judged.as_ref()), found.help.short()),
        tiles: tiles(subject, judged.as_ref(), found),
        headline: None,
        sections: vec![
            help::section(subject, &found.help, found.held.as_ref()),
            trust::section(subject, judged.as_ref()),
            hardest::section(subject, found),
            latent::section(subject),
            data::section(subject, &found.columns),
            choices::section(subject),
            samples::section(subject, found.two_sample),
        ],
        footer: format!(
            "flowgmm {} fit --report, seed {}. The fit took {:.1} s, this report {:.1} s more. Model: {}.",
            env!("CARGO_PKG_VERSION"),
            subject.settings.seed,
            subject.seconds.as_secs_f64(),
            took.as_secs_f64(),
            subject.model_path.display()
        ),
    })
}

fn summary(subject: &Subject, judged: Option<&trust::Judged>) -> String {
    let data = subject.data;
    let (labelled, unlabelled) = (data.labelled().len(), data.unlabelled().len());
    let rows = format!(
        "From {labelled} labelled and {unlabelled} unlabelled rows in {} columns, flowgmm learnt to tell {} classes apart.",
        subject.schema.columns().len(),
        data.n_classes()
    );
    match judged {
        None => format!(
            "{rows} How well, this table cannot say: it takes two labels in some class to hold one back. Give \
             labelled rows with --test."
        ),
        Some(judged) => format!("{rows} {}", judged.sentence()),
    }
}

fn tiles(subject: &Subject, judged: Option<&trust::Judged>, found: &Found) -> Vec<Tile> {
    let data = subject.data;
    let tile = |name: &str, value: String, note: String| Tile { name: name.into(), value, note };
    let mut tiles = vec![tile(
        "Labelled rows",
        data.labelled().len().to_string(),
        format!("of {} in {} classes", data.n(), data.n_classes()),
    )];
    if let Some(judged) = judged {
        let interval = judged.interval();
        let note = format!("{} to {}, {}", percent(interval.low), percent(interval.high), judged.by());
        tiles.push(tile("Accuracy", percent(judged.scores.accuracy), note));
        let Scores { ece, .. } = judged.scores;
        tiles.push(tile("Calibration error", percent(ece), "how far confidence is from accuracy".into()));
    }
    if let Some(comparison) = found.help.best() {
        let interval = comparison.interval;
        let note = format!("{} to {} points", signed(interval.low), signed(interval.high));
        tiles.push(tile("Gain from unlabelled rows", signed(comparison.difference), note));
    }
    if let Some(found) = found.two_sample {
        let note = "accuracy of telling samples from rows; 50\u{a0}% is perfect".to_string();
        tiles.push(tile("Samples recognised", percent(found.accuracy), note));
    }
    tiles
}

impl Answers {
    /// For `--json`: `help`, `help_by_cross_validation` and `two_sample`.
    pub fn add_to(&self, object: &mut Value) {
        object["help"] = self.help.to_json();
        object["help_by_cross_validation"] = self.help.folds_to_json();
        object["two_sample"] = self.two_sample.map_or(Value::Null, |found| {
            let interval = found.interval;
            json!({
                "accuracy": found.accuracy,
                "low": interval.low,
                "high": interval.high,
                "n": found.n,
                "classifier": found.classifier,
            })
        });
        object["report_seconds"] = json!(self.seconds.as_secs_f64());
    }

    /// For people.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("unlabelled rows", self.help.sentence())];
        if let Some(found) = self.two_sample {
            let (low, high) = (percent(found.interval.low), percent(found.interval.high));
            let share = percent(found.accuracy);
            facts.push((
                "samples",
                format!("recognised in {share} of cases ({low} to {high}); 50\u{a0}% is perfect"),
            ));
        }
        facts
    }
}

/// `0.9914` as `99.1 %`, with a space that does not break.
pub fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A difference of shares in points: `+3.1`.
fn signed(difference: f64) -> String {
    let points = format!("{:+.1}", 100.0 * difference);
    if points == "-0.0" { "+0.0".into() } else { points.replace('-', "\u{2212}") }
}

/// At most so many characters.
pub fn short(text: &str, most: usize) -> String {
    match text.chars().count() {
        n if n > most => text.chars().take(most - 1).chain(['…']).collect(),
        _ => text.to_string(),
    }
}

/// At most `most` of `n` rows, evenly spread.
pub fn spread(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (0..count).map(|i| i * n / count).collect()
}
