//! Times a training pass over 144 images of 28 x 28 through the image layers of the CPU preset, and through parts of
//! them: CPU time of all threads, which other programs do not lengthen.
//!
//! `cargo run --release -p flowgmm-kernels --example image_step`

use flowgmm_kernels::Form;
use flowgmm_kernels::conv::Workspace;
use flowgmm_kernels::image::{
    Half, ImageChain, ImageStep, LightCoupling, Mix, NormStatistics, Plane, Squeeze,
};
use rand::{Rng, SeedableRng};

const N: usize = 144;
const ROUNDS: usize = 12;

fn main() {
    let first = Plane { channels: 4, height: 14, width: 14 };
    let second = Plane { channels: 16, height: 7, width: 7 };
    let mix = |shape: Plane| ImageStep::Mix(Mix::new(shape, (0..shape.channels).rev().collect()));
    let coupling = |shape: Plane, hidden: usize| {
        let workspace = Workspace::default();
        ImageStep::Coupling(LightCoupling::new(shape, Half::Second, hidden, Form::ScaleThenShift, &workspace))
    };
    let squeeze =
        |channels, side| ImageStep::Squeeze(Squeeze::new(Plane { channels, height: side, width: side }));
    let mut preset = vec![squeeze(1, 28)];
    (0..6).for_each(|_| preset.extend([mix(first), coupling(first, 32)]));
    preset.push(squeeze(4, 14));
    (0..8).for_each(|_| preset.extend([mix(second), coupling(second, 64)]));
    time("all layers", preset);
    time("6 mixes at 14 x 14", vec![mix(first); 6]);
    time("8 mixes at 7 x 7", vec![mix(second); 8]);
    time("6 couplings at 14 x 14, 32 channels", vec![coupling(first, 32); 6]);
    time("8 couplings at 7 x 7, 64 channels", vec![coupling(second, 64); 8]);
}

fn time(name: &str, steps: Vec<ImageStep>) {
    let chain = ImageChain::new(steps);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
    let mut draw =
        |n: usize, scale: f32| -> Vec<f32> { (0..n).map(|_| scale * rng.random_range(-1.0..1.0)).collect() };
    let thetas: Vec<Vec<f32>> =
        chain.steps().iter().filter(|s| s.n_params() > 0).map(|s| draw(s.n_params(), 0.05)).collect();
    let thetas: Vec<&[f32]> = thetas.iter().map(Vec::as_slice).collect();
    let (x, grad) = (draw(N * chain.dim(), 1.0), draw(N * (chain.dim() + 1), 1.0));
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let start = cpu_ms();
        std::hint::black_box(chain.forward_only(&thetas, NormStatistics::Batch, &x, N));
        let alone = cpu_ms();
        let (_, tape) = chain.forward(&thetas, &x, N);
        let forward = cpu_ms();
        std::hint::black_box(chain.backward(&thetas, &tape, &grad));
        let backward = cpu_ms();
        for (times, t) in times.iter_mut().zip([alone - start, forward - alone, backward - forward]) {
            times.push(t);
        }
    }
    let [alone, forward, backward] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[0]
    });
    println!(
        "{name:36} forward only {alone:6.1} ms, forward {forward:6.1} ms, backward {backward:6.1} ms of CPU"
    );
}

/// Time on a CPU of all threads so far; 0 where Linux is not there to tell.
fn cpu_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = |task: std::fs::DirEntry| -> Option<f64> {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e6
}
