//! From rows to a fitted model: preprocessing, graph, means, several starts, training, certificate.
//!
//!   SemiSupervised -preprocess-> x' -label spreading-> soft targets -place means-> fresh model
//!     -short starts, scored-> the best start -train-> Model
//!
//! Selection looks at labelled training rows (by cross-validation) and at the likelihood of unlabelled rows, never
//! at a test label. The whole procedure is a function of (data, config, seed); checkpoints cut it anywhere.

mod beside;
mod complete;
mod experts;
mod held_out;
mod posterior;
mod shards;
pub(crate) mod shares;
mod watch;

use ndarray::{Array2, ArrayView2, Axis};
use semisup::{Learner, SemiSupervised, Watch, split};

use self::{beside::beside, watch::Watcher};
use crate::{
    Error, Result,
    config::{FitConfig, MultiStart},
    model::Model,
    observer::{Observer, Phase, Reporting, watched},
    prepared::{Prepared, Shown},
    recipe::Decision,
    rows::Rows,
    sharded::{Wide, Workers},
    snapshot::Snapshot,
    source::beyond::Caching,
};
use flowgmm_core::{
    Engine, Flow, FlowGmm, Mixture, MixtureSpec, MixtureValues, Prior,
    bijection::Bijection,
    checkpoint::{Checkpoints, Fingerprint, Progress, Saved},
    tensor::Place,
    train::{Local, Purpose, Shards, TrainConfig, TrainState, Trainer, TrainingRows, stream},
};

/// FlowGMM as a learner beside others.
#[derive(Clone, Debug)]
pub struct FlowGmmLearner {
    /// Name in tables.
    pub name: String,
    /// How it fits.
    pub config: FitConfig,
}

impl Learner for FlowGmmLearner {
    type Model = Model;
    type Error = Error;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<Model> {
        Fitter::new(&self.config, data, seed).run(&mut ())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<Model> {
        Fitter::new(&self.config, data, seed).run(&mut Reporting::to(watch))
    }
}

/// A fit with its options.
#[derive(Debug)]
pub struct Fitter<'a> {
    config: &'a FitConfig,
    data: &'a SemiSupervised,
    seed: u64,
    rows: Rows,
    decisions: Vec<Decision>,
    engine: Engine,
    place: Place,
    checkpoints: Option<Checkpoints>,
    /// The rows beyond the data, if rows are in shards.
    wide: Option<&'a Wide>,
    /// The rows beyond the data that training draws from disk, if memory does not hold all.
    caching: Option<Caching<'a>>,
}

impl<'a> Fitter<'a> {
    /// A fit on the CPU without checkpoints.
    pub fn new(config: &'a FitConfig, data: &'a SemiSupervised, seed: u64) -> Self {
        let rows = Rows::Matrix { columns: data.columns().to_vec() };
        let (engine, place) = (Engine::default(), Place::cpu());
        let (decisions, checkpoints, wide, caching) = (Vec::new(), None, None, None);
        Self { config, data, seed, rows, decisions, engine, place, checkpoints, wide, caching }
    }

    /// Trains on more rows than the data: those that a cache on disk is to hold.
    pub(crate) fn caching(mut self, caching: Option<Caching<'a>>) -> Self {
        self.caching = caching;
        self
    }

    /// Trains on more rows than the data, in shards: those of `wide`, which workers may hold.
    pub(crate) fn wide(mut self, wide: Option<&'a Wide>) -> Self {
        self.wide = wide;
        self
    }

    /// Says what the rows are that became these numbers; without it they are a matrix.
    ///
    /// # Panics
    /// If such rows become other numbers.
    pub fn rows(mut self, rows: Rows) -> Self {
        assert_eq!(rows.columns(), self.data.columns(), "rows that became the data");
        self.rows = rows;
        self
    }

    /// Says how the configuration came about.
    pub fn decisions(mut self, decisions: Vec<Decision>) -> Self {
        self.decisions = decisions;
        self
    }

