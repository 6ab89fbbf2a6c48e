//! "Does my unlabelled data help?": the answer in a sentence, and what it rests on.

use flowgmm_report::{Cell, Column, Columns, Estimate, Grid, Intervals, Plot, Section, Table};
use semisup::{Interval, share_interval};
use serde_json::{Value, json};

use super::{Subject, compare::Comparison, held::HeldOut, percent, signed};

/// Fewer rows than this cannot show a difference that anybody would expect.
const FEW: usize = 30;

/// What is known of the worth of unlabelled rows.
pub struct Help {
    n_unlabelled: usize,
    by_test: Option<Comparison>,
    by_folds: Option<Comparison>,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Helps,
    Harms,
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
}

impl Help {
    /// From the comparisons that could be made.
    pub fn new(subject: &Subject, by_test: Option<Comparison>, by_folds: Option<Comparison>) -> Self {
        let n_unlabelled = subject.data.unlabelled().len();
        Self { n_unlabelled, by_test, by_folds: by_folds.filter(|_| n_unlabelled > 0) }
    }

    /// The comparison to go by: test rows if there are any, since there fits are of full length.
    pub fn best(&self) -> Option<Comparison> {
        self.by_test.or(self.by_folds)
    }

    fn by(&self) -> &'static str {
        if self.by_test.is_some() { "test rows" } else { "cross-validation" }
    }

    /// The answer.
    pub fn sentence(&self) -> String {
        if self.n_unlabelled == 0 {
            return "There are no unlabelled rows, so there is nothing for them to add.".into();
        }
        let Some(found) = self.best() else {
            return "Whether the unlabelled rows help cannot be said: there are too few labels to hold any back, or \
                    no fit without them succeeded."
                .into();
        };
        let rows = if self.by_test.is_some() { "test rows" } else { "held-out labelled rows" };
        let numbers = format!(
            "with them {} of {} {rows} are predicted right, without them {}, a difference of {} points (95\u{a0}% interval \
             {} to {})",
            percent(found.all),
            found.n,
            percent(found.labelled_only),
            signed(found.difference),
            signed(found.interval.low),
            signed(found.interval.high)
        );
        match Verdict::of(found.interval) {
            Verdict::Helps => format!("The unlabelled rows help: {numbers}."),
            Verdict::Harms => format!("The unlabelled rows do harm: {numbers}."),
            Verdict::Open if found.n < FEW => format!(
                "Whether the unlabelled rows help is open: {numbers}. {} rows could only have shown a difference of \
                 well over {:.0} points.",
                found.n,
                100.0 * found.interval.half_width()
            ),
            Verdict::Open => {
                format!("Whether the unlabelled rows help is open: {numbers}, so the difference may be none.")
            }
        }
    }

    /// The answer, briefly.
    pub fn short(&self) -> String {
        let Some(found) = self.best() else { return self.sentence() };
        let answer = match Verdict::of(found.interval) {
            Verdict::Helps => "The unlabelled rows help",
            Verdict::Harms => "The unlabelled rows do harm",
            Verdict::Open => "Whether the unlabelled rows help is open",
        };
        format!(
            "{answer}: {} points of accuracy, with a 95\u{a0}% interval from {} to {} ({} {}).",
            signed(found.difference),
            signed(found.interval.low),
            signed(found.interval.high),
            found.n,
            if self.by_test.is_some() { "test rows" } else { "labelled rows, by cross-validation" }
        ) + &self.better_without()
    }

    /// Whether something simpler would do better, if that is sure.
    fn better_without(&self) -> String {
        match self.best().filter(|found| Verdict::of(found.ahead_of_linear) == Verdict::Harms) {
            Some(found) => format!(
                " A plain logistic regression on the labelled rows does better here: {} right.",
                percent(found.linear)
            ),
            None => String::new(),
        }
    }

    /// What `--json` says as `help`.
    pub fn to_json(&self) -> Value {
        self.best().map_or(Value::Null, |found| {
            let mut object = found.to_json(self.by());
            object["verdict"] = json!(match Verdict::of(found.interval) {
                Verdict::Helps => "helps",
                Verdict::Harms => "harms",
                Verdict::Open => "open",
            });
            object
        })
    }

    /// What `--json` says as `help_by_cross_validation`.
    pub fn folds_to_json(&self) -> Value {
        self.by_folds.map_or(Value::Null, |found| found.to_json("cross-validation"))
    }

    fn comparisons(&self) -> impl Iterator<Item = (&'static str, Comparison)> {
        let named = [("Test rows", self.by_test), ("Cross-validation", self.by_folds)];
        named.into_iter().filter_map(|(name, found)| Some((name, found?)))
    }
}

/// The section.
pub fn section(subject: &Subject, help: &Help, held: Option<&HeldOut>) -> Section {
    let found: Vec<(&str, Comparison)> = help.comparisons().collect();
    let mut grids = Vec::new();
    if let Some((_, best)) = found.first() {
        let figures = vec![differences(&found).figure(), accuracies(best).figure()];
        grids.push(Grid::of(Columns::Two, figures));
    }
    Section {
        heading: "Does the unlabelled data help?".into(),
        text: text(subject, help, held),
        tables: if found.is_empty() { Vec::new() } else { vec![table(&found)] },
        grids,
    }
}

