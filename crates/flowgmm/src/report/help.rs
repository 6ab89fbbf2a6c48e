//! "Does my unlabelled data help?": the answer in a sentence, and what it rests on.

use flowgmm_report::{Estimate, Grid, GridWidth, Intervals, Plot, Section, Table, TableCell, TableColumn};
use semisup::{Interval, share_interval};
use serde::Serialize;

use super::{
    Overview,
    compare::Comparison,
    held_out::{CrossValidation, HeldOut},
    subject::Subject,
};
use crate::{
    error::Result,
    observer::Observer,
    pages::{percent, signed},
};

/// With fewer rows than this, only an unusually large difference could show.
const FEW: usize = 30;

/// Whether unlabelled rows help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Help {
    /// The answer, by test rows if there are any, unless cross-validation contradicts them; `None` if nothing could be
    /// compared.
    pub verdict: Option<Verdict>,
    /// Number of unlabelled rows.
    pub n_unlabelled: usize,
    /// The comparison on test rows, between fits of full length.
    pub by_test_rows: Option<Comparison>,
    /// The comparison on held-out labelled rows, between short fits.
    pub by_cross_validation: Option<Comparison>,
    /// How labelled rows were held out.
    pub cross_validation: Option<CrossValidation>,
}

/// What the interval of a difference says, and whether other evidence agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is above 0, and cross-validation does not find the opposite.
    Helps,
    /// The whole interval is below 0.
    Harms,
    /// The interval contains 0, or cross-validation contradicts that the unlabelled rows help.
    Open,
}

impl Verdict {
    fn of(interval: Interval) -> Self {
        match interval {
            Interval { low, .. } if low > 0.0 => Self::Helps,
            Interval { high, .. } if high < 0.0 => Self::Harms,
            _ => Self::Open,
        }
    }

    /// Of a comparison and, where there is one, of another that must not contradict a claim of help.
    fn of_both(found: &Comparison, other: Option<&Comparison>) -> Self {
        match Self::of(found.interval) {
            Self::Helps if other.is_some_and(|other| other.difference < 0.0) => Self::Open,
            verdict => verdict,
        }
    }
}

impl Help {
    /// Compares fits with and without the unlabelled rows, as far as there are labels to compare them by.
    pub(super) fn find(
        subject: &Subject,
        held: Option<&HeldOut>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let n_unlabelled = subject.overview.n_unlabelled;
        let held = held.filter(|_| n_unlabelled > 0);
        let by_test_rows = Comparison::on_test_rows(subject, observer)?;
        let by_cross_validation = held.map(Comparison::of_held_out);
        let plan = held.map(|held| held.plan);
        Ok(Self::new(n_unlabelled, by_test_rows, by_cross_validation, plan))
    }

    fn new(
        n_unlabelled: usize,
        by_test_rows: Option<Comparison>,
        by_cross_validation: Option<Comparison>,
        cross_validation: Option<CrossValidation>,
    ) -> Self {
        let other = by_test_rows.and(by_cross_validation);
        let best = by_test_rows.or(by_cross_validation);
        Self {
            verdict: best.map(|found| Verdict::of_both(&found, other.as_ref())),
            n_unlabelled,
            by_test_rows,
            by_cross_validation,
            cross_validation,
        }
    }

    /// What cross-validation found, where it found the opposite of what test rows say beyond doubt.
    fn contradiction(&self) -> Option<Comparison> {
        let (found, other) = (self.by_test_rows?, self.by_cross_validation?);
        match Verdict::of(found.interval) {
            Verdict::Helps => (other.difference < 0.0).then_some(other),
            Verdict::Harms => (other.difference > 0.0).then_some(other),
            Verdict::Open => None,
        }
    }

    /// The comparison to go by: the one on test rows if there are any, since its fits are of full length.
    pub fn best(&self) -> Option<Comparison> {
        self.by_test_rows.or(self.by_cross_validation)
    }

