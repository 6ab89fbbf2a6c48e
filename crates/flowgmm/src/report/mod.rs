//! One page about one fit, for whoever has to decide whether to trust the model.
//!
//! ```text
//! Fit ─cross-validation, a fit to the labelled rows alone→ does unlabelled data help, how good are predictions
//!     ─samples against real rows, latent map, hardest rows→ Report ─to_page→ one HTML file
//!                                                                  ─summary→ sentences, JSON
//! ```
//!
//! Everything in a report is measured: short fits that do not see a fold of the labels say how good predictions are and
//! whether unlabelled rows help; samples from the model are compared with real rows. That takes about as long as the fit.

mod choices;
mod compare;
mod data;
mod hardest;
mod held_out;
mod help;
mod histograms;
mod latent;
mod page;
mod samples;
mod subject;
mod summary;
mod trust;

use std::time::Instant;

use serde::Serialize;

use crate::{
    Error, Fit, Result, Source,
    observer::{Control, Observer, Phase},
};

pub use choices::{Choices, OverriddenSetting};
pub use compare::Comparison;
pub use data::{ClassCount, ColumnFacts, DataOverview};
pub use hardest::{Examined, HardRow, HardestRows};
pub use held_out::CrossValidation;
pub use help::{Help, Verdict};
pub use histograms::ColumnValues;
pub use latent::{Gaussian, LatentMap};
pub use samples::{ClassImages, SampleCheck};
pub use summary::{ComparisonSummary, Summary, TwoSampleSummary};
pub use trust::Trust;

use subject::Subject;

/// What to report on besides the fit itself.
#[derive(Clone, Debug)]
pub struct ReportRequest<'a> {
    /// Labelled rows that the model has not seen, to judge it by; rows without a label are skipped. Without them the
    /// labelled training rows are cross-validated.
    pub test: Option<&'a Source>,
    /// What the page calls the data.
    pub name: String,
    /// What the page calls the model, for example its file.
    pub model_name: Option<String>,
}

impl ReportRequest<'_> {
    /// A report on data of this name, judged by cross-validation.
    pub fn new(name: impl Into<String>) -> Self {
        Self { test: None, name: name.into(), model_name: None }
    }
}

/// What was found out about a fit.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Names and numbers that head the page.
    pub overview: Overview,
    /// Whether the unlabelled rows help.
    pub help: Help,
    /// How good predictions and their probabilities are; `None` if there are no labels to judge them by.
    pub trust: Option<Trust>,
    /// Rows to look at first.
    pub hardest: HardestRows,
    /// Where the flow maps rows.
    pub latent: LatentMap,
    /// What the data look like.
    pub data: DataOverview,
    /// Settings, and how training went.
    pub choices: Choices,
    /// How samples from the model compare with real rows.
    pub samples: SampleCheck,
    /// How long the report took.
    pub seconds: f64,
    /// What the user should know about the test rows.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Names and numbers that head a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// What the data are called.
    pub name: String,
    /// What the model is called.
    pub model_name: Option<String>,
    /// What one row is called: `row` or `image`.
    pub noun: &'static str,
    /// What a row consists of: `with 4 columns`, `of 28 x 28 grey pixels`.
    pub shape: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Rows with a label.
    pub n_labelled: usize,
    /// Rows without a label.
    pub n_unlabelled: usize,
    /// Whether there are test rows.
    pub has_test_rows: bool,
    /// How much the flow counts in predictions, from 0 to 1; `None` if they are the flow's own.
    pub flow_weight: Option<f64>,
    /// The version that made the report.
    pub version: &'static str,
    /// Seed of the fit and of the report.
    pub seed: u64,
    /// How long the fit took.
    pub fit_seconds: f64,
}

impl Overview {
    /// `rows` or `images`.
    fn nouns(&self) -> String {
        format!("{}s", self.noun)
    }

    /// `Rows` or `Images`, at the beginning of a sentence or column.
    fn capital(&self) -> &'static str {
        if self.noun == "image" { "Images" } else { "Rows" }
    }
}

/// Finds out how far a fit can be trusted, and whether its unlabelled rows helped. The same fit gives the same report.
///
/// It takes about as long as the fit. An observer that stops ends it with an error; the model is not affected.
///
/// ```
/// use flowgmm::{ReportRequest, Request, Source};
///
/// let train = semisup::Toy::Moons.problem(1).train;
/// let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 50);
/// let fit = flowgmm::fit(&request, &mut ())?;
///
/// let report = flowgmm::report(&fit, &ReportRequest::new("moons"), &mut ())?;
/// assert_eq!(report.help.by(), "cross-validation");
/// assert!(report.summary().help_sentence().contains("10 held-out labelled rows"));
/// let html = report.to_page().to_html(); // one file, with everything in it
/// assert!(html.contains("Does the unlabelled data help?"));
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn report(fit: &Fit, request: &ReportRequest, observer: &mut dyn Observer) -> Result<Report> {
    let began = Instant::now();
    let (subject, warnings) = Subject::new(fit, request, observer)?;
    let held = held_out::cross_validate(&subject, observer)?;
    let help = Help::find(&subject, held.as_ref(), observer)?;
    section(observer, "predictions")?;
    let trust = Trust::find(&subject, held.as_ref());
    section(observer, "data")?;
    let unlabelled = subject.unlabelled();
    let data = DataOverview::find(&subject, &unlabelled)?;
    section(observer, "hardest rows")?;
    let hardest = HardestRows::find(&subject, held.as_ref(), &unlabelled, &data.separating)?;
    section(observer, "latent space")?;
    let latent = LatentMap::find(&subject);
    section(observer, "samples")?;
    let samples = SampleCheck::find(&subject)?;
    Ok(Report {
        help,
        trust,
        hardest,
        latent,
        data,
        choices: Choices::of(fit),
        samples,
        overview: subject.overview,
        seconds: began.elapsed().as_secs_f64(),
        warnings,
    })
}

/// Announces a section; an error if the observer wants to stop.
fn section(observer: &mut dyn Observer, name: &'static str) -> Result<()> {
    observer.phase(&Phase::Section(name), None);
    match observer.progress(0) {
        Control::Continue => Ok(()),
        Control::Stop => Err(Error::Cancelled { during: "making the report".into() }),
    }
}
