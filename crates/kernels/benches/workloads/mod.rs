//! What the benches time: every kernel at the shapes of the workloads W1, W2 and W3, with its number of
//! floating point operations.
//!
//! Operations are those of the mathematics, a multiply-add counting two: padding, transposes and the
//! recomputation of transforms are not work but cost.

#![allow(dead_code, reason = "each bench uses its part")]

mod chain;
mod conv;
mod elementwise;
pub mod peak;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One kernel at one shape, ready to run again and again.
pub struct Work {
    /// A group of the report.
    pub kernel: &'static str,
    /// What it runs on.
    pub shape: &'static str,
    /// Floating point operations of one run.
    pub flops: f64,
    /// Bytes of one run, where these and not the operations limit it: each array read or written once.
    pub bytes: Option<f64>,
    /// One run.
    pub run: Box<dyn FnMut()>,
}

impl Work {
    fn new(kernel: &'static str, shape: &'static str, flops: f64, run: impl FnMut() + 'static) -> Self {
        Self { kernel, shape, flops, bytes: None, run: Box::new(run) }
    }

    fn moving(self, bytes: f64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// Kernel and shape in one line.
    pub fn name(&self) -> String {
        format!("{}, {}", self.kernel, self.shape)
    }
}

/// A workload that has not allocated anything yet.
pub type Recipe = fn() -> Vec<Work>;

/// All workloads, by recipes of a few that share their data.
pub fn recipes() -> Vec<Recipe> {
    vec![
        chain::tabular,
        chain::few_embeddings,
        chain::embeddings,
        elementwise::mixture,
        elementwise::optimiser,
        conv::three,
        conv::one,
    ]
}

/// `n` numbers in `-scale..scale`.
fn draw(n: usize, scale: f32, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-scale..scale)).collect()
}
