//! An explanation as a page.

use flowgmm_report::{Page, Section, Tile};

use super::{
    Explanation, boundary, calibration, counterfactuals, features, label_next, map, out_of_distribution,
    paths, prediction_sets, samples, trust,
};
use crate::pages::percent;

impl Explanation {
    /// The findings as a self-contained page.
    pub fn to_page(&self) -> Page {
        Page {
            title: format!("What the model says about {}", self.data),
            lead: self.lead(),
            tiles: self.tiles(),
            headline: None,
            sections: self.sections(),
            footer: format!(
                "flowgmm {} explain, seed {}, {:.1} s.",
                env!("CARGO_PKG_VERSION"),
                self.seed,
                self.seconds
            ),
        }
    }

    /// Which rows were used: `1200 rows`, or `10000 rows drawn at random from the 60000`.
    pub fn described(&self) -> String {
        let (n, total, noun) = (self.rows, self.rows_in_all, self.display.noun());
        match total > n {
            true => format!("{n} {noun} drawn at random from the {total}"),
            false => format!("{n} {noun}"),
        }
    }

    fn sections(&self) -> Vec<Section> {
        let display = &self.display;
        vec![
            calibration::section(self.calibration.as_ref(), display),
            prediction_sets::section(self.prediction_sets.as_ref(), display),
            trust::section(&self.trust, display),
            label_next::section(self.label_next.as_ref(), display),
            map::section(&self.map, display),
            boundary::section(&self.boundary, display),
            paths::section(self.paths.as_ref(), display),
            counterfactuals::section(&self.counterfactuals, display),
            features::section(self.features.as_ref(), display),
            samples::section(self.samples.as_ref(), display),
            out_of_distribution::section(self.out_of_distribution.as_ref(), display),
        ]
    }

    fn lead(&self) -> String {
        let labels = match self.labelled {
            0 => "None of them has a label, so this page shows what the model does, not whether it is right."
                .into(),
            n if n == self.rows => "All of them have labels.".to_string(),
            n => format!("{n} of them have labels."),
        };
        let held_out = match self.labelled {
            0 => String::new(),
            _ => format!(
                " What this page says about accuracy and calibration holds only if the model was not fitted to these {}.",
                self.display.noun()
            ),
        };
        let classes = match self.classes.len() {
            1 => "one class".to_string(),
            n => format!("{n} classes"),
        };
        let described = self.described();
        let mut lead =
            format!("{described} of {}, as seen by a model with {classes}. {labels}{held_out}", self.data);
        if self.display.is_blend() {
            lead += &format!("\n\n{}", self.display.rests_on());
        }
        lead
    }

    fn tiles(&self) -> Vec<Tile> {
        let tile =
            |name: &str, value: String, note: &str| Tile { name: name.into(), value, note: note.into() };
        let mut tiles = Vec::new();
        if let Some(found) = &self.calibration {
            let note = format!("on {} with labels", self.display.noun());
            tiles.push(tile("Accuracy", percent(found.accuracy), &note));
            let [before, after] = [&found.as_stored, &found.calibrated].map(|c| c.ece[1].equal_width);
            let note = format!("after calibration on these labels; {} as stored", percent(before));
            tiles.push(tile("Calibration error", percent(after), &note));
        }
        if let Some(found) = &self.prediction_sets {
            let wanted = percent(1.0 - found.alpha);
            let note =
                format!("{wanted} asked for; {:.2} classes in a set on average", found.measured.mean_size);
            tiles.push(tile("Prediction sets with the true class", percent(found.measured.coverage), &note));
        }
        let share = self.trust.abstentions() as f64 / self.rows as f64;
        tiles.push(tile("Abstaining advised", percent(share), "see the trust cards"));
        if let Some(found) = &self.out_of_distribution {
            let note = format!("AUROC of the best score, {}", found.best_score);
            tiles.push(tile("Out-of-distribution detection", format!("{:.3}", found.best_auroc), &note));
        }
        tiles
    }
}

/// A word or phrase with a capital letter.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
