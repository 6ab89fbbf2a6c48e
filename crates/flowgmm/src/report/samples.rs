//! Does the model know what rows look like? Its samples compared with real rows.

use flowgmm_data::{Image, ImageLayout};
use flowgmm_learners::{TwoSample, TwoSampleClassifier, two_sample};
use flowgmm_report::{Estimate, Grid, GridWidth, ImageSheet, Intervals, Plot, Section, SheetRow};
use ndarray::{Array2, Axis};
use serde::Serialize;

use super::{
    Overview,
    hardest::intensities,
    subject::{Subject, evenly_spaced},
};
use crate::{error::Result, pages::percent};

/// Rows of each kind.
const MOST: usize = 2000;
/// Images of each class that are shown.
const IMAGES: usize = 8;
/// Classes of images that are shown.
const CLASSES: usize = 20;

/// How samples from the model compare with real rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleCheck {
    /// How well a classifier tells samples from real rows; `None` for fewer than 20 rows, and for images.
    pub two_sample: Option<TwoSample>,
    /// Images of each class, if rows are images.
    #[serde(skip)]
    pub images: Vec<ClassImages>,
}

/// Images of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassImages {
    /// The class.
    pub class: String,
    /// Labelled training images.
    pub labelled: Vec<Image>,
    /// Samples from the model.
    pub sampled: Vec<Image>,
}

impl SampleCheck {
    /// Draws samples and compares them with test rows, or with training rows if there are none.
    pub(super) fn find(subject: &Subject) -> Result<Self> {
        match subject.rows().layout() {
            Some(layout) => Ok(Self { two_sample: None, images: images(subject, layout) }),
            None => Ok(Self { two_sample: told_apart(subject)?, images: Vec::new() }),
        }
    }

    /// The section of the page.
    pub(super) fn section(&self, overview: &Overview) -> Section {
        let heading = format!("Do samples from the model look like real {}?", overview.nouns());
        if let Some(found) = self.two_sample {
            let grids = vec![Grid::of(GridWidth::Two, vec![interval(found).figure()])];
            return Section { heading, text: text(found, overview), grids, ..Section::default() };
        }
        if self.images.is_empty() {
            let text = "Fewer than 20 rows are too few to tell.".into();
            return Section { heading, text, ..Section::default() };
        }
        let text = "Compare for yourself: labelled images of each class, and new images of the same class drawn from the \
                    model. This matters if you use samples, log p or typicality, which are the flow's. Predictions \
                    need less: only the relative densities of the classes."
            .into();
        let figures = vec![
            self.sheet("Labelled images", |class| &class.labelled).figure(),
            self.sheet("Samples from the model", |class| &class.sampled).figure(),
        ];
        Section { heading, text, grids: vec![Grid::of(GridWidth::Two, figures)], ..Section::default() }
    }

    fn sheet(&self, title: &str, pick: fn(&ClassImages) -> &Vec<Image>) -> ImageSheet {
        let first = self.images.iter().find_map(|class| pick(class).first());
        let row = |class: &ClassImages| {
            SheetRow::ink(class.class.as_str(), pick(class).iter().map(intensities).collect())
        };
        ImageSheet {
            title: title.into(),
            caption: String::new(),
            width: first.map_or(0, |picture| picture.width),
            height: first.map_or(0, |picture| picture.height),
            rows: self.images.iter().map(row).collect(),
        }
    }
}

/// Has a classifier tell as many samples from real rows.
fn told_apart(subject: &Subject) -> Result<Option<TwoSample>> {
    let x = subject.test.as_ref().map_or(subject.data().x(), |test| test.x.view());
    let real = x.select(Axis(0), &evenly_spaced(x.nrows(), MOST));
    let mut rng = semisup::rng(subject.settings().seed);
    let (drawn, _) = subject.model().sample(real.nrows(), None, 1.0, &mut rng);
    // Samples as the user gets them: known levels, numbers on their grid.
    let drawn = match subject.rows().encoding() {
        Some(encoding) => encoding.apply(&encoding.invert(drawn.view()))?.x,
        None => drawn,
    };
    let is_finite = |&row: &usize| drawn.row(row).iter().all(|v| v.is_finite());
    let finite: Vec<usize> = (0..drawn.nrows()).filter(is_finite).collect();
    Ok(two_sample(real.view(), drawn.select(Axis(0), &finite).view(), &mut rng)?)
}

/// Labelled images and samples of each class.
fn images(subject: &Subject, layout: &ImageLayout) -> Vec<ClassImages> {
    let (data, model) = (subject.data(), subject.model());
    let mut rng = semisup::rng(subject.settings().seed);
    let pictures = |x: &Array2<f64>| -> Vec<Image> {
        x.rows().into_iter().map(|row| layout.image(&row.to_vec())).collect()
    };
    let mut of_class = |k: usize| {
        let own = (0..data.n()).filter(|&row| data.y()[row] == Some(k)).take(IMAGES);
        ClassImages {
            class: data.classes()[k].clone(),
            labelled: pictures(&data.x().select(Axis(0), &own.collect::<Vec<_>>())),
            sampled: pictures(&model.sample(IMAGES, Some(k), 1.0, &mut rng).0),
        }
    };
    (0..data.n_classes().min(CLASSES)).map(&mut of_class).collect()
}

fn text(found: TwoSample, overview: &Overview) -> String {
    let rows = if overview.has_test_rows { "test rows" } else { "rows it was fitted to" };
    let classifier = match found.classifier {
        TwoSampleClassifier::Logistic => "logistic regression on the columns and their squares",
        TwoSampleClassifier::Neighbours => "a nearest-neighbour classifier",
    };
    let verdict = match found.interval {
        interval if interval.low <= 0.5 => "no better than chance: it found no difference",
        interval if interval.high < 0.75 => {
            "better than chance: samples are close to real rows, but not the same"
        }
        _ => "much better than chance: samples differ from real rows in ways that are easy to see",
    };
    format!(
        "This is a classifier two-sample test (Lopez-Paz and Oquab, 2017). Rows drawn from the model are mixed with as \
         many of the {rows}; {classifier} learns to tell them apart on one half and is judged on the other. It was right \
         for {} of {} rows (95\u{a0}% interval {} to {}), {verdict}.\n\nThis matters if you use samples, log p or \
         typicality, which are the flow's. Predictions need less: only the relative densities of the classes.",
        percent(found.accuracy),
        found.n,
        percent(found.interval.low),
        percent(found.interval.high)
    )
}

fn interval(found: TwoSample) -> Intervals {
    let estimate = Estimate {
        name: "classifier".into(),
        value: 100.0 * found.accuracy,
        low: 100.0 * found.interval.low,
        high: 100.0 * found.interval.high,
        colour: 0,
    };
    Intervals {
        title: "How often samples are recognised".into(),
        caption: "The dashed line is chance: samples that cannot be told from real rows.".into(),
        x_label: "accuracy in percent".into(),
        reference: Some(50.0),
        estimates: vec![estimate],
    }
}
