//! One pass of Adam over a parameter vector: clipping, moments, decay, step and moving average together.
//!
//!   g <- shrink g (+ l2 theta)
//!   m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2
//!   theta <- keep theta - rate m / (sqrt(v / c2) + eps)        rate = lr / c1, keep = 1 - lr wd, c = 1 - b^t
//!   ema <- d ema + (1 - d) theta
//!
//! Memory-bound: seven streams are read or written once each, where separate passes would move about thirty.
//! Elementwise, so the bits depend on neither chunks nor threads; [`sums_of_squares`] adds fixed chunks in order.

use std::ops::Range;

use crate::simd::{Kernel, Lanes, dispatch, lanes_of};
use crate::threads;

/// The numbers of one step, the same for every parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Factor on the gradient, from clipping.
    pub shrink: f32,
    /// L2 decay added to the gradient.
    pub l2: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// 1 / (1 - beta2^t).
    pub correct2: f32,
    /// Learning rate over (1 - beta1^t).
    pub rate: f32,
    /// Keeps the step finite.
    pub epsilon: f32,
    /// What decoupled decay leaves of a parameter.
    pub keep: f32,
    /// Decay of the moving average.
    pub average: f32,
}

/// What a step reads and writes for one parameter vector; all of one length, the average may be empty.
#[derive(Debug)]
pub struct AdamState<'a> {
    /// Parameters.
    pub theta: &'a mut [f32],
    /// First moments.
    pub m: &'a mut [f32],
    /// Second moments.
    pub v: &'a mut [f32],
    /// Moving average of the parameters, or nothing.
    pub ema: &'a mut [f32],
    /// Gradient.
    pub gradient: &'a [f32],
}

/// Values per task: a few L2 caches' worth, and the unit of the fixed summation order.
const CHUNK: usize = 1 << 15;

/// Parameters from which on new ones are written past the caches. All threads have read the old ones, and where they have a cache
/// each, taking a line back from the others costs 30 ns: with four million parameters a third of a training step. So many
/// do not stay in a second-level cache until the next step anyway.
const STREAMED: usize = 1 << 18;

/// Updates parameter vectors.
///
/// # Panics
/// When the lengths of a vector's state differ.
pub fn adam(states: Vec<AdamState>, step: &AdamStep) {
    let total = states.iter().map(|state| state.theta.len()).sum::<usize>();
    let streamed = total >= STREAMED;
    let mut tasks = Vec::new();
    for AdamState { theta, m, v, ema, gradient } in states {
        let n = theta.len();
        assert!(
            m.len() == n && v.len() == n && gradient.len() == n,
            "one moment and one gradient for each parameter"
        );
        assert!(ema.is_empty() || ema.len() == n, "an average for each parameter, or none");
        let mut averages = ema.chunks_mut(CHUNK);
        let chunks = theta.chunks_mut(CHUNK).zip(m.chunks_mut(CHUNK)).zip(v.chunks_mut(CHUNK));
        for (((theta, m), v), gradient) in chunks.zip(gradient.chunks(CHUNK)) {
            let ema = averages.next().unwrap_or(&mut []);
            tasks.push(Some(Chunk { theta, m, v, ema, gradient, step, streamed }));
        }
    }
    let run = |task: &mut Option<Chunk>| {
        if let Some(chunk) = task.take() {
            dispatch(chunk);
        }
    };
    if total <= CHUNK {
        tasks.iter_mut().for_each(run);
    } else {
        threads::for_each(&mut tasks, run);
    }
}

struct Chunk<'a> {
    theta: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    ema: &'a mut [f32],
    gradient: &'a [f32],
    step: &'a AdamStep,
    /// Whether parameters are written past the caches.
    streamed: bool,
}

impl Kernel for Chunk<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Self { theta, m, v, ema, gradient, step, streamed } = self;
        let n = theta.len();
        let (head, lanes, tail) = if streamed { lanes_of(theta) } else { (theta, &mut [][..], &mut [][..]) };
        let (first, last) = (head.len(), n - tail.len());
        update(head, &mut m[..first], &mut v[..first], part(ema, 0..first), &gradient[..first], step);
        for (i, lane) in lanes.iter_mut().enumerate() {
            let at = first + 16 * i..first + 16 * (i + 1);
            let (m, v, ema) = (&mut m[at.clone()], &mut v[at.clone()], part(ema, at.clone()));
            let mut new = *lane;
            update(&mut new.0, m, v, ema, &gradient[at], step);
            L::stream(&new, lane);
        }
        if streamed {
            L::end_of_stream();
        }
        update(tail, &mut m[last..], &mut v[last..], part(ema, last..n), &gradient[last..], step);
    }
}

