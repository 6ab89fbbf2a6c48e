//! The page of the report.

use flowgmm_report::{Page, Section, Table, TableCell, TableColumn};

use super::Solved;
use crate::pages::signed;

const LEAD: &str = "Labels are expensive; data are cheap. FlowGMM learns an invertible map from the data to a space in \
    which every class is a Gaussian, from labelled and unlabelled rows together, by exact likelihood. The same model then \
    classifies, says how sure it is, and generates new data.\n\nEach problem below was fitted twice with the same \
    settings: once with its unlabelled rows and once without.";

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
        text: "Triangles are labelled points, dots unlabelled ones. (a) shows the data and the class that the model predicts \
               for every point of the plane, paler where it is less sure. (b) shows where the flow f maps the data: every \
               class has its Gaussian, drawn as rings at one and two standard deviations. (c) and (d) go the other way: \
               points drawn from the Gaussians, and where f⁻¹ maps them. If the model is right, (d) looks like (a). The \
               second line of panels is the same network trained without the dots.\n\nThe curves are the terms of the \
               loss, each before it is weighted: the negative log-likelihood of labelled and of unlabelled rows; \
               consistency, by which two noisy copies of a row should get the same class; the cross-entropy of the \
               labels; soft targets, the predictions of a quick learner early in training; and alignment, by which the \
               predicted classes should be as common as expected."
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
        caption: "Test accuracy in percent of fits to all rows and to the labelled rows only.".into(),
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
