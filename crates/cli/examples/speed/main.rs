//! Times the workloads of the peers' benchmark through the public API; prints one JSON line per workload.
//!
//!     cargo run --release --example speed -- [W1 W2-200 W2-2000 W3 W4a W4b peak]
//!     cargo run --release --example speed -- --doubled
//!     cargo run --release --example speed -- --scaling [DIRECTORY [MOST_ROWS]]
//!     cargo run --release --example speed -- --small DATA [DIRECTORY]
//!
//! `--doubled` times a step as rows, depth or width double; `--scaling` times whole fits as the table grows, `--small` those to the small
//! tables of DATA.
//!
//! A training step is forward, loss, backward and Adam. W1: 2000 rows, dim 21, hidden 256, 7 couplings, 2 classes;
//! W2: 200 or 2000 rows, dim 768, hidden 512, 7 couplings, 4 classes; W4a and W4b score 100k and 20k rows of W1's and
//! W2's model in batches of 2000 (class posterior and log p(x)); W3 is forward and backward of four residual blocks; `peak` is ten
//! GFLOP of multiply-adds on registers, what everything else is measured by. ITERS and THREADS are read from the environment.
//! `experiments/peers.py` does the same with PyTorch and JAX.

mod scaling;
mod small;

use std::{path::Path, time::Instant};

use burn_tensor::Tensor;
use flowgmm::{
    Flow, FlowGmm, FlowSpec, Means, Mixture, MixtureSpec, MixtureValues,
    bijection::{Form, Init},
    objective::marginal_nll,
    tensor::{Place, log_normalise},
    train::{Adam, AdamConfig, gradients, put_trained, take_trained, trained_values},
};
use flowgmm_kernels::conv::{self, Activations, KernelSize, PreActConv, PreActParams, Workspace};
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
        works = ["W1", "W2-200", "W2-2000", "W3", "W4a", "W4b"].map(String::from).to_vec();
    }
    let words: Vec<&str> = works.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["--doubled"] => return doubled(iterations),
        ["--scaling"] => scaling::run(Path::new("experiments/results/scaling"), 10_000_000),
        ["--scaling", directory] => scaling::run(Path::new(directory), 10_000_000),
        ["--scaling", directory, most] => {
            scaling::run(Path::new(directory), most.parse().expect("a number of rows"))
        }
        ["--small", data] => small::run(Path::new(data), Path::new("experiments/results/speed")),
        ["--small", data, directory] => small::run(Path::new(data), Path::new(directory)),
        ["--one-fit", file, hidden @ ..] => scaling::one_fit(Path::new(file), hidden.first().copied()),
        _ => return times(&works, iterations),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

