//! Prediction sets that keep their promise, and what abstaining buys.

use flowgmm_report::{Cell, Column, Columns, Grid, LineChart, Plot, Section, Series, Table};
use serde_json::json;

use super::{Part, Subject};
use crate::fit_report::percent;

/// Risks for which the table says how much can be answered.
const RISKS: [f64; 3] = [0.01, 0.02, 0.05];
/// Points of the curve that are drawn and written.
const POINTS: usize = 200;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let heading = "When to believe it, and when to abstain".to_string();
    let Some(judged) = &subject.judged else {
        let text = "Prediction sets and the price of errors need at least 20 rows with labels: name them with --label (of \
                    IDX images with --labels).";
        return Part { section: Section { heading, text: text.into(), ..Section::default() }, json: None };
    };
    let found = judged.coverage;
    let wanted = percent(1.0 - subject.alpha);
    let risk = &judged.risk;
    let step = risk.points.len().div_ceil(POINTS).max(1);
    let points: Vec<[f64; 2]> =
        risk.points.iter().step_by(step).chain(risk.points.last()).map(|p| [p.0, p.1]).collect();
    let chart = LineChart {
        title: "Risk and coverage".into(),
        caption: "If only the surest share of rows is answered, how many answers are wrong? A curve that falls to the left \
                  means that confidence knows where the errors are."
            .into(),
        x_label: "share answered".into(),
        y_label: "share wrong".into(),
        series: vec![Series { name: "wrong answers".into(), points: points.clone(), ..Series::default() }],
        ..LineChart::default()
    };
    let few = match judged.conformal.threshold.is_finite() {
        true => String::new(),
        false => format!(
            " So few labelled {} cannot promise {wanted}: every set holds every class.",
            subject.what()
        ),
    };
    let section = Section {
        heading,
        text: format!(
            "A prediction set holds every class that cannot be ruled out; a split-conformal threshold makes it hold the true \
             one in at least {wanted} of cases, whatever the model, as long as new rows come from where these came from. \
             Measured here, each half of the labels by the threshold of the other: {} of sets hold the true class, with \
             {:.2} classes on average; {} hold one class, {} none.{few}\n\nA set with several classes says between which the \
             model cannot decide; a set with none that no class is as clear as the model's usual hits. Both are reasons to \
             ask a person.",
            percent(found.coverage),
            found.mean_size,
            percent(found.single),
            percent(found.empty)
        ),
        tables: vec![table(subject)],
        grids: vec![Grid::of(Columns::Two, vec![chart.figure()])],
    };
    let value = json!({
        "alpha": subject.alpha,
        "threshold": judged.conformal.threshold.is_finite().then_some(judged.conformal.threshold),
        "measured": found,
        "aurc": risk.aurc,
        "risk_coverage": points,
    });
    Part { section, json: Some(("prediction_sets", value)) }
}

fn table(subject: &Subject) -> Table {
    let judged = subject.judged.as_ref().expect("the caller has looked");
    let row = |(name, value): (String, String)| vec![Cell::from(name), Cell::from(value)];
    let mut rows = vec![("Errors if every row is answered".to_string(), percent(1.0 - judged.accuracy()))];
    rows.extend(RISKS.map(|risk| {
        let share = judged.risk.coverage_at(risk);
        (format!("Share that can be answered with at most {} errors", percent(risk)), percent(share))
    }));
    rows.push(("Mean risk over all shares (AURC)".into(), format!("{:.4}", judged.risk.aurc)));
    Table {
        columns: vec![Column::text("Abstaining"), Column::number("")],
        rows: rows.into_iter().map(row).collect(),
        ..Table::default()
    }
}
