//! A GPU trains and scores what the CPU does. Any machine can check this with a software Vulkan driver:
//!
//! ```text
//! apt-get install mesa-vulkan-drivers
//! cargo test --release -p flowgmm --features wgpu --test wgpu
//! ```
//!
//! The device is `gpu-software`, or the one that FLOWGMM_TEST_DEVICE names. A machine without it has not run the
//! test, and hears so: the test fails.
#![cfg(feature = "wgpu")]

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use flowgmm::{
    Checkpoints, DeviceName, Em, Engine, Error, FitConfig, Fitter, Flow, FlowSpec, MixtureStep, Model,
    MultiStart, Observer, Phase, Resume, Trainable, Transform,
    bijection::{Bijection, BijectionSpec, Init, Mapped},
    objective::{Agreement, Consistency},
    tensor::{Place, to_vec},
    train::Control,
};
use ndarray::Array2;
use semisup::{SemiSupervised, Toy};
use support::{Probe, assert_close, normal_rows, probe_gradients, uniform_rows};
use tempfile::TempDir;

/// Of a loss, relative to 1 + |loss|: single precision in another order of operations, over a few dozen steps.
const LOSS: f64 = 1e-4;
/// Of a probability.
const PROBABILITY: f64 = 1e-3;
/// Of one bijection, relative to the largest value: single precision in another order of operations.
const SINGLE: f64 = 2e-5;

/// The device under test, or a failure that says by name what is missing.
fn gpu() -> Place {
    let name = std::env::var("FLOWGMM_TEST_DEVICE").unwrap_or_else(|_| "gpu-software".into());
    let name: DeviceName = name.parse().unwrap();
    Place::on(&name)
        .unwrap_or_else(|error| panic!("not run: no Vulkan adapter; install mesa-vulkan-drivers ({error})"))
}

/// Ten labelled moon points and ninety without a label.
fn data() -> SemiSupervised {
    let train = Toy::Moons.problem(1).train;
    let mut rows = train.labelled();
    rows.extend(train.unlabelled().into_iter().take(90));
    train.select(&rows).unwrap()
}

/// The toy's configuration with a small network, for a few epochs of three steps.
fn config() -> FitConfig {
    let mut config = FitConfig::toy();
    config.architecture.depth = 3;
    config.architecture.hidden = vec![16];
    config.train.steps = 36;
    config.train.batch_labelled = 8;
    config.train.batch_unlabelled = 32;
    config
}

fn train(config: &FitConfig, place: &Place) -> (Model, Duration) {
    let (data, began) = (data(), Instant::now());
    let fitter = Fitter::new(config, &data, 5).engine(Engine::Composed).place(place.clone());
    (fitter.run(&mut ()).unwrap(), began.elapsed())
}

fn probabilities(model: &Model) -> Array2<f64> {
    let test = Toy::Moons.problem(1).test;
    model.score(test.x()).log_probs.mapv(f64::exp)
}

fn largest_gap<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    largest(a.into_iter().zip(b).map(|(a, b)| (a - b).abs()))
}

/// The largest value, or a NaN if there is one.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most, value| if most >= value || most.is_nan() { most } else { value })
}

/// Losses of every epoch and probabilities of the result.
fn check_equal(what: &str, on_gpu: &Model, on_cpu: &Model) {
    let losses = |model: &Model| model.history().epochs.iter().map(|e| e.loss).collect::<Vec<f64>>();
    let (got, want) = (losses(on_gpu), losses(on_cpu));
    assert_eq!(got.len(), want.len(), "{what}: epochs");
    let worst = largest(got.iter().zip(&want).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())));
    let apart = largest_gap(&probabilities(on_gpu), &probabilities(on_cpu));
    eprintln!("{what}: {} epochs, losses differ by {worst:.1e}, probabilities by {apart:.1e}", got.len());
    assert!(worst <= LOSS, "{what}: losses {got:?} on the GPU, {want:?} on the CPU");
    assert!(apart <= PROBABILITY, "{what}: probabilities differ by {apart:e}");
}

#[test]
fn a_toy_trains_to_the_same_losses_and_probabilities() {
    let gpu = gpu();
    let (on_cpu, cpu_time) = train(&config(), &Place::cpu());
    let (on_gpu, gpu_time) = train(&config(), &gpu);
    eprintln!("{}: {gpu_time:.1?}, CPU: {cpu_time:.1?}", gpu.describe());
    assert!(on_cpu.history().epochs.len() >= 10, "losses of many epochs are compared");
    check_equal("toy", &on_gpu, &on_cpu);
    let certificate = on_gpu.provenance().certificate.expect("a fit is certified");
    assert!(certificate.round_trip < 1e-3, "{certificate:?}");
    assert!(certificate.round_trip_f64 < 1e-9 && certificate.log_det < 1e-5, "{certificate:?}");
}

