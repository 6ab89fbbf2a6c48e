//! One table of all kernels against the machine's peaks.
//!
//! A shared machine changes speed from second to second, so every run of a kernel lies between two runs of the
//! multiply-add loop, and its shares are measured against these. All numbers are medians over the runs. The matrix
//! product is measured the same way, and its own share converts one column to the other.
//!
//! Times and rates are by the clock on the wall, shares once by that and once by the CPU time of all threads: other
//! programs stretch the first and not the second, threads that sleep are seen by the first and not the second. On
//! a quiet machine they agree; on a busy one believe the second.
//!
//! `cargo bench -p flowgmm-kernels --bench table -- chain` for the kernels whose name contains "chain";
//! `RAYON_NUM_THREADS=1` for one thread.

mod workloads;

use std::time::{Duration, Instant};
use workloads::{Work, peak};

/// Time for one kernel, and the runs wanted at least and at most.
const BUDGET: Duration = Duration::from_secs(2);
const RUNS: std::ops::Range<usize> = 7..101;
/// A run repeats a kernel for about as long as the multiply-add loop takes.
const RUN: f64 = 2e-3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo passes --bench; without it this is a test, for which one run will do.
    let budget = arguments.iter().any(|a| a == "--bench").then_some(BUDGET);
    let wanted: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();

    let mut product = peak::Gemm::new();
    let flops = product.run();
    // Sums of 2048 products below 1, in another order: 1e-3 is generous.
    assert!(product.error() < 1e-3, "gemm did not compute the product");
    let gemm = measure(budget, flops, &mut || {
        product.run();
    });
    println!("{} threads, {}", rayon::current_num_threads(), flowgmm_kernels::instruction_set());
    println!("multiply-adds on registers {:6.1} GFLOP/s", gemm.peak / 1e9);
    println!(
        "gemm {}^3                {:6.1} GFLOP/s, {:.1}% of that ({:.1}% by CPU time)",
        peak::GEMM,
        flops / gemm.seconds / 1e9,
        100.0 * gemm.share,
        100.0 * gemm.cpu_share
    );
    println!();
    println!(
        "{:<54} | {:>8} | {:>7} | {:>6} | {:>6} | {:>7} | {:>5}",
        "kernel", "ms", "GFLOP/s", "of FMA", "by CPU", "of GEMM", "GB/s"
    );
    for recipe in workloads::recipes() {
        for mut work in recipe() {
            let name = work.name();
            if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
                let measured = measure(budget, work.flops, &mut work.run);
                print_row(&work, &measured, &gemm);
            }
        }
    }
}

fn print_row(work: &Work, measured: &Measured, gemm: &Measured) {
    let Measured { seconds, share, cpu_share, .. } = *measured;
    let percent = |part: f64| if work.flops > 0.0 { format!("{:.1}%", 100.0 * part) } else { String::new() };
    let rate =
        |amount: f64| if amount > 0.0 { format!("{:.1}", amount / seconds / 1e9) } else { String::new() };
    println!(
        "{:<54} | {:8.3} | {:>7} | {:>6} | {:>6} | {:>7} | {:>5}",
        work.name(),
        1e3 * seconds,
        rate(work.flops),
        percent(share),
        percent(cpu_share),
        percent(cpu_share / gemm.cpu_share),
        rate(work.bytes.unwrap_or(0.0)),
    );
}

/// Medians over runs.
struct Measured {
    /// Of one run of the kernel.
    seconds: f64,
    /// Operations per second of the multiply-add loop beside it.
    peak: f64,
    /// The kernel's operations per second, in parts of the loop's.
    share: f64,
    /// Milliseconds by CPU time of all threads.
    cpu_share: f64,
}

/// Without a budget, one run.
fn measure(budget: Option<Duration>, flops: f64, run: &mut dyn FnMut()) -> Measured {
    run(); // buffers, page faults
    let repeats = (RUN / Timed::of(&mut *run).wall).ceil().max(1.0) as usize;
    let (mut seconds, mut peaks, mut shares, mut cpu_shares) = (vec![], vec![], vec![], vec![]);
    let start = Instant::now();
    let mut before = Rates::of_peak();
    loop {
        let took = Timed::of(|| (0..repeats).for_each(|_| run()));
        let after = Rates::of_peak();
        let kernel = Rates::new(flops * repeats as f64, took);
        let peak = Rates { wall: 0.5 * (before.wall + after.wall), cpu: 0.5 * (before.cpu + after.cpu) };
        before = after;
        seconds.push(took.wall / repeats as f64);
        peaks.push(peak.wall);
        shares.push(kernel.wall / peak.wall);
        cpu_shares.push(kernel.cpu / peak.cpu);
        let runs = seconds.len();
        let enough = budget.is_none_or(|b| runs >= RUNS.start && (start.elapsed() >= b || runs >= RUNS.end));
        if enough {
            break;
        }
    }
    Measured {
        seconds: median(seconds),
        peak: median(peaks),
        share: median(shares),
        cpu_share: median(cpu_shares),
    }
}

/// Seconds of the clock on the wall, and of all threads on a CPU.
#[derive(Clone, Copy)]
struct Timed {
    wall: f64,
    cpu: f64,
}

impl Timed {
    fn of(run: impl FnOnce()) -> Self {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        run();
        Self { cpu: cpu_seconds() - cpu, wall: start.elapsed().as_secs_f64() }
    }
}

/// Operations per second of either.
#[derive(Clone, Copy)]
struct Rates {
    wall: f64,
    cpu: f64,
}

impl Rates {
    fn new(flops: f64, time: Timed) -> Self {
        Self { wall: flops / time.wall, cpu: flops / time.cpu }
    }

    fn of_peak() -> Self {
        let mut flops = 0.0;
        let time = Timed::of(|| flops = peak::fma());
        Self::new(flops, time)
    }
}

/// CPU time of this process so far, all threads.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    #[allow(unsafe_code, reason = "C's clock(): no arguments, nothing to get wrong")]
    unsafe extern "C" {
        safe fn clock() -> std::ffi::c_long;
    }
    clock() as f64 * 1e-6 // POSIX: a million per second
}

#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    f64::NAN
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
