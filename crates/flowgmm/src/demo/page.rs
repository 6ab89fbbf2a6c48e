//! The page of the report.

use flowgmm_report::{Page, Section, Table, TableCell, TableColumn};

use super::Solved;
use crate::pages::signed;

const LEAD: &str = "Labels are expensive, data are cheap. FlowGMM learns an invertible map from the data to a space \
    in which every class is a Gaussian, from labelled and unlabelled rows together, by exact likelihood. The same \
    model then classifies, says how sure it is, and generates new data.\n\nEach problem below was fitted twice by the \
    same program with the same settings: once with its unlabelled rows and once without.";

/// The page of solved problems, with a section for each.
pub(super) fn page(solved: &[Solved], drawn: Vec<Section>, seed: u64, seconds: f64) -> Page {
    let mut sections = vec![how_to_read()];
    sections.extend(drawn);
    Page {
        title: "FlowGMM: what unlabelled data are worth".into(),
        lead: LEAD.into(),
        headline: Some(headline(solved)),
        sections,
        footer: format!(
            "flowgmm {} demo --seed {seed}, fitted and drawn in {seconds:.0} s. After Izmailov, Kirichenko, Finzi and \
             Wilson, Semi-Supervised Learning with Normalizing Flows (ICML 2020).",
            env!("CARGO_PKG_VERSION"),
        ),
        ..Page::default()
    }
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
        vec![
            solved.dataset.name().replace('-', " ").into(),
            TableCell::number(100.0 * solved.semi_supervised.scores.accuracy, 1),
            TableCell::number(100.0 * solved.labelled_only.scores.accuracy, 1),
            TableCell::shown(100.0 * solved.gain, signed(solved.gain)),
            TableCell::from(solved.labels),
            TableCell::from(solved.unlabelled),
            TableCell::number(solved.seconds(), 1),
        ]
    };
    Table {
        caption: "Accuracy on test data in percent, learnt from all rows and from labelled rows only.".into(),
        columns: vec![
            TableColumn::text("Problem"),
            TableColumn::number("All rows"),
            TableColumn::number("Labelled"),
            TableColumn::number("Gain"),
            TableColumn::number("Labels"),
            TableColumn::number("Unlabelled"),
            TableColumn::number("Seconds"),
        ],
        rows: solved.iter().map(row).collect(),
    }
}