    /// What [`Help::best`] was measured on: `test rows` or `cross-validation`.
    pub fn by(&self) -> &'static str {
        if self.by_test_rows.is_some() { "test rows" } else { "cross-validation" }
    }

    /// The answer.
    pub(super) fn sentence(&self, overview: &Overview) -> String {
        let rows = overview.nouns();
        if self.n_unlabelled == 0 {
            return format!("There are no unlabelled {rows}, so they cannot add anything.");
        }
        let (Some(found), Some(verdict)) = (self.best(), self.verdict) else {
            return format!(
                "It cannot be said whether the unlabelled {rows} help: there are too few labels to hold any out, or \
                 every fit without them failed."
            );
        };
        let judged = if self.by_test_rows.is_some() { "test" } else { "held-out labelled" };
        let numbers = format!(
            "with them {} of {} {judged} {rows} are classified correctly, without them {}, a difference of {} points \
             (95\u{a0}% interval {} to {})",
            percent(found.semi_supervised),
            found.n,
            percent(found.labelled_only),
            signed(found.difference),
            signed(found.interval.low),
            signed(found.interval.high)
        );
        let answer = answer(verdict, &rows);
        if let Some(other) = self.contradiction() {
            return format!(
                "{answer}: {numbers}. But cross-validation says the opposite: with them {} of {} held-out labelled {rows} \
                 are classified correctly, without them {}, a difference of {} points.",
                percent(other.semi_supervised),
                other.n,
                percent(other.labelled_only),
                signed(other.difference)
            );
        }
        match verdict {
            Verdict::Helps | Verdict::Harms => format!("{answer}: {numbers}."),
            Verdict::Open if found.n < FEW => format!(
                "{answer}: {numbers}. With {} {rows}, only a difference of well over {:.0} points would have shown.",
                found.n,
                100.0 * found.interval.half_width()
            ),
            Verdict::Open => format!("{answer}: {numbers}, so there may be no difference."),
        }
    }

    /// The answer, briefly.
    pub(super) fn short(&self, overview: &Overview) -> String {
        let rows = overview.nouns();
        let (Some(found), Some(verdict)) = (self.best(), self.verdict) else {
            return self.sentence(overview);
        };
        let judged = match self.by_test_rows {
            Some(_) => format!("test {rows}"),
            None => format!("labelled {rows}, by cross-validation"),
        };
        let better = match Verdict::of(found.lead_over_logistic) {
            Verdict::Harms => format!(
                " Plain logistic regression on the labelled {rows} does better here: it classifies {} correctly.",
                percent(found.logistic_regression)
            ),
            Verdict::Helps | Verdict::Open => String::new(),
        };
        let but = self.contradiction().map_or_else(String::new, |other| {
            format!("; cross-validation says the opposite, {} points", signed(other.difference))
        });
        format!(
            "{}: {} points of accuracy, with a 95\u{a0}% interval from {} to {} ({} {judged}){but}.{better}",
            answer(verdict, &rows),
            signed(found.difference),
            signed(found.interval.low),
            signed(found.interval.high),
            found.n,
        )
    }

    fn comparisons(&self, overview: &Overview) -> Vec<(String, Comparison)> {
        let test = format!("Test {}", overview.nouns());
        let named = [(test, self.by_test_rows), ("Cross-validation".into(), self.by_cross_validation)];
        named.into_iter().filter_map(|(name, found)| Some((name, found?))).collect()
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let found = self.comparisons(overview);
        let mut grids = Vec::new();
        if let Some((_, best)) = found.first() {
            let figures = vec![differences(&found, overview).figure(), accuracies(best, overview).figure()];
            grids.push(Grid::of(GridWidth::Two, figures));
        }
        Section {
            heading: "Does the unlabelled data help?".into(),
            text: self.text(overview),
            tables: if found.is_empty() { Vec::new() } else { vec![table(&found, overview)] },
            grids,
        }
    }

    fn text(&self, overview: &Overview) -> String {
        let rows = overview.nouns();
        let mut paragraphs = vec![self.sentence(overview)];
        if self.by_test_rows.is_some() {
            paragraphs.push(format!(
                "On the test {rows}, the model itself is compared with a fit of the same settings and length to the \
                 labelled {rows} alone."
            ));
        }
        if let (Some(found), Some(plan)) = (self.by_cross_validation, self.cross_validation) {
            paragraphs.push(folds_text(&plan, &found, overview));
            paragraphs.push(format!(
                "Two caveats: the settings were chosen with all labels in view, and the accuracy is that of the class \
                 mix among the labelled {rows}. If labels were collected class by class, other {rows} may have another \
                 mix, and so another accuracy."
            ));
        }
        if let Some(found) = self.best() {
            paragraphs.push(format!("For comparison, {}", beside_logistic(&found, &rows)));
            paragraphs.push(format!(
                "The intervals are Tango's for paired data (they invert McNemar's test): only {rows} on which the two \
                 fits disagree tell them apart. They cover the choice of {rows} to judge by, not the randomness of \
                 training."
            ));
        }
        paragraphs.join("\n\n")
    }
}

