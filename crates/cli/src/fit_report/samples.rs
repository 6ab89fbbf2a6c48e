//! Does the model know what rows look like? Its samples held against real rows.

use flowgmm_learners::{Judge, TwoSample, two_sample};
use flowgmm_report::{Columns, Estimate, Grid, Intervals, Plot, Section};
use ndarray::{Array2, Axis};

use super::{Subject, percent, spread};
use crate::exit::Result;

/// Rows of each kind.
const MOST: usize = 2000;

/// Draws as many rows as there are real ones and has a classifier tell them apart.
pub fn test(subject: &Subject) -> Result<Option<TwoSample>> {
    let real = real(subject);
    let mut rng = semisup::rng(subject.settings.seed);
    let (drawn, _) = subject.model.sample(real.nrows(), None, 1.0, &mut rng);
    // What `flowgmm sample` writes: known levels, numbers on their grid.
    let drawn = match subject.model.encoding() {
        Some(encoding) => encoding.encode(&encoding.decode(drawn.view()))?.x,
        None => drawn,
    };
    let finite: Vec<usize> =
        (0..drawn.nrows()).filter(|&row| drawn.row(row).iter().all(|v| v.is_finite())).collect();
    Ok(two_sample(real.view(), drawn.select(Axis(0), &finite).view(), &mut rng)?)
}

/// Test rows if there are any, else training rows.
fn real(subject: &Subject) -> Array2<f64> {
    let x = subject.test.map_or(subject.data.x(), |test| test.x.view());
    x.select(Axis(0), &spread(x.nrows(), MOST))
}

/// The section.
pub fn section(subject: &Subject, found: Option<TwoSample>) -> Section {
    let heading = "Do samples of the model look like real rows?".to_string();
    let Some(found) = found else {
        let text = "Fewer than 20 rows are too few to tell.".into();
        return Section { heading, text, ..Section::default() };
    };
    let grids = vec![Grid::of(Columns::Two, vec![figure(found).figure()])];
    Section { heading, text: text(subject, found), grids, ..Section::default() }
}

fn text(subject: &Subject, found: TwoSample) -> String {
    let rows = if subject.test.is_some() { "of the test rows" } else { "of the rows it was fitted to" };
    let judge = match found.classifier {
        Judge::Logistic => "a logistic regression on columns and their squares",
        Judge::Neighbours => "a vote of nearest neighbours",
    };
    let verdict = match found.interval {
        interval if interval.low <= 0.5 => "no better than a coin: it found no difference",
        interval if interval.high < 0.75 => {
            "better than a coin: samples are close to real rows, not the same"
        }
        _ => "much better than a coin: samples differ from real rows in ways that are easy to see",
    };
    format!(
        "A classifier two-sample test (Lopez-Paz and Oquab, 2017). Rows drawn from the model, as flowgmm sample writes \
         them, are mixed with as many {rows}; {judge} learns on one half to tell them apart and is judged on the \
         other. It was right on {} of {} rows (95\u{a0}% interval {} to {}), {verdict}.\n\nThis matters if you use samples, \
         log p or typicality. Predictions need less: they only need the classes' relative densities.",
        percent(found.accuracy),
        found.n,
        percent(found.interval.low),
        percent(found.interval.high)
    )
}

fn figure(found: TwoSample) -> Intervals {
    let estimate = Estimate {
        name: "real or sampled?".into(),
        value: 100.0 * found.accuracy,
        low: 100.0 * found.interval.low,
        high: 100.0 * found.interval.high,
        colour: 0,
    };
    Intervals {
        title: "How often samples are recognised".into(),
        caption: "The dashed line is a coin: samples that nobody can tell from real rows.".into(),
        x_label: "accuracy in percent".into(),
        reference: Some(50.0),
        estimates: vec![estimate],
    }
}
