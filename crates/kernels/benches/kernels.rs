//! Every kernel, one group each. Criterion's elements are floating point operations (`Gelem/s` reads GFLOP/s), or
//! bytes for what only moves memory.
//!
//! `cargo bench -p flowgmm-kernels --bench kernels -- "chain backward"`

mod workloads;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

fn kernels(c: &mut Criterion) {
    for recipe in workloads::recipes() {
        for mut work in recipe() {
            let unit = if work.flops > 0.0 { "elem = FLOP" } else { "bytes" };
            let mut group = c.benchmark_group(format!("{} ({unit})", work.kernel));
            group.sample_size(20).warm_up_time(Duration::from_millis(500));
            group.measurement_time(Duration::from_secs(2));
            group.throughput(match work.bytes {
                Some(bytes) if work.flops == 0.0 => Throughput::Bytes(bytes as u64),
                _ => Throughput::Elements(work.flops as u64),
            });
            group.bench_function(work.shape, |b| b.iter(&mut work.run));
            group.finish();
        }
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
