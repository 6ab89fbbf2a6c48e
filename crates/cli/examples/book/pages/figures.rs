//! Plots for newcomers, drawn from committed results.
//!
//! A figure whose plan has not been run is not drawn, and its place in the book says which command runs it.

use flowgmm::figures::{AxisScale, Estimate, Intervals, LineChart, NamedPoint, Plot, Scatter, Series};
use flowgmm_bench::{Summary, SummaryRow};

use super::{
    Page,
    results::{Results, called, entry, mean, per_class},
};

/// Student's t at 97.5 % for ten draws less one; wider draws are rounded to the safe side by it.
const T_OF_TEN_DRAWS: f64 = 2.262;

struct Figure {
    name: &'static str,
    /// The plan whose results it shows.
    plan: &'static str,
    /// What a reader who cannot see it is told.
    alt: &'static str,
    draw: fn(&Summary) -> Option<String>,
}

const FIGURES: [Figure; 5] = [
    Figure {
        name: "small-labels",
        plan: "small",
        alt: "Mean accuracy on the small tables against labels of each class",
        draw: small_labels,
    },
    Figure {
        name: "labels",
        plan: "labels",
        alt: "Accuracy against labels of each class, with and without unlabelled rows",
        draw: labels,
    },
    Figure {
        name: "unlabelled",
        plan: "unlabelled",
        alt: "Accuracy against unlabelled rows",
        draw: unlabelled,
    },
    Figure {
        name: "time",
        plan: "small",
        alt: "Accuracy against seconds of fitting and predicting",
        draw: time,
    },
    Figure {
        name: "helps",
        plan: "helps",
        alt: "What unlabelled rows change, table by table, with 95 % intervals",
        draw: helps,
    },
];

/// The files of all figures that can be drawn.
pub fn all(results: &Results) -> Result<Vec<Page>, String> {
    let mut pages = Vec::new();
    for figure in &FIGURES {
        if let Some(text) = results.plan(figure.plan)?.as_ref().and_then(figure.draw) {
            pages.push(Page { path: format!("docs/figures/{}.svg", figure.name), text: text + "\n" });
        }
    }
    Ok(pages)
}

/// The figure's place in the book.
pub fn shown(results: &Results, name: &str) -> Result<String, String> {
    let figure = FIGURES.iter().find(|figure| figure.name == name);
    let figure = figure.ok_or_else(|| format!("no such figure: '{name}'"))?;
    Ok(match results.plan(figure.plan)?.as_ref().and_then(figure.draw) {
        Some(_) => format!("![{}](figures/{name}.svg)", figure.alt),
        None => format!(
            "*{}: not measured yet. `flowgmm bench experiments/{}.toml --data DIRECTORY` measures it.*",
            figure.alt, figure.plan
        ),
    })
}

fn accuracy(row: &SummaryRow, learner: &str) -> Option<f64> {
    entry(row, learner)?.accuracy.map(|found| 100.0 * found.mean)
}

/// Lines of learners over numbers of labels: the mean over the tables that all of them have results of.
fn over_labels(
    summary: &Summary,
    title: &str,
    y_label: &str,
    rows: &[&SummaryRow],
    learners: &[String],
) -> Option<String> {
    let mut counts: Vec<usize> = rows.iter().filter_map(|row| per_class(row)).collect();
    counts.sort_unstable();
    counts.dedup();
    let whole = |row: &&&SummaryRow| learners.iter().all(|learner| accuracy(row, learner).is_some());
    let tables_at = |n: usize| rows.iter().filter(move |row| per_class(row) == Some(n)).filter(whole).count();
    let most = counts.iter().map(|&n| tables_at(n)).max()?;
    counts.retain(|&n| tables_at(n) == most);
    if counts.len() < 2 || summary.rows.is_empty() {
        return None;
    }
    let series = learners.iter().enumerate().map(|(at, learner)| {
        let point = |&n: &usize| {
            let of = rows.iter().filter(|row| per_class(row) == Some(n));
            [n as f64, mean(of.filter_map(|row| accuracy(row, learner)))]
        };
        let points = counts.iter().map(point).collect();
        let line = Series { name: called(learner).into(), points, ..Series::default() }.dotted().coloured(at);
        if learner == "flowgmm-labelled" { line.dashed().coloured(0) } else { line }
    });
    let chart = LineChart {
        title: title.into(),
        x_label: "labels of each class".into(),
        y_label: y_label.into(),
        x_scale: AxisScale::Log,
        series: series.collect(),
        ..LineChart::default()
    };
    Some(chart.to_svg())
}

