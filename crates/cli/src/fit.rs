//! `flowgmm fit`: from a table or images with few labels to a model file.

mod args;
mod dataset;
mod images;
mod outcome;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{ArgMatches, parser::ValueSource};
use flowgmm::{
    Checkpoint, Fit, FitPlan, Override, Preset, ReportRequest, Request, Resume, SettingOrigin, Source,
    Training, report::Summary,
};
use serde_json::{Value, json};

use crate::{
    Global, columns, config,
    exit::{Failure, Result},
    files::{Files, Kind},
    interrupt,
    learner::LearnerRun,
    output::{self, write_whole},
    progress::Progress,
    reading::is_standard,
    text,
};
use dataset::NamedRows;
use outcome::Outcome;

pub use args::Args;

/// Runs the command.
pub fn run(args: &Args, global: &Global, matches: &ArgMatches) -> Result<()> {
    let began = Instant::now();
    args.check_files(global)?;
    let seed = args.settings.seed.unwrap_or(0);
    let named = args.dataset.read(args.reading.encoder(), args.settings.preset, seed)?;
    let request = args.request(matches, named.as_ref())?;
    args.refuse_what_does_not_fit(&request.source)?;
    let learner = LearnerRun::asked_for(args)?;
    interrupt::listen()?;
    let mut progress = Progress::new(global.quiet);
    let training = Training::read(&request, &mut progress)?;
    progress.warn(&training.warnings);
    hint_at_texts(&training, &progress);
    if let Some(schema) = training.schema.as_ref().filter(|_| args.print_schema) {
        return output::print(&columns::table(schema));
    }
    let test = named.map(|rows| rows.test).or_else(|| args.test.as_ref().map(|path| args.test_source(path)));
    if let Some(test) = &test {
        training.check_test(test)?;
    }
    if let Some(learner) = learner {
        return learner.run(args, &training, test.as_ref(), global, progress);
    }
    let plan = training.plan(&request, &mut progress).map_err(|error| args.named_config(error))?;
    let Some(path) = args.output.model.as_ref().filter(|_| !args.settings.print_config) else {
        let threads = global.threads(args.config());
        return output::print(&config::to_toml(&plan, threads));
    };
    progress.warn(&plan.warnings);
    announce(&plan, &training, &mut progress);
    let fit = training.fit(plan, &request, began, &mut progress).map_err(|error| args.interrupted(error))?;
    fit.model.save(path)?;
    let evaluation =
        test.as_ref().map(|test| flowgmm::evaluate(&fit.model, test, &mut progress)).transpose()?;
    progress.warn(evaluation.as_ref().map_or(&[], |found| &found.warnings));
    let report = args.write_report(&fit, path, test.as_ref(), &mut progress)?;
    drop(progress);
    let threads = global.threads(args.config());
    let outcome = Outcome { fit: &fit, path, threads, evaluation, report, seconds: began.elapsed() };
    match (global.json, global.verbose) {
        (true, _) => output::print_json(&outcome.to_json()),
        (false, true) => output::print(&outcome.to_text()),
        (false, false) => output::print(&outcome.summary()),
    }
}

/// What an interrupted report leaves behind.
fn no_report(error: flowgmm::Error, model: &Path) -> Failure {
    match error.kind() {
        flowgmm::ErrorKind::Cancelled => Failure::Interrupted(format!(
            "interrupted while the report was made; the model is in {}, no report was written",
            text::path(model)
        )),
        _ => error.into(),
    }
}

impl Args {
    /// The configuration file, if there is one.
    pub fn config(&self) -> Option<&Path> {
        self.settings.config.as_deref()
    }

    /// Refuses to write over what is read, or over files of another kind.
    fn check_files(&self, global: &Global) -> Result<()> {
        Files::new(global.force)
            .reads("FILE", self.dataset.dataset.is_none().then_some(&self.file))
            .reads("--unlabelled", &self.unlabelled)
            .reads("--test", &self.test)
            .reads("--config", &self.settings.config)
            .reads("--labels", &self.images.labels)
            .reads("--labelled", &self.images.labelled)
            .reads("--test-labels", &self.images.test_labels)
            .writes("--model", self.output.model.as_ref(), Kind::Model)
            .writes("--report", self.output.report.as_ref(), Kind::Page)
            .writes("--predictions", self.output.predictions.as_ref(), Kind::Table)
            .check()
    }

