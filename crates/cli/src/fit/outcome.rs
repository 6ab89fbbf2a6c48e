//! What a fit is summed up as, for people and for programs.

use std::path::PathBuf;

use semisup::{Classifier, Scores, metrics};
use serde_json::{Value, json};

use super::{device, engine};
use crate::{
    columns,
    fit_report::{Answers, Subject},
    inspect, text,
};

/// What a fit is summed up from.
pub struct Outcome<'a> {
    /// What was fitted to what.
    pub subject: &'a Subject<'a>,
    /// Scores on the rows of `--test`.
    pub test: Option<Scores>,
    /// The page that was written, and its answers.
    pub report: Option<(&'a PathBuf, Answers)>,
}

impl Outcome<'_> {
    fn labelled_accuracy(&self) -> f64 {
        let labelled = self.subject.data.labelled_only();
        let y: Vec<usize> = labelled.y().iter().flatten().copied().collect();
        metrics::accuracy(&self.subject.model.predict(labelled.x()), &y)
    }

    fn per_class(&self) -> impl Iterator<Item = (&String, usize)> {
        self.subject.data.classes().iter().zip(self.subject.data.class_counts())
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let last = self.subject.model.history().epochs.last();
        let provenance = self.subject.model.provenance();
        let mut object = json!({
            "model": self.subject.model_path.display().to_string(),
            "rows": self.subject.data.n(),
            "labelled": provenance.n_labelled,
            "unlabelled": provenance.n_unlabelled,
            "labelled_per_class": self.per_class().map(|(class, n)| (class.clone(), json!(n)))
                .collect::<serde_json::Map<_, _>>(),
            "columns": self.subject.data.columns(),
            "parameters": inspect::parameters(self.subject.model),
            "decisions": self.subject.model.decisions(),
            "config": self.subject.settings.config,
            "seed": self.subject.settings.seed,
            "threads": self.subject.settings.threads,
            "device": self.subject.settings.device,
            "hardware": self.subject.model.gmm().place().describe(),
            "engine": engine(self.subject.settings),
            "steps": last.map(|record| record.step),
            "loss": last.map(|record| record.loss),
            "terms": last.map(|record| &record.terms),
            "test": self.test,
            "labelled_accuracy": self.labelled_accuracy(),
            "rollbacks": provenance.rollbacks,
            "certificate": provenance.certificate,
            "seconds": self.subject.seconds.as_secs_f64(),
        });
        if let Some((path, answers)) = &self.report {
            object["report"] = json!(path.display().to_string());
            answers.add_to(&mut object);
        }
        object
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let provenance = self.subject.model.provenance();
        let (labelled, unlabelled) = (provenance.n_labelled, provenance.n_unlabelled);
        let counts: Vec<String> = self.per_class().map(|(class, n)| format!("{class}: {n}")).collect();
        let mut facts = vec![
            ("rows", format!("{} ({labelled} labelled, {unlabelled} unlabelled)", self.subject.data.n())),
            ("labels", text::list(&counts)),
            ("columns", columns::kinds(self.subject.schema)),
            ("dimensions", self.subject.data.dim().to_string()),
            ("settings", self.subject.settings.origin()),
            ("seed", self.subject.settings.seed.to_string()),
            ("device", device(self.subject.settings, self.subject.model)),
            ("parameters", inspect::parameters(self.subject.model).to_string()),
        ];
        if let Some(last) = self.subject.model.history().epochs.last() {
            let terms: Vec<String> =
                last.terms.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
            facts.push(("final loss", format!("{:.4} ({})", last.loss, terms.join(", "))));
        }
        let decisions = self.subject.model.decisions();
        facts.extend(decisions.iter().map(|d| (d.what.as_str(), format!("{} ({})", d.choice, d.why))));
        facts.push(("temperature", format!("{:.3}", self.subject.model.temperature())));
        facts.push(("class shares", text::shares(self.subject.model)));
        facts.push(("labelled accuracy", text::percent(self.labelled_accuracy())));
        if let Some(certificate) = &provenance.certificate {
            facts.push(("round trip", text::certificate(certificate)));
        }
        if let Some(test) = &self.test {
            facts.push(("test", text::tested(test)));
        }
        facts.push(("time", format!("{:.1} s", self.subject.seconds.as_secs_f64())));
        facts.push(("model", self.subject.model_path.display().to_string()));
        if let Some((path, answers)) = &self.report {
            facts.extend(answers.facts());
            facts.push(("report", path.display().to_string()));
        }
        text::facts(&facts)
    }
}
