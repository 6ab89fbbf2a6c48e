//! A fit as one request: rows, settings, and what comes of it.
//!
//! ```text
//! Request ─Training::read→ rows as numbers ─Preset, overrides→ Settings ─Fitter→ Model, complete
//! ```

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use flowgmm_core::{
    Checkpoints, DeviceName, Resume, bits_per_dim, dequantised, tensor::Place, train::History,
};
use semisup::Classifier as _;

use crate::{
    Cost, Decision, Error, Evidence, Fitter, Model, Preset, Result, Settings, Source,
    fitter::some_rows,
    observer::Observer,
    recipe::{Recipe, unsuitable},
    settings::Override,
    sharded::{self, Workers},
    source::{
        beyond::Caching,
        training::{Declared, Training},
    },
    trial,
};

/// Training images that bits per pixel value are measured on.
const MEASURED: usize = 1000;

/// What to fit, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Rows to learn from, few of them labelled.
    pub source: Source,
    /// More rows without labels, with the same columns; labels they have are not looked at.
    pub unlabelled: Vec<Source>,
    /// Values of the label column that mean unlabelled, besides an empty cell.
    pub unlabelled_values: Vec<String>,
    /// What columns are, where the program would guess otherwise.
    pub declared: Declared,
    /// Columns of running text, to be embedded by the source's sentence encoder.
    pub texts: Vec<String>,
    /// Height and width of images; those of most images if absent.
    pub image_size: Option<(usize, usize)>,
    /// A file of label splits of images (an integer array of splits x images), and which split's labels are used.
    pub label_split: Option<(PathBuf, usize)>,
    /// Where settings come from.
    pub preset: Preset,
    /// Settings that differ from the preset's; later ones win.
    pub overrides: Vec<Override>,
    /// Where and how often the state of training is kept, and whether to go on from it.
    pub checkpoint: Option<Checkpoint>,
    /// Bytes that a fit to a table may take; half of what is free if absent. Of a table that needs more, labelled rows and a
    /// random part of the others are held; training draws the others from a cache on disk, if there is a directory for one.
    pub memory: Option<u64>,
    /// The directory whose disk holds that cache; that of checkpoints if absent. Nothing appears in it: the file has no name.
    pub cache: Option<PathBuf>,
    /// Of a fit whose rows are in shards on workers ([`fit_on`]): how many rows without a label there are in all. The source is then
    /// the labelled rows and the sample of the others.
    pub elsewhere: Option<usize>,
}

/// Where and how often the state of training is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The directory.
    pub directory: PathBuf,
    /// Time between two checkpoints.
    pub every: Duration,
    /// What to do with a checkpoint that is already there.
    pub resume: Resume,
}