fn small_labels(summary: &Summary) -> Option<String> {
    let group = summary.suite.groups.first()?;
    let ranked = group.learners.iter().filter(|found| found.mean_rank.is_some());
    let learners: Vec<String> = ranked.map(|found| found.learner.clone()).collect();
    let rows: Vec<&SummaryRow> = summary.rows.iter().filter(|row| per_class(row).is_some()).collect();
    over_labels(summary, "Small tables", "mean accuracy, %", &rows, &learners)
}

fn labels(summary: &Summary) -> Option<String> {
    let rows: Vec<&SummaryRow> = summary.rows.iter().collect();
    let title = "With and without unlabelled rows";
    over_labels(summary, title, "mean accuracy, %", &rows, &summary.learners)
}

/// Datasets of the plan are called `TABLE with N`.
fn unlabelled(summary: &Summary) -> Option<String> {
    let place = |row: &SummaryRow| {
        let (table, rest) = row.dataset.rsplit_once(" with ")?;
        let n: f64 = rest.split(' ').next()?.replace(',', "").parse().ok()?;
        Some((table.to_string(), n))
    };
    let mut tables: Vec<String> = summary.rows.iter().filter_map(|row| Some(place(row)?.0)).collect();
    tables.dedup();
    let series = tables.iter().map(|table| {
        let of = summary
            .rows
            .iter()
            .filter_map(|row| place(row).filter(|(name, _)| name == table).map(|p| (p.1, row)));
        let mut points: Vec<[f64; 2]> =
            of.filter_map(|(n, row)| Some([n, accuracy(row, "flowgmm")?])).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Series { name: table.clone(), points, ..Series::default() }.dotted()
    });
    let series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
    let chart = LineChart {
        title: "More unlabelled rows, the same labels".into(),
        x_label: "unlabelled rows".into(),
        y_label: "accuracy, %".into(),
        x_scale: AxisScale::Log,
        series,
        ..LineChart::default()
    };
    (!chart.series.is_empty()).then(|| chart.to_svg())
}

fn time(summary: &Summary) -> Option<String> {
    let rows: Vec<&SummaryRow> = summary.rows.iter().filter(|row| per_class(row) == Some(5)).collect();
    let shown =
        summary.learners.iter().filter(|name| !["experts", "flowgmm-no-teachers"].contains(&name.as_str()));
    let points = shown.enumerate().filter_map(|(at, learner)| {
        let found: Vec<_> = rows.iter().filter_map(|row| entry(row, learner)).collect();
        let seconds = mean(found.iter().filter_map(|entry| entry.seconds).map(|seconds| seconds.mean));
        let right =
            mean(found.iter().filter_map(|entry| entry.accuracy).map(|accuracy| 100.0 * accuracy.mean));
        (!found.is_empty()).then(|| NamedPoint {
            name: called(learner).into(),
            at: [seconds, right],
            colour: at,
        })
    });
    let plot = Scatter {
        title: "Small tables, five labels of each class".into(),
        x_label: "seconds to fit and predict, mean".into(),
        y_label: "mean accuracy, %".into(),
        x_scale: AxisScale::Log,
        points: points.collect(),
        ..Scatter::default()
    };
    Some(plot.to_svg())
}

fn helps(summary: &Summary) -> Option<String> {
    let mut estimates: Vec<Estimate> = Vec::new();
    for row in &summary.rows {
        let (Some(all), Some(alone)) = (entry(row, "flowgmm"), entry(row, "flowgmm-labelled")) else {
            continue;
        };
        let difference = |(draw, with): &(u64, f64)| {
            let (_, without) = alone.accuracies.iter().find(|(other, _)| other == draw)?;
            Some(100.0 * (with - without))
        };
        let differences: Vec<f64> = all.accuracies.iter().filter_map(difference).collect();
        let Some(found) = flowgmm_bench::MeanSd::of(&differences).filter(|found| found.n > 1) else {
            continue;
        };
        let half = T_OF_TEN_DRAWS * found.sd / (found.n as f64).sqrt();
        let (low, high) = (found.mean - half, found.mean + half);
        let colour = match (low > 0.0, high < 0.0) {
            (true, _) => 2, // they help
            (_, true) => 0, // they hurt
            _ => 1,
        };
        estimates.push(Estimate { name: row.dataset.clone(), value: found.mean, low, high, colour });
    }
    estimates.sort_by(|a, b| b.value.total_cmp(&a.value));
    let plot = Intervals {
        title: "What unlabelled rows change".into(),
        x_label: "difference in points of accuracy".into(),
        reference: Some(0.0),
        estimates,
        ..Intervals::default()
    };
    (!plot.estimates.is_empty()).then(|| plot.to_svg())
}
