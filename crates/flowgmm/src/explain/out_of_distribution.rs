//! Out-of-distribution detection (paper, appendix F): are rows of another distribution noticed?

use flowgmm_report::{Figure, Grid, GridWidth, Histogram, Plot, Section, Table, TableCell, TableColumn};
use ndarray::Axis;
use semisup::metrics::Detection;
use serde::Serialize;

use super::{display::Display, page::capital, subject::Subject};
use crate::{insight::OutOfDistributionDetector, pages::percent};

/// The share of scores that is cut off at either end of a histogram.
const TAIL: f64 = 0.02;

/// How well out-of-distribution rows are told from in-distribution rows, by four scores.
#[derive(Clone, Debug, Serialize)]
pub struct OutOfDistribution {
    /// Number of out-of-distribution rows.
    pub rows: usize,
    /// How well each score detects them.
    pub scores: Vec<ScoreDetection>,
    /// The score with the highest AUROC; the simplest of equals.
    pub best_score: &'static str,
    /// Its AUROC.
    pub best_auroc: f64,
    /// Which rows they are: `60 rows of far.csv`.
    #[serde(skip)]
    described: String,
}

/// How well one score detects out-of-distribution rows.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreDetection {
    /// The name of the score.
    pub score: &'static str,
    /// AUROC, AUPR with out-of-distribution rows positive, and the FPR at 95% TPR.
    pub found: Detection,
    /// Scores of in-distribution rows.
    #[serde(skip)]
    pub in_distribution: Vec<f64>,
    /// Scores of out-of-distribution rows.
    #[serde(skip)]
    pub out_of_distribution: Vec<f64>,
}

impl OutOfDistribution {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        let (rows, model) = (subject.out_of_distribution.as_ref()?, subject.model);
        let own = &subject.seen.rows;
        // The detector is fitted to one half of the rows and assessed on the other.
        let half = |rest: usize| (0..own.n()).filter(|row| row % 2 == rest).collect::<Vec<usize>>();
        let (fitted, held_out) = (half(0), half(1));
        if held_out.is_empty() {
            return None;
        }
        let detector = OutOfDistributionDetector::fit(model, own.x.select(Axis(0), &fitted).view());
        let near = detector.scores(model, own.x.select(Axis(0), &held_out).view());
        let far = detector.scores(model, rows.x.view());
        let pairs = near.named().into_iter().zip(far.named());
        let scores: Vec<ScoreDetection> = pairs
            .map(|((score, near), (_, far))| ScoreDetection {
                score,
                found: Detection::of(near, far),
                in_distribution: near.to_vec(),
                out_of_distribution: far.to_vec(),
            })
            .collect();
        let best = scores.iter().rev().max_by(|a, b| a.found.auroc.total_cmp(&b.found.auroc));
        let best = best.expect("there are four scores");
        Some(Self {
            rows: rows.n(),
            best_score: best.score,
            best_auroc: best.found.auroc,
            described: format!("{} of {}", rows.described(model.rows().noun()), rows.name),
            scores,
        })
    }
}

pub(super) const HEADING: &str = "Out-of-distribution detection";

pub(super) fn section(found: Option<&OutOfDistribution>, display: &Display) -> Section {
    let (heading, noun) = (HEADING.to_string(), display.noun());
    let Some(found) = found else {
        let text = format!(
            "Given {noun} of another distribution, and at least two {noun} of the model's own distribution, this section says \
             how well they are told apart."
        );
        return Section { heading, text, ..Section::default() };
    };
    let warning = match found.scores[0].found.auroc < 0.5 {
        true => format!(
            " The likelihood alone is worse than guessing here: the model finds the out-of-distribution {noun} more likely \
             than those of its own distribution."
        ),
        false => String::new(),
    };
    Section {
        heading,
        text: format!(
            "{}, compared with half of the in-distribution {noun}; the scores were fitted to the other half.{warning}",
            found.described
        ),
        tables: vec![table(found, display)],
        grids: vec![Grid::of(GridWidth::Two, found.scores.iter().map(histogram).collect())],
    }
}

fn table(found: &OutOfDistribution, display: &Display) -> Table {
    let row = |score: &ScoreDetection| {
        let Detection { auroc, aupr, fpr95 } = score.found;
        vec![
            TableCell::from(capital(score.score)),
            TableCell::number(auroc, 4),
            TableCell::number(aupr, 4),
            TableCell::shown(fpr95, percent(fpr95)),
        ]
    };
    let (one, noun) = (display.one(), display.noun());
    Table {
        columns: vec![
            TableColumn::text("Score"),
            TableColumn::number("AUROC").highest(),
            TableColumn::number("AUPR").highest(),
            TableColumn::number("FPR at 95\u{a0}% TPR").lowest(),
        ],
        rows: found.scores.iter().map(row).collect(),
        caption: format!(
            "AUROC: the probability that an out-of-distribution {one} scores higher than an in-distribution one. AUPR: the area \
             under the precision-recall curve, with out-of-distribution {noun} as positives. FPR at 95\u{a0}% TPR: the share of \
             in-distribution {noun} rejected when 95\u{a0}% of out-of-distribution {noun} are detected."
        ),
    }
}

fn histogram(score: &ScoreDetection) -> Figure {
    let (low, high) = middle(&score.in_distribution, &score.out_of_distribution);
    let clip = |values: &[f64]| values.iter().map(|v| v.clamp(low, high)).collect::<Vec<f64>>();
    Histogram {
        title: capital(score.score),
        caption: meaning(score.score).into(),
        x_label: "score".into(),
        samples: vec![
            ("in-distribution".into(), clip(&score.in_distribution)),
            ("out-of-distribution".into(), clip(&score.out_of_distribution)),
        ],
        ..Histogram::default()
    }
    .figure()
}

/// The range that holds all but the outermost two percent of both samples; what is beyond is drawn at the edge.
fn middle(one: &[f64], other: &[f64]) -> (f64, f64) {
    let quantile = |values: &[f64], share: f64| {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(((sorted.len().max(1) - 1) as f64 * share).round() as usize).copied()
    };
    let ends = |share: f64| [quantile(one, share), quantile(other, share)].into_iter().flatten();
    let low = ends(TAIL).reduce(f64::min).unwrap_or(0.0);
    (low, ends(1.0 - TAIL).reduce(f64::max).unwrap_or(1.0).max(low))
}

fn meaning(score: &str) -> &'static str {
    match score {
        "raw likelihood" => "\u{2212}log p(x). Simple rows can be more likely than in-distribution ones.",
        "typicality" => {
            "Distance of log p(x) from its in-distribution median: too likely is suspicious, too."
        }
        "latent distance" => {
            "Distance to the nearest class mean in z, relative to the variance of each dimension."
        }
        _ => "Log-likelihood ratio of a background density to the model: what is merely simple cancels.",
    }
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn histograms_cut_off_both_tails() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(middle(&values, &[50.0, f64::INFINITY]), (2.0, 98.0));
        assert_eq!(middle(&[f64::NAN], &[]), (0.0, 1.0));
    }
}
