//! Training keeps its promises: numbers stay numbers or the run ends with an error that names its step; the same
//! (data, configuration, seed) gives the same bits, whether or not the run was interrupted, killed and resumed; foreign
//! and damaged checkpoints are refused; and every kind of objective trains.

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use flowgmm::{
    Checkpoints, Em, Error, FitConfig, Fitter, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureStep,
    MixtureValues, Model, MultiStart, Observer, Phase, Prior, Resume, Trainable,
    bijection::{Form, Init},
    objective::{Agreement, Consistency, Scale, SoftTargets},
    tensor::{Place, to_vec},
    train::{
        Control, DecayShape, EpochRecord, Refine, Schedule, TrainConfig, TrainState, Trainer, TrainingMatrix,
        TrainingRows,
    },
};
use ndarray::Array2;
use semisup::{SemiSupervised, Toy};
use support::{bits, normal_rows};
use tempfile::TempDir;

/// Ten labelled moon points and sixty without a label.
fn data() -> SemiSupervised {
    let train = Toy::Moons.problem(1).train;
    let mut rows = train.labelled();
    rows.extend(train.unlabelled().into_iter().take(60));
    train.select(&rows).unwrap()
}

/// A small network for a few dozen steps.
fn config() -> FitConfig {
    let mut config = FitConfig::toy();
    config.architecture.depth = 2;
    config.architecture.hidden = vec![8];
    config.multi_start = MultiStart { starts: 1, fraction: 0.25, folds: 2 };
    config.train.steps = 40;
    config.train.batch_labelled = 8;
    config.train.batch_unlabelled = 16;
    config.train.em = None;
    config
}

/// Bits of all parameters, trained or not.
fn parameters(model: &Model) -> Vec<Vec<u64>> {
    model.gmm().thetas().into_iter().map(|theta| bits(&to_vec(theta.value()))).collect()
}

fn all_finite(gmm: &FlowGmm) -> bool {
    gmm.thetas().into_iter().all(|theta| to_vec(theta.value()).iter().all(|v| v.is_finite()))
}

// ---- the same bits

/// Every path through training that keeps state of its own.
fn variants() -> Vec<(&'static str, FitConfig)> {
    let with = |change: &dyn Fn(&mut FitConfig)| {
        let mut config = config();
        change(&mut config);
        config
    };
    let consistent = |agreement| {
        with(&|c| c.train.objective.consistency = Some(Consistency { agreement, weight: 0.5, ramp: 0.5 }))
    };
    let em = |mixture| {
        with(&|c| {
            c.train.em = Some(Em { every: 1, mixture });
            c.train.objective.alignment = 0.5;
            c.architecture.per_class = 2;
        })
    };
    vec![
        ("toy", config()),
        ("several starts", with(&|c| c.multi_start.starts = 2)),
        ("EM, closed form", em(MixtureStep::ClosedForm)),
        ("EM, alternating", em(MixtureStep::Alternating { iterations: 3 })),
        ("EM, fixed mixture", em(MixtureStep::Fixed)),
        ("EM and several starts", {
            let mut config = em(MixtureStep::ClosedForm);
            config.multi_start.starts = 2;
            config
        }),
        ("no average", with(&|c| c.train.ema = None)),
        ("likelihood", consistent(Agreement::Likelihood)),
        ("squared difference", consistent(Agreement::SquaredDifference)),
        ("cross-entropy", consistent(Agreement::CrossEntropy { confidence: 0.6 })),
        ("refined", {
            let mut config = consistent(Agreement::CrossEntropy { confidence: 0.6 });
            config.train.refine = Some(Refine { from: 0.3, every: 0.2, rest: 0.6 });
            config
        }),
        (
            "trained mixture",
            with(&|c| {
                c.architecture.trainable = Trainable { means: true, covariances: true, weights: true };
                c.architecture.prior = Prior::Empirical;
                c.train.objective.alignment = 0.5;
            }),
        ),
        ("rolled back", with(&|c| c.train.schedule = constant(1e3))),
        ("diverging", with(&|c| c.train.schedule = constant(1e6))),
    ]
}

fn constant(peak: f64) -> Schedule {
    Schedule { peak, warm_up: 0.0, shape: DecayShape::Constant }
}

/// Stops after this many steps, counted over all stages.
struct StopAfter {
    left: usize,
}

impl Observer for StopAfter {
    fn progress(&mut self, _step: usize) -> Control {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Control::Stop } else { Control::Continue }
    }
}

