//! Times forward + backward of four pre-activation residual blocks (two 3x3 convolutions each, 64 channels, batch
//! 32, 28 x 28): workload W3 of the benchmarks.
//!
//! The last line is for the table of speeds: milliseconds with both changes of layout, from and to `[n, c, h, w]`, as a
//! caller with plain arrays has them.
//!
//! `cargo run --release -p flowgmm-kernels --example conv_step`

use flowgmm_kernels::conv::{Activations, KernelSize, PreActConv, PreActParams, Shape, Workspace};
use rand::{Rng, SeedableRng};
use std::time::Instant;

const CHANNELS: usize = 64;
const SHAPE: Shape = Shape { n: 32, channels: CHANNELS, height: 28, width: 28 };
const LAYERS: usize = 8; // two per block

fn main() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(0))
        .build_global()
        .expect("the first to build it");
    let workspace = Workspace::default();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
    let mut draw =
        |n: usize, scale: f32| -> Vec<f32> { (0..n).map(|_| scale * rng.random_range(-1.0..1.0)).collect() };
    let layer = PreActConv::new(CHANNELS, CHANNELS, KernelSize::Three, &workspace);
    let weights: Vec<Vec<f32>> = (0..LAYERS).map(|_| draw(layer.conv().n_weights(), 1.0 / 24.0)).collect();
    let (gamma, beta) = (vec![1.0; CHANNELS], vec![0.0; CHANNELS]);
    let params = |i: usize| PreActParams { gamma: &gamma, beta: &beta, weights: &weights[i] };
    let values = draw(SHAPE.len(), 1.7);

    let (mut forward, mut backward, mut cpu, mut whole) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 5.0 {
        let began = Instant::now();
        // A fresh input, so that its moments are computed too.
        let x = Activations::from_nchw(&workspace, SHAPE, &values);
        let (t, cpu_before) = (Instant::now(), cpu_ms());
        let mut inputs = vec![x]; // of each layer, then the output
        for i in 0..LAYERS {
            let residual = (i % 2 == 1).then(|| &inputs[i - 1]);
            let y = layer.forward(params(i), &inputs[i], residual);
            inputs.push(y);
        }
        forward.push(t.elapsed().as_secs_f64() * 1e3);
        let t = Instant::now();
        let mut grads = Vec::new();
        let mut gy = Activations::filled(&workspace, SHAPE, 1.0); // of the sum of the output
        for block in (0..LAYERS / 2).rev() {
            let outer = layer.backward(params(2 * block + 1), &inputs[2 * block + 1], &gy, None);
            let inner = layer.backward(params(2 * block), &inputs[2 * block], &outer.x, Some(&gy));
            gy = inner.x;
            grads.push((outer.weights, outer.gamma, outer.beta, inner.weights, inner.gamma, inner.beta));
        }
        backward.push(t.elapsed().as_secs_f64() * 1e3);
        cpu.push(cpu_ms() - cpu_before);
        let plain = (inputs[LAYERS].to_nchw(), gy.to_nchw());
        whole.push(began.elapsed().as_secs_f64() * 1e3);
        std::hint::black_box((grads, plain));
    }
    print(forward, backward, cpu, whole);
}

/// Medians and best times, and the line for the table of speeds.
fn print(forward: Vec<f64>, backward: Vec<f64>, cpu: Vec<f64>, whole: Vec<f64>) {
    let both: Vec<f64> = forward.iter().zip(&backward).map(|(a, b)| a + b).collect();
    // A multiply-add is two; each layer has three passes.
    let flops = 3.0 * 2.0 * (LAYERS * SHAPE.len() * CHANNELS * 9) as f64;
    for (name, times, share) in
        [("forward", forward, 1.0 / 3.0), ("backward", backward, 2.0 / 3.0), ("both", both, 1.0)]
    {
        let (median, best) = summary(times);
        println!(
            "{name:9} {median:7.2} ms, best {best:7.2} ms: {:6.1} effective GFLOP/s",
            share * flops / best / 1e6
        );
    }
    let (median, best) = summary(cpu);
    println!(
        "CPU time  {median:7.2} ms, best {best:7.2} ms: all threads, which other programs do not lengthen"
    );
    let (median, best) = summary(whole);
    println!(r#"{{"engine":"flowgmm","work":"W3","ms":{median},"min_ms":{best}}}"#);
}

/// Time on a CPU of all threads so far; 0 where Linux is not there to tell.
fn cpu_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = |task: std::fs::DirEntry| -> Option<f64> {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e6
}

/// Median and minimum.
fn summary(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}
