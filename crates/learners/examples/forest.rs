//! How long a forest takes to score a row, by the rows that are scored together.
//!
//! ```text
//! cargo run --release -p flowgmm-learners --example forest -- [TREES] [COLUMNS] [CLASSES] [TAUGHT ROWS]
//! ```
//!
//! Extremely randomised trees with leaves of two rows or more and classes drawn anew by every tree, as in
//! [`flowgmm_learners::distil`]. Microseconds of the processor (of the clock, where the system does not tell them), least of seven; `FLOWGMM_SIMD` asks for a narrower
//! instruction set.

use std::{fs, sync::LazyLock, time::Instant};

use flowgmm_learners::{Forest, TreeSettings};
use ndarray::{Array2, s};
use rand::Rng as _;

/// Scored rows of one measurement, at least.
const ROWS: usize = 20_000;
const ROUNDS: usize = 7;

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |at: usize, otherwise: usize| given.get(at).copied().unwrap_or(otherwise);
    let (n_trees, dim, k, taught) = (number(0, 200), number(1, 20), number(2, 2), number(3, 3000));
    let mut rng = semisup::rng(1);
    let mut normal = |n: usize| {
        let columns: Array2<f64> =
            Array2::from_shape_fn((n, dim), |_| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.);
        columns
    };
    let (x, new) = (normal(taught), normal(ROWS));
    // A class for each sector of the first two columns, more certain away from the borders.
    let q = Array2::from_shape_fn((taught, k), |(row, class)| {
        let angle = x[[row, 0]].atan2(x[[row, 1.min(dim - 1)]]);
        let sector = ((angle / std::f64::consts::TAU + 0.5) * k as f64) as usize % k;
        if sector == class { 0.8 } else { 0.2 / (k - 1).max(1) as f64 }
    });
    let settings = TreeSettings { min_samples_leaf: 2, ..TreeSettings::extra_trees(n_trees) };
    let forest = Forest::fit_soft(x.view(), q.view(), None, &settings, 1).expect("there are rows");
    println!(
        "{n_trees} trees, {} nodes, {dim} columns, {k} classes, {}",
        forest.n_nodes(),
        flowgmm_kernels::instruction_set()
    );
    forest.probs(new.slice(s![..1, ..]));
    for together in [1, 10, 100, 500, 1000, 2000, 20_000] {
        let times = (ROWS / together).clamp(1, 1000);
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let began = seconds();
            for time in 0..times {
                let start = time * together % (ROWS - together + 1);
                std::hint::black_box(forest.probs(new.slice(s![start..start + together, ..])));
            }
            least = least.min((seconds() - began) / (times * together) as f64);
        }
        println!("{together:6} rows together: {:8.3} us a row", 1e6 * least);
    }
}

/// Time that all threads have run; of the clock where that is unknown.
fn seconds() -> f64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let ran = || -> Option<f64> {
        let tasks = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
        let ran = |task: fs::DirEntry| -> Option<f64> {
            fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
        };
        Some(tasks.filter_map(ran).sum::<f64>() * 1e-9)
    };
    ran().unwrap_or_else(|| BEGAN.elapsed().as_secs_f64())
}
