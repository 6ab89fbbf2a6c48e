//! `fit --learner`: another learner on the user's own table or images, to compare FlowGMM with.

use std::{path::Path, time::Instant};

use flowgmm_bench::Registry;
use flowgmm_data::{Cells, Column, Frame, labels_of};
use flowgmm_learners::AnyModel;
use semisup::{
    Scores, SemiSupervised,
    metrics::arg_max,
    ndarray::{Array2, ArrayView2, Axis},
};
use serde_json::json;

use crate::{
    exit::{Failure, Result},
    fit::{Args, TrainingTable},
    input::Guesses,
    learners, output,
    output::{TableOutput, check_writable},
    predict::types,
    progress::Display,
    text,
};

/// A learner by its name.
pub struct Rival {
    name: String,
    registry: Registry,
}

impl Rival {
    /// The learner of `--learner`, if one is asked for.
    pub fn asked_for(args: &Args) -> Result<Option<Self>> {
        if args.predictions.is_some() && args.learner.is_none() {
            // clap forgets `requires` where the required argument conflicts with a present one.
            let what =
                "--predictions goes with --learner; a model's predictions are written by `flowgmm predict`";
            return Err(Failure::Usage(what.into()));
        }
        args.learner.as_deref().map(|name| Self::find(name, args)).transpose()
    }

    /// Checks the request before anything is read.
    fn find(name: &str, args: &Args) -> Result<Self> {
        let registry = learners::registry();
        if registry.get(name).is_none() {
            let known: Vec<&str> = registry.names().collect();
            let message = format!("--learner {name}: unknown; known are {}", known.join(", "));
            return Err(Failure::Usage(message));
        }
        let of_steps = args.steps.unwrap_or_default();
        registry.learner(name, args.steps).map_err(|_| {
            Failure::Usage(format!("--learner {name} cannot be trained for {of_steps} steps"))
        })?;
        match &args.predictions {
            Some(path) => check_writable(path)?,
            None if args.test.is_none() => {
                return Err(Failure::Usage(format!(
                    "--learner {name} leaves no model file: ask for --predictions OUT, or for scores with --test FILE"
                )));
            }
            None => {}
        }
        Ok(Self { name: name.into(), registry })
    }

    /// Fits, scores by `tested` and writes what was asked for. `what` is said of the columns.
    pub fn run(
        &self,
        args: &Args,
        data: &SemiSupervised,
        what: (&'static str, String),
        tested: impl Fn(&AnyModel, &Path) -> Result<Scores>,
    ) -> Result<()> {
        let learner = self.registry.learner(&self.name, args.steps).expect("found before");
        let seed = args.seed.unwrap_or(0);
        let began = Instant::now();
        let model = learner
            .fit_any(data, seed)
            .map_err(|error| Failure::Data(format!("{} failed: {error}", self.name)))?;
        let seconds = began.elapsed().as_secs_f64();
        let test = args.test.as_ref().map(|path| tested(&model, path)).transpose()?;
        if let Some(path) = &args.predictions {
            write_predictions(&model, data.x(), path)?;
        }
        let (labelled, unlabelled) = (data.labelled().len(), data.unlabelled().len());
        if args.json {
            return output::print_json(&json!({
                "learner": self.name,
                "settings": learner.settings(),
                "rows": data.n(),
                "labelled": labelled,
                "unlabelled": unlabelled,
                "columns": if data.image_shape().is_some() { None } else { Some(data.columns()) },
                "layout": data.image_shape(),
                "seed": seed,
                "test": test,
                "predictions": args.predictions.as_ref().map(|path| path.display().to_string()),
                "seconds": seconds,
            }));
        }
        let mut facts = vec![
            ("learner", format!("{}: {}", learner.name(), learner.settings())),
            ("rows", format!("{} ({labelled} labelled, {unlabelled} unlabelled)", data.n())),
            what,
            ("seed", seed.to_string()),
        ];
        if let Some(test) = &test {
            facts.push(("test", text::tested(test)));
        }
        facts.push(("time", format!("{seconds:.1} s")));
        if let Some(path) = &args.predictions {
            facts.push(("predictions", path.display().to_string()));
        }
        output::print(&text::facts(&facts))
    }
}

/// Scores on the labelled rows of another table.
pub fn tested(args: &Args, table: &TrainingTable, model: &AnyModel, path: &Path) -> Result<Scores> {
    let texts = (!args.text.is_empty()).then(|| args.reading.embedding.open(&args.text)).transpose()?;
    let mut guesses = Guesses::default();
    let (mut x, mut y) = (Array2::zeros((0, table.encoding.dim())), Vec::new());
    let label = args.label()?;
    let reader = args.reading.open(path, &[label])?;
    let name = reader.name().to_string();
    for batch in reader {
        let batch = batch?;
        let labels = labels_of(&batch, label, table.data.classes())?;
        let known: Vec<usize> = (0..batch.n()).filter(|&row| labels[row].is_some()).collect();
        let mut batch = batch.select(&known);
        if let Some(texts) = &texts {
            batch = texts.embed(&batch, &mut Display::new(args.quiet))?;
        }
        let encoded = table.encoding.encode(&batch)?;
        guesses.add(&encoded);
        x.append(Axis(0), encoded.x.view()).expect("as many columns");
        y.extend(labels.into_iter().flatten());
    }
    if y.is_empty() {
        return Err(semisup::Error::NoLabels { name }.into());
    }
    guesses.warn(&name);
    Ok(Scores::from_log_probs(&model.log_probs(x.view()), &y))
}

/// Class and probabilities of every row.
fn write_predictions(model: &AnyModel, x: ArrayView2<f64>, path: &Path) -> Result<()> {
    let log_probs = model.log_probs(x);
    let classes = model.classes();
    let names = arg_max(log_probs.view()).into_iter().map(|k| Some(classes[k].as_str()));
    let mut columns = vec![Column { name: "class".into(), cells: Cells::Texts(names.collect()) }];
    for (k, class) in classes.iter().enumerate() {
        let cells = Cells::Numbers(log_probs.column(k).mapv(f64::exp).to_vec());
        columns.push(Column { name: format!("p_{class}"), cells });
    }
    let rows = Frame::new("predictions", columns, (1..=x.nrows() as u64).collect())?;
    let mut out = TableOutput::create(path, &types(&rows))?;
    out.write(&rows)?;
    out.finish()
}
