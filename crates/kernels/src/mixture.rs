//! The mixture head: log-densities of rows under Gaussians with diagonal covariance, and their gradients.
//!
//! ```text
//! l[n, c]  = constant_c - 1/2 sum_d a_cd (z_nd - mu_cd)^2          a = sigma^-2
//! g_z      = -sum_c g_c a_c (z - mu_c)                              [n, dim]
//! g_mu_c   =  sum_n g_nc a_c (z_n - mu_c)                           [C, dim]
//! g_ls_c   =  sum_n g_nc (a_c (z_n - mu_c)^2 - 1)                   [C, dim], by log sigma
//! ```
//!
//! Rows may carry one number more, t_n, to be added to all their log-densities: the log-det of the flow they come
//! from. Its gradient is sum_c g_nc.
//!
//! Differences are squared as they are, not expanded: far from the origin an expanded square loses its digits.
//! Rows are split into chunks by their number alone and sums over chunks run in order: bits do not depend on threads.

use rayon::prelude::*;

use crate::simd::{Kernel, Lane, Lanes, ZERO, dispatch};

/// Gaussians with diagonal covariance.
#[derive(Clone, Copy, Debug)]
pub struct Gaussians<'a> {
    /// Number of columns.
    pub dim: usize,
    /// What rows hold behind their columns.
    pub tail: Tail,
    /// mu `[C, dim]`
    pub means: &'a [f32],
    /// sigma^-2 `[C, dim]`
    pub precisions: &'a [f32],
    /// -dim/2 log 2 pi - sum_d log sigma_d, `[C]`
    pub constants: &'a [f32],
}

/// What a row of z holds behind its `dim` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: rows are `[n, dim]`.
    Nothing,
    /// A number that is added to each of the row's log-densities: rows are `[n, dim + 1]`, as [`crate::Chain`]
    /// returns them.
    LogDet,
}

/// Gradients of a scalar by the parameters of [`Gaussians`].
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianGradients {
    /// `[C, dim]`
    pub means: Vec<f32>,
    /// By log sigma, `[C, dim]`.
    pub log_sigmas: Vec<f32>,
}

/// Rows of a task.
const ROWS: usize = 256;
/// Below this many multiply-adds a second thread costs more than it brings.
const PARALLEL: usize = 1 << 20;

impl Gaussians<'_> {
    /// Number of Gaussians C.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Numbers in a row of z.
    fn width(&self) -> usize {
        self.dim + usize::from(self.tail == Tail::LogDet)
    }

    /// l `[n, C]` for rows z `[n, width]`.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn log_densities(&self, z: &[f32]) -> Vec<f32> {
        let n = self.rows(z);
        let mut out = vec![0.0; n * self.len()];
        let tasks: Vec<_> = z.chunks(ROWS * self.width()).zip(out.chunks_mut(ROWS * self.len())).collect();
        self.for_each(n, tasks, |(z, out)| dispatch(Forward { gaussians: self, z, out }));
        out
    }

    /// g_z `[n, width]` from the gradient of l, `[n, C]`.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn row_gradients(&self, z: &[f32], upstream: &[f32]) -> Vec<f32> {
        let n = self.rows(z);
        assert_eq!(upstream.len(), n * self.len(), "one gradient for each row and Gaussian");
        let mut out = vec![0.0; z.len()];
        let rows = z.chunks(ROWS * self.width()).zip(upstream.chunks(ROWS * self.len()));
        let tasks: Vec<_> = rows.zip(out.chunks_mut(ROWS * self.width())).collect();
        self.for_each(n, tasks, |((z, upstream), out)| {
            dispatch(RowGradient { gaussians: self, z, upstream, out });
        });
        out
    }

    /// Gradients of the parameters from the gradient of l, `[n, C]`.
    ///
    /// # Panics
    /// When a slice does not have the length its shape asks for.
    pub fn parameter_gradients(&self, z: &[f32], upstream: &[f32]) -> GaussianGradients {
        let n = self.rows(z);
        assert_eq!(upstream.len(), n * self.len(), "one gradient for each row and Gaussian");
        let size = self.len() * self.dim;
        let rows: Vec<_> = z.chunks(ROWS * self.width()).zip(upstream.chunks(ROWS * self.len())).collect();
        let mut parts = vec![(vec![0.0; size], vec![0.0; size]); rows.len()];
        let tasks: Vec<_> = rows.into_iter().zip(&mut parts).collect();
        self.for_each(n, tasks, |((z, upstream), (means, log_sigmas))| {
            dispatch(ParameterGradient { gaussians: self, z, upstream, means, log_sigmas });
        });
        let mut sum = GaussianGradients { means: vec![0.0; size], log_sigmas: vec![0.0; size] };
        for (means, log_sigmas) in &parts {
            sum.means.iter_mut().zip(means).for_each(|(a, b)| *a += b);
            sum.log_sigmas.iter_mut().zip(log_sigmas).for_each(|(a, b)| *a += b);
        }
        sum
    }

    fn rows(&self, z: &[f32]) -> usize {
        let parameters = self.len() * self.dim;
        assert!(
            self.means.len() == parameters && self.precisions.len() == parameters,
            "C means and precisions"
        );
        let width = self.width();
        assert!(self.dim > 0 && z.len().is_multiple_of(width), "rows of {width} numbers");
        z.len() / width
    }

    fn for_each<T: Send>(&self, n: usize, tasks: Vec<T>, work: impl Fn(T) + Send + Sync) {
        if n * self.means.len() < PARALLEL {
            tasks.into_iter().for_each(work);
        } else {
            tasks.into_par_iter().for_each(work);
        }
    }
}

