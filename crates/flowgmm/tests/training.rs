//! Training keeps its promises: numbers stay numbers or the run ends with an error that names its step, and every kind of
//! objective trains.

mod small;
#[path = "../../core/tests/support/mod.rs"]
mod support;

use flowgmm::{
    Em, Error, FitConfig, Fitter, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureStep, MixtureValues,
    Model, Observer, Phase,
    bijection::{Form, Init},
    objective::{Agreement, Consistency, Scale, SoftTargets},
    tensor::Place,
    train::{Control, EpochRecord, TrainConfig, TrainState, Trainer, TrainingMatrix, TrainingRows},
};
use ndarray::Array2;
use small::{all_finite, config, constant, data, fit, parameters, variants};
use support::normal_rows;
use tempfile::TempDir;

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
            let wild = data.with_rows(x);
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
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(MixtureSpec::fixed(2, 2), &values, &Place::cpu()).unwrap();
    let rows = TrainingRows {
        labelled: TrainingMatrix::new(x.slice(ndarray::s![..10, ..])),
        y: (0..10).map(|row| row % 2).collect(),
        unlabelled: std::sync::Arc::new(TrainingMatrix::new(x.slice(ndarray::s![10.., ..]))),
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
    em.train.em = Some(Em::new(2, MixtureStep::ClosedForm));
    check_learning("EM", &em, &[]);
    let mut labels = trainable();
    labels.train.objective.unlabelled = 0.0;
    check_learning("labelled rows alone", &labels, &[]);
}

/// The mixture's means stay where they were put until the flow has warmed up; an untrained flow's latent points would merge them.
#[test]
fn closed_form_estimates_wait_until_the_flow_has_warmed_up() {
    let means_of = |em: Em| {
        let mut config = trainable();
        config.train.em = Some(em);
        fit(&config, &data(), 2).unwrap().gmm().mixture().values().means
    };
    let means = |wait: f64| means_of(Em { every: 1, mixture: MixtureStep::ClosedForm, wait });
    let (never, always, late) = (means(1.0), means(0.0), means(0.5));
    assert_eq!(
        means_of(Em::new(1, MixtureStep::ClosedForm)),
        late,
        "unless told otherwise, for half of training"
    );
    let mut fixed = trainable();
    fixed.train.em = Some(Em::new(1, MixtureStep::Fixed));
    let put = fit(&fixed, &data(), 2).unwrap().gmm().mixture().values().means;
    assert_eq!(never, put, "before its time nothing is estimated");
    assert!(always != put && late != put && late != always, "after it, the means are the data's");
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
        training: bool,
        epochs: Vec<EpochRecord>,
    }
    impl Observer for Log {
        fn phase(&mut self, phase: &Phase, steps: Option<usize>) {
            self.training = phase.counts_steps();
            if self.training {
                self.phases.push((phase.clone(), steps));
            }
        }
        fn epoch(&mut self, record: &EpochRecord) {
            self.epochs.push(record.clone());
        }
        fn progress(&mut self, _: usize) -> Control {
            self.steps += usize::from(self.training);
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