impl Request {
    /// A fit to these rows, with settings chosen from them.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            unlabelled: Vec::new(),
            unlabelled_values: Vec::new(),
            declared: Vec::new(),
            texts: Vec::new(),
            image_size: None,
            label_split: None,
            preset: Preset::Auto,
            overrides: Vec::new(),
            checkpoint: None,
            memory: None,
            cache: None,
            elsewhere: None,
        }
    }

    /// The request with another value of a setting, by its path: `seed`, `train.steps`, `architecture.depth`.
    pub fn with(mut self, path: &str, value: impl Into<serde_json::Value>) -> Self {
        self.overrides.push(Override::new(path, value));
        self
    }

    /// The request without experts beside the flow: predictions are the flow's own Bayes rule (eq. 5 of the paper). It is the
    /// setting `forest` at `null`, which presets other than [`Preset::Auto`] have anyway.
    pub fn pure_flow(self) -> Self {
        self.with("forest", serde_json::Value::Null)
    }

    /// The seed that overrides ask for, or 0.
    pub(crate) fn seed(&self) -> u64 {
        let mut seeds = self.overrides.iter().rev().filter_map(|change| change.at("seed")?.as_u64());
        seeds.next().unwrap_or(0)
    }

    /// The number of shards that overrides ask for, if any.
    pub(crate) fn shards(&self) -> Option<usize> {
        self.last_number("train.shards")
    }

    /// Unlabelled rows that everything but training sees, about, if rows are in shards.
    pub(crate) fn sample(&self) -> usize {
        self.last_number("sample").unwrap_or(sharded::SAMPLE)
    }

    fn last_number(&self, path: &str) -> Option<usize> {
        let last = self.overrides.iter().rev().find_map(|change| change.at(path))?;
        usize::try_from(last.as_u64()?).ok()
    }

    /// Where rows that do not fit in memory may be kept.
    pub(crate) fn cache_directory(&self) -> Option<&Path> {
        self.cache.as_deref().or(self.checkpoint.as_ref().map(|checkpoint| checkpoint.directory.as_path()))
    }

    /// Whether nothing is asked for that only tables have.
    pub(crate) fn is_plain(&self) -> bool {
        self.unlabelled.is_empty() && self.declared.is_empty() && self.texts.is_empty()
    }

    pub(crate) fn refuse_table_settings(&self, name: &str) -> Result<()> {
        let given = [
            ("columns of text", !self.texts.is_empty()),
            ("values that mean unlabelled", !self.unlabelled_values.is_empty()),
            ("kinds of columns", !self.declared.is_empty()),
            ("the preset of the authors' code", self.preset == Preset::ReferenceCode),
            ("the preset of toys", self.preset == Preset::PaperToy),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((what, _)) => Err(Error::Request(format!(
                "{what} are for tables, and {name} holds images; leave them out, or name a column of labels if it is a \
                 table"
            ))),
        }
    }
}

/// What came of a fit.
#[derive(Debug)]
pub struct Fit {
    /// The model, complete.
    pub model: Model,
    /// What it was fitted to.
    pub training: Training,
    /// How it was fitted.
    pub settings: Settings,
    /// What that was expected to cost.
    pub cost: Cost,
    /// How long it took, from reading on.
    pub seconds: Duration,
}

impl Fit {
    /// What was decided, and why.
    pub fn decisions(&self) -> &[Decision] {
        self.model.decisions()
    }

    /// What labels that were held out say of the predictions; `None` if none could be held out, and for presets.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.model.evidence()
    }

    /// What happened while the model was trained.
    pub fn history(&self) -> &History {
        self.model.history()
    }

    /// Share of the labelled training rows that the model predicts right.
    pub fn labelled_accuracy(&self) -> f64 {
        let labelled = self.training.data.labelled_only();
        let y: Vec<usize> = labelled.y().iter().flatten().copied().collect();
        semisup::metrics::accuracy(&self.model.predict(labelled.x()), &y)
    }

    /// Bits per pixel value of training images (1000 of them, evenly spaced, if there are more); `None` of tables.
    pub fn bits_per_dim(&self) -> Option<f64> {
        let layout = self.model.rows().layout()?;
        let x = some_rows(self.training.data.x(), MEASURED);
        let x = dequantised(x.view(), &mut semisup::rng(0));
        Some(bits_per_dim(&self.model.score(x.view()).log_marginal, layout.pixels()))
    }

    /// What the user should know.
    pub fn warnings(&self) -> &[String] {
        &self.training.warnings
    }
}

/// Fits a model to rows of which few have labels.
///
/// ```
/// use flowgmm::{Request, Source};
/// use semisup::Toy;
///
/// let train = Toy::Moons.problem(1).train;
/// let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 100);
/// let fit = flowgmm::fit(&request, &mut ())?;
/// assert_eq!(fit.history().epochs.last().unwrap().step, 100);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn fit(request: &Request, observer: &mut dyn Observer) -> Result<Fit> {
    let began = Instant::now();
    let training = Training::read(request, observer)?;
    let plan = training.plan(request, observer)?;
    training.fit(plan, request, began, observer)
}