fn checkpoints(directory: &Path, resume: Resume) -> Checkpoints {
    // Only interruptions write: an hour never passes here.
    Checkpoints::new(directory, Duration::from_secs(3600), resume)
}

#[test]
fn an_interrupted_and_resumed_run_gives_the_bits_of_one_in_one_go() {
    for (name, config) in variants() {
        check_resume(name, &config);
    }
}

/// Stops every 7 steps, which meets every stage of a fit and most phases of its epochs.
fn check_resume(name: &str, config: &FitConfig) {
    let data = data();
    let straight = fit(config, &data, 5);
    let directory = TempDir::new().unwrap();
    let mut interruptions = 0;
    let pieced = loop {
        let fitter = Fitter::new(config, &data, 5);
        let fitter = fitter.checkpoints(checkpoints(directory.path(), Resume::IfPresent));
        match fitter.run(&mut StopAfter { left: 7 }) {
            Err(Error::Interrupted { .. }) => interruptions += 1,
            done => break done,
        }
        assert!(interruptions < 100, "{name}: no end in sight");
    };
    match (straight, pieced) {
        (Ok(straight), Ok(pieced)) => {
            assert!(interruptions >= 4, "{name}: {interruptions} interruptions");
            assert_eq!(parameters(&straight), parameters(&pieced), "{name}");
            assert_eq!(straight.history(), pieced.history(), "{name}");
            // As text: a wild run may have NaN in its certificate, and NaN is not equal to itself.
            let text = |model: &flowgmm::Model| format!("{:?}", model.provenance());
            assert_eq!(text(&straight), text(&pieced), "{name}");
        }
        // A run that diverges does so at the same step for the same reason.
        (Err(straight), Err(pieced)) => assert_eq!(straight.to_string(), pieced.to_string(), "{name}"),
        (straight, pieced) => panic!("{name}: {:?}, but in pieces {:?}", straight.err(), pieced.err()),
    }
}

/// Copies the checkpoint after some step: what a kill would leave behind.
struct CopyAt<'a> {
    from: &'a Path,
    to: &'a Path,
    left: usize,
}

impl Observer for CopyAt<'_> {
    fn progress(&mut self, _step: usize) -> Control {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            let file = checkpoint_file(self.from);
            fs::copy(&file, self.to.join(file.file_name().unwrap())).unwrap();
        }
        Control::Continue
    }
}

fn checkpoint_file(directory: &Path) -> PathBuf {
    let mut files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().expect("a checkpoint was written");
    assert!(files.next().is_none(), "one file, and no temporary one beside it");
    file
}

#[test]
fn a_killed_run_resumes_from_its_last_checkpoint_with_the_same_bits() {
    let mut config = config();
    config.multi_start.starts = 2;
    let data = data();
    let straight = fit(&config, &data, 6).unwrap();
    for steps in [1, 10, 25, 41, 60] {
        let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let often = Checkpoints::new(one.path(), Duration::ZERO, Resume::No);
        let observer = &mut CopyAt { from: one.path(), to: two.path(), left: steps };
        let watched = Fitter::new(&config, &data, 6).checkpoints(often).run(observer).unwrap();
        assert_eq!(parameters(&watched), parameters(&straight), "watching changes nothing");
        let resumed = Fitter::new(&config, &data, 6)
            .checkpoints(checkpoints(two.path(), Resume::IfPresent))
            .run(&mut ())
            .unwrap();
        assert_eq!(parameters(&resumed), parameters(&straight), "killed after {steps} steps");
    }
}

#[test]
fn a_finished_run_resumes_to_itself_and_a_fresh_one_ignores_it() {
    let (config, data, directory) = (config(), data(), TempDir::new().unwrap());
    let run = |resume| {
        let fitter = Fitter::new(&config, &data, 5).checkpoints(checkpoints(directory.path(), resume));
        let mut steps = StopAfter { left: usize::MAX };
        (fitter.run(&mut steps).unwrap(), usize::MAX - steps.left)
    };
    let (first, steps) = run(Resume::IfPresent);
    assert_eq!(steps, 40);
    let (again, steps) = run(Resume::IfPresent);
    assert_eq!((parameters(&again), steps), (parameters(&first), 0), "nothing is left to do");
    let (anew, steps) = run(Resume::No);
    assert_eq!((parameters(&anew), steps), (parameters(&first), 40));
}