struct Forward<'a> {
    gaussians: &'a Gaussians<'a>,
    z: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Gaussians { dim, means, precisions, constants, .. } = *self.gaussians;
        let width = self.gaussians.width();
        for (z, out) in self.z.chunks_exact(width).zip(self.out.chunks_exact_mut(constants.len())) {
            let (z, tail) = z.split_at(dim);
            let tail = tail.first().copied().unwrap_or(0.0);
            for (c, out) in out.iter_mut().enumerate() {
                let (mu, a) = (&means[c * dim..][..dim], &precisions[c * dim..][..dim]);
                // Sixteen running sums: one vector register, added up by halves at the end. Products are rounded
                // before they are added, here and in the columns that are left.
                let mut lanes = L::splat(0.0);
                for ((z, mu), a) in z.chunks_exact(16).zip(mu.chunks_exact(16)).zip(a.chunks_exact(16)) {
                    let difference = L::fma(L::splat(-1.0), load::<L>(mu), load::<L>(z));
                    let pull = L::fma(load::<L>(a), difference, L::splat(-0.0));
                    let square = L::fma(pull, difference, L::splat(-0.0));
                    lanes = L::fma(L::splat(1.0), square, lanes);
                }
                let mut sums = ZERO;
                L::store(lanes, &mut sums);
                let (mut sums, whole) = (sums.0, dim - dim % 16);
                for d in whole..dim {
                    let difference = z[d] - mu[d];
                    sums[d - whole] += a[d] * difference * difference;
                }
                for half in [8, 4, 2, 1] {
                    for l in 0..half {
                        sums[l] += sums[l + half];
                    }
                }
                *out = constants[c] - 0.5 * sums[0] + tail;
            }
        }
    }
}

/// Sixteen numbers, wherever they lie.
#[inline(always)]
fn load<L: Lanes>(from: &[f32]) -> L::V {
    L::load(&Lane(from.try_into().expect("sixteen numbers")))
}

struct RowGradient<'a> {
    gaussians: &'a Gaussians<'a>,
    z: &'a [f32],
    upstream: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for RowGradient<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Gaussians { dim, means, precisions, constants, .. } = *self.gaussians;
        let width = self.gaussians.width();
        let rows = self.z.chunks_exact(width).zip(self.upstream.chunks_exact(constants.len()));
        for ((z, upstream), out) in rows.zip(self.out.chunks_exact_mut(width)) {
            let (out, tail) = out.split_at_mut(dim);
            tail.fill(upstream.iter().sum());
            for (c, &g) in upstream.iter().enumerate() {
                let (mu, a) = (&means[c * dim..][..dim], &precisions[c * dim..][..dim]);
                for d in 0..dim {
                    out[d] -= g * a[d] * (z[d] - mu[d]);
                }
            }
        }
    }
}

struct ParameterGradient<'a> {
    gaussians: &'a Gaussians<'a>,
    z: &'a [f32],
    upstream: &'a [f32],
    means: &'a mut [f32],
    log_sigmas: &'a mut [f32],
}

