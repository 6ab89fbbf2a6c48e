//! Handwritten digits: real beside generated ones, walks through the latent space, and how far to trust the model.

use flowgmm_core::analysis;
use flowgmm_report::{
    Confusion, Grid, GridWidth, ImageSheet, Layer, Legend, Mark, Panel, Reliability, ReliabilityBin, Section,
    SheetRow, Table, TableCell, TableColumn, Viewport,
};
use ndarray::{Array2, ArrayView1, Axis};
use semisup::{
    Classifier, Labelled, Preprocess, SemiSupervised,
    metrics::{self, reliability},
};

use super::{
    figures::{Album, Drawn},
    solve::{Fitted, Pair},
};
use crate::{
    Model,
    pages::{losses, points},
};

const SIDE: usize = 8;
/// Largest pixel value of the data set.
const INK: f64 = 16.0;
/// Images in a row of a sheet.
const ACROSS: usize = 10;
/// Samples a little closer to the means than the model's density: fewer smudges, still all different.
const TEMPERATURE: f64 = 0.6;
const BINS: usize = 10;

/// The section of the digits.
pub(super) fn section(pair: &Pair, seed: u64) -> Drawn {
    let Pair { problem, all, labelled } = pair;
    let model = &all.model;
    let mut album = Album::new("digits");
    let semi = generated(model, "Generated digits", seed);
    let poor = generated(&labelled.model, "Generated without unlabelled data", seed);
    let sheets = vec![
        album.add("real", &real(&problem.test)),
        album.add("generated", &semi),
        album.add("walks", &walks(model, &problem.train)),
        album.add("labelled-only-generated", &poor),
    ];
    let trust = vec![
        album.add("confusion", &confusion(model, all)),
        album.add("reliability", &trust(&problem.test, all)),
        album.add("latent", &latent(all, &problem.test)),
    ];
    let curves = vec![
        album.add("loss", &losses("Loss, labelled + unlabelled", model)),
        album.add("labelled-only-loss", &losses("Loss, labelled only", &labelled.model)),
    ];
    let names = model.classes().iter().enumerate().map(|(k, name)| (Mark::Class(k), name.clone()));
    let section = Section {
        heading: "Handwritten digits".into(),
        text: about(&problem.train, &problem.test),
        tables: vec![scores(all, labelled)],
        grids: vec![
            Grid::of(GridWidth::Two, sheets),
            Grid::of(GridWidth::Three, trust).with_legend(Legend { items: names.collect() }),
            Grid::of(GridWidth::Two, curves),
        ],
    };
    Drawn { section, files: album.files }
}

fn about(train: &SemiSupervised, test: &Labelled) -> String {
    format!(
        "{} images of 8 × 8 pixels, {} of them labelled, {} per digit; {} more are for testing. All pictures but those \
         marked otherwise come from one model.\n\nWhat to look at: the generated digits were drawn from the Gaussian of \
         their class and mapped back by f⁻¹, so each line should read as its digit. A walk is a straight line between two \
         digits in the latent space: the steps in between should look like digits too. The confusion matrix should be \
         empty off its diagonal. The nearer the bars of the reliability diagram end to the dashed line, the more the \
         probabilities can be trusted.",
        train.n(),
        train.labelled().len(),
        train.class_counts()[0],
        test.n()
    )
}

fn scores(all: &Fitted, labelled: &Fitted) -> Table {
    let row = |name: &str, fitted: &Fitted| {
        let scores = &fitted.scores;
        vec![
            name.into(),
            TableCell::number(100.0 * scores.accuracy, 1),
            TableCell::number(scores.nll, 3),
            TableCell::number(scores.brier, 3),
            TableCell::number(scores.ece, 3),
        ]
    };
    Table {
        caption: "On the test images.".into(),
        columns: vec![
            TableColumn::text("Learnt from"),
            TableColumn::number("Accuracy %").highest(),
            TableColumn::number("Negative log-likelihood").lowest(),
            TableColumn::number("Brier score").lowest(),
            TableColumn::number("Calibration error").lowest(),
        ],
        rows: vec![row("labelled + unlabelled", all), row("labelled only", labelled)],
    }
}