/// A part of an average, if there is one.
#[inline(always)]
fn part(ema: &mut [f32], at: Range<usize>) -> &mut [f32] {
    if ema.is_empty() { ema } else { &mut ema[at] }
}

/// Plain loops over equal slices: the compiler turns them into the vectors of whatever CPU this is built for.
#[inline(always)]
fn update(
    theta: &mut [f32],
    m: &mut [f32],
    v: &mut [f32],
    ema: &mut [f32],
    gradient: &[f32],
    step: &AdamStep,
) {
    let n = theta.len();
    let (m, v, gradient) = (&mut m[..n], &mut v[..n], &gradient[..n]);
    for i in 0..n {
        let g = step.shrink * gradient[i] + step.l2 * theta[i];
        m[i] = step.beta1 * m[i] + (1.0 - step.beta1) * g;
        v[i] = step.beta2 * v[i] + (1.0 - step.beta2) * (g * g);
        theta[i] = step.keep * theta[i] - step.rate * m[i] / ((v[i] * step.correct2).sqrt() + step.epsilon);
    }
    for (average, theta) in ema.iter_mut().zip(theta.iter()) {
        *average = step.average * *average + (1.0 - step.average) * theta;
    }
}

/// The sum of squares of each vector, in double precision, over fixed chunks in a fixed order.
pub fn sums_of_squares(vectors: &[&[f32]]) -> Vec<f64> {
    let chunks: Vec<&[f32]> = vectors.iter().flat_map(|values| values.chunks(CHUNK)).collect();
    let parts = match vectors.iter().map(|values| values.len()).sum::<usize>() {
        n if n <= CHUNK => chunks.into_iter().map(sum_of_squares).collect(),
        _ => threads::map(chunks, sum_of_squares),
    };
    let mut parts = parts.iter();
    vectors.iter().map(|values| parts.by_ref().take(values.len().div_ceil(CHUNK)).sum()).collect()
}

fn sum_of_squares(values: &[f32]) -> f64 {
    // Eight running sums: independent, so that they fit a vector register.
    let mut sums = [0.0f64; 8];
    let lanes = values.chunks_exact(8);
    let rest: f64 = lanes.remainder().iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    for lane in lanes {
        for (sum, &v) in sums.iter_mut().zip(lane) {
            *sum += f64::from(v) * f64::from(v);
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, shift: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * 0.37 + shift).sin()).collect()
    }

    /// The formulas above in double precision, one parameter at a time.
    #[test]
    fn agrees_with_the_formula_for_odd_lengths() {
        let step = AdamStep {
            shrink: 0.5,
            l2: 0.01,
            beta1: 0.9,
            beta2: 0.999,
            correct2: 1.0 / (1.0 - 0.999),
            rate: 0.1,
            epsilon: 1e-8,
            keep: 0.99,
            average: 0.9,
        };
        for n in [0, 1, 7, 16, 33, CHUNK + 5, STREAMED + 37] {
            let (mut theta, g) = (wave(n, 0.0), wave(n, 1.0));
            let (mut m, mut v, mut ema) = (wave(n, 2.0), wave(n, 3.0), wave(n, 4.0));
            v.iter_mut().for_each(|v| *v = v.abs());
            let before: Vec<[f64; 4]> =
                (0..n).map(|i| [theta[i], m[i], v[i], ema[i]].map(f64::from)).collect();
            let state = AdamState { theta: &mut theta, m: &mut m, v: &mut v, ema: &mut ema, gradient: &g };
            adam(vec![state], &step);
            for i in 0..n {
                let [theta0, m0, v0, ema0] = before[i];
                let g = 0.5 * f64::from(g[i]) + f64::from(step.l2) * theta0;
                let m1 = 0.9 * m0 + 0.1 * g;
                let v1 = 0.999 * v0 + 0.001 * g * g;
                let theta1 = 0.99 * theta0 - 0.1 * m1 / ((v1 * f64::from(step.correct2)).sqrt() + 1e-8);
                let ema1 = 0.9 * ema0 + 0.1 * theta1;
                // single precision throughout: a few ulp of each quantity
                let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-6 * (1.0 + b.abs());
                assert!(close(m[i], m1) && close(v[i], v1), "moments of {i} of {n}");
                assert!(close(theta[i], theta1) && close(ema[i], ema1), "parameter {i} of {n}");
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let values = wave(5 * CHUNK + 3, 0.5);
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool");
        let sums: Vec<u64> =
            [1, 2, 3].map(|n| pool(n).install(|| sums_of_squares(&[&values])[0]).to_bits()).to_vec();
        assert!(sums.windows(2).all(|pair| pair[0] == pair[1]));
        let exact: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
        assert!((f64::from_bits(sums[0]) - exact).abs() < 1e-9 * exact);
    }
}