impl Kernel for ParameterGradient<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Gaussians { dim, means, precisions, constants, .. } = *self.gaussians;
        let width = self.gaussians.width();
        for (z, upstream) in self.z.chunks_exact(width).zip(self.upstream.chunks_exact(constants.len())) {
            for (c, &g) in upstream.iter().enumerate() {
                let (mu, a) = (&means[c * dim..][..dim], &precisions[c * dim..][..dim]);
                let g_means = &mut self.means[c * dim..][..dim];
                let g_log_sigmas = &mut self.log_sigmas[c * dim..][..dim];
                for d in 0..dim {
                    let difference = z[d] - mu[d];
                    let pull = g * a[d] * difference;
                    g_means[d] += pull;
                    g_log_sigmas[d] += pull * difference - g;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::Rng as _;

    struct Case {
        dim: usize,
        tail: Tail,
        z: Vec<f32>,
        means: Vec<f32>,
        log_sigmas: Vec<f32>,
        upstream: Vec<f32>,
    }

    impl Case {
        fn new(n: usize, dim: usize, tail: Tail, c: usize, seed: u64) -> Self {
            let mut rng = <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(seed);
            let mut draw = |n: usize, limit: f32| -> Vec<f32> {
                (0..n).map(|_| rng.random_range(-limit..limit)).collect()
            };
            let width = dim + usize::from(tail == Tail::LogDet);
            let (z, means) = (draw(n * width, 3.0), draw(c * dim, 3.0));
            Self { dim, tail, z, means, log_sigmas: draw(c * dim, 0.7), upstream: draw(n * c, 1.0) }
        }

        fn gaussians<T>(&self, with: impl Fn(&Gaussians) -> T) -> T {
            let precisions: Vec<f32> = self.log_sigmas.iter().map(|s| (-2.0 * s).exp()).collect();
            let half = 0.5 * self.dim as f32 * std::f32::consts::TAU.ln();
            let constants: Vec<f32> =
                self.log_sigmas.chunks(self.dim).map(|s| -half - s.iter().sum::<f32>()).collect();
            let (dim, means) = (self.dim, &self.means);
            with(&Gaussians { dim, tail: self.tail, means, precisions: &precisions, constants: &constants })
        }

        /// sum upstream * l in double precision, by the formula.
        fn loss(&self, z: &[f64], means: &[f64], log_sigmas: &[f64]) -> f64 {
            let (dim, c) = (self.dim, means.len() / self.dim);
            let mut total = 0.0;
            for (n, z) in z.chunks(dim + usize::from(self.tail == Tail::LogDet)).enumerate() {
                for k in 0..c {
                    let mut l = z[dim..].iter().sum::<f64>() - 0.5 * dim as f64 * std::f64::consts::TAU.ln();
                    for d in 0..dim {
                        let s = log_sigmas[k * dim + d];
                        l -= s + 0.5 * ((z[d] - means[k * dim + d]) * (-s).exp()).powi(2);
                    }
                    total += f64::from(self.upstream[n * c + k]) * l;
                }
            }
            total
        }
    }

    fn wide(values: &[f32]) -> Vec<f64> {
        values.iter().map(|&v| f64::from(v)).collect()
    }

    /// Central differences of `loss` in double precision.
    fn differences(at: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let step = 1e-5;
        (0..at.len())
            .map(|i| {
                let (mut up, mut down) = (at.to_vec(), at.to_vec());
                up[i] += step;
                down[i] -= step;
                (loss(&up) - loss(&down)) / (2.0 * step)
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn agrees_with_the_formula_and_its_differences(
            n in 1usize..9, dim in prop_oneof![1usize..5, 15usize..18, 33usize..35], c in 1usize..4,
            tail in prop_oneof![Just(Tail::Nothing), Just(Tail::LogDet)], seed in 0u64..1000
        ) {
            let case = Case::new(n, dim, tail, c, seed);
            let (z, means, log_sigmas) = (wide(&case.z), wide(&case.means), wide(&case.log_sigmas));
            let (l, g_z, g) = case.gaussians(|gaussians| (
                gaussians.log_densities(&case.z),
                gaussians.row_gradients(&case.z, &case.upstream),
                gaussians.parameter_gradients(&case.z, &case.upstream),
            ));
            // single precision over at most 35 columns of numbers up to 150: 1e-4 of the size
            let close = |a: &[f32], b: &[f64]| {
                let size = 1.0 + b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                a.iter().zip(b).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5 * size)
            };
            let loss: f64 = l.iter().zip(&case.upstream).map(|(l, g)| f64::from(*l) * f64::from(*g)).sum();
            let want = case.loss(&z, &means, &log_sigmas);
            prop_assert!((loss - want).abs() < 1e-4 * (1.0 + want.abs()));
            prop_assert!(close(&g_z, &differences(&z, |z| case.loss(z, &means, &log_sigmas))));
            prop_assert!(close(&g.means, &differences(&means, |means| case.loss(&z, means, &log_sigmas))));
            prop_assert!(close(&g.log_sigmas, &differences(&log_sigmas, |s| case.loss(&z, &means, s))));
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let case = Case::new(5 * ROWS + 3, 90, Tail::LogDet, 11, 1); // large enough for the parallel path
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                case.gaussians(|gaussians| {
                    let l = gaussians.log_densities(&case.z);
                    (l, gaussians.parameter_gradients(&case.z, &case.upstream))
                })
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
    }
}
