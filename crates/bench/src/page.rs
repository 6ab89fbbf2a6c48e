//! The results as an HTML page: accuracy in one table, what it says over all data, then accuracy against labels and time,
//! and all metrics.

use flowgmm_report::{
    Grid, GridWidth, LineChart, Page, Plot, Section, Series, Stroke, Table, TableCell as Shown, TableColumn,
};

use crate::LabelSource;
use crate::markdown::{explanation, head, p_text, percent};
use crate::stats::MeanSd;
use crate::suite_table::suite_sections;
use crate::summary::{Entry, Summary, SummaryRow};

/// Colours before they come again.
const COLOURS: usize = 10;

/// The page of a summary.
pub fn page(summary: &Summary) -> Page {
    let mut sections = suite_sections(&summary.suite);
    sections.extend(labels_section(summary));
    sections.push(time_section(summary));
    sections.extend(summary.rows.iter().map(metrics_section));
    Page {
        tiles: Vec::new(),
        title: summary.title.clone(),
        lead: explanation(summary),
        headline: Some(headline(summary)),
        sections,
        footer: format!("Plan {}, flowgmm-bench {}", summary.plan, env!("CARGO_PKG_VERSION")),
    }
}

/// Learners down, data across, so that the best of a column is the best on its data.
fn headline(summary: &Summary) -> Table {
    let heads = summary.rows.iter().map(|row| TableColumn::number(head(row)).highest());
    let line = |(i, learner): (usize, &String)| {
        let cells = summary.rows.iter().map(|row| accuracy_cell(row, &row.entries[i]));
        std::iter::once(Shown::from(learner.clone())).chain(cells).collect()
    };
    Table {
        caption: "Test accuracy, percent".into(),
        columns: std::iter::once(TableColumn::text("learner")).chain(heads).collect(),
        rows: summary.learners.iter().enumerate().map(line).collect(),
    }
}

fn accuracy_cell(row: &SummaryRow, entry: &Entry) -> Shown {
    match entry.accuracy {
        None if entry.failed > 0 => "failed".into(),
        None => Shown::Missing,
        Some(accuracy) => {
            let close = if row.is_close(entry) { "†" } else { "" };
            let text = percent(accuracy) + close;
            let most = row.best.and_then(|best| row.entries[best].accuracy).map_or(0, |best| best.n);
            if accuracy.n < most {
                return format!("{text} ({} of {most})", accuracy.n).into(); // as text it is not ranked
            }
            Shown::shown(accuracy.mean, text)
        }
    }
}

fn row_name(row: &SummaryRow) -> String {
    format!("{}, {}", row.dataset, row.labels)
}

/// One chart for each dataset with several numbers of labels, if there is one.
fn labels_section(summary: &Summary) -> Option<Section> {
    let mut datasets: Vec<&str> = summary.rows.iter().map(|row| row.dataset.as_str()).collect();
    datasets.dedup();
    let charts: Vec<LineChart> =
        datasets.into_iter().filter_map(|dataset| labels_chart(summary, dataset)).collect();
    if charts.is_empty() {
        return None;
    }
    let figures = charts.iter().map(|chart| chart.figure()).collect();
    let grids = vec![Grid::of(GridWidth::Two, figures)];
    Some(Section { heading: "Accuracy against labels".into(), grids, ..Section::default() })
}