/// What the toy leaves out: splines, several Gaussians per class, a trained mixture, EM, several starts.
#[test]
fn other_paths_through_training_agree_too() {
    let gpu = gpu();
    let with = |change: &dyn Fn(&mut FitConfig)| {
        let mut config = config();
        config.train.steps = 9;
        change(&mut config);
        config
    };
    let variants = [
        ("splines", with(&|c| c.architecture.coupling = Transform::Spline { bins: 4, bound: 4.0 })),
        (
            "trained mixture",
            with(&|c| {
                c.architecture.per_class = 2;
                c.architecture.trainable = Trainable { means: true, covariances: true, weights: true };
                c.train.objective.alignment = 0.5;
                let agreement = Agreement::CrossEntropy { confidence: 0.6 };
                c.train.objective.consistency = Some(Consistency { agreement, weight: 0.5, ramp: 0.5 });
            }),
        ),
        (
            "EM and several starts",
            with(&|c| {
                c.train.em = Some(Em::new(1, MixtureStep::ClosedForm));
                c.train.ema = None;
                c.multi_start = MultiStart { starts: 2, fraction: 0.3, folds: 2 };
            }),
        ),
    ];
    for (name, config) in variants {
        check_equal(name, &train(&config, &gpu).0, &train(&config, &Place::cpu()).0);
    }
}

/// Values, log-dets, inverses and gradients of every kind; of a single column too, where a side of a coupling is empty.
#[test]
fn every_bijection_agrees() {
    let gpu = gpu();
    for dim in [1, 4] {
        let rng = &mut semisup::rng(8);
        for spec in BijectionSpec::examples(dim, rng) {
            let x = match spec {
                BijectionSpec::Logit { .. } => uniform_rows(9, dim, 0.1, 0.9, rng),
                _ => normal_rows(9, dim, rng),
            };
            let [got, want] = [&gpu, &Place::cpu()].map(|place| everything(&spec, &x, place));
            for ((what, got), (_, want)) in got.iter().zip(&want) {
                assert_close(&format!("{what} of {spec:?}"), got, want, SINGLE);
            }
        }
    }
}

fn everything(spec: &BijectionSpec, x: &Array2<f64>, place: &Place) -> Vec<(&'static str, Vec<f64>)> {
    let (dim, rng) = (x.ncols(), &mut semisup::rng(9));
    let flow = Flow::new(FlowSpec { dim, layers: vec![spec.clone()] }, Init::Random, rng, place).unwrap();
    let flow = flow.with_engine(Engine::Composed);
    let probe = Probe::new(x.nrows(), dim, rng, place);
    let x = place.rows(x.view());
    let Mapped { value, log_det } = flow.forward(x.clone());
    let (of_x, of_thetas) = probe_gradients(&flow, &probe, &x);
    let mut found = vec![
        ("z", to_vec(&value)),
        ("log_det", to_vec(&log_det)),
        ("the inverse", to_vec(&flow.inverse(value))),
        ("the gradient of x", of_x),
    ];
    found.extend(of_thetas.into_iter().map(|gradient| ("the gradient of theta", gradient)));
    found
}

/// Stops after a number of steps.
struct StopAt {
    step: usize,
    training: bool,
}

impl Observer for StopAt {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, step: usize) -> Control {
        if self.training && step == self.step { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_checkpoint_of_a_gpu_resumes_there_and_a_model_file_moves_between_devices() {
    let (gpu, data) = (gpu(), data());
    let mut config = config();
    config.train.steps = 12;
    let directory = TempDir::new().unwrap();
    let fitter = |resume| {
        let checkpoints = Checkpoints::new(directory.path(), Duration::from_secs(3600), resume);
        Fitter::new(&config, &data, 5).place(gpu.clone()).checkpoints(checkpoints)
    };
    let stopped = fitter(Resume::No).run(&mut StopAt { step: 7, training: false });
    assert!(matches!(stopped, Err(Error::Interrupted { step: 7 })), "{stopped:?}");
    let resumed = fitter(Resume::IfPresent).run(&mut ()).unwrap();
    check_equal("resumed", &resumed, &train(&config, &gpu).0);

    let file = directory.path().join("model");
    resumed.save(&file).unwrap();
    for place in [&gpu, &Place::cpu()] {
        let loaded = Model::load(&file, place).unwrap();
        assert!(largest_gap(&probabilities(&loaded), &probabilities(&resumed)) <= PROBABILITY);
        let z = resumed.encode(data.x());
        assert!(largest_gap(&loaded.encode(data.x()), &z) <= 1e-4);
        assert!(largest_gap(&loaded.decode(z.view()), &data.x().to_owned()) <= 1e-3);
    }
}

#[test]
fn a_name_opens_one_device_however_often_it_is_asked() {
    let (first, second) = (gpu(), gpu());
    assert_eq!(first.device, second.device);
    let sum = first.vector(vec![1.0, 2.0]) + second.vector(vec![3.0, 4.0]);
    assert_eq!(to_vec(&sum), [4.0, 6.0]);
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    let error = Place::on(&DeviceName::Gpu(40)).unwrap_err();
    assert!(matches!(error, Error::Config(_)));
    let text = error.to_string();
    assert!(text.contains("gpu:40") && text.contains("use the device cpu"), "{text}");
}
