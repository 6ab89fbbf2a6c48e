//! What was chosen and why, and how training went.

use flowgmm_report::{AxisScale, Cell, Column, Columns, Grid, LineChart, Plot, Section, Series, Table};

use super::Subject;
use crate::{demo::losses, inspect, text};

/// The section.
pub fn section(subject: &Subject) -> Section {
    let mut tables: Vec<Table> = decisions(subject).into_iter().chain([facts(subject)]).collect();
    let changed = subject.settings.changed();
    if !changed.is_empty() {
        tables.push(Table {
            caption: "Settings that you gave.".into(),
            columns: vec![Column::text("Setting"), Column::text("Value"), Column::text("From")],
            rows: changed
                .into_iter()
                .map(|(path, value, from)| vec![path.into(), value.into(), from.into()])
                .collect(),
        });
    }
    let mut figures = vec![losses("Terms of the loss", subject.model).figure()];
    figures.push(accuracy(subject).figure());
    Section {
        heading: "What was chosen, and how training went".into(),
        text: text(subject),
        tables,
        grids: vec![Grid::of(Columns::Two, figures)],
    }
}

fn text(subject: &Subject) -> String {
    let temperature = subject.model.temperature();
    let calibrated = if temperature == 1.0 {
        "The temperature is 1: probabilities are the model's own.".to_string()
    } else {
        format!(
            "The temperature is {temperature:.2}: held-out labels showed the model to be surer than it was right, so \
             the logarithms of its probabilities are divided by that."
        )
    };
    let chosen = match subject.model.decisions() {
        [] => "Settings are those of the preset, as they are.",
        _ => {
            "Settings were chosen from the data, by cross-validation of quick learners on the labelled rows."
        }
    };
    format!(
        "{chosen} {calibrated}\n\nThe curves: negative log-likelihood of labelled and of unlabelled rows, and the \
         terms that help them, each before it is weighted. They should fall and settle; the share of labelled rows \
         that are right should rise, and says nothing of other rows."
    )
}

/// Nothing if a preset left nothing to decide.
fn decisions(subject: &Subject) -> Option<Table> {
    let rows = subject.model.decisions().iter();
    (rows.len() > 0).then(|| Table {
        caption: "Decisions.".into(),
        columns: vec![Column::text("What"), Column::text("Choice"), Column::text("Why")],
        rows: rows
            .map(|d| vec![Cell::from(d.what.as_str()), d.choice.as_str().into(), d.why.as_str().into()])
            .collect(),
    })
}

fn facts(subject: &Subject) -> Table {
    let model = subject.model;
    let mut rows = vec![
        ("Model", inspect::architecture(model)),
        ("Numbers learnt", inspect::parameters(model).to_string()),
        ("Preprocessing", model.preprocess().describe()),
        ("Training", inspect::training(model)),
        ("Temperature", format!("{:.3}", model.temperature())),
    ];
    if let Some(certificate) = &model.provenance().certificate {
        rows.push(("Round trip x → z → x", text::certificate(certificate)));
    }
    Table {
        caption: "The model.".into(),
        columns: vec![Column::text("What"), Column::text("Value")],
        rows: rows.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect(),
    }
}

fn accuracy(subject: &Subject) -> LineChart {
    let epochs = &subject.model.history().epochs;
    let points = epochs.iter().map(|record| [record.step as f64, 100.0 * record.labelled_accuracy]).collect();
    LineChart {
        title: "Labelled rows that are right".into(),
        x_label: "training step".into(),
        y_label: "percent".into(),
        y_scale: AxisScale::Percent,
        series: vec![Series { name: "labelled training rows".into(), points, ..Series::default() }],
        ..LineChart::default()
    }
}
