//! The two peaks of this machine, on all threads: multiply-adds on registers, and a product of 2048 x 2048 matrices.
//! Criterion's elements are floating point operations: `Gelem/s` reads GFLOP/s.
//!
//! `cargo bench -p flowgmm-kernels --bench peak`

mod workloads;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use workloads::peak;

fn peaks(c: &mut Criterion) {
    let mut group = c.benchmark_group("peak (elem = FLOP)");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(peak::fma() as u64));
    group.bench_function("multiply-adds on registers", |b| b.iter(peak::fma));
    let mut gemm = peak::Gemm::new();
    group.throughput(Throughput::Elements(gemm.run() as u64));
    // Sums of 2048 products below 1, in another order: 1e-3 is generous.
    assert!(gemm.error() < 1e-3, "gemm did not compute the product");
    group.bench_function(format!("gemm {0}^3", peak::GEMM), |b| b.iter(|| gemm.run()));
    group.finish();
}

criterion_group!(benches, peaks);
criterion_main!(benches);