#[test]
fn the_seed_decides() {
    for (name, config) in variants().into_iter().filter(|(name, _)| *name != "diverging") {
        let (one, two, other) = (
            fit(&config, &data(), 8).unwrap(),
            fit(&config, &data(), 8).unwrap(),
            fit(&config, &data(), 9).unwrap(),
        );
        assert_eq!(parameters(&one), parameters(&two), "{name}");
        assert_ne!(parameters(&one), parameters(&other), "{name}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| parameters(&fit(&config(), &data(), 10).unwrap()))
    };
    assert_eq!(with(1), with(3));
}

// ---- what a checkpoint is refused for

/// A directory with a checkpoint of a run that was interrupted.
fn interrupted(config: &FitConfig, data: &SemiSupervised, seed: u64) -> TempDir {
    let directory = TempDir::new().unwrap();
    let fitter = Fitter::new(config, data, seed).checkpoints(checkpoints(directory.path(), Resume::No));
    assert!(matches!(fitter.run(&mut StopAfter { left: 11 }), Err(Error::Interrupted { step: 11 })));
    directory
}

fn resume(directory: &Path, config: &FitConfig, data: &SemiSupervised, seed: u64) -> Result<Model, Error> {
    Fitter::new(config, data, seed).checkpoints(checkpoints(directory, Resume::IfPresent)).run(&mut ())
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (config, data) = (config(), data());
    let directory = interrupted(&config, &data, 5);
    let refused = |config: &FitConfig, data: &SemiSupervised, seed: u64, why: &str| match resume(
        directory.path(),
        config,
        data,
        seed,
    ) {
        Err(Error::ForeignCheckpoint { reason, .. }) => assert!(reason.contains(why), "{reason}"),
        other => panic!("expected a foreign checkpoint ({why}), got {:?}", other.err()),
    };
    refused(&config, &data, 6, "seed");
    let mut longer = config.clone();
    longer.train.steps += 1;
    refused(&longer, &data, 5, "configuration");
    let rows: Vec<usize> = (0..data.n() - 1).collect();
    refused(&config, &data.select(&rows).unwrap(), 5, "data");
    let renamed = SemiSupervised::new(
        data.x().to_owned(),
        data.y().to_vec(),
        vec!["a".into(), "b".into()],
        data.columns().to_vec(),
    );
    refused(&config, &renamed.unwrap(), 5, "data");
    assert!(resume(directory.path(), &config, &data, 5).is_ok(), "its own run may go on");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let (config, data) = (config(), data());
    let directory = interrupted(&config, &data, 5);
    let file = checkpoint_file(directory.path());
    let good = fs::read(&file).unwrap();
    let check = |bytes: &[u8], what: String| {
        fs::write(&file, bytes).unwrap();
        let found = resume(directory.path(), &config, &data, 5);
        assert!(matches!(found, Err(Error::ModelFile { .. })), "{what}: {:?}", found.err());
    };
    for end in (0..good.len()).step_by(good.len() / 50) {
        check(&good[..end], format!("cut at {end}"));
    }
    for at in (0..good.len()).step_by(good.len() / 100) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        check(&bytes, format!("byte {at} changed"));
    }
    // A model file is no checkpoint.
    fit(&config, &data, 5).unwrap().save(&file).unwrap();
    check(&fs::read(&file).unwrap(), "a model".into());
    fs::write(&file, &good).unwrap();
    assert!(resume(directory.path(), &config, &data, 5).is_ok());
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a file, not a directory");
    fs::write(&file, "").unwrap();
    let (config, data) = (config(), data());
    let fitter = Fitter::new(&config, &data, 5).checkpoints(checkpoints(&file, Resume::No));
    assert!(matches!(fitter.run(&mut ()), Err(Error::Io { .. })));
}

// ---- no number is not a number

#[test]
fn a_wild_learning_rate_ends_in_numbers_or_in_an_error() {
    for peak in [1e2, 1e6, 1e20, 1e38] {
        for (steps, clip) in [(1, None), (3, None), (40, None), (40, Some(5.0)), (120, None)] {
            let mut config = config();
            config.train.schedule = constant(peak);
            config.train.adam.clip = clip;
            config.train.steps = steps;
            check_sane(&format!("learning rate {peak:e}, {steps} steps"), fit(&config, &data(), 1));
        }
    }
}

