//! The report: one page, and each figure as a file beside it.

use std::{fs, path::Path};

use flowgmm_report::{Cell, Column, Page, Section, Table};

use super::{Solved, figures::Drawn};
use crate::exit::{Failure, Result};

/// How the report came about.
pub struct About {
    /// Seed of data, labels and fits.
    pub seed: u64,
    /// From the first fit to the last figure.
    pub seconds: f64,
}

const LEAD: &str = "Labels are expensive, data are cheap. FlowGMM learns an invertible map from the data to a space \
    in which every class is a Gaussian, from labelled and unlabelled rows together, by exact likelihood. The same \
    model then classifies, says how sure it is, and generates new data.\n\nEach problem below was fitted twice by the \
    same program with the same settings: once with its unlabelled rows and once without.";

/// Writes `report.html` and the figures.
pub fn write(directory: &Path, solved: &[Solved], drawn: Vec<Drawn>, about: &About) -> Result<()> {
    let mut sections = vec![how_to_read()];
    for Drawn { section, files } in drawn {
        sections.push(section);
        for (name, svg) in files {
            let path = directory.join(name);
            fs::write(&path, svg).map_err(Failure::io(&path))?;
        }
    }
    let page = Page {
        title: "FlowGMM: what unlabelled data are worth".into(),
        lead: LEAD.into(),
        headline: Some(headline(solved)),
        sections,
        footer: format!(
            "flowgmm {} demo --seed {}, fitted and drawn in {:.0} s. After Izmailov, Kirichenko, Finzi and Wilson, \
             Semi-Supervised Learning with Normalizing Flows (ICML 2020).",
            env!("CARGO_PKG_VERSION"),
            about.seed,
            about.seconds
        ),
        ..Page::default()
    };
    let path = directory.join("report.html");
    fs::write(&path, page.to_html()).map_err(Failure::io(&path))
}

fn how_to_read() -> Section {
    Section {
        heading: "How to read the pictures".into(),
        text: "Triangles carry a label; dots do not. (a) shows the data and which class the model gives to every point \
               of the plane, paler where it is less sure. (b) shows where f carries the data: every class has its \
               Gaussian, drawn as rings at one and two standard deviations. (c) and (d) run the other way: points \
               drawn from the Gaussians, and where f⁻¹ carries them. If the model is right, (d) looks like (a). The \
               second row of each problem is the same network trained without the dots.\n\nThe curves are the terms \
               of the loss: the negative log-likelihood of labelled and of unlabelled rows, and what helps them, each \
               before it is weighted: agreement of two noisy views of a row (consistency), cross-entropy of the \
               labels, agreement with nearest neighbours early in training, and balance of the classes."
            .into(),
        ..Section::default()
    }
}

fn headline(solved: &[Solved]) -> Table {
    let row = |solved: &Solved| {
        let train = &solved.problem.train;
        let gain = 100.0 * solved.gain();
        vec![
            solved.problem.name.to_string().replace('-', " ").into(),
            Cell::number(100.0 * solved.all.scores.accuracy, 1),
            Cell::number(100.0 * solved.labelled.scores.accuracy, 1),
            Cell::shown(gain, format!("{gain:+.1}").replace('-', "\u{2212}")),
            Cell::from(train.labelled().len()),
            Cell::from(train.unlabelled().len()),
            Cell::number(solved.seconds(), 1),
        ]
    };
    Table {
        caption: "Accuracy on test data in percent, learnt from all rows and from labelled rows only.".into(),
        columns: vec![
            Column::text("Problem"),
            Column::number("All rows"),
            Column::number("Labelled"),
            Column::number("Gain"),
            Column::number("Labels"),
            Column::number("Unlabelled"),
            Column::number("Seconds"),
        ],
        rows: solved.iter().map(row).collect(),
    }
}
