//! Rows from elsewhere (paper, appendix F): does the model notice?

use flowgmm::insight::Domain;
use flowgmm_report::{Cell, Column, Columns, Grid, Histogram, Plot, Section, Table};
use semisup::{metrics::Detection, ndarray::Axis};
use serde_json::{Value, json};

use super::{Part, Subject};
use crate::fit_report::percent;

/// The section.
pub fn part(subject: &Subject) -> Part {
    let heading = "Does it notice rows from elsewhere?".to_string();
    let what = subject.what();
    let Some(strangers) = &subject.strangers else {
        let text = format!(
            "Give {what} from elsewhere with --out-of-domain, and this section says how well they are told apart."
        );
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    };
    let (seen, model) = (&subject.seen, subject.model);
    let half = |rest: usize| (0..seen.rows.n()).filter(|row| row % 2 == rest).collect::<Vec<usize>>();
    let (teach, judge) = (half(0), half(1));
    if judge.is_empty() {
        let text = format!("It takes two {what} at least to learn from one and judge by the other.");
        return Part { section: Section { heading, text, ..Section::default() }, json: None };
    }
    let domain = Domain::learn(model, seen.rows.x.select(Axis(0), &teach).view());
    let ours = domain.scores(model, seen.rows.x.select(Axis(0), &judge).view());
    let theirs = domain.scores(model, strangers.x.view());
    let found: Vec<(&str, Detection)> = ours
        .named()
        .into_iter()
        .zip(theirs.named())
        .map(|((name, ours), (_, theirs))| (name, Detection::of(ours, theirs)))
        .collect();
    // The first of equals: the simplest.
    let best = found.iter().rev().max_by(|a, b| a.1.auroc.total_cmp(&b.1.auroc)).expect("four scores");
    let histograms = ours.named().into_iter().zip(theirs.named()).map(|((name, ours), (_, theirs))| {
        let (low, high) = middle(ours, theirs);
        let clip = |values: &[f64]| values.iter().map(|v| v.clamp(low, high)).collect::<Vec<f64>>();
        Histogram {
            title: capital(name),
            caption: meaning(name).into(),
            x_label: "score; higher is stranger".into(),
            samples: vec![("ours".into(), clip(ours)), ("from elsewhere".into(), clip(theirs))],
            ..Histogram::default()
        }
        .figure()
    });
    let row = |(name, found): &(&str, Detection)| {
        vec![
            Cell::from(capital(name)),
            Cell::number(found.auroc, 4),
            Cell::number(found.aupr, 4),
            Cell::shown(found.fpr95, percent(found.fpr95)),
        ]
    };
    let warning = match found[0].1.auroc {
        auroc if auroc < 0.5 => {
            " Raw likelihood is worse than a coin here: it finds the strangers more likely than its own."
        }
        _ => "",
    };
    let section = Section {
        heading,
        text: format!(
            "{} of {}, against half of our own; the other half taught the scores what is usual.{warning} AUROC is the \
             probability that a stranger scores higher than one of ours.",
            strangers.described(what),
            strangers.name
        ),
        tables: vec![Table {
            columns: vec![
                Column::text("Score"),
                Column::number("AUROC").highest(),
                Column::number("AUPR").highest(),
                Column::number("False alarms at 95\u{a0}% found").lowest(),
            ],
            rows: found.iter().map(row).collect(),
            caption: "Strangers are positive in AUPR.".into(),
        }],
        grids: vec![Grid::of(Columns::Two, histograms.collect())],
    };
    let scores: Vec<Value> =
        found.iter().map(|(name, found)| json!({ "score": name, "found": found })).collect();
    let value =
        json!({ "rows": strangers.n(), "scores": scores, "best_score": best.0, "best_auroc": best.1.auroc });
    Part { section, json: Some(("out_of_domain", value)) }
}

/// The range that holds all but the outermost two percent of both: what is beyond is drawn at the edge.
fn middle(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let quantile = |values: &[f64], share: f64| {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(((sorted.len().max(1) - 1) as f64 * share).round() as usize).copied()
    };
    let ends = |share: f64| [quantile(ours, share), quantile(theirs, share)].into_iter().flatten();
    let low = ends(0.02).reduce(f64::min).unwrap_or(0.0);
    (low, ends(0.98).reduce(f64::max).unwrap_or(1.0).max(low))
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn meaning(score: &str) -> &'static str {
    match score {
        "raw likelihood" => "\u{2212}log p(x). Simple rows can be likelier than our own.",
        "typicality" => "How far log p(x) is from its median among our rows: too likely is suspicious, too.",
        "latent distance" => "Distance to the nearest class in z, for the spread of our own rows there.",
        _ => "A background that knows no content against the model: what both find simple cancels.",
    }
}
