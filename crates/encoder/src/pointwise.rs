//! What happens between the matrix products, on rows: layer normalisation, softmax, activations.
//!
//! ```text
//! layer_norm(x)  = gamma (x - mean) / sqrt(var + eps) + beta          over each row
//! softmax(x)     = e^(x - max) / sum e^(x - max)                      over each row
//! gelu(x)        = x/2 (1 + erf(x / sqrt 2))                          "gelu"
//! gelu_tanh(x)   = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))      "gelu_new"
//! ```
//!
//! Plain loops without branches, which the compiler turns into vectors; `Arch::dispatch` compiles them for the
//! widest vectors of this CPU. Sums go over sixteen lanes and then a fixed tree, so bits do not depend on it.

use pulp::Arch;

/// Numbers summed side by side.
const LANES: usize = 16;

/// The non-linearity between the two layers of a block's feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Gelu,
    GeluTanh,
    Relu,
}

impl Activation {
    /// In place.
    pub(crate) fn apply(self, x: &mut [f32]) {
        Arch::new().dispatch(
            #[inline(always)]
            || match self {
                Activation::Gelu => {
                    x.iter_mut().for_each(|x| *x = 0.5 * *x * (1.0 + erf(*x * FRAC_1_SQRT_2)))
                }
                Activation::GeluTanh => x.iter_mut().for_each(|x| {
                    let inner = SQRT_2_OVER_PI * (*x + 0.044_715 * *x * *x * *x);
                    // 1 + tanh(u) = 2 - 2 / (e^(2u) + 1)
                    *x *= 1.0 - 1.0 / (exp(2.0 * inner) + 1.0);
                }),
                Activation::Relu => x.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            },
        );
    }
}

/// Scale and shift of a layer normalisation.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub gamma: Vec<f32>, // [dim]
    pub beta: Vec<f32>,  // [dim]
    pub eps: f32,
}

impl Norm {
    /// `x = layer_norm(x + add)` on rows of `dim`, in place.
    pub(crate) fn apply(&self, x: &mut [f32], add: &[f32]) {
        let dim = self.gamma.len();
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (x, add) in x.chunks_exact_mut(dim).zip(add.chunks_exact(dim)) {
                    for (x, add) in x.iter_mut().zip(add) {
                        *x += add;
                    }
                    self.normalise(x);
                }
            },
        );
    }

    /// `x = layer_norm(x)` on one row.
    #[inline(always)]
    pub(crate) fn normalise(&self, x: &mut [f32]) {
        let n = x.len() as f32;
        let mean = fold(x, 0.0, |x| x, plus) / n;
        let var = fold(x, 0.0, |x| (x - mean) * (x - mean), plus) / n;
        let inverse = 1.0 / (var + self.eps).sqrt();
        for ((x, gamma), beta) in x.iter_mut().zip(&self.gamma).zip(&self.beta) {
            *x = (*x - mean) * inverse * gamma + beta;
        }
    }
}

/// Softmax of every row of `width` numbers, in place.
pub(crate) fn softmax(x: &mut [f32], width: usize) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in x.chunks_exact_mut(width) {
                let max = fold(row, f32::NEG_INFINITY, |x| x, larger);
                row.iter_mut().for_each(|x| *x = exp(*x - max));
                let sum = fold(row, 0.0, |x| x, plus);
                let inverse = 1.0 / sum;
                row.iter_mut().for_each(|x| *x *= inverse);
            }
        },
    );
}

#[inline(always)]
fn plus(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// `term` of every number, joined into sixteen running values, the rest into the first ones; then those by halves.
#[inline(always)]
fn fold(x: &[f32], start: f32, term: impl Fn(f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = join(lanes[l], term(chunk[l]));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = join(*lane, term(x));
    }
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] = join(lanes[l], lanes[l + half]);
        }
    }
    lanes[0]
}

const FRAC_1_SQRT_2: f32 = std::f32::consts::FRAC_1_SQRT_2;
const SQRT_2_OVER_PI: f32 = 0.797_884_6;