#[test]
fn a_wild_value_in_the_data_ends_in_numbers_or_in_an_error() {
    for value in [1e10, 1e30, -1e30, 1e150, 1e300] {
        for row in [0, 40] {
            let data = data();
            let mut x = data.x().to_owned();
            x[[row, 1]] = value;
            let wild =
                SemiSupervised::new(x, data.y().to_vec(), data.classes().to_vec(), data.columns().to_vec());
            for (name, config) in variants() {
                check_sane(
                    &format!("{value:e} in row {row}, {name}"),
                    fit(&config, wild.as_ref().unwrap(), 1),
                );
            }
        }
    }
}

#[test]
fn going_back_with_smaller_steps_helps_until_it_does_not() {
    let with = |peak| {
        let mut config = config();
        config.train.schedule = constant(peak);
        fit(&config, &data(), 1)
    };
    let rescued = with(1e3).unwrap();
    assert!(rescued.provenance().rollbacks > 0);
    assert!(rescued.score(data().x()).log_marginal.iter().all(|l| l.is_finite()));
    assert!(matches!(with(1e6), Err(Error::Diverged { rollbacks: 2.., .. })));
}

/// Weights that are numbers, or an error that says what went wrong.
fn check_sane(what: &str, result: Result<Model, Error>) {
    match result {
        Ok(model) => {
            assert!(all_finite(model.gmm()), "{what}: weights that are no numbers");
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("model");
            model.save(&path).unwrap();
            let loaded = Model::load(&path, &Place::cpu());
            assert!(loaded.is_ok(), "{what}: saved but not readable: {}", loaded.unwrap_err());
        }
        Err(error @ Error::Diverged { step, .. }) => {
            assert!(error.to_string().contains(&format!("step {step}:")), "{error}");
        }
        Err(Error::Data(_)) => {} // preprocessing already said no
        Err(other) => panic!("{what}: {other}"),
    }
}

/// Rows straight into the trainer, without the preprocessing that would tame them.
#[test]
fn the_trainer_itself_survives_wild_rows() {
    for value in [1e6, 1e19, 1e30, 1e38] {
        for wild_row in [None, Some(0), Some(30)] {
            for (name, fit_config) in variants() {
                for steps in [3, 80] {
                    let config = TrainConfig { steps, ..fit_config.train.clone() };
                    let (state, rows) = raw_problem(&config, value, wild_row);
                    let mut trainer = Trainer::new(&config, &rows, 1, state);
                    let result = trainer.run(&mut ());
                    let what = format!("{value:e} in row {wild_row:?}, {name}, {steps} steps");
                    match result {
                        Ok(()) => {
                            assert!(all_finite(&trainer.state.model), "{what}: weights");
                            assert!(all_finite(&trainer.state.averaged()), "{what}: average");
                        }
                        Err(flowgmm_core::Error::Diverged { step, .. }) => {
                            assert!(step < steps && wild_row.is_some() || name == "diverging", "{what}");
                        }
                        Err(other) => panic!("{what}: {other}"),
                    }
                }
            }
        }
    }
}

/// A fresh model of two classes and 40 normal rows, ten of them labelled; one of them may be wild.
fn raw_problem(config: &TrainConfig, value: f64, wild_row: Option<usize>) -> (TrainState, TrainingRows) {
    let rng = &mut semisup::rng(3);
    let mut x = normal_rows(40, 2, rng);
    if let Some(row) = wild_row {
        x[[row, 0]] = value;
    }
    let spec = FlowSpec::couplings(2, 2, &[8], Form::ScaleThenShift);
    let flow = Flow::new(spec, Init::Identity, rng, &Place::cpu()).unwrap();
    let values = MixtureValues {
        means: normal_rows(2, 2, rng),
        log_sigma: Array2::zeros((2, 1)),
        log_weight: vec![0.0; 2],
        log_prior: vec![0.0; 2],
    };
    let mixture = Mixture::new(MixtureSpec::fixed(2, 2), &values, &Place::cpu()).unwrap();
    let rows = TrainingRows {
        labelled: TrainingMatrix::new(x.slice(ndarray::s![..10, ..])),
        y: (0..10).map(|row| row % 2).collect(),
        unlabelled: TrainingMatrix::new(x.slice(ndarray::s![10.., ..])),
        soft_targets: None,
        n_classes: 2,
    };
    (TrainState::new(FlowGmm::new(flow, mixture).unwrap(), config), rows)
}