fn real(test: &Labelled) -> ImageSheet {
    let row = |k: usize| {
        let rows: Vec<usize> = (0..test.n()).filter(|&i| test.y()[i] == k).take(ACROSS).collect();
        SheetRow::ink(test.classes()[k].as_str(), images(&test.x().select(Axis(0), &rows)))
    };
    ImageSheet {
        title: "Real digits".into(),
        caption: "Test images; the model has never seen them.".into(),
        width: SIDE,
        height: SIDE,
        rows: (0..test.n_classes()).map(row).collect(),
    }
}

fn generated(model: &Model, title: &str, seed: u64) -> ImageSheet {
    let mut rng = semisup::rng(seed);
    let means = images(&model.decode(model.gmm().mixture().values().means.view()));
    let class_of = model.gmm().mixture().spec().class_of();
    let row = |k: usize| {
        let mean = class_of.iter().position(|&class| class == k).map(|c| means[c].clone());
        let (samples, _) = model.sample(ACROSS - 1, Some(k), TEMPERATURE, &mut rng);
        SheetRow::ink(model.classes()[k].as_str(), mean.into_iter().chain(images(&samples)).collect())
    };
    ImageSheet {
        title: title.into(),
        caption: format!(
            "f⁻¹(z) with z from the Gaussian of the class, at temperature {TEMPERATURE}; the first column is f⁻¹(μ), the \
             class mean."
        ),
        width: SIDE,
        height: SIDE,
        rows: (0..model.classes().len()).map(row).collect(),
    }
}

/// From a labelled digit to one of the next class.
fn walks(model: &Model, train: &SemiSupervised) -> ImageSheet {
    let first = |k: usize| (0..train.n()).find(|&i| train.y()[i] == Some(k)).expect("every class has labels");
    let steps: Vec<f64> = (0..ACROSS).map(|i| i as f64 / (ACROSS - 1) as f64).collect();
    let row = |k: usize| {
        let next = (k + 1) % train.n_classes();
        let ends = model.preprocess().apply(train.x().select(Axis(0), &[first(k), first(next)]).view());
        let path = analysis::interpolate(model.gmm(), ends.row(0), ends.row(1), &steps);
        let name = format!("{} → {}", train.classes()[k], train.classes()[next]);
        SheetRow::ink(name, images(&model.preprocess().invert(path.view())))
    };
    ImageSheet {
        title: "Walks through the latent space".into(),
        caption: "f⁻¹ of a straight line between the latent images of two labelled digits.".into(),
        width: SIDE,
        height: SIDE,
        rows: (0..train.n_classes()).map(row).collect(),
    }
}

fn confusion(model: &Model, fitted: &Fitted) -> Confusion {
    Confusion {
        title: "Confusion".into(),
        caption: "Test images by true digit (row) and predicted digit (column).".into(),
        classes: model.classes().to_vec(),
        counts: fitted.scores.confusion.clone(),
    }
}

fn trust(test: &Labelled, fitted: &Fitted) -> Reliability {
    let probabilities = fitted.test.log_probs.exp();
    let bins = reliability(probabilities.view(), test.y(), BINS).into_iter().map(|bin| {
        let metrics::Bin { lo, hi, n, confidence, accuracy } = bin;
        ReliabilityBin { low: lo, high: hi, confidence, accuracy, count: n }
    });
    Reliability {
        title: "Reliability".into(),
        caption:
            "On the diagonal, predictions made with 90\u{a0}% confidence are correct 90\u{a0}% of the time. Bars below it \
             mean overconfidence; the strip counts predictions."
                .into(),
        note: format!("ECE {:.3}", fitted.scores.ece),
        bins: bins.collect(),
    }
}

/// The latent space seen from where the class means are furthest apart.
fn latent(fitted: &Fitted, test: &Labelled) -> Panel {
    let means = fitted.model.gmm().mixture().values().means;
    let z = &fitted.test.z;
    let plane = Preprocess::pca(means.view(), 2, 0.0).map(|plane| plane.apply(z.view()));
    let z = points(plane.as_ref().unwrap_or(z).view());
    Panel {
        title: "Latent space".into(),
        caption: "Test images in the plane of the latent space that shows most of the distances between class means, \
                  coloured by true digit."
            .into(),
        viewport: Viewport::around(&z),
        layers: vec![Layer::ByClass(z.into_iter().zip(test.y().iter().copied()).collect())],
    }
}

fn images(x: &Array2<f64>) -> Vec<Vec<f64>> {
    let image = |row: ArrayView1<f64>| row.iter().map(|v| (v / INK).clamp(0.0, 1.0)).collect();
    x.rows().into_iter().map(image).collect()
}
