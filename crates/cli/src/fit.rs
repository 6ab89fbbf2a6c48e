//! `flowgmm fit`: from a table with few labels to a model file.

mod outcome;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::{ArgMatches, ValueEnum};
use flowgmm::{
    Checkpoints, DeviceName, Engine, FitConfig, Fitter, Model, Recipe, Resume, TextColumn, tensor::Place,
};
use flowgmm_data::{Encoding, Labels, Schema};
use semisup::{Scores, SemiSupervised};
use serde_json::json;

use outcome::Outcome;

use crate::{
    OnDevice, Threads,
    columns::{self, Declared},
    configure_threads,
    evaluate::{self, LabelledRows},
    exit::{Failure, Result},
    fit_report::{self, Origins, Subject},
    images,
    input::{Reading, is_standard, warn},
    interrupt,
    output::{self, check_writable},
    progress::{Display, FitProgress},
    rival::{self, Rival},
    settings::{Given, Settings},
};

/// Arguments of `fit`.
#[derive(clap::Args)]
pub struct Args {
    /// Table: CSV, TSV or JSON lines (also gzipped), Parquet, Arrow, NPY or NPZ. `-` reads standard input. Or images: a folder with a
    /// folder of PNG or JPEG files for each class and `unlabelled` for the rest, an IDX file with --labels, CIFAR-10's
    /// .bin, SVHN's .mat, or an NPZ file with uint8 images `x` [n, h, w], [n, c, h, w] or [n, h, w, c] and labels `y`
    pub file: PathBuf,
    /// Of a table: the column that holds the label; an empty cell means unlabelled
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Value of the label column that means unlabelled, besides an empty cell
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub unlabelled_value: Vec<String>,
    /// More tables of unlabelled rows with the same columns, or more images
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub unlabelled: Vec<PathBuf>,
    /// Table or images with labels to evaluate the model on at the end; used for nothing else
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub declared: Declared,
    #[command(flatten)]
    pub images: images::fit::ImageArgs,
    /// Column of running text, to be embedded by --encoder
    #[arg(long, value_name = "COLUMN")]
    pub text: Vec<String>,
    /// Where settings come from
    #[arg(long, value_name = "NAME", default_value = "auto", env = "FLOWGMM_PRESET")]
    pub preset: Preset,
    /// Print what each column is taken for, and exit
    #[arg(long)]
    pub print_schema: bool,
    /// Model file to write
    #[arg(long, value_name = "OUT", required_unless_present_any = ["print_config", "print_schema", "learner"])]
    pub model: Option<PathBuf>,
    /// Another learner in FlowGMM's place, to compare with: any that `bench` knows. It leaves no model file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["model", "report", "config", "preset", "engine",
        "device", "checkpoint", "print_config", "print_schema"])]
    pub learner: Option<String>,
    /// With --learner: class and probabilities of every row or image, those with a label too, in their order
    #[arg(long, value_name = "OUT")]
    pub predictions: Option<PathBuf>,
    /// HTML report to write: what the data look like, what was chosen, how far to trust the model, and whether the
    /// unlabelled rows help; measuring that takes about as long again as the fit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["print_config", "print_schema"])]
    pub report: Option<PathBuf>,
    /// Seed of all randomness [default: 0]
    #[arg(long, value_name = "N", env = "FLOWGMM_SEED")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    device: OnDevice,
    /// Training steps [default: as the data need]; with --learner, of one that is trained in steps
    #[arg(long, value_name = "N", env = "FLOWGMM_STEPS")]
    pub steps: Option<usize>,
    /// Code that computes couplings [default: fused]
    #[arg(long, value_name = "ENGINE", env = "FLOWGMM_ENGINE")]
    engine: Option<EngineName>,
    /// TOML file with settings that differ from the defaults (see --print-config)
    #[arg(long, value_name = "FILE", env = "FLOWGMM_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print every setting and where it came from, and exit
    #[arg(long)]
    pub print_config: bool,
    /// Directory for a checkpoint, so that an interrupted fit can go on
    #[arg(long, value_name = "DIR", env = "FLOWGMM_CHECKPOINT")]
    checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint if there is one
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Time between checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true, env = "FLOWGMM_CHECKPOINT_EVERY")]
    checkpoint_every: Duration,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// No progress on stderr
    #[arg(long)]
    pub quiet: bool,
}

impl Args {
    /// The column of the label, which a table needs.
    pub fn label(&self) -> Result<&str> {
        self.label.as_deref().ok_or_else(|| images::label_needed(&self.file))
    }
}

/// Which code computes couplings.
#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    /// The fused CPU kernel
    Fused,
    /// The fused CPU kernel, recomputing hidden values instead of storing them
    LowMemory,
    /// Composed tensor operations
    Composed,
}