    /// Chooses the engine of the couplings.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Chooses the device; the certificate's double precision stays on the CPU.
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Writes checkpoints, and resumes from one if asked to.
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = Some(checkpoints);
        self
    }

    /// Runs to the end, or to the observer's wish to stop.
    pub fn run(self, observer: &mut dyn Observer) -> Result<Model> {
        self.run_by(None, observer)
    }

    /// [`Fitter::run`], trained by workers if they hold the rows.
    pub(crate) fn run_by(
        mut self,
        workers: Option<&mut dyn Workers>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        self.config.validate()?;
        tracing::info!(
            engine = ?self.engine,
            device = %self.place.describe(),
            kernels = flowgmm_core::instruction_set(),
            rows = self.data.n(),
            labelled = self.data.labelled().len(),
            "fitting"
        );
        let mut problem = Prepared::keeping_some(self.config, self.data, self.seed, observer)?;
        let mut fingerprint = self.fingerprint();
        if let Some(caching) = self.caching {
            let cache = caching.write(&self.rows, &problem.preprocess, observer)?;
            fingerprint.data.push_str(&cache.digest());
            problem = problem.with_cache(cache);
        }
        let mut progress = Progress::default();
        let mut saved: Option<Saved> = None;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin(fingerprint.clone())?;
            if let Some(found) = checkpoints.resume(&self.place)? {
                progress = found.progress.clone();
                saved = Some(found);
            }
        }
        let start = self.choose_start(&problem, &mut progress, &mut saved, observer)?;
        let train = &self.config.train;
        let shown = problem.whole();
        let rows = problem.rows(&shown);
        let seed = start_seed(self.seed, start);
        let mut state = TrainState::new(self.fresh(&problem, &shown, seed, observer)?, train);
        drop(shown);
        observer.phase(&Phase::Training, Some(train.steps));
        if let Some(saved) = saved.take() {
            saved.restore(&mut state)?;
        }
        observer.snapshot(&Snapshot { state: &state, preprocess: &problem.preprocess });
        let (trained, held) = beside(
            observer,
            |observer| match (self.wide, workers) {
                (None, _) => self.train(train, &problem, &rows, None, seed, state, &progress, observer),
                (Some(wide), None) => {
                    self.train_in_shards(wide, &problem, &rows, seed, state, &progress, observer)
                }
                (Some(wide), Some(workers)) => {
                    self.train_elsewhere(wide, workers, &problem, &rows, seed, &state)
                }
            },
            |observer| self.hold_out(&problem, observer),
        );
        let (state, gmm) = trained?;
        problem.check_finite(&gmm, &state)?;
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.write(&progress, &state)?;
        }
        let (step, kept) = (state.step, self.checkpoints.is_some());
        drop(rows);
        let completed = held.and_then(|held| self.complete(problem, state, gmm, held, observer));
        completed.map_err(|error| match error {
            // The run is in the checkpoint; what comes after it is quick to do again.
            Error::Cancelled { .. } if kept => Error::Interrupted { step },
            other => other,
        })
    }

    /// What a checkpoint must agree on with the run that resumes it. Engines and devices round differently.
    fn fingerprint(&self) -> Fingerprint {
        let config = serde_json::to_vec(&(self.config, self.engine, format!("{:?}", self.place)));
        Fingerprint {
            config: blake3::hash(&config.expect("plain data")).to_hex().to_string(),
            data: data_hash(self.data),
            seed: self.seed,
        }
    }

    /// Scores short starts and returns the best one's number.
    fn choose_start(
        &mut self,
        problem: &Prepared,
        progress: &mut Progress,
        saved: &mut Option<Saved>,
        observer: &mut dyn Observer,
    ) -> Result<usize> {
        let MultiStart { starts, fraction, folds } = self.config.multi_start;
        if starts <= 1 {
            return Ok(0);
        }
        let y: Vec<usize> = problem.y_labelled();
        let folds = split::folds(&y, folds, &mut stream(self.seed, Purpose::Folds, 0));
        let mut short = self.config.train.clone();
        short.steps = ((short.steps as f64 * fraction) as usize).max(1);
        short.shards = None; // on the sample alone
        for start in 0..starts {
            for (fold, held) in folds.iter().enumerate() {
                if progress.scores.len() > start * folds.len() + fold {
                    continue; // scored before the checkpoint
                }
                let shown = problem.without(held, observer)?;
                let seed = start_seed(self.seed, start);
                let mut state = TrainState::new(self.fresh(problem, &shown, seed, observer)?, &short);
                let rows = problem.rows(&shown);
                observer.phase(&Phase::Start { start: start + 1, starts, fold: fold + 1 }, Some(short.steps));
                if let Some(saved) = saved.take() {
                    saved.restore(&mut state)?;
                }
                let trained = self.train(&short, problem, &rows, None, seed, state, progress, observer);
                // A start that diverges is simply a bad start.
                let score = match trained {
                    Ok((_, gmm)) => problem.score(&gmm, held),
                    Err(Error::Diverged { .. }) => f64::NEG_INFINITY,
                    Err(other) => return Err(other),
                };
                progress.scores.push(score);
            }
        }
        let mean = |start: usize| {
            let scores = &progress.scores[start * folds.len()..(start + 1) * folds.len()];
            scores.iter().sum::<f64>() / folds.len().max(1) as f64
        };
        Ok((0..starts).fold(0, |best, start| if mean(start) > mean(best) { start } else { best }))
    }

    #[expect(clippy::too_many_arguments, reason = "what a run is made of, and who watches it")]
    fn train(
        &self,
        config: &TrainConfig,
        problem: &Prepared,
        rows: &TrainingRows,
        shards: Option<&Shards>,
        seed: u64,
        state: TrainState,
        progress: &Progress,
        observer: &mut dyn Observer,
    ) -> Result<(TrainState, FlowGmm)> {
        let mut local = Local;
        let mut trainer = Trainer::new(config, rows, seed, state);
        if let Some(shards) = shards {
            trainer = trainer.sharded(shards, &mut local);
        }
        let mut watcher = Watcher {
            observer,
            preprocess: &problem.preprocess,
            checkpoints: self.checkpoints.as_ref(),
            progress,
            step: 0,
            stopped: false,
            failed: None,
        };
        let mut result = trainer.run(&mut watcher).and_then(|()| trainer.finished_watched(&mut watcher));
        if result.is_ok() && watcher.stopped {
            result = Err(flowgmm_core::Error::Interrupted { step: trainer.state.step });
        }
        if let Some(error) = watcher.failed {
            return Err(error);
        }
        if let (Err(flowgmm_core::Error::Interrupted { .. }), Some(checkpoints)) =
            (&result, &self.checkpoints)
        {
            checkpoints.write(progress, &trainer.state)?;
        }
        Ok((trainer.state, result?))
    }

    /// A fresh model for this start, with means placed where the configuration wants them.
    fn fresh(
        &self,
        problem: &Prepared,
        shown: &Shown,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<FlowGmm> {
        let architecture = &self.config.architecture;
        let (n_classes, dim) = (self.data.n_classes(), problem.dim());
        let mut rng = stream(seed, Purpose::Parameters, 0);
        let flow = Flow::new(architecture.flow(dim), architecture.init, &mut rng, &self.place)?;
        let mut flow = flow.with_engine(self.engine);
        flow.adapt(&self.place.rows(problem.x_of(&split::evenly_spaced(problem.n(), ADAPTING)).view()));
        let (z, q) = if architecture.means.depends_on_data() || architecture.per_class > 1 {
            let x = problem.taught_x();
            let z = watched(observer, &Phase::PlacingMeans, x.nrows(), |watch| {
                Ok(flow.encode_watched(x.view(), &self.place, watch)?)
            })?;
            (z, problem.weights(shown))
        } else {
            (Array2::zeros((0, dim)), Array2::zeros((0, n_classes)))
        };
        let rng = &mut stream(seed, Purpose::Means, 0);
        let means = architecture.means.place(n_classes, dim, z.view(), q.view(), rng)?;
        let per_class = architecture.per_class.max(1);
        let means = if per_class == 1 {
            means
        } else {
            flowgmm_core::component_means(means.view(), z.view(), q.view(), per_class)
        };
        let spec = MixtureSpec {
            dim,
            per_class: vec![per_class; n_classes],
            covariance: architecture.covariance,
            trainable: architecture.trainable,
        };
        let (covariance, c) = (architecture.covariance, means.nrows());
        let values = MixtureValues {
            log_sigma: Array2::from_elem(covariance.sigma_shape(c, dim), architecture.sigma.ln()),
            below: Array2::zeros(covariance.below_shape(c, dim)),
            log_weight: vec![0.0; means.nrows()],
            log_prior: self.log_prior(problem, shown)?,
            means,
        };
        Ok(FlowGmm::new(flow, Mixture::new(spec, &values, &self.place)?)?.with_engine(self.engine))
    }
}

