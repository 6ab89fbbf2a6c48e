//! `fit --learner`: another learner on the user's own rows, to compare FlowGMM with.

use flowgmm::{Source, Training};
use flowgmm_bench::{LearnerFit, LearnerScores, fit_learner_watched, registry};
use serde_json::json;

use crate::{
    Global, bench, columns,
    exit::{Failure, Result},
    fit::Args,
    output::{self, TableOutput},
    progress::Progress,
    text,
};

/// A learner by its name.
pub struct LearnerRun {
    name: String,
}

impl LearnerRun {
    /// The learner of `--learner`, if one is asked for. Checks the request before anything is read.
    pub fn asked_for(args: &Args) -> Result<Option<Self>> {
        let Some(name) = &args.settings.learner else {
            // clap forgets `requires` where the required argument conflicts with a present one.
            return match args.output.predictions {
                None => Ok(None),
                Some(_) => Err(Failure::Usage(
                    "--predictions goes with --learner; a model's predictions are written by `flowgmm predict`".into(),
                )),
            };
        };
        let registry = registry();
        if registry.get(name).is_none() {
            let known: Vec<&str> = registry.names().collect();
            let message = format!("--learner {name}: unknown; known are {}", known.join(", "));
            return Err(Failure::Usage(message));
        }
        let steps = args.settings.steps.unwrap_or_default();
        registry
            .learner(name, args.settings.steps)
            .map_err(|_| Failure::Usage(format!("--learner {name} cannot be trained for {steps} steps")))?;
        match &args.output.predictions {
            None if args.test.is_none() => {
                return Err(Failure::Usage(format!(
                    "--learner {name} leaves no model file: ask for --predictions OUT, or for scores with --test FILE"
                )));
            }
            _ => {}
        }
        Ok(Some(Self { name: name.clone() }))
    }

    /// Fits, evaluates and writes what was asked for.
    pub fn run(
        &self,
        args: &Args,
        training: &Training,
        test: Option<&Source>,
        global: &Global,
        mut progress: Progress,
    ) -> Result<()> {
        let seed = args.settings.seed.unwrap_or(0);
        let fit = fit_learner_watched(&self.name, training, args.settings.steps, seed, &mut progress)
            .map_err(bench::failure)?;
        let test = test.map(|test| fit.evaluate(test, &mut progress)).transpose().map_err(bench::failure)?;
        drop(progress);
        output::warn(test.as_ref().map_or(&[], |found| &found.warnings));
        if let Some(path) = &args.output.predictions {
            let mut out = TableOutput::at(path);
            out.write(fit.predictions().map_err(bench::failure)?)?;
            out.finish()?;
        }
        let predictions = args.output.predictions.as_ref().map(|path| path.display().to_string());
        if global.json {
            let mut object = serde_json::to_value(&fit.report).expect("plain data");
            object["layout"] = json!(training.rows.layout());
            object["test"] = json!(test);
            object["predictions"] = json!(predictions);
            return output::print_json(&object);
        }
        output::print(&describe(&fit, training, test.as_ref(), predictions))
    }
}

fn describe(
    fit: &LearnerFit,
    training: &Training,
    test: Option<&LearnerScores>,
    predictions: Option<String>,
) -> String {
    let report = &fit.report;
    let (labelled, unlabelled) = (report.labelled, report.unlabelled);
    let mut facts = vec![
        ("learner", format!("{}: {}", fit.title, report.settings)),
        ("rows", format!("{} ({labelled} labelled, {unlabelled} unlabelled)", report.rows)),
        match &training.schema {
            Some(schema) => ("columns", columns::kinds(schema)),
            None => (training.rows.noun(), training.rows.describe()),
        },
        ("seed", report.seed.to_string()),
    ];
    facts.extend(test.map(|found| ("test", text::tested(&found.scores))));
    facts.push(("time", format!("{:.1} s", report.seconds)));
    facts.extend(predictions.map(|to| ("predictions", text::path(to.as_ref()))));
    text::facts(&facts)
}
