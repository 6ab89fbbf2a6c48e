//! The report as a page.

use flowgmm_report::{Page, Tile};
use semisup::Interval;

use super::{Report, trust};
use crate::pages::{percent, signed};

impl Report {
    /// The report as one page, to be written as one HTML file.
    pub fn to_page(&self) -> Page {
        let overview = &self.overview;
        Page {
            title: format!("What flowgmm learnt from {}", overview.name),
            lead: format!("{}\n\n{}", self.lead(), self.help.short(overview)),
            tiles: self.tiles(),
            headline: None,
            sections: vec![
                self.help.section(overview),
                trust::section(self.trust.as_ref(), overview),
                self.hardest.section(overview),
                self.latent.section(overview),
                self.data.section(overview),
                self.choices.section(overview),
                self.samples.section(overview),
            ],
            footer: self.footer(),
        }
    }

    fn lead(&self) -> String {
        let overview = &self.overview;
        let rows = overview.nouns();
        let learnt = format!(
            "flowgmm learnt to distinguish {} classes from {} labelled and {} unlabelled {rows} {}.",
            overview.classes.len(),
            overview.n_labelled,
            overview.n_unlabelled,
            overview.shape
        );
        match &self.trust {
            Some(trust) => format!("{learnt} {}", trust.sentence(overview)),
            None => format!(
                "{learnt} How well cannot be measured: there are too few labels to hold any out. Give labelled test \
                 {rows}, or label more."
            ),
        }
    }

    fn tiles(&self) -> Vec<Tile> {
        let overview = &self.overview;
        let rows = overview.nouns();
        let tile = |name: String, value: String, note: String| Tile { name, value, note };
        let n = overview.n_labelled + overview.n_unlabelled;
        let mut tiles = vec![tile(
            format!("Labelled {rows}"),
            overview.n_labelled.to_string(),
            format!("of {n} in {} classes", overview.classes.len()),
        )];
        if let Some(trust) = &self.trust {
            let Interval { low, high } = trust.accuracy_interval;
            let note = format!("{} to {}, {}", percent(low), percent(high), trust.by(overview));
            tiles.push(tile("Accuracy".into(), percent(trust.scores.accuracy), note));
            let note = "mean gap between confidence and accuracy".into();
            tiles.push(tile("Calibration error".into(), percent(trust.scores.ece), note));
        }
        if let Some(found) = self.help.best() {
            let note = format!("{} to {} points", signed(found.interval.low), signed(found.interval.high));
            tiles.push(tile(format!("Gain from unlabelled {rows}"), signed(found.difference), note));
        }
        if let Some(found) = self.samples.two_sample {
            let note =
                format!("accuracy of a classifier that tells them from real {rows}; 50\u{a0}% is ideal");
            tiles.push(tile("Samples recognised".into(), percent(found.accuracy), note));
        }
        tiles
    }

    fn footer(&self) -> String {
        let overview = &self.overview;
        let made = format!(
            "Made by flowgmm {}, seed {}. The fit took {:.1} s, this report {:.1} s.",
            overview.version, overview.seed, overview.fit_seconds, self.seconds
        );
        match &overview.model_name {
            Some(model) => format!("{made} Model: {model}."),
            None => made,
        }
    }
}
