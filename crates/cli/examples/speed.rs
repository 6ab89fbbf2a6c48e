//! Times the workloads of the peers' benchmark through the public API; prints one JSON line per workload.
//!
//!     cargo run --release --example speed -- [W1 W2-200 W2-2000 W4a W4b]
//!
//! A training step is forward, loss, backward and Adam. W1: 2000 rows, dim 21, hidden 256, 7 couplings, 2 classes;
//! W2: 200 or 2000 rows, dim 768, hidden 512, 7 couplings, 4 classes; W4a and W4b score 100k and 20k rows of W1's and
//! W2's model in batches of 2000 (class posterior and log p(x)). ITERS and THREADS are read from the environment.

use std::time::Instant;

use burn::tensor::Tensor;
use flowgmm::{
    Flow, FlowGmm, FlowSpec, Means, Mixture, MixtureSpec, MixtureValues,
    bijection::{Form, Init},
    objective::marginal_nll,
    tensor::{Place, log_normalise},
    train::{Adam, AdamConfig, gradients, put_trained, take_trained, trained_values},
};
use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};

fn main() {
    let setting =
        |name: &str, default: usize| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let threads = setting("THREADS", 2);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first use of the pool");
    let iterations = setting("ITERS", 25);
    let mut works: Vec<String> = std::env::args().skip(1).collect();
    if works.is_empty() {
        works = ["W1", "W2-200", "W2-2000", "W4a", "W4b"].map(String::from).to_vec();
    }
    for work in works {
        let timing = match work.as_str() {
            "W1" => training(2000, 21, 256, 2, iterations),
            "W2-200" => training(200, 768, 512, 4, iterations),
            "W2-2000" => training(2000, 768, 512, 4, iterations),
            "W4a" => scoring(100_000, 21, 256, 2, iterations),
            "W4b" => scoring(20_000, 768, 512, 4, iterations),
            other => {
                eprintln!("{other}: not timed here");
                continue;
            }
        };
        println!(
            "{}",
            serde_json::json!({"engine": "flowgmm", "work": work, "ms": timing.0, "min_ms": timing.1})
        );
    }
}

const DEPTH: usize = 7;

fn model(dim: usize, hidden: usize, classes: usize, place: &Place) -> FlowGmm {
    let rng = &mut semisup::rng(0);
    let spec = FlowSpec::couplings(dim, DEPTH, &[hidden], Form::ScaleThenShift);
    let flow = Flow::new(spec, Init::Random, rng, place).expect("a valid flow");
    let none = Array2::zeros((0, dim));
    let means =
        Means::Random { r: 1.0 }.place(classes, dim, none.view(), Array2::zeros((0, classes)).view(), rng);
    let values = MixtureValues {
        means: means.expect("random means fit any number of classes"),
        log_sigma: Array2::zeros((classes, 1)),
        log_weight: vec![0.0; classes],
        log_prior: vec![0.0; classes],
    };
    let mixture = Mixture::new(MixtureSpec::fixed(dim, classes), &values, place).expect("a valid mixture");
    FlowGmm::new(flow, mixture).expect("one dimension")
}

fn rows(n: usize, dim: usize, place: &Place) -> Tensor<2> {
    let rng = &mut semisup::rng(1);
    place.matrix((0..n * dim).map(|_| StandardNormal.sample(rng)).collect(), [n, dim])
}

fn training(n: usize, dim: usize, hidden: usize, classes: usize, iterations: usize) -> (f64, f64) {
    let place = Place::cpu();
    let (mut model, x) = (model(dim, hidden, classes, &place), rows(n, dim, &place));
    let mut adam = Adam::new(AdamConfig::default(), &trained_values(&model));
    measure(4, iterations, || {
        let tracked = model.tracked();
        let loss = marginal_nll(&tracked.densities(x.clone())).mean();
        let gradients = gradients(&tracked, &loss);
        drop((tracked, loss));
        let norm = Adam::norm(&gradients);
        let mut thetas = take_trained(&mut model);
        adam.step(&mut thetas, None, &gradients, norm, 1e-3);
        put_trained(&mut model, thetas);
    })
}

fn scoring(n: usize, dim: usize, hidden: usize, classes: usize, iterations: usize) -> (f64, f64) {
    let place = Place::cpu();
    let (model, x) = (model(dim, hidden, classes, &place), rows(n, dim, &place));
    measure(1, iterations, || {
        for start in (0..n).step_by(2000) {
            let densities = model.densities(x.clone().narrow(0, start, 2000.min(n - start)));
            let joint = densities.log_joint();
            std::hint::black_box((log_normalise(joint.clone()).exp(), densities.log_marginal()));
        }
    })
}

/// Median and least time in milliseconds, as the peers' script takes them.
fn measure(warm: usize, iterations: usize, mut step: impl FnMut()) -> (f64, f64) {
    (0..warm).for_each(|_| step());
    let (mut times, began) = (Vec::new(), Instant::now());
    while times.len() < iterations && (times.len() < 5 || began.elapsed().as_secs_f64() < 30.0) {
        let start = Instant::now();
        step();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}