    /// Writes the report if one is wanted; its findings.
    fn write_report<'a>(
        &'a self,
        fit: &Fit,
        model: &Path,
        test: Option<&Source>,
        progress: &mut Progress,
    ) -> Result<Option<(&'a Path, Summary)>> {
        let Some(to) = &self.output.report else { return Ok(None) };
        let model_name = Some(model.display().to_string());
        let name = self.dataset.dataset.clone().unwrap_or_else(|| table_name(&self.file));
        let request = ReportRequest { test, name, model_name };
        let report = flowgmm::report(fit, &request, progress).map_err(|error| no_report(error, model))?;
        write_whole(to, report.to_page().to_html().as_bytes())?;
        progress.warn(&report.warnings);
        Ok(Some((to, report.summary())))
    }

    /// What the library is asked for.
    fn request(&self, matches: &ArgMatches, named: Option<&NamedRows>) -> Result<Request> {
        let more = |path: &PathBuf| self.reading.source(path);
        let mut source = named.map_or_else(|| self.reading.source(&self.file), |rows| rows.train.clone());
        let mut overrides = named.map_or(Vec::new(), |rows| rows.settings.clone());
        overrides.extend(self.overrides(matches)?);
        if let Some(label) = &self.label {
            source = source.label_column(label);
        } else if let Some(labels) = &self.images.labels {
            source = source.label_file(labels);
        }
        let resume = if self.output.resume { Resume::IfPresent } else { Resume::No };
        Ok(Request {
            unlabelled: self.unlabelled.iter().map(more).collect(),
            unlabelled_values: self.unlabelled_value.clone(),
            declared: self.declared.declared(),
            texts: self.text.clone(),
            image_size: self.images.size,
            label_split: self.images.labelled.clone().map(|path| (path, self.images.split)),
            preset: self.settings.preset,
            overrides,
            checkpoint: self.output.checkpoint.clone().map(|directory| Checkpoint {
                directory,
                every: self.output.checkpoint_every,
                resume,
            }),
            memory: self.output.memory,
            cache: self.cache_directory(),
            ..Request::new(source)
        })
    }

    /// Where rows that do not fit in memory are kept: beside the checkpoint, or else the model.
    fn cache_directory(&self) -> Option<PathBuf> {
        let beside = || Some(self.output.model.as_ref()?.parent()?.to_path_buf());
        let directory = self.output.checkpoint.clone().or_else(beside)?;
        Some(if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory })
    }

    /// Settings of the config file, then those of variables and flags.
    fn overrides(&self, matches: &ArgMatches) -> Result<Vec<Override>> {
        let threads = matches.get_one::<std::num::NonZeroUsize>("threads");
        let given: [(&str, &str, Option<Value>); 6] = [
            ("seed", "seed", self.settings.seed.map(|v| json!(v))),
            ("threads", "threads", threads.map(|v| json!(v))),
            ("device", "device", self.device.device.map(|v| json!(v))),
            ("engine", "engine", self.settings.engine.map(|v| json!(v))),
            ("forest", "pure_flow", self.settings.pure_flow.then_some(Value::Null)),
            ("train.steps", "steps", self.settings.steps.map(|v| json!(v))),
        ];
        let mut overrides = self.config().map(config::read).transpose()?.into_iter().collect::<Vec<_>>();
        for (path, argument, value) in given {
            let origin = match matches.value_source(argument) {
                Some(ValueSource::EnvVariable) => SettingOrigin::Environment,
                _ => SettingOrigin::Argument,
            };
            overrides.extend(value.map(|value| Override::from(path, value, origin)));
        }
        Ok(overrides)
    }

    /// The rows of `--test`.
    fn test_source(&self, path: &Path) -> Source {
        let source = self.reading.source(path);
        match (&self.label, &self.images.test_labels) {
            (Some(label), _) => source.label_column(label),
            (None, Some(labels)) => source.label_file(labels),
            (None, None) => source,
        }
    }

    /// Refuses flags for tables where there are images, and the other way round.
    fn refuse_what_does_not_fit(&self, source: &Source) -> Result<()> {
        match (source.holds_images()?, self.images.given(), self.for_tables()) {
            (false, Some(flag), _) => {
                Err(Failure::Usage(format!("{flag} is for images, and this is a table")))
            }
            (true, _, Some(flag)) => Err(Failure::Usage(format!(
                "{flag} is for tables, and {} holds images; leave it out, or name a column of labels with --label if it \
                 is a table",
                text::path(&self.file)
            ))),
            _ => Ok(()),
        }
    }

    /// The first flag that makes sense for tables only.
    fn for_tables(&self) -> Option<&'static str> {
        let given = [
            ("--print-schema", self.print_schema),
            ("--text", !self.text.is_empty()),
            ("--unlabelled-value", !self.unlabelled_value.is_empty()),
            ("--numeric, --categorical, --date or --ignore", !self.declared.declared().is_empty()),
            ("--preset reference-code", self.settings.preset == Preset::ReferenceCode),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// An error of the settings, with the file that they came from.
    fn named_config(&self, error: flowgmm::Error) -> Failure {
        match (&error, self.config()) {
            (flowgmm::Error::Request(what) | flowgmm::Error::Config(what), Some(path)) => {
                config::wrong(path, what)
            }
            _ => error.into(),
        }
    }

    /// What an interrupted fit leaves behind.
    fn interrupted(&self, error: flowgmm::Error) -> Failure {
        let flowgmm::Error::Interrupted { step } = error else { return error.into() };
        Failure::Interrupted(match &self.output.checkpoint {
            None => format!(
                "interrupted at step {step}; nothing was kept, since there is no --checkpoint directory"
            ),
            Some(directory) => format!(
                "interrupted at step {step}; the work is kept in {}. Go on with:\n  {}",
                text::path(directory),
                command_to_resume(std::env::args_os().collect())
            ),
        })
    }
}

/// Says what a fit to images is about to take.
fn announce(plan: &FitPlan, training: &Training, progress: &mut Progress) {
    if training.rows.layout().is_some() {
        progress.of_images(plan.cost.rows_per_step);
        progress.note(&outcome::announced(plan, training));
    }
}

/// Names the flags that make use of columns of text.
fn hint_at_texts(training: &Training, progress: &Progress) {
    let columns = training.schema.iter().flat_map(|schema| schema.columns());
    for column in columns.filter(|column| column.kind == flowgmm::data::ColumnKind::Text) {
        progress.hint(&format!("to use the text: --text {} --encoder DIR", text::name(&column.name)));
    }
}

fn table_name(path: &Path) -> String {
    if is_standard(path) {
        return "standard input".into();
    }
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// This command with `--resume`, as one would type it.
fn command_to_resume(mut words: Vec<OsString>) -> String {
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    let quoted = words.iter().map(|word| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
