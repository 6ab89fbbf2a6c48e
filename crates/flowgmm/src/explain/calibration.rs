//! Calibration before and after (paper, section 6.1): are 90 of 100 predictions right that are 90% sure?

use flowgmm_report::{Cell, Column, Columns, Grid, Plot, Reliability, ReliabilityBin, Section, Table};
use semisup::metrics::{self, Calibration};
use serde_json::json;

use super::{Part, Subject};

const BINS: usize = 10;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let heading = "Are its probabilities honest?".to_string();
    let Some(judged) = &subject.judged else {
        let text = "It takes at least 20 rows with labels to tell: name the column of labels with --label (of IDX images, \
                    their file with --labels).";
        return Part { section: Section { heading, text: text.into(), ..Section::default() }, json: None };
    };
    let stored = subject.model.temperature();
    let titles = [
        "As trained, T = 1".to_string(),
        format!("As the model file has it, T = {stored:.3}"),
        format!("Calibrated on these labels, T = {:.3}", judged.temperature),
    ];
    let kinds = [&judged.raw, &judged.stored, &judged.calibrated];
    let diagrams = titles.iter().zip(&judged.log_probs).zip(kinds).map(|((title, log_probs), kind)| {
        let bins = metrics::reliability(log_probs.exp().view(), &judged.y, BINS).into_iter();
        let bins = bins.map(|bin| ReliabilityBin {
            low: bin.lo,
            high: bin.hi,
            confidence: bin.confidence,
            accuracy: bin.accuracy,
            count: bin.n,
        });
        Reliability {
            title: title.clone(),
            caption:
                "Bars below the diagonal are over-confident, above it too modest; the strip counts rows."
                    .into(),
            note: format!("ECE {:.3}", kind.ece[1].equal_width),
            bins: bins.collect(),
        }
        .figure()
    });
    let section = Section {
        heading,
        text: format!(
            "Widening every Gaussian by \u{3c3}\u{b2} = T divides the differences of log-densities by T: that makes predictions \
             less sure, or surer. On the right T is learnt from one half of the {} labelled {} and judged on the other, and \
             the reverse. To keep it, use flowgmm calibrate.",
            judged.y.len(),
            subject.what()
        ),
        tables: vec![table(kinds, stored, judged.temperature)],
        grids: vec![Grid::of(Columns::Three, diagrams.collect())],
    };
    let value = json!({
        "labelled_rows": judged.y.len(),
        "accuracy": judged.accuracy(),
        "temperature_of_model": stored,
        "temperature_learnt": judged.temperature,
        "as_trained": judged.raw,
        "as_stored": judged.stored,
        "calibrated": judged.calibrated,
    });
    Part { section, json: Some(("calibration", value)) }
}

fn table(kinds: [&Calibration; 3], stored: f64, learnt: f64) -> Table {
    let row = |name: &str, of: &dyn Fn(&Calibration) -> f64| {
        let mut cells = vec![Cell::from(name)];
        cells.extend(kinds.map(|kind| Cell::number(of(kind), 4)));
        cells
    };
    let mut rows = vec![
        vec!["Temperature".into(), Cell::number(1.0, 3), Cell::number(stored, 3), Cell::number(learnt, 3)],
        row("Negative log-likelihood", &|c| c.nll),
        row("Brier score", &|c| c.brier),
    ];
    for (at, bins) in metrics::BIN_COUNTS.into_iter().enumerate() {
        rows.push(row(&format!("ECE, {bins} bins of equal width"), &|c| c.ece[at].equal_width));
        rows.push(row(&format!("ECE, {bins} bins of equal mass"), &|c| c.ece[at].equal_mass));
    }
    rows.push(row("Classwise ECE", &|c| c.classwise_ece));
    rows.push(row("Largest gap of a bin (MCE)", &|c| c.mce));
    let columns = ["As trained", "Model file", "Calibrated here"].map(Column::number);
    Table {
        columns: [Column::text("Measure")].into_iter().chain(columns).collect(),
        rows,
        caption: "Lower is better in every row but the first.".into(),
    }
}
