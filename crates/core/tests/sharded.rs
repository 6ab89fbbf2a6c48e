//! Laws of sharded training: the number of workers, their order and the threads change no bit, and the gradient is the batch's.

use std::sync::{Arc, Barrier, Mutex};

use flowgmm_core::{
    Engine, Flow, FlowGmm, Mixture, MixtureSpec, MixtureValues,
    bijection::{Form, Init},
    checkpoint::{self, Fingerprint, Progress, Saved},
    objective::{Agreement, Consistency, Objective, SoftTargets},
    tensor::{Place, to_vec},
    train::{
        AdamConfig, Control, DecayShape, Local, Observer, Reduce, Reduced, Schedule, Shard, Shards,
        TaughtRows, TrainConfig, TrainState, Trainer, TrainingMatrix, TrainingRows,
    },
};
use ndarray::Array2;

const N: usize = 240;
const SHARDS: usize = 8;
const TAUGHT: usize = 60;

/// Threads that reduce together, each with its own numbers.
#[derive(Debug, Clone)]
struct Threads {
    barrier: Arc<Barrier>,
    max: Arc<Mutex<Vec<f64>>>,
    sum: Arc<Mutex<Vec<i64>>>,
}

impl Threads {
    fn new(n: usize) -> Self {
        Self { barrier: Arc::new(Barrier::new(n)), max: Arc::default(), sum: Arc::default() }
    }

    fn all<T: Copy>(&self, shared: &Mutex<Vec<T>>, values: &mut [T], join: impl Fn(T, T) -> T) {
        {
            let mut shared = shared.lock().unwrap();
            if shared.is_empty() {
                shared.extend_from_slice(values);
            } else {
                shared.iter_mut().zip(&*values).for_each(|(all, own)| *all = join(*all, *own));
            }
        }
        self.barrier.wait();
        values.copy_from_slice(&shared.lock().unwrap());
        if self.barrier.wait().is_leader() {
            shared.lock().unwrap().clear();
        }
        self.barrier.wait();
    }
}

impl Reduce for Threads {
    fn max(&mut self, values: &mut [f64]) -> Reduced {
        self.all(&self.max, values, f64::max);
        Ok(())
    }

    fn sum(&mut self, values: &mut [i64]) -> Reduced {
        self.all(&self.sum, values, |a, b| a + b);
        Ok(())
    }
}

/// The number of a row, as a point on one of two arcs.
fn point(i: usize) -> [f64; 2] {
    let t = i as f64 * 0.37;
    let side = (i % 2) as f64;
    [t.cos() + side, t.sin() * (1.0 - 2.0 * side) + 0.1 * ((i * 7) % 5) as f64]
}

fn matrix(rows: &[usize]) -> TrainingMatrix {
    TrainingMatrix::new(Array2::from_shape_fn((rows.len(), 2), |(i, j)| point(rows[i])[j]).view())
}

/// Row i is in shard (5 i) mod 8, but for shard 3, which is empty.
fn shard_of(row: usize) -> usize {
    match row * 5 % SHARDS {
        3 => 4,
        shard => shard,
    }
}

/// The rows of a worker that holds these shards: the taught rows are on all workers.
fn part(own: &[usize]) -> (TrainingRows, Vec<Shard>) {
    let others: Vec<usize> = (TAUGHT..N).filter(|&row| own.contains(&shard_of(row))).collect();
    let held: Vec<usize> = (0..TAUGHT).chain(others).collect();
    let labelled: Vec<usize> = (N..N + 6).collect();
    let taught: Vec<usize> = (0..TAUGHT).collect();
    let q = taught.iter().flat_map(|&row| [0.9 - 0.8 * (row % 2) as f32, 0.1 + 0.8 * (row % 2) as f32]);
    let rows = TrainingRows {
        labelled: matrix(&labelled),
        y: labelled.iter().map(|row| row % 2).collect(),
        unlabelled: Arc::new(matrix(&held)),
        soft_targets: Some(TaughtRows { q: q.collect(), rows: taught }),
        n_classes: 2,
    };
    let shards = own.iter().map(|&number| Shard {
        number,
        rows: (0..held.len()).filter(|&at| shard_of(held[at]) == number).collect(),
        taught: (0..TAUGHT).filter(|&at| shard_of(at) == number).collect(),
    });
    (rows, shards.collect())
}

