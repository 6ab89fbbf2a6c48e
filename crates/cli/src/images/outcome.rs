//! What a fit to images came to, in JSON and in words.

use std::path::Path;

use flowgmm::{Cost, Model};
use flowgmm_data::Layout;
use semisup::{Classifier, Scores, SemiSupervised, metrics};
use serde_json::{Value, json};

use super::describe;
use crate::{
    fit::{device, engine},
    inspect,
    settings::Settings,
    text,
};

/// What a fit is summed up from.
pub struct Outcome<'a> {
    /// The model.
    pub model: &'a Model,
    /// What it was fitted to.
    pub data: &'a SemiSupervised,
    /// How.
    pub settings: &'a Settings,
    /// What that was expected to cost.
    pub cost: Cost,
    /// Where the model is.
    pub path: &'a Path,
    /// Bits per pixel value of training images.
    pub bits: f64,
    /// Scores on the images of `--test`, and their bits per pixel value.
    pub test: Option<(Scores, f64)>,
    /// How long the fit took.
    pub seconds: f64,
}

impl Outcome<'_> {
    fn labelled_accuracy(&self) -> f64 {
        let labelled = self.data.labelled_only();
        let y: Vec<usize> = labelled.y().iter().flatten().copied().collect();
        metrics::accuracy(&self.model.predict(labelled.x()), &y)
    }

    fn per_class(&self) -> impl Iterator<Item = (&String, usize)> {
        self.data.classes().iter().zip(self.data.class_counts())
    }

    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        let (provenance, last) = (self.model.provenance(), self.model.history().epochs.last());
        json!({
            "model": self.path.display().to_string(),
            "images": self.data.n(),
            "labelled": provenance.n_labelled,
            "unlabelled": provenance.n_unlabelled,
            "labelled_per_class": self.per_class().map(|(class, n)| (class.clone(), json!(n)))
                .collect::<serde_json::Map<_, _>>(),
            "layout": self.model.layout(),
            "parameters": inspect::parameters(self.model),
            "decisions": self.model.decisions(),
            "config": self.settings.config,
            "seed": self.settings.seed,
            "threads": self.settings.threads,
            "device": self.settings.device,
            "hardware": self.model.gmm().place().describe(),
            "engine": engine(self.settings),
            "estimated_memory": self.cost.memory,
            "estimated_flop": self.cost.flop,
            "steps": last.map(|record| record.step),
            "loss": last.map(|record| record.loss),
            "terms": last.map(|record| &record.terms),
            "bits_per_dim": self.bits,
            "test": self.test.as_ref().map(|(scores, _)| scores),
            "test_bits_per_dim": self.test.as_ref().map(|(_, bits)| bits),
            "labelled_accuracy": self.labelled_accuracy(),
            "rollbacks": provenance.rollbacks,
            "certificate": provenance.certificate,
            "seconds": self.seconds,
        })
    }

    /// For people.
    pub fn to_text(&self, layout: &Layout) -> String {
        let provenance = self.model.provenance();
        let counts: Vec<String> = self.per_class().map(|(class, n)| format!("{class}: {n}")).collect();
        let (n, labelled, unlabelled) = (self.data.n(), provenance.n_labelled, provenance.n_unlabelled);
        let mut facts = vec![
            ("images", format!("{n} ({labelled} labelled, {unlabelled} unlabelled), {}", describe(layout))),
            ("labels", text::list(&counts)),
            ("settings", self.settings.origin()),
            ("seed", self.settings.seed.to_string()),
            ("device", device(self.settings, self.model)),
            ("parameters", inspect::parameters(self.model).to_string()),
        ];
        if let Some(last) = self.model.history().epochs.last() {
            let terms: Vec<String> =
                last.terms.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
            facts.push(("final loss", format!("{:.4} ({})", last.loss, terms.join(", "))));
        }
        facts.push(("temperature", format!("{:.3}", self.model.temperature())));
        facts.push(("labelled accuracy", text::percent(self.labelled_accuracy())));
        facts.push(("bits per pixel value", format!("{:.3} on training images", self.bits)));
        if let Some(certificate) = &provenance.certificate {
            facts.push(("round trip", text::certificate(certificate)));
        }
        if let Some((test, bits)) = &self.test {
            facts.push(("test", format!("{}; {bits:.3} bits per pixel value", text::tested(test))));
        }
        facts.push(("time", format!("{:.1} s", self.seconds)));
        facts.push(("model", self.path.display().to_string()));
        text::facts(&facts)
    }
}