/// Fits a model to rows that workers hold in shards (`train.shards`). The source of the request is the labelled rows and those of the
/// others that [`sharded::RowKeys`] sample; there are `total` of the others. The model has the bits of [`fit`] to all rows.
pub fn fit_on(
    request: &Request,
    total: usize,
    workers: &mut dyn Workers,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    let began = Instant::now();
    if request.shards().is_none() {
        return Err(Error::Request("workers need rows in shards: give train.shards a number".into()));
    }
    let request = Request { elsewhere: Some(total), ..request.clone() };
    let training = Training::read(&request, observer)?;
    let plan = training.plan(&request, observer)?;
    training.fit_by(plan, &request, began, Some(workers), observer)
}

/// The settings of a fit, and why they are as they are.
#[derive(Clone, Debug)]
pub struct FitPlan {
    /// The settings.
    pub settings: Settings,
    /// How they came about.
    pub decisions: Vec<Decision>,
    /// What the fit is expected to cost.
    pub cost: Cost,
    /// What the user should know before it starts: where a preset does not suit the rows.
    pub warnings: Vec<String>,
}

impl FitPlan {
    /// Seconds that training will take on this machine, measured by a few steps of it; `None` if they fail, as training
    /// would. Reading, the choice of settings and the report are not in it.
    pub fn seconds(&self, training: &Training) -> Option<f64> {
        trial::seconds(&self.settings, &training.data)
    }
}

impl Training {
    /// Chooses settings for these rows and overrides them as the request says. Settings that describe no model, and a fit
    /// that needs more memory than the machine has, are errors here.
    pub fn plan(&self, request: &Request, observer: &mut dyn Observer) -> Result<FitPlan> {
        if self.data.image_shape().is_none() {
            Cost::check_rows(&self.data)?;
        }
        // Mistakes in the request are found before the work of choosing.
        let start = Recipe::start(request.preset, &self.data)?;
        Settings::gather(&start.config, &request.overrides)?.config.validate()?;
        let recipe = Recipe::watched(request.preset, &self.data, request.seed(), observer)?;
        let settings = Settings::gather(&recipe.config, &request.overrides)?;
        let settings = settings.chosen_by(&recipe.config, &recipe.start);
        settings.config.validate()?;
        Cost::check_flow(&settings.config, &self.data)?;
        let cost = Cost::of(&settings.config, &self.data);
        if settings.device == DeviceName::Cpu {
            cost.check_memory()?;
        }
        let dim = settings.config.prepare.dim_out(&self.data);
        let thinned = self.beyond.map(|beyond| beyond.decision(&settings.config, dim, request));
        let read = thinned.into_iter().chain(self.decisions.clone());
        let decisions = read.chain(recipe.decisions).collect();
        let warnings = unsuitable(request.preset, &settings.config, &self.data);
        Ok(FitPlan { settings, decisions, cost, warnings })
    }

    /// Trains a model as planned; `began` is when the work began.
    pub fn fit(
        self,
        plan: FitPlan,
        request: &Request,
        began: Instant,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        self.fit_by(plan, request, began, None, observer)
    }

    fn fit_by(
        mut self,
        plan: FitPlan,
        request: &Request,
        began: Instant,
        workers: Option<&mut dyn Workers>,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let FitPlan { settings, decisions, cost, warnings } = plan;
        self.warnings.extend(warnings);
        let place = Place::on(&settings.device)?;
        let mut fitter = Fitter::new(&settings.config, &self.data, settings.seed)
            .rows(self.rows.clone())
            .decisions(decisions)
            .engine(settings.engine)
            .place(place)
            .wide(self.wide.as_ref())
            .caching(self.beyond.as_ref().and_then(|beyond| Caching::of(beyond, &settings.config, request)));
        if let Some(Checkpoint { directory, every, resume }) = &request.checkpoint {
            fitter = fitter.checkpoints(Checkpoints::new(directory, *every, *resume));
        }
        let model = fitter.run_by(workers, observer)?;
        Ok(Fit { model, training: self, settings, cost, seconds: began.elapsed() })
    }
}