fn labels_chart(summary: &Summary, dataset: &str) -> Option<LineChart> {
    let mut rows: Vec<(f64, &SummaryRow)> = summary
        .rows
        .iter()
        .filter(|row| row.dataset == dataset)
        .filter_map(|row| match row.labels {
            LabelSource::PerClass(n) => Some((n as f64, row)),
            _ => None,
        })
        .collect();
    if rows.len() < 2 {
        return None;
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = |i: usize| {
        let point =
            |(n, row): &(f64, &SummaryRow)| row.entries[i].accuracy.map(|a| [n.log10(), 100. * a.mean]);
        rows.iter().filter_map(point).collect()
    };
    Some(LineChart {
        title: dataset.into(),
        x_label: "log10 of labels per class".into(),
        y_label: "accuracy, %".into(),
        series: summary.learners.iter().enumerate().map(|(i, name)| series(i, name, points(i))).collect(),
        ..LineChart::default()
    })
}

/// One chart for each row of the table.
fn time_section(summary: &Summary) -> Section {
    let charts = summary.rows.iter().map(|row| time_chart(row).figure());
    Section {
        heading: "Accuracy against time".into(),
        text: "A cross spans the mean ± one standard deviation of accuracy, and of the seconds that fitting and \
               predicting take."
            .into(),
        grids: vec![Grid::of(GridWidth::Two, charts.collect())],
        ..Section::default()
    }
}

fn time_chart(row: &SummaryRow) -> LineChart {
    let cross = |entry: &Entry| match (entry.accuracy, entry.seconds) {
        (Some(accuracy), Some(seconds)) => cross(accuracy, seconds),
        _ => Vec::new(),
    };
    let entries = row.entries.iter().enumerate();
    LineChart {
        title: row_name(row),
        x_label: "log10 of seconds".into(),
        y_label: "accuracy, %".into(),
        series: entries.map(|(i, entry)| series(i, &entry.learner, cross(entry))).collect(),
        ..LineChart::default()
    }
}

/// Two strokes; what is not finite between them lifts the pen. At least 0.3 points and a tenth of a power of ten
/// long, so that a single draw can be seen.
fn cross(accuracy: MeanSd, seconds: MeanSd) -> Vec<[f64; 2]> {
    let log = |seconds: f64| seconds.max(1e-4).log10();
    let (x, y) = (log(seconds.mean), 100. * accuracy.mean);
    let left = log(seconds.mean - seconds.sd).max(x - 1.).min(x - 0.05);
    let right = log(seconds.mean + seconds.sd).max(x + 0.05);
    let half = (100. * accuracy.sd).max(0.15);
    vec![[left, y], [right, y], [x, f64::NAN], [x, y - half], [x, y + half]]
}

fn series(place: usize, name: &str, points: Vec<[f64; 2]>) -> Series {
    let stroke = if place < COLOURS { Stroke::Solid } else { Stroke::Dashed };
    Series { name: name.into(), points, stroke, colour: Some(place), ..Series::default() }
}

/// All metrics on one dataset.
fn metrics_section(row: &SummaryRow) -> Section {
    let number = |spread: Option<MeanSd>, factor: f64, decimals: usize| match spread {
        Some(spread) => Shown::number(factor * spread.mean, decimals),
        None => Shown::Missing,
    };
    let line = |entry: &Entry| {
        vec![
            entry.learner.clone().into(),
            accuracy_cell(row, entry),
            number(entry.balanced_accuracy, 100., 1),
            number(entry.nll, 1., 3),
            number(entry.ece, 1., 3),
            number(entry.brier, 1., 3),
            number(entry.seconds, 1., 2),
            entry.peak_memory.map_or(Shown::Missing, |bytes| Shown::number(bytes as f64 / 1048576., 0)),
            entry.against_best.map_or(Shown::Missing, |paired| p_text(paired.p_t).into()),
            entry.against_best.map_or(Shown::Missing, |paired| p_text(paired.p_flip).into()),
        ]
    };
    let columns = vec![
        TableColumn::text("learner"),
        TableColumn::number("accuracy, %").highest(),
        TableColumn::number("balanced, %").highest(),
        TableColumn::number("NLL").lowest(),
        TableColumn::number("ECE").lowest(),
        TableColumn::number("Brier").lowest(),
        TableColumn::number("seconds"),
        TableColumn::number("peak MiB"),
        TableColumn::number("p, paired t"),
        TableColumn::number("p, sign flips"),
    ];
    let caption =
        "Means over draws; p against the best; NLL is missing where a true class had probability 0".into();
    let tables = vec![Table { caption, columns, rows: row.entries.iter().map(line).collect() }];
    Section { heading: row_name(row), tables, ..Section::default() }
}