/// `e^x`, within 2e-7 of it relatively; 0 below -87, at most e^88. After Cephes: `2^n e^r`, `|r| <= ln 2 / 2`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer, held in the low bits
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4; // ln 2 in two parts, the first with trailing zeros
    let p = 1.987_569_2e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let two_n = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { p * two_n }
}

/// The error function within 4e-7: `x P(x^2) / Q(x^2)`, the rational approximation of Eigen and XLA.
#[inline(always)]
fn erf(x: f32) -> f32 {
    const EDGE: f32 = 3.832_507; // beyond it erf is 1 in f32
    let x = if x > EDGE { EDGE } else { x };
    let x = if x < -EDGE { -EDGE } else { x };
    let s = x * x;
    let p = 2.290_506_6e-4;
    let p = p * s + 3.408_291e-3;
    let p = p * s + 5.095_569_5e-2;
    let p = p * s + 1.852_083_2e-1;
    let p = p * s + std::f32::consts::FRAC_2_SQRT_PI;
    let q = -1.179_160_3e-7;
    let q = q * s + 2.354_796_6e-5;
    let q = q * s + 1.017_962_5e-3;
    let q = q * s + 1.407_047e-2;
    let q = q * s + 1.109_850_5e-1;
    let q = q * s + 4.974_692_5e-1;
    let q = q * s + 1.0;
    x * p / q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its series in f64, exact enough up to 5.
    fn erf_f64(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn exp_and_erf_are_accurate() {
        for i in -87_000..88_000 {
            let x = i as f32 / 1000.0;
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) - want).abs() <= 2e-7 * want, "exp {x}");
        }
        assert_eq!(exp(-90.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert!(exp(f32::NAN).is_nan() && exp(1000.0).is_finite());
        for i in -4500..4500 {
            let x = i as f32 / 1000.0;
            assert!((f64::from(erf(x)) - erf_f64(x.into())).abs() < 4e-7, "erf {x}: {}", erf(x));
        }
        assert!(erf(f32::NAN).is_nan());
    }

    #[test]
    fn activations_follow_their_formulas() {
        let x: Vec<f32> = (-60..60).map(|i| i as f32 / 8.0).collect();
        let run = |a: Activation| {
            let mut y = x.clone();
            a.apply(&mut y);
            y.into_iter().map(f64::from).collect::<Vec<_>>()
        };
        let (gelu, tanh, relu) = (run(Activation::Gelu), run(Activation::GeluTanh), run(Activation::Relu));
        for (i, &x) in x.iter().enumerate() {
            let x = f64::from(x);
            let want = x / 2.0 * (1.0 + if x.abs() < 6.0 { erf_f64(x / 2f64.sqrt()) } else { x.signum() });
            assert!((gelu[i] - want).abs() < 2e-6, "gelu {x}");
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            assert!((tanh[i] - x / 2.0 * (1.0 + inner.tanh())).abs() < 2e-6, "gelu_new {x}");
            assert_eq!(relu[i], x.max(0.0));
        }
    }

    #[test]
    fn softmax_and_norm_follow_their_formulas() {
        for width in [1, 3, 16, 37] {
            let x: Vec<f32> = (0..2 * width).map(|i| (i * 7 % 11) as f32 - 30.0).collect();
            let mut soft = x.clone();
            softmax(&mut soft, width);
            let norm = Norm { gamma: vec![2.0; width], beta: vec![0.5; width], eps: 1e-5 };
            let mut normed = x.clone();
            norm.apply(&mut normed, &vec![0.0; 2 * width]);
            for ((row, soft), normed) in x.chunks(width).zip(soft.chunks(width)).zip(normed.chunks(width)) {
                let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
                let var = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / width as f64;
                for i in 0..width {
                    let x = f64::from(row[i]);
                    assert!((f64::from(soft[i]) - x.exp() / sum).abs() < 1e-6);
                    let want = 2.0 * (x - mean) / (var + 1e-5).sqrt() + 0.5;
                    assert!((f64::from(normed[i]) - want).abs() < 1e-5);
                }
            }
        }
    }
}
