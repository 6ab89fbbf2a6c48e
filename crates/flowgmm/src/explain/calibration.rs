//! Calibration before and after temperature scaling (paper, section 6.1): are 90 of 100 predictions right that have a
//! confidence of 90%?

use flowgmm_report::{
    Grid, GridWidth, Plot, Reliability, ReliabilityBin, Section, Table, TableCell, TableColumn,
};
use semisup::metrics::{self, Bin, CalibrationErrors};
use serde::Serialize;

use super::{
    assessment::{Assessment, LEAST},
    display::Display,
    subject::Subject,
};

/// Bins of a reliability diagram.
const BINS: usize = 10;

/// How well calibrated the probabilities are at three temperatures.
#[derive(Clone, Debug, Serialize)]
pub struct CalibrationFindings {
    /// Rows with a label.
    pub labelled_rows: usize,
    /// Share of them predicted right.
    pub accuracy: f64,
    /// The temperature stored in the model.
    pub temperature_of_model: f64,
    /// The temperature that suits all labels best.
    pub temperature_learnt: f64,
    /// At temperature 1.
    pub as_trained: CalibrationErrors,
    /// At the model's temperature.
    pub as_stored: CalibrationErrors,
    /// At a temperature cross-fitted to these labels: learnt on one half, assessed on the other.
    pub calibrated: CalibrationErrors,
    /// Bins of the three reliability diagrams.
    #[serde(skip)]
    pub reliability: [Vec<Bin>; 3],
}

impl CalibrationFindings {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        let assessment: &Assessment = subject.assessment.as_ref()?;
        let bins =
            |of: usize| metrics::reliability(assessment.log_probs[of].exp().view(), &assessment.y, BINS);
        Some(Self {
            labelled_rows: assessment.y.len(),
            accuracy: assessment.accuracy(),
            temperature_of_model: subject.model.temperature(),
            temperature_learnt: assessment.temperature,
            as_trained: assessment.as_trained.clone(),
            as_stored: assessment.as_stored.clone(),
            calibrated: assessment.calibrated.clone(),
            reliability: [bins(0), bins(1), bins(2)],
        })
    }

    fn kinds(&self) -> [&CalibrationErrors; 3] {
        [&self.as_trained, &self.as_stored, &self.calibrated]
    }
}

pub(super) const HEADING: &str = "Are the probabilities calibrated?";

pub(super) fn section(found: Option<&CalibrationFindings>, display: &Display) -> Section {
    let (heading, noun) = (HEADING.to_string(), display.noun());
    let Some(found) = found else {
        let text = format!("This needs at least {LEAST} {noun} with labels, and two classes.");
        return Section { heading, text, ..Section::default() };
    };
    let titles = [
        if display.is_blend() { "As blended, T = 1" } else { "As trained, T = 1" }.to_string(),
        format!("As stored in the model, T = {:.3}", found.temperature_of_model),
        format!("Calibrated on these labels, T = {:.3}", found.temperature_learnt),
    ];
    let diagrams = titles.into_iter().zip(&found.reliability).zip(found.kinds()).map(|((title, bins), kind)| {
        Reliability {
            title,
            caption: format!(
                "Bars below the diagonal mean overconfidence, bars above it underconfidence; the strip counts {noun}."
            ),
            note: format!("ECE {:.3}", kind.ece[1].equal_width),
            bins: bins.iter().map(bar).collect(),
        }
        .figure()
    });
    let divides = match display.is_blend() {
        true => "The logarithms of the blend's probabilities are divided by T",
        false => {
            "Widening every Gaussian to \u{3c3}\u{b2} = T divides the differences between the classes' log-densities by T"
        }
    };
    let text = format!(
        "{divides}, which makes predictions less confident if T is above 1, and more confident if it is below. On the right, T is \
         cross-fitted: it is learnt on one half of the {} labelled {noun} and assessed on the other, and the other way \
         round. Calibrating the model on these labels would store this temperature in it.",
        found.labelled_rows
    );
    let grids = vec![Grid::of(GridWidth::Three, diagrams.collect())];
    Section { heading, text, tables: vec![table(found)], grids }
}

fn bar(bin: &Bin) -> ReliabilityBin {
    let Bin { lo: low, hi: high, n: count, confidence, accuracy } = *bin;
    ReliabilityBin { low, high, confidence, accuracy, count }
}

fn table(found: &CalibrationFindings) -> Table {
    let row = |name: &str, of: &dyn Fn(&CalibrationErrors) -> f64| {
        let mut cells = vec![TableCell::from(name)];
        cells.extend(found.kinds().map(|kind| TableCell::number(of(kind), 4)));
        cells
    };
    let temperatures = [1.0, found.temperature_of_model, found.temperature_learnt];
    let mut rows = vec![
        [TableCell::from("Temperature")]
            .into_iter()
            .chain(temperatures.map(|t| TableCell::number(t, 3)))
            .collect(),
        row("Negative log-likelihood", &|c| c.nll),
        row("Brier score", &|c| c.brier),
    ];
    for (at, bins) in metrics::BIN_COUNTS.into_iter().enumerate() {
        rows.push(row(&format!("ECE, {bins} bins of equal width"), &|c| c.ece[at].equal_width));
        rows.push(row(&format!("ECE, {bins} bins of equal mass"), &|c| c.ece[at].equal_mass));
    }
    rows.push(row("Classwise ECE", &|c| c.classwise_ece));
    rows.push(row("Maximum calibration error (MCE)", &|c| c.mce));
    let columns = ["As trained", "As stored", "Calibrated here"].map(TableColumn::number);
    Table {
        columns: [TableColumn::text("Measure")].into_iter().chain(columns).collect(),
        rows,
        caption: "Lower is better in every row but the first. ECE is the expected calibration error: the mean gap between \
                  confidence and accuracy."
            .into(),
    }
}
