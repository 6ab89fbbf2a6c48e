//! Times one forward + backward pass of a chain on two workloads.
//!
//! `cargo run --release -p flowgmm-kernels --example step`

use flowgmm_kernels::{Chain, Coupling, Form};
use rand::{Rng, SeedableRng};
use std::time::Instant;

fn main() {
    time("W1      2000 x  21, hidden 256, 7 couplings", 2000, 21, 256, 7);
    time("W2-200   200 x 768, hidden 512, 7 couplings", 200, 768, 512, 7);
    time("toy      300 x   2, hidden  64, 5 couplings", 300, 2, 64, 5);
}

fn time(name: &str, n: usize, dim: usize, hidden: usize, depth: usize) {
    let halves: [Vec<usize>; 2] = [(0..dim).step_by(2).collect(), (1..dim).step_by(2).collect()];
    let couplings = (0..depth).map(|i| {
        let (keep, change) = (halves[i % 2].clone(), halves[1 - i % 2].clone());
        Coupling::new(dim, keep, change, vec![hidden], Form::ShiftThenScale)
    });
    let chain = Chain::new(couplings.collect());
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
    let mut draw =
        |n: usize, scale: f32| -> Vec<f32> { (0..n).map(|_| scale * rng.random_range(-1.0..1.0)).collect() };
    let thetas: Vec<Vec<f32>> = chain.couplings().iter().map(|c| draw(c.n_params(), 0.05)).collect();
    let thetas: Vec<&[f32]> = thetas.iter().map(Vec::as_slice).collect();
    let (x, grad_out) = (draw(n * dim, 1.0), draw(n * (dim + 1), 1.0));
    let n_params: usize = thetas.iter().map(|t| t.len()).sum();

    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 2.0 {
        let t = Instant::now();
        let (out, tape) = chain.forward(&thetas, &x, n);
        forward.push(t.elapsed().as_secs_f64());
        let t = Instant::now();
        let grads = chain.backward_thetas(&thetas, &tape, &grad_out);
        backward.push(t.elapsed().as_secs_f64());
        std::hint::black_box((out, grads));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let best = forward[..].iter().zip(&backward).map(|(a, b)| a + b).fold(f64::INFINITY, f64::min);
    let (forward, backward) = (median(&mut forward), median(&mut backward));
    // A multiply-add is two; forward has one per parameter and row, backward two.
    let flops = |passes: f64, seconds: f64| passes * 2.0 * (n * n_params) as f64 / seconds / 1e9;
    println!(
        "{name}: forward {:7.3} ms ({:5.1} GFLOP/s)  backward {:7.3} ms ({:5.1})  both {:7.3} ms ({:5.1}), best {:7.3}",
        forward * 1e3,
        flops(1.0, forward),
        backward * 1e3,
        flops(2.0, backward),
        (forward + backward) * 1e3,
        flops(3.0, forward + backward),
        best * 1e3,
    );
}