fn text(subject: &Subject, help: &Help, held: Option<&HeldOut>) -> String {
    let mut paragraphs = vec![help.sentence()];
    if help.by_test.is_some() {
        paragraphs.push(
            "On the test rows the model itself is compared with a fit of the same settings and length to the \
             labelled rows only."
                .into(),
        );
    }
    paragraphs.extend(held.zip(help.by_folds).map(|(held, found)| by_folds(subject, held, &found)));
    if let Some(found) = help.best() {
        paragraphs.push(format!("For comparison: {}", beside_linear(&found)));
        paragraphs.push(
            "Intervals are Tango's for paired rows (they invert McNemar's test): only rows on which the two fits \
             disagree tell them apart. They cover the luck of which rows are judged, not the luck of training."
                .into(),
        );
    }
    paragraphs.join("\n\n")
}

/// How the labelled rows were held out, and what that leaves out.
fn by_folds(subject: &Subject, held: &HeldOut, found: &Comparison) -> String {
    let dealt = match (found.n, subject.data.labelled().len()) {
        (n, all) if n == all => format!("the {n} labelled rows are"),
        (n, all) => format!("{n} of the {all} labelled rows (not those that are alone in their class) are"),
    };
    let lost = match held.lost {
        0 => String::new(),
        n => format!(" {n} folds are missing because a fit failed."),
    };
    format!(
        "By cross-validation: {dealt} dealt into {} folds{}. For each fold two models are fitted that see neither its \
         rows nor its labels, with the settings of this fit but {} steps instead of {}: one to all other rows, one to \
         the labelled ones among them. A finished model may do better than either.{lost}\n\nTwo things to bear in \
         mind: the settings were chosen with all labels in view; and the labelled rows are judged in the mix of \
         classes they have. If labels were picked class by class, other rows may have another mix, and another \
         accuracy.",
        held.plan.folds,
        if held.plan.repeats > 1 { ", twice" } else { "" },
        held.steps,
        subject.settings.config.train.steps
    )
}

/// How the fit does beside what one would do otherwise.
fn beside_linear(found: &Comparison) -> String {
    let verdict = match Verdict::of(found.ahead_of_linear) {
        Verdict::Helps => "the fit to all rows is better",
        Verdict::Harms => "that is better than the fit to all rows, so prefer it if all you need is a class",
        Verdict::Open => "which of the two is better is open",
    };
    let linear = percent(found.linear);
    format!("a plain logistic regression on the labelled rows gets {linear} right; {verdict}.")
}

fn table(found: &[(&str, Comparison)]) -> Table {
    let row = |(name, c): &(&str, Comparison)| {
        vec![
            Cell::from(*name),
            Cell::from(c.n),
            Cell::number(100.0 * c.all, 1),
            Cell::number(100.0 * c.labelled_only, 1),
            Cell::number(100.0 * c.linear, 1),
            Cell::shown(c.difference, signed(c.difference)),
            Cell::from(format!("{} to {}", signed(c.interval.low), signed(c.interval.high))),
            Cell::from(format!("{} : {}", count(c.discordant[0]), count(c.discordant[1]))),
        ]
    };
    Table {
        caption: "Accuracy in percent. The last column counts rows that only one of the two fits got right."
            .into(),
        columns: vec![
            Column::text("Judged on"),
            Column::number("Rows"),
            Column::number("All rows"),
            Column::number("Labelled only"),
            Column::number("Logistic regression"),
            Column::number("Difference"),
            Column::number("95\u{a0}% interval"),
            Column::number("All : labelled"),
        ],
        rows: found.iter().map(row).collect(),
    }
}

/// A count, or a mean of counts.
fn count(value: f64) -> String {
    if value.fract() < 1e-9 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn differences(found: &[(&str, Comparison)]) -> Intervals {
    let estimate = |(i, (name, c)): (usize, &(&str, Comparison))| Estimate {
        name: name.to_string(),
        value: 100.0 * c.difference,
        low: 100.0 * c.interval.low,
        high: 100.0 * c.interval.high,
        colour: i,
    };
    Intervals {
        title: "What unlabelled rows add".into(),
        caption:
            "Right of the dashed line they help, left of it they harm. A line that crosses it leaves it open."
                .into(),
        x_label: "points of accuracy".into(),
        reference: Some(0.0),
        estimates: found.iter().enumerate().map(estimate).collect(),
    }
}

fn accuracies(found: &Comparison) -> Intervals {
    let learners = [
        ("all rows", found.all),
        ("labelled rows only", found.labelled_only),
        ("logistic regression", found.linear),
    ];
    let estimate = |(i, (name, accuracy)): (usize, (&str, f64))| {
        let Interval { low, high } = share_interval(accuracy, found.n);
        let (value, low, high) = (100.0 * accuracy, 100.0 * low, 100.0 * high);
        Estimate { name: name.into(), value, low, high, colour: i }
    };
    Intervals {
        title: "Accuracy of each".into(),
        caption: format!(
            "On the same {} rows. The lines are 95\u{a0}% intervals of each alone; the difference is surer than they look, \
             because rows hard for one are hard for all.",
            found.n
        ),
        x_label: "accuracy in percent".into(),
        reference: None,
        estimates: learners.into_iter().enumerate().map(estimate).collect(),
    }
}