impl Fitter<'_> {
    /// log pi_k, `[K]`. Where class shares are estimated, they are what the teachers find, as far as so many labels can be
    /// trusted, and otherwise even.
    fn log_prior(&self, problem: &Prepared, shown: &Shown) -> Result<Vec<f64>> {
        let prior = &self.config.architecture.prior;
        match (prior, problem.average_prediction(shown)) {
            (Prior::Estimated { pseudo_count }, Some(average)) => {
                let (n, k) = (self.data.labelled().len() as f64, self.data.n_classes() as f64);
                let trust = n / (n + pseudo_count);
                Ok(average.iter().map(|share| (trust * share + (1.0 - trust) / k).ln()).collect())
            }
            _ => Ok(prior.log(&self.data.class_counts())?),
        }
    }
}

/// Rows that ActNorm sees first.
const ADAPTING: usize = 2048;

/// At most `count` rows, evenly spaced over all.
pub(crate) fn some_rows(x: ArrayView2<f64>, count: usize) -> Array2<f64> {
    x.select(Axis(0), &split::evenly_spaced(x.nrows(), count))
}

fn start_seed(seed: u64, start: usize) -> u64 {
    // Far apart, so that no start of one seed is the first start of a neighbouring seed.
    seed.wrapping_add((start as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn data_hash(data: &SemiSupervised) -> String {
    let mut hasher = blake3::Hasher::new();
    for value in data.x() {
        hasher.update(&value.to_le_bytes());
    }
    for step in data.steps().iter().flatten() {
        hasher.update(&step.to_le_bytes());
    }
    for y in data.y() {
        hasher.update(&y.map_or(u64::MAX, |k| k as u64).to_le_bytes());
    }
    for name in data.classes().iter().chain(data.columns()) {
        hasher.update(name.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}
