//! What a fit is summed up as, for people and for programs.

use std::{path::Path, time::Duration};

use flowgmm::{DeviceName, Engine, Evaluation, Fit, FitPlan, Training, data::Concern, report::Summary};
use serde_json::{Value, json};

use crate::{columns, text};

/// What a fit is summed up from.
pub struct Outcome<'a> {
    /// What came of it.
    pub fit: &'a Fit,
    /// Where the model is.
    pub path: &'a Path,
    /// Threads that were used.
    pub threads: usize,
    /// Scores on the rows of `--test`.
    pub evaluation: Option<Evaluation>,
    /// The page that was written, and its findings.
    pub report: Option<(&'a Path, Summary)>,
    /// How long everything took.
    pub seconds: Duration,
}

impl Outcome<'_> {
    fn per_class(&self) -> impl Iterator<Item = (&String, usize)> {
        let data = &self.fit.training.data;
        data.classes().iter().zip(data.class_counts())
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let Fit { model, training, settings, cost, seconds } = self.fit;
        let (provenance, last) = (model.provenance(), model.history().epochs.last());
        let layout = model.rows().layout();
        let mut object = json!({
            "model": self.path.display().to_string(),
            "labelled": provenance.n_labelled,
            "unlabelled": provenance.n_unlabelled,
            "labelled_per_class": self.per_class().map(|(class, n)| (class.clone(), json!(n)))
                .collect::<serde_json::Map<_, _>>(),
            "parameters": model.n_parameters(),
            "decisions": model.decisions(),
            "config": settings.config,
            "seed": settings.seed,
            "threads": self.threads,
            "device": settings.device,
            "hardware": model.gmm().place().describe(),
            "engine": settings.engine_used(),
            "estimated_memory": cost.memory,
            "estimated_flop": cost.flop,
            "steps": last.map(|record| record.step),
            "loss": last.map(|record| record.loss),
            "terms": last.map(|record| &record.terms),
            "test": self.evaluation.as_ref().map(|found| &found.scores),
            "labelled_accuracy": self.fit.labelled_accuracy(),
            "rollbacks": provenance.rollbacks,
            "certificate": provenance.certificate,
            "warnings": training.warnings,
            "held_out": self.fit.evidence(),
            "class_shares": model.class_shares(),
            "class_share_intervals": model.class_share_intervals(),
            "seconds": self.seconds.as_secs_f64(),
            "seconds_fit": seconds.as_secs_f64(),
        });
        object[model.rows().noun()] = json!(training.data.n());
        match layout {
            None => object["columns"] = json!(training.data.columns()),
            Some(layout) => {
                object["layout"] = json!(layout);
                object["bits_per_dim"] = json!(self.fit.bits_per_dim());
                object["test_bits_per_dim"] =
                    json!(self.evaluation.as_ref().and_then(|found| found.bits_per_dim));
            }
        }
        if let Some((path, summary)) = &self.report {
            object["report"] = json!(path.display().to_string());
            if let (Value::Object(object), Value::Object(found)) = (&mut object, json!(summary)) {
                object.extend(found);
            }
        }
        object
    }

    /// For people in a hurry: what was found, what to do next, what to expect, and what would improve it.
    pub fn summary(&self) -> String {
        let model = &self.fit.model;
        let (labelled, n) = (model.provenance().n_labelled, self.fit.training.data.n());
        let mut facts = vec![("class shares", text::shares(model)), ("without a model", self.guess())];
        facts.extend(self.evaluation.as_ref().map(|found| ("test", text::tested(&found.scores))));
        if let Some((path, summary)) = &self.report {
            facts.extend(summary.facts.iter().cloned());
            facts.push(("report", text::path(path)));
        }
        let (time, noun) = (text::duration(self.seconds.as_secs_f64()), model.rows().noun());
        facts.push(("time", format!("{time} for {n} {noun}, {labelled} of them labelled")));
        let model = text::path(self.path);
        facts.push(("model", format!("{model}   next: flowgmm predict {model} NEW_ROWS")));
        facts.push(("expect", text::expected(&self.fit.model)));
        facts.extend(self.improvement().map(|advice| ("to improve", advice)));
        text::facts(&facts)
    }

    /// What would help most: a column that gives the label away makes everything else look better than it is.
    fn improvement(&self) -> Option<String> {
        let mut warnings = self.fit.training.schema.iter().flat_map(|schema| schema.warnings());
        match warnings.find(|(_, warning)| warning.concern == Concern::Leak) {
            None => text::improvement(&self.fit.model),
            Some((column, _)) => Some(format!(
                "check column '{}' first: it may give the label away, and then new rows do worse than this",
                text::name(column)
            )),
        }
    }

    /// What accuracy is to be had without a model.
    fn guess(&self) -> String {
        let largest = self.fit.model.class_shares().into_iter().fold(0.0, f64::max);
        format!("{} by always guessing the most common class", text::percent(largest))
    }

    /// Everything, for people.
    pub fn to_text(&self) -> String {
        let Fit { model, training, settings, .. } = self.fit;
        let provenance = model.provenance();
        let (labelled, unlabelled) = (provenance.n_labelled, provenance.n_unlabelled);
        let counts: Vec<String> =
            self.per_class().map(|(class, n)| format!("{}: {n}", text::name(class))).collect();
        let mut facts = vec![
            (
                model.rows().noun(),
                format!("{} ({labelled} labelled, {unlabelled} unlabelled)", labelled + unlabelled),
            ),
            ("labels", text::list(&counts)),
            match &training.schema {
                Some(schema) => ("columns", columns::kinds(schema)),
                None => ("size", model.rows().describe()),
            },
            ("dimensions", training.data.dim().to_string()),
            ("settings", settings.describe()),
            ("seed", settings.seed.to_string()),
            ("device", self.device()),
            ("parameters", model.n_parameters().to_string()),
        ];
        if let Some(last) = model.history().epochs.last() {
            let terms: Vec<String> =
                last.terms.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
            facts.push(("final loss", format!("{:.4} ({})", last.loss, terms.join(", "))));
        }
        let reasons = model.decisions().iter().map(|d| (d.what.as_str(), text::decision(d)));
        facts.extend(reasons);
        facts.push(("temperature", format!("{:.3}", model.temperature())));
        facts.push(("class shares", text::shares(model)));
        facts.push(("labelled accuracy", text::percent(self.fit.labelled_accuracy())));
        let bits = |bits: f64| format!("{bits:.3} bits per pixel value");
        facts.extend(self.fit.bits_per_dim().map(|found| ("training images", bits(found))));
        if let Some(certificate) = &provenance.certificate {
            facts.push(("round trip", certificate.describe(model.rows().noun())));
        }
        if let Some(found) = &self.evaluation {
            let bits = found.bits_per_dim.map(|found| format!("; {}", bits(found))).unwrap_or_default();
            facts.push(("test", text::tested(&found.scores) + &bits));
        }
        facts.push(("expect", text::expected(model)));
        facts.extend(self.improvement().map(|advice| ("to improve", advice)));
        facts.push(("time", text::duration(self.seconds.as_secs_f64())));
        facts.push(("model", text::path(self.path)));
        if let Some((path, summary)) = &self.report {
            facts.extend(summary.facts.iter().cloned());
            facts.push(("report", text::path(path)));
        }
        text::facts(&facts)
    }

    /// Where the model was fitted, in words.
    fn device(&self) -> String {
        let (settings, model) = (&self.fit.settings, &self.fit.model);
        let ran = settings.engine_used();
        let engine = json!(ran);
        let engine = engine.as_str().unwrap_or_default();
        match settings.device {
            DeviceName::Cpu if ran == Engine::Composed => format!("cpu, {engine} engine"),
            DeviceName::Cpu => format!("cpu, {engine} engine ({})", flowgmm::instruction_set()),
            name => format!("{name} ({}), {engine} engine", model.gmm().place().describe()),
        }
    }
}

/// What a fit to images is about to take.
pub fn announced(plan: &FitPlan, training: &Training) -> String {
    let (data, noun) = (&training.data, training.rows.noun());
    let time = plan.seconds(training).map(|seconds| format!(", about {}", text::duration(seconds)));
    format!(
        "{} {noun}, {} of them labelled, {}\n{}\n{} steps{}",
        data.n(),
        data.labelled().len(),
        training.rows.describe(),
        plan.cost.describe(noun),
        plan.settings.config.train.steps,
        time.unwrap_or_default()
    )
}