fn answer(verdict: Verdict, rows: &str) -> String {
    match verdict {
        Verdict::Helps => format!("The unlabelled {rows} help"),
        Verdict::Harms => format!("The unlabelled {rows} hurt"),
        Verdict::Open => format!("It is open whether the unlabelled {rows} help"),
    }
}

/// How the labelled rows were held out, and what that leaves out.
fn folds_text(plan: &CrossValidation, found: &Comparison, overview: &Overview) -> String {
    let rows = overview.nouns();
    let split = match (found.n, overview.n_labelled) {
        (n, all) if n == all => format!("the {n} labelled {rows} are"),
        (n, all) => {
            format!("{n} of the {all} labelled {rows} (not those that are the only one of their class) are")
        }
    };
    let failed = match plan.failed_folds {
        0 => String::new(),
        1 => " One fold is missing because a fit failed.".into(),
        n => format!(" {n} folds are missing because a fit failed."),
    };
    format!(
        "For the cross-validation, {split} split into {} folds{}. For each fold, two models are fitted that see neither \
         its {rows} nor its labels, with the settings of this fit but {} steps instead of {}: one to all other {rows}, \
         one to the labelled {rows} among them. The finished model may do better than either.{failed}",
        plan.folds,
        if plan.repeats > 1 { ", twice" } else { "" },
        plan.steps,
        plan.full_steps
    )
}

/// How the fit does beside the simplest alternative.
fn beside_logistic(found: &Comparison, rows: &str) -> String {
    let verdict = match Verdict::of(found.lead_over_logistic) {
        Verdict::Helps => format!("the fit to all {rows} is better"),
        Verdict::Harms => {
            format!("that is better than the fit to all {rows}, so prefer it if all you need is a class")
        }
        Verdict::Open => "it is open which of the two is better".into(),
    };
    let accuracy = percent(found.logistic_regression);
    format!("plain logistic regression on the labelled {rows} classifies {accuracy} correctly; {verdict}.")
}

fn table(found: &[(String, Comparison)], overview: &Overview) -> Table {
    let row = |(name, c): &(String, Comparison)| {
        vec![
            TableCell::from(name.as_str()),
            TableCell::from(c.n),
            TableCell::number(100.0 * c.semi_supervised, 1),
            TableCell::number(100.0 * c.labelled_only, 1),
            TableCell::number(100.0 * c.logistic_regression, 1),
            TableCell::shown(c.difference, signed(c.difference)),
            TableCell::from(format!("{} to {}", signed(c.interval.low), signed(c.interval.high))),
            TableCell::from(format!("{} : {}", count(c.discordant[0]), count(c.discordant[1]))),
        ]
    };
    let rows = overview.nouns();
    Table {
        caption: format!(
            "Accuracy in percent. The last column counts the {rows} that only one of the two fits classified correctly."
        ),
        columns: vec![
            TableColumn::text("Judged by"),
            TableColumn::number(overview.capital()),
            TableColumn::number(format!("All {rows}")),
            TableColumn::number("Labelled only"),
            TableColumn::number("Logistic regression"),
            TableColumn::number("Difference"),
            TableColumn::number("95\u{a0}% interval"),
            TableColumn::number("All : labelled"),
        ],
        rows: found.iter().map(row).collect(),
    }
}

