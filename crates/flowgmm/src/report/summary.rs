//! The report in a few sentences and numbers, for the summary of a fit.

use flowgmm_learners::{TwoSample, TwoSampleClassifier};
use serde::Serialize;

use super::{Comparison, Report, Verdict};
use crate::pages::percent;

/// The main findings of a report. As JSON: `help`, `help_by_cross_validation`, `two_sample` and `report_seconds`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// What the unlabelled rows add, by test rows if there are any, with a verdict.
    pub help: Option<ComparisonSummary>,
    /// What the unlabelled rows add, by cross-validation.
    pub help_by_cross_validation: Option<ComparisonSummary>,
    /// How well samples from the model can be told from real rows.
    pub two_sample: Option<TwoSampleSummary>,
    /// How long the report took.
    pub report_seconds: f64,
    /// The findings for people: a name and a sentence each.
    #[serde(skip)]
    pub facts: Vec<(&'static str, String)>,
}

/// Accuracies with and without the unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComparisonSummary {
    /// What it was measured on: `test rows` or `cross-validation`.
    pub by: &'static str,
    /// What the unlabelled rows add to the accuracy.
    pub difference: f64,
    /// Lower end of the difference's 95 % interval.
    pub low: f64,
    /// Upper end of the difference's 95 % interval.
    pub high: f64,
    /// Number of rows.
    pub n: usize,
    /// Accuracy of the fit to all rows.
    pub semi_supervised: f64,
    /// Accuracy of the fit to the labelled rows alone.
    pub labelled_only: f64,
    /// Accuracy of logistic regression on the labelled rows.
    pub logistic_regression: f64,
    /// Whether the unlabelled rows help; only in the comparison to go by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A two-sample test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoSampleSummary {
    /// Share of rows and samples that a classifier recognises: 0.5 if they cannot be told apart.
    pub accuracy: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Number of rows and samples.
    pub n: usize,
    /// The classifier.
    pub classifier: TwoSampleClassifier,
}

impl Summary {
    /// Whether the unlabelled rows help, in a sentence.
    pub fn help_sentence(&self) -> &str {
        &self.facts[0].1
    }
}

impl Report {
    /// The main findings, as sentences for people and fields for programs.
    pub fn summary(&self) -> Summary {
        let help = &self.help;
        let best = help.best().map(|found| ComparisonSummary {
            verdict: help.verdict,
            ..ComparisonSummary::new(found, help.by())
        });
        let by_folds =
            help.by_cross_validation.map(|found| ComparisonSummary::new(found, "cross-validation"));
        Summary {
            help: best,
            help_by_cross_validation: by_folds,
            two_sample: self.samples.two_sample.map(TwoSampleSummary::from),
            report_seconds: self.seconds,
            facts: self.facts(),
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let subject = if self.overview.noun == "image" { "unlabelled images" } else { "unlabelled rows" };
        let mut facts = vec![(subject, self.help.sentence(&self.overview))];
        if let Some(found) = self.samples.two_sample {
            let (low, high) = (percent(found.interval.low), percent(found.interval.high));
            let share = percent(found.accuracy);
            let sentence = format!("recognised in {share} of cases ({low} to {high}); 50\u{a0}% is perfect");
            facts.push(("samples", sentence));
        }
        facts
    }
}

impl ComparisonSummary {
    fn new(found: Comparison, by: &'static str) -> Self {
        Self {
            by,
            difference: found.difference,
            low: found.interval.low,
            high: found.interval.high,
            n: found.n,
            semi_supervised: found.semi_supervised,
            labelled_only: found.labelled_only,
            logistic_regression: found.logistic_regression,
            verdict: None,
        }
    }
}

impl From<TwoSample> for TwoSampleSummary {
    fn from(found: TwoSample) -> Self {
        let TwoSample { accuracy, interval, n, classifier } = found;
        Self { accuracy, low: interval.low, high: interval.high, n, classifier }
    }
}