fn model(engine: Engine) -> FlowGmm {
    let place = Place::cpu();
    let spec = flowgmm_core::FlowSpec::couplings(2, 4, &[16], Form::ScaleThenShift);
    let flow = Flow::new(spec, Init::Random, &mut semisup::rng(3), &place).unwrap();
    let values = MixtureValues {
        means: Array2::from_shape_fn((2, 2), |(k, _)| 2.0 - 4.0 * k as f64),
        log_sigma: Array2::zeros((2, 1)),
        log_weight: vec![0.0; 2],
        log_prior: vec![0.5f64.ln(); 2],
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(MixtureSpec::fixed(2, 2), &values, &place).unwrap();
    FlowGmm::new(flow, mixture).unwrap().with_engine(engine)
}

fn config(steps: usize, shards: Option<usize>) -> TrainConfig {
    TrainConfig {
        steps,
        batch_labelled: 5,
        batch_unlabelled: 50,
        schedule: Schedule { peak: 3e-3, warm_up: 0.1, shape: DecayShape::Cosine { floor: 0.01 } },
        adam: AdamConfig { clip: Some(5.0), ..AdamConfig::default() },
        ema: Some(0.9),
        objective: Objective {
            cross_entropy: 1.0,
            alignment: 0.3,
            consistency: Some(Consistency { agreement: Agreement::Likelihood, weight: 1.0, ramp: 0.3 }),
            soft_targets: Some(SoftTargets { weight: 1.0, until: 0.5 }),
            ..Objective::likelihood()
        },
        noise: 0.05,
        view_noise: 0.1,
        views: None,
        refine: None,
        dropout: 0.0,
        em: None,
        shards,
    }
}

/// Weights, their average and the history after training by workers that hold these shards each.
fn trained(workers: &[Vec<usize>], config: &TrainConfig, engine: Engine) -> Vec<(Vec<u8>, String)> {
    let reduce = Threads::new(workers.len());
    std::thread::scope(|scope| {
        let run = |own: &Vec<usize>| {
            let (mut reduce, own) = (reduce.clone(), own.clone());
            scope.spawn(move || {
                let (rows, shards) = part(&own);
                let shards = Shards::new(SHARDS, shards, &mut reduce).unwrap();
                let state = TrainState::new(model(engine), config);
                let mut trainer = Trainer::new(config, &rows, 7, state).sharded(&shards, &mut reduce);
                trainer.run(&mut ()).unwrap();
                let history = serde_json::to_string(&trainer.state.history).unwrap();
                (checkpoint::to_bytes(&Fingerprint::default(), &Progress::default(), &trainer.state), history)
            })
        };
        let threads: Vec<_> = workers.iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The shards dealt out to so many workers.
fn dealt(workers: usize) -> Vec<Vec<usize>> {
    (0..workers).map(|w| (0..SHARDS).filter(|s| s * workers / SHARDS == w).collect()).collect()
}

#[test]
fn the_number_of_workers_changes_no_bit() {
    for engine in [Engine::Fused, Engine::Composed] {
        let config = config(30, Some(SHARDS));
        let alone = trained(&dealt(1), &config, engine);
        for workers in [2, 3, 4, 8] {
            for found in trained(&dealt(workers), &config, engine) {
                assert!(found == alone[0], "{workers} workers, {engine:?}");
            }
        }
        // Nor who holds which, nor a worker that holds none.
        for dealt in [vec![vec![7, 0, 3], vec![1, 6], vec![5, 4, 2]], vec![(0..8).collect(), vec![]]] {
            assert!(trained(&dealt, &config, engine).iter().all(|found| *found == alone[0]), "{dealt:?}");
        }
    }
}

#[test]
fn another_number_of_threads_changes_no_bit() {
    let config = config(20, Some(SHARDS));
    let by = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (rows, shards) = part(&(0..SHARDS).collect::<Vec<_>>());
            let mut local = Local;
            let shards = Shards::new(SHARDS, shards, &mut local).unwrap();
            let state = TrainState::new(model(Engine::Fused), &config);
            let mut trainer = Trainer::new(&config, &rows, 7, state).sharded(&shards, &mut local);
            trainer.run(&mut ()).unwrap();
            checkpoint::to_bytes(&Fingerprint::default(), &Progress::default(), &trainer.state)
        })
    };
    assert!(by(1) == by(3));
}

/// Stops at a step.
struct StopAt(usize);

impl Observer for StopAt {
    fn step(&mut self, state: &TrainState) -> Control {
        if state.step == self.0 { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_run_goes_on_from_the_bytes_of_its_state() {
    let config = config(25, Some(SHARDS));
    let whole = &trained(&dealt(1), &config, Engine::Fused)[0].0;
    let (rows, shards) = part(&(0..SHARDS).collect::<Vec<_>>());
    let mut local = Local;
    let shards = Shards::new(SHARDS, shards, &mut local).unwrap();
    let bytes =
        |state: &TrainState| checkpoint::to_bytes(&Fingerprint::default(), &Progress::default(), state);
    let state = TrainState::new(model(Engine::Fused), &config);
    let mut first = Trainer::new(&config, &rows, 7, state).sharded(&shards, &mut local);
    first.run(&mut StopAt(11)).expect_err("stopped");
    let half = bytes(&first.state);
    let saved = Saved::from_bytes(&half, &Fingerprint::default(), &Place::cpu()).unwrap();
    let state = saved.into_state(&config, Engine::Fused).unwrap();
    assert_eq!(state.step, 11);
    let mut local = Local;
    let mut second = Trainer::new(&config, &rows, 7, state).sharded(&shards, &mut local);
    second.run(&mut ()).unwrap();
    assert!(bytes(&second.state) == *whole);
    let other = Fingerprint { seed: 1, ..Fingerprint::default() };
    assert!(Saved::from_bytes(&half, &other, &Place::cpu()).is_err(), "of another fit");
}

/// With every row in the batch, no noise and no order, one shard and eight see the same rows: their gradients are those of the
/// plain trainer but for rounding, alignment included.
#[test]
fn the_gradient_is_that_of_the_whole_batch() {
    let mut settings = config(1, Some(SHARDS));
    (settings.batch_labelled, settings.batch_unlabelled) = (6, 8 * N);
    (settings.noise, settings.view_noise, settings.ema) = (0.0, 0.0, None);
    settings.objective.soft_targets = None;
    settings.objective.alignment = 5.0;
    settings.adam.clip = None;
    let after = |settings: &TrainConfig, cut: bool| {
        let (mut rows, shards) = part(&(0..SHARDS).collect::<Vec<_>>());
        rows.soft_targets = None;
        let state = TrainState::new(model(Engine::Composed), settings);
        let mut local = Local;
        let shards = Shards::new(SHARDS, shards, &mut local).unwrap();
        let mut trainer = Trainer::new(settings, &rows, 7, state);
        if cut {
            trainer = trainer.sharded(&shards, &mut local);
        }
        trainer.run(&mut ()).unwrap();
        let record = trainer.state.history.epochs[0].clone();
        (flowgmm_core::train::trained_values(&trainer.state.model), record)
    };
    let (plain, of_plain) = after(&settings, false);
    let (cut, of_cut) = after(&settings, true);
    assert!((of_plain.loss - of_cut.loss).abs() < 1e-5 * of_plain.loss.abs(), "{of_plain:?} {of_cut:?}");
    for (name, value) in &of_plain.terms {
        assert!((value - of_cut.terms[name]).abs() < 1e-5 * value.abs().max(1.0), "{name}");
    }
    // Adam's first step moves every weight by the rate, whatever the gradient: its norm and the signs must agree.
    assert!((of_plain.gradient_norm / of_cut.gradient_norm - 1.0).abs() < 1e-5);
    let rate = settings.schedule.peak;
    let differ = plain.iter().zip(&cut).flat_map(|(a, b)| {
        let pairs: Vec<(f64, f64)> = to_vec(a).into_iter().zip(to_vec(b)).collect();
        pairs
    });
    let (far, all) =
        differ.fold((0, 0), |(far, all), (a, b)| (far + usize::from((a - b).abs() > 0.01 * rate), all + 1));
    assert!(far * 100 <= all, "{far} of {all} weights moved differently");
}

#[test]
fn a_step_that_is_not_finite_is_rolled_back_on_every_worker() {
    let mut settings = config(5, Some(SHARDS));
    settings.schedule.peak = 1e30;
    let reduce = Threads::new(2);
    let settings = &settings;
    let errors: Vec<String> = std::thread::scope(|scope| {
        let run = |own: Vec<usize>| {
            let mut reduce = reduce.clone();
            scope.spawn(move || {
                let (rows, shards) = part(&own);
                let shards = Shards::new(SHARDS, shards, &mut reduce).unwrap();
                let state = TrainState::new(model(Engine::Fused), settings);
                let mut trainer = Trainer::new(settings, &rows, 7, state).sharded(&shards, &mut reduce);
                let ended = trainer.run(&mut ()).map_err(|error| error.to_string());
                format!("{ended:?} {}", trainer.state.rollbacks)
            })
        };
        let threads: Vec<_> = dealt(2).into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(errors[0], errors[1]);
    assert!(!errors[0].ends_with(" 0"), "{errors:?}: nothing was rolled back");
}