/// A count, or a mean of counts.
fn count(value: f64) -> String {
    if value.fract() < 1e-9 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn differences(found: &[(String, Comparison)], overview: &Overview) -> Intervals {
    let estimate = |(i, (name, c)): (usize, &(String, Comparison))| Estimate {
        name: name.clone(),
        value: 100.0 * c.difference,
        low: 100.0 * c.interval.low,
        high: 100.0 * c.interval.high,
        colour: i,
    };
    Intervals {
        title: format!("What unlabelled {} add", overview.nouns()),
        caption: "To the right of the dashed line they help, to the left they hurt. An interval that crosses it leaves \
                  the question open."
            .into(),
        x_label: "points of accuracy".into(),
        reference: Some(0.0),
        estimates: found.iter().enumerate().map(estimate).collect(),
    }
}

fn accuracies(found: &Comparison, overview: &Overview) -> Intervals {
    let rows = overview.nouns();
    let learners = [
        (format!("all {rows}"), found.semi_supervised),
        (format!("labelled {rows} only"), found.labelled_only),
        ("logistic regression".into(), found.logistic_regression),
    ];
    let estimate = |(i, (name, accuracy)): (usize, (String, f64))| {
        let Interval { low, high } = share_interval(accuracy, found.n);
        let (value, low, high) = (100.0 * accuracy, 100.0 * low, 100.0 * high);
        Estimate { name, value, low, high, colour: i }
    };
    Intervals {
        title: "Accuracy of each".into(),
        caption: format!(
            "On the same {} {rows}. The lines are 95\u{a0}% intervals of each accuracy alone; the difference is more \
             certain than they suggest, because {rows} that are hard for one are hard for all.",
            found.n
        ),
        x_label: "accuracy in percent".into(),
        reference: None,
        estimates: learners.into_iter().enumerate().map(estimate).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison on 100 rows with this many that only one of the two fits classified correctly.
    fn compared(only_all: f64, only_labelled: f64) -> Comparison {
        let interval = semisup::difference_interval(only_all, only_labelled, 100);
        Comparison {
            n: 100,
            semi_supervised: 0.6 + only_all / 100.0,
            labelled_only: 0.6 + only_labelled / 100.0,
            logistic_regression: 0.6,
            lead_over_logistic: interval,
            difference: (only_all - only_labelled) / 100.0,
            interval,
            discordant: [only_all, only_labelled],
        }
    }

    fn overview() -> Overview {
        Overview {
            name: "rows".into(),
            model_name: None,
            noun: "row",
            shape: String::new(),
            classes: vec!["a".into(), "b".into()],
            n_labelled: 100,
            n_unlabelled: 50,
            has_test_rows: true,
            flow_weight: None,
            version: "",
            seed: 0,
            fit_seconds: 0.0,
        }
    }

    #[test]
    fn help_that_cross_validation_contradicts_is_open_and_both_numbers_are_said() {
        let (up, down, even) = (compared(20.0, 2.0), compared(3.0, 8.0), compared(4.0, 4.0));
        let verdict = |test, folds| Help::new(50, test, folds, None).verdict;
        assert_eq!(verdict(Some(up), None), Some(Verdict::Helps));
        assert_eq!(verdict(None, Some(up)), Some(Verdict::Helps));
        assert_eq!(verdict(Some(up), Some(up)), Some(Verdict::Helps));
        assert_eq!(verdict(Some(up), Some(even)), Some(Verdict::Helps), "no contradiction");
        assert_eq!(verdict(Some(up), Some(down)), Some(Verdict::Open));
        assert_eq!(verdict(Some(even), Some(up)), Some(Verdict::Open));
        assert_eq!(verdict(None, None), None);

        let help = Help::new(50, Some(up), Some(down), None);
        for text in [help.sentence(&overview()), help.short(&overview())] {
            assert!(text.starts_with("It is open whether the unlabelled rows help"), "{text}");
            assert!(text.contains("+18.0 points") && text.contains("\u{2212}5.0 points"), "{text}");
        }
        let agreed = Help::new(50, Some(up), Some(even), None).sentence(&overview());
        assert!(agreed.starts_with("The unlabelled rows help") && !agreed.contains("opposite"), "{agreed}");
    }
}