/// Runs the command.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<()> {
    if let Some(model) = &args.model {
        check_writable(model)?;
    }
    // Whoever names a column of labels means a table.
    if args.label.is_none()
        && let Some(source) = images::recognise(&args.file, args.reading.suffix())?
    {
        return images::fit::run(args, source, matches);
    }
    args.label()?;
    args.images.refuse()?;
    check_report(args)?;
    let rival = Rival::asked_for(args)?;
    configure_threads(args.threads.among(args.config.as_deref()))?;
    interrupt::listen()?;
    let table = TrainingTable::read(args)?;
    if args.print_schema {
        return output::print(&columns::table(&table.schema));
    }
    if let Some(rival) = rival {
        let what = ("columns", columns::kinds(&table.schema));
        return rival.run(args, &table.data, what, |model, test| rival::tested(args, &table, model, test));
    }
    let TrainingTable { data, schema, encoding, texts, origins } = table;
    if let Some(test) = &args.test {
        evaluate::check_ahead(test, args.label()?, data.classes(), &encoding, &texts, &args.reading)?;
    }
    let recipe = args.preset.recipe(&data, args.seed.unwrap_or(0))?;
    let settings = gather(args, &recipe, matches)?;
    let Some(path) = args.model.as_ref().filter(|_| !args.print_config) else {
        return output::print(&settings.to_toml());
    };
    let place = Place::on(&settings.device)?;
    let began = Instant::now();
    let model = train(args, &settings, &data, &place, FitProgress::new(Display::new(args.quiet)))?;
    check_finite(&model, &data)?;
    let model = model.with_encoding(encoding).with_texts(texts).with_decisions(recipe.decisions);
    model.save(path)?;
    let test = args.test.as_ref().map(|test| tested(args, &model, path, test)).transpose()?;
    let subject = Subject {
        model: &model,
        data: &data,
        schema: &schema,
        settings: &settings,
        place: &place,
        origins: &origins,
        test: test.as_ref().map(|(rows, _)| rows),
        table: table_name(&args.file),
        model_path: path,
        seconds: began.elapsed(),
        quiet: args.quiet,
    };
    conclude(args, &subject, test.as_ref().map(|(_, scores)| scores.clone()))
}

/// Checks that a report can be written, and over nothing that this fit reads or writes.
fn check_report(args: &Args) -> Result<()> {
    let Some(report) = &args.report else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut taken = [&args.file].into_iter().chain(&args.model).chain(&args.test).chain(&args.unlabelled);
    if taken.any(|path| real(path) == real(report)) {
        let what = format!("--report would replace {}; give it a name of its own", report.display());
        return Err(Failure::Usage(what));
    }
    check_writable(report)
}

/// Writes the report if one is wanted, and sums up.
fn conclude(args: &Args, subject: &Subject, test: Option<Scores>) -> Result<()> {
    let report = match &args.report {
        Some(to) => Some((to, fit_report::write(subject, to)?)),
        None => None,
    };
    let outcome = Outcome { subject, test, report };
    if args.json { output::print_json(&outcome.to_json()) } else { output::print(&outcome.to_text()) }
}

/// Where settings come from.
#[derive(Clone, Copy, ValueEnum)]
pub enum Preset {
    /// Chosen from the data, by cross-validation on the labelled rows
    Auto,
    /// The paper's configuration for tables, as it is
    Paper,
    /// The configuration of the authors' code, as it is
    ReferenceCode,
}

impl Preset {
    fn recipe(self, data: &SemiSupervised, seed: u64) -> Result<Recipe> {
        let fixed = |config| Recipe { config, decisions: Vec::new() };
        Ok(match self {
            Self::Auto => Recipe::choose(data, seed)?,
            Self::Paper => fixed(FitConfig::paper(data)),
            Self::ReferenceCode => fixed(FitConfig::reference_code(data)),
        })
    }
}

/// The training rows as numbers, and how they became so.
pub struct TrainingTable {
    /// Rows and labels.
    pub data: SemiSupervised,
    /// What the columns are.
    pub schema: Schema,
    /// How they become numbers.
    pub encoding: Encoding,
    texts: Vec<TextColumn>,
    origins: Origins,
}

impl TrainingTable {
    fn read(args: &Args) -> Result<Self> {
        let label = args.label()?;
        let mut frame = args.reading.all(&args.file, &[label])?;
        let mut origins = Origins::default();
        origins.add(&frame);
        let labels = flowgmm_data::labels(&frame, label, &args.unlabelled_value)?;
        columns::check_labels(&frame, label, &labels)?;
        let Labels { mut y, classes, warnings } = labels;
        warnings.iter().for_each(|warning| warn(&warning.message));
        let features: Vec<String> = frame.column_names().into_iter().filter(|name| name != label).collect();
        for path in &args.unlabelled {
            for batch in args.reading.open(path, &[label])? {
                let batch = batch?;
                origins.add(&batch);
                frame.append(batch, &features)?;
            }
        }
        y.resize(frame.n(), None); // whatever labels those files have are not looked at
        let mut texts = Vec::new();
        if !args.text.is_empty() {
            let embedded = args.reading.embedding.open(&args.text)?;
            frame = embedded.embed(&frame, &mut Display::new(args.quiet))?;
            texts = embedded.remembered();
        }
        let schema = args.declared.schema(&frame, label)?;
        let encoding = Encoding::learn(&schema, &frame)?;
        let x = encoding.encode(&frame)?.x;
        let data = SemiSupervised::new(x, y, classes, encoding.feature_names())?.with_steps(encoding.steps());
        Ok(Self { data, schema, encoding, texts, origins })
    }
}