// ---- everything trains

#[test]
fn every_objective_reduces_its_loss() {
    for agreement in
        [Agreement::Likelihood, Agreement::SquaredDifference, Agreement::CrossEntropy { confidence: 0.7 }]
    {
        let mut config = trainable();
        config.train.objective.consistency = Some(Consistency { agreement, weight: 1.0, ramp: 0.0 });
        check_learning(&format!("{agreement:?}"), &config, &["consistency"]);
    }
    let mut soft = trainable();
    soft.train.objective.soft_targets = Some(SoftTargets { weight: 1.0, until: 1.0 });
    check_learning("soft targets", &soft, &["soft_targets"]);
    let mut aligned = trainable();
    aligned.train.objective.alignment = 1.0;
    check_learning("alignment", &aligned, &["alignment"]);
    let mut total = trainable();
    total.train.objective.scale = Scale::Total;
    total.train.objective.temperature = 2.0;
    check_learning("nats per row, tempered", &total, &[]);
    let mut em = trainable();
    em.train.em = Some(Em { every: 2, mixture: MixtureStep::ClosedForm });
    check_learning("EM", &em, &[]);
    let mut labels = trainable();
    labels.train.objective.unlabelled = 0.0;
    check_learning("labelled rows alone", &labels, &[]);
}

/// Longer, and without terms whose weight changes over training.
fn trainable() -> FitConfig {
    let mut config = config();
    config.train.steps = 150;
    config.train.noise = 0.02;
    config.train.objective.consistency = None;
    config.train.objective.soft_targets = None;
    config.train.objective.alignment = 0.0;
    config
}

fn check_learning(name: &str, config: &FitConfig, terms: &[&str]) {
    let model = fit(config, &data(), 2).unwrap();
    let epochs = &model.history().epochs;
    let mean = |records: &[EpochRecord]| records.iter().map(|r| r.loss).sum::<f64>() / records.len() as f64;
    let third = epochs.len() / 3;
    let (early, late) = (mean(&epochs[..third]), mean(&epochs[epochs.len() - third..]));
    assert!(late < early - 0.02, "{name}: the loss went from {early} to {late}");
    for term in terms {
        assert!(
            epochs.iter().all(|r| r.terms.iter().any(|(name, v)| name.name() == *term && v.is_finite())),
            "{name}: no {term}"
        );
    }
    assert_eq!(epochs.last().map(|r| r.step), Some(config.train.steps), "{name}");
}

#[test]
fn the_average_is_of_the_weights() {
    let with = |ema| {
        let mut config = config();
        config.train.ema = ema;
        parameters(&fit(&config, &data(), 3).unwrap())
    };
    let plain = with(None);
    assert_eq!(with(Some(0.0)), plain, "an average without memory is the last weights");
    assert_ne!(with(Some(0.9)), plain);
}

#[test]
fn a_problem_without_unlabelled_rows_trains() {
    for (name, config) in variants() {
        if name == "diverging" {
            continue;
        }
        let model = fit(&config, &data().labelled_only(), 4).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(all_finite(model.gmm()), "{name}");
        assert_eq!(model.provenance().n_unlabelled, 0);
    }
}

#[test]
fn observers_see_every_stage_and_step() {
    #[derive(Default)]
    struct Log {
        phases: Vec<(Phase, Option<usize>)>,
        steps: usize,
        epochs: Vec<EpochRecord>,
    }
    impl Observer for Log {
        fn phase(&mut self, phase: &Phase, steps: Option<usize>) {
            self.phases.push((phase.clone(), steps));
        }
        fn epoch(&mut self, record: &EpochRecord) {
            self.epochs.push(record.clone());
        }
        fn progress(&mut self, _: usize) -> Control {
            self.steps += 1;
            Control::Continue
        }
    }
    let mut config = config();
    config.multi_start.starts = 2;
    let (data, mut log) = (data(), Log::default());
    let model = Fitter::new(&config, &data, 5).run(&mut log).unwrap();
    let start = |start, fold| (Phase::Start { start, starts: 2, fold }, Some(10));
    assert_eq!(log.phases, [start(1, 1), start(1, 2), start(2, 1), start(2, 2), (Phase::Training, Some(40))]);
    assert_eq!(log.steps, 4 * 10 + 40);
    assert!(log.epochs.ends_with(&model.history().epochs), "the kept history is the main run's");
    assert!(!model.history().epochs.is_empty());
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
