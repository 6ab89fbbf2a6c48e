//! Conformal prediction sets, and selective prediction: the risk if only the most confident rows are answered.

use flowgmm_report::{Grid, GridWidth, LineChart, Plot, Section, Series, Table, TableCell, TableColumn};
use semisup::metrics::Coverage;
use serde::Serialize;

use super::{assessment::LEAST, display::Display, subject::Subject};
use crate::pages::percent;

/// Risks for which the table says which share of rows can be answered.
const RISKS: [f64; 3] = [0.01, 0.02, 0.05];
/// Points of the curve that are drawn and written.
const POINTS: usize = 200;

/// Prediction sets and the risk at each coverage, cross-fitted on held-out halves of the labels.
#[derive(Clone, Debug, Serialize)]
pub struct PredictionSets {
    /// The share of rows whose set may miss the true class.
    pub alpha: f64,
    /// The largest nonconformity of a class in a set, fitted to all labels; infinite, in JSON null, if there are too few
    /// labels to leave any class out.
    pub threshold: f64,
    /// How often sets contain the true class, and how large they are.
    pub measured: Coverage,
    /// Area under the risk-coverage curve.
    pub aurc: f64,
    /// Points (coverage, risk).
    pub risk_coverage: Vec<[f64; 2]>,
    /// Share of wrong predictions if every row is answered.
    #[serde(skip)]
    pub error_rate: f64,
    /// Risks, and the share of rows that can be answered at such a risk.
    #[serde(skip)]
    pub coverage_at_risk: Vec<(f64, f64)>,
}

impl PredictionSets {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        let assessment = subject.assessment.as_ref()?;
        let risk = &assessment.risk;
        let step = risk.points.len().div_ceil(POINTS).max(1);
        let points = risk.points.iter().step_by(step).chain(risk.points.last());
        Some(Self {
            alpha: subject.alpha,
            threshold: assessment.conformal.threshold,
            measured: assessment.coverage,
            aurc: risk.aurc,
            risk_coverage: points.map(|point| [point.0, point.1]).collect(),
            error_rate: 1.0 - assessment.accuracy(),
            coverage_at_risk: RISKS.map(|most| (most, risk.coverage_at(most))).to_vec(),
        })
    }
}

pub(super) const HEADING: &str = "Prediction sets, and when to abstain";

pub(super) fn section(found: Option<&PredictionSets>, display: &Display) -> Section {
    let (heading, noun) = (HEADING.to_string(), display.noun());
    let Some(found) = found else {
        let text = format!(
            "Prediction sets and the risk of wrong predictions need at least {LEAST} {noun} with labels, and two classes."
        );
        return Section { heading, text, ..Section::default() };
    };
    let chart = LineChart {
        title: "Risk-coverage curve".into(),
        caption: format!(
            "If only predictions of the {noun} that the model is most confident about are used, how many are wrong? A curve \
             that falls towards the left means that confidence tells right predictions from wrong ones."
        ),
        x_label: "coverage: share of predictions used".into(),
        y_label: "risk: share wrong".into(),
        series: vec![Series {
            name: "wrong predictions".into(),
            points: found.risk_coverage.clone(),
            ..Series::default()
        }],
        ..LineChart::default()
    };
    let text = text(found, display);
    let grids = vec![Grid::of(GridWidth::Two, vec![chart.figure()])];
    Section { heading, text, tables: vec![table(found)], grids }
}

fn text(found: &PredictionSets, display: &Display) -> String {
    let (noun, one) = (display.noun(), display.one());
    let wanted = percent(1.0 - found.alpha);
    let few = match found.threshold.is_finite() {
        true => String::new(),
        false => format!(
            " With so few labelled {noun}, only sets that hold every class can guarantee {wanted}, so that is what they do."
        ),
    };
    let Coverage { coverage, mean_size, single, empty, .. } = found.measured;
    format!(
        "A prediction set holds every class that is plausible at the chosen level. Its split-conformal threshold makes it \
         contain the true class in at least {wanted} of cases, whatever the model, provided that new {noun} come from the \
         same distribution as these. Measured here by cross-fitting, each half of the labels with the threshold of the \
         other half: {} of the sets contain the true class, and a set holds {mean_size:.2} classes on average; {} hold one \
         class, and {} are empty.{few}\n\nA set with several classes names those between which the model cannot decide. An \
         empty set is no fault: it means that no class is plausible at this level. The model is less sure of every class \
         than it usually is of the true one, because the {one} resembles none of the classes clearly. Both are reasons to \
         ask a person.",
        percent(coverage),
        percent(single),
        percent(empty)
    )
}

fn table(found: &PredictionSets) -> Table {
    let row = |(name, value): (String, String)| vec![TableCell::from(name), TableCell::from(value)];
    let mut rows = vec![("Error rate if every prediction is used".to_string(), percent(found.error_rate))];
    rows.extend(found.coverage_at_risk.iter().map(|(risk, share)| {
        (
            format!("Share of predictions that can be used with at most {} errors", percent(*risk)),
            percent(*share),
        )
    }));
    rows.push(("Area under the risk-coverage curve (AURC)".into(), format!("{:.4}", found.aurc)));
    Table {
        columns: vec![TableColumn::text("Selective prediction"), TableColumn::number("Value")],
        rows: rows.into_iter().map(row).collect(),
        ..Table::default()
    }
}