fn table_name(path: &Path) -> String {
    if is_standard(path) {
        return "standard input".into();
    }
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The rows of `--test`, and the scores on them.
fn tested(args: &Args, model: &Model, path: &Path, test: &Path) -> Result<(LabelledRows, Scores)> {
    let rows = evaluate::labelled(model, path, test, Some(args.label()?), &args.reading, None)?;
    let scores = Scores::from_log_probs(&model.score(rows.x.view()).log_probs, &rows.y);
    Ok((rows, scores))
}

/// The settings of a fit: the recipe's, but what the config file and flags say.
pub fn gather(args: &Args, recipe: &Recipe, matches: &ArgMatches) -> Result<Settings> {
    let engine = args.engine.map(|engine| match engine {
        EngineName::Fused => Engine::Fused,
        EngineName::LowMemory => Engine::LowMemory,
        EngineName::Composed => Engine::Composed,
    });
    let given: [Given; 5] = [
        ("seed", "seed", args.seed.map(|v| json!(v))),
        ("threads", "threads", args.threads.threads.map(|v| json!(v))),
        ("device", "device", args.device.device.map(|v| json!(v))),
        ("engine", "engine", engine.map(|v| json!(v))),
        ("train.steps", "steps", args.steps.map(|v| json!(v))),
    ];
    Settings::gather(&recipe.config, args.threads.count(), args.config.as_deref(), &given, matches)
}

/// Fits, with checkpoints if they are wanted.
pub fn train(
    args: &Args,
    settings: &Settings,
    data: &SemiSupervised,
    place: &Place,
    mut progress: FitProgress,
) -> Result<Model> {
    let mut fitter = Fitter::new(&settings.config, data, settings.seed);
    fitter = fitter.engine(settings.engine).place(place.clone());
    if let Some(directory) = &args.checkpoint {
        let resume = if args.resume { Resume::IfPresent } else { Resume::No };
        fitter = fitter.checkpoints(Checkpoints::new(directory, args.checkpoint_every, resume));
    }
    let fitted = fitter.run(&mut progress);
    progress.finish();
    fitted.map_err(|error| match error {
        flowgmm::Error::Interrupted { step } => interrupted(step, args.checkpoint.as_deref()),
        other => other.into(),
    })
}

/// A model that cannot score its own labelled rows is not worth a file, however training ended.
pub fn check_finite(model: &Model, data: &SemiSupervised) -> Result<()> {
    let scores = model.score(data.labelled_only().x());
    if scores.log_probs.iter().chain(&scores.log_marginal).all(|v| v.is_finite()) {
        return Ok(());
    }
    let step = model.history().epochs.last().map_or(0, |record| record.step);
    let cause = "the model's scores are not finite".into();
    Err(flowgmm::Error::Diverged { step, cause, rollbacks: model.provenance().rollbacks }.into())
}

fn interrupted(step: usize, checkpoint: Option<&Path>) -> Failure {
    Failure::Interrupted(match checkpoint {
        None => {
            format!("interrupted at step {step}; nothing was kept, since there is no --checkpoint directory")
        }
        Some(directory) => format!(
            "interrupted at step {step}; the work is kept in {}. Go on with:\n  {}",
            directory.display(),
            command_to_resume(std::env::args_os().collect())
        ),
    })
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

/// The engine that trained: kernels are for the CPU only, and have no dropout.
pub fn engine(settings: &Settings) -> Engine {
    match settings.device {
        DeviceName::Cpu if settings.config.train.dropout > 0.0 => Engine::Composed,
        DeviceName::Cpu => settings.engine,
        DeviceName::Gpu(_) | DeviceName::SoftwareGpu => Engine::Composed,
    }
}

/// Where a model was fitted, in words.
pub fn device(settings: &Settings, model: &Model) -> String {
    let ran = engine(settings);
    let engine = json!(ran);
    let engine = engine.as_str().unwrap_or_default();
    match settings.device {
        DeviceName::Cpu if ran == Engine::Composed => format!("cpu, {engine} engine"),
        DeviceName::Cpu => format!("cpu, {engine} engine ({})", flowgmm::instruction_set()),
        name => format!("{name} ({}), {engine} engine", model.gmm().place().describe()),
    }
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}