/// Times workloads by name.
fn times(works: &[String], iterations: usize) {
    for work in works {
        let timing = match work.as_str() {
            "W1" => training(&TABULAR, iterations),
            "W2-200" => training(&Shape { rows: 200, ..EMBEDDINGS }, iterations),
            "W2-2000" => training(&EMBEDDINGS, iterations),
            "W3" => convolution(iterations),
            "W4a" => scoring(&Shape { rows: 100_000, ..TABULAR }, iterations),
            "W4b" => scoring(&Shape { rows: 20_000, ..EMBEDDINGS }, iterations),
            "peak" => measure(1, iterations, peak),
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

/// Ten GFLOP on all threads.
fn peak() {
    let one = flowgmm_kernels::fma_peak(1);
    let rounds = (1e10 / one / rayon::current_num_threads() as f64) as usize;
    rayon::broadcast(|_| flowgmm_kernels::fma_peak(rounds));
}

/// A workload: rows of `dim` columns through `depth` couplings with these hidden layers.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    dim: usize,
    hidden: &'static [usize],
    depth: usize,
    classes: usize,
}

const TABULAR: Shape = Shape { rows: 2000, dim: 21, hidden: &[256], depth: 7, classes: 2 };
const EMBEDDINGS: Shape = Shape { rows: 2000, dim: 768, hidden: &[512], depth: 7, classes: 4 };

fn model(shape: &Shape, place: &Place) -> FlowGmm {
    let Shape { dim, hidden, depth, classes, .. } = *shape;
    let rng = &mut semisup::rng(0);
    let spec = FlowSpec::couplings(dim, depth, hidden, Form::ScaleThenShift);
    let flow = Flow::new(spec, Init::Random, rng, place).expect("a valid flow");
    let none = Array2::zeros((0, dim));
    let means =
        Means::Random { r: 1.0 }.place(classes, dim, none.view(), Array2::zeros((0, classes)).view(), rng);
    let values = MixtureValues {
        means: means.expect("random means fit any number of classes"),
        log_sigma: Array2::zeros((classes, 1)),
        log_weight: vec![0.0; classes],
        log_prior: vec![0.0; classes],
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(MixtureSpec::fixed(dim, classes), &values, place).expect("a valid mixture");
    FlowGmm::new(flow, mixture).expect("one dimension")
}

fn rows(shape: &Shape, place: &Place) -> Tensor<2> {
    let (n, dim) = (shape.rows, shape.dim);
    let rng = &mut semisup::rng(1);
    place.matrix((0..n * dim).map(|_| StandardNormal.sample(rng)).collect(), [n, dim])
}

fn training(shape: &Shape, iterations: usize) -> (f64, f64) {
    let mut step = training_step(shape);
    measure(4, iterations, &mut step)
}

/// One step of training: forward, loss, backward, Adam.
fn training_step(shape: &Shape) -> impl FnMut() {
    let place = Place::cpu();
    let (mut model, x) = (model(shape, &place), rows(shape, &place));
    let mut adam = Adam::new(AdamConfig::default(), &trained_values(&model));
    move || {
        let tracked = model.tracked();
        let loss = marginal_nll(&tracked.densities(x.clone())).mean();
        let gradients = gradients(&tracked, &loss);
        drop((tracked, loss));
        let norm = Adam::norm(&gradients);
        let mut thetas = take_trained(&mut model);
        adam.step(&mut thetas, None, &gradients, norm, 1e-3);
        put_trained(&mut model, thetas);
    }
}

/// Step times as rows, depth or the square of the width double, each beside the base in one loop.
fn doubled(iterations: usize) {
    let base = Shape { rows: 2000, dim: 32, hidden: &[256, 256], depth: 6, classes: 4 };
    // 362^2 is twice 256^2
    let doubled = [
        ("rows", Shape { rows: 4000, ..base }),
        ("depth", Shape { depth: 12, ..base }),
        ("width^2", Shape { hidden: &[362, 362], ..base }),
    ];
    println!("| doubled | base ms | doubled ms | ratio |\n|---|---|---|---|");
    for (name, shape) in doubled {
        let (mut one, mut other) = (training_step(&base), training_step(&shape));
        let (mut base_ms, mut doubled_ms) = (Vec::new(), Vec::new());
        for round in 0..iterations + 4 {
            let a = time(&mut one);
            let b = time(&mut other);
            if round >= 4 {
                base_ms.push(a);
                doubled_ms.push(b);
            }
        }
        let (a, b) = (median(base_ms), median(doubled_ms));
        println!("| {name} | {a:.2} | {b:.2} | {:.2} |", b / a);
    }
}

fn scoring(shape: &Shape, iterations: usize) -> (f64, f64) {
    let (place, n) = (Place::cpu(), shape.rows);
    let (model, x) = (model(shape, &place), rows(shape, &place));
    measure(1, iterations, || {
        for start in (0..n).step_by(2000) {
            let densities = model.densities(x.clone().narrow(0, start, 2000.min(n - start)));
            let joint = densities.log_joint();
            std::hint::black_box((log_normalise(joint.clone()).exp(), densities.log_marginal()));
        }
    })
}

/// Forward and backward of four residual blocks (two pre-activation convolutions each): 64 channels, batch 32, 28 x 28,
/// gradients of x and all parameters, from and to plain arrays.
fn convolution(iterations: usize) -> (f64, f64) {
    const CHANNELS: usize = 64;
    const BLOCKS: usize = 4;
    let shape = conv::Shape { n: 32, channels: CHANNELS, height: 28, width: 28 };
    let workspace = Workspace::default();
    let layer = PreActConv::new(CHANNELS, CHANNELS, KernelSize::Three, &workspace);
    let mut rng = semisup::rng(0);
    let mut draw = |n: usize, scale: f32| -> Vec<f32> {
        (0..n).map(|_| scale * rand::Rng::random_range(&mut rng, -1.0..1.0)).collect()
    };
    let weights: Vec<Vec<f32>> =
        (0..2 * BLOCKS).map(|_| draw(layer.conv().n_weights(), 1.0 / 24.0)).collect();
    let (gamma, beta) = (vec![1.0; CHANNELS], vec![0.0; CHANNELS]);
    let params = |i: usize| PreActParams { gamma: &gamma, beta: &beta, weights: &weights[i] };
    let values = draw(shape.len(), 1.7);
    measure(2, iterations, || {
        let mut inputs = vec![Activations::from_nchw(&workspace, shape, &values)]; // of each layer, then the output
        for i in 0..2 * BLOCKS {
            let residual = (i % 2 == 1).then(|| &inputs[i - 1]);
            inputs.push(layer.forward(params(i), &inputs[i], residual));
        }
        let mut gradient = Activations::filled(&workspace, shape, 1.0); // of the sum of the output
        for block in (0..BLOCKS).rev() {
            let (inner, outer) = (2 * block, 2 * block + 1);
            let of_outer = layer.backward(params(outer), &inputs[outer], &gradient, None);
            let of_inner = layer.backward(params(inner), &inputs[inner], &of_outer.x, Some(&gradient));
            gradient = of_inner.x;
            std::hint::black_box((of_outer.weights, of_inner.weights));
        }
        std::hint::black_box((inputs[2 * BLOCKS].to_nchw(), gradient.to_nchw()));
    })
}

/// Median and least time in milliseconds, as the peers' script takes them.
fn measure(warm: usize, iterations: usize, mut step: impl FnMut()) -> (f64, f64) {
    (0..warm).for_each(|_| step());
    let (mut times, began) = (Vec::new(), Instant::now());
    while times.len() < iterations && (times.len() < 5 || began.elapsed().as_secs_f64() < 30.0) {
        times.push(time(&mut step));
    }
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    (median(times), least)
}

fn time(step: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    step();
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
