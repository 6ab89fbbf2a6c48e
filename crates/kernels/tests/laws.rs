//! The kernels against the plain f64 twin, over odd shapes; and the laws every chain must obey.

use flowgmm_kernels::{Chain, Coupling, Form, Memory, reference};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// f32 rounds at 6e-8; the sums here have at most a few hundred terms and the chains at most four
/// couplings, each of which can amplify an error by its Lipschitz constant, a small number at these weights.
const TOLERANCE: f64 = 2e-4;

/// A chain with its parameters, an input and a gradient of its output.
#[derive(Clone, Debug)]
struct Case {
    couplings: Vec<Coupling>,
    thetas: Vec<Vec<f32>>,
    x: Vec<f32>,        // [n, dim]
    grad_out: Vec<f32>, // [n, dim + 1]
    n: usize,
}

impl Case {
    /// Masks are drawn column by column, so halves are uneven and interleaved.
    fn new(n: usize, dim: usize, hidden: &[usize], depth: usize, form: Form, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let couplings: Vec<Coupling> = (0..depth)
            .map(|i| {
                let forced = i % dim;
                let (change, keep) = (0..dim).partition(|&c| c == forced || (c + 1 != dim && rng.random()));
                let keep: Vec<usize> = keep;
                match keep.is_empty() && dim > 1 {
                    false => Coupling::new(dim, keep, change, hidden.to_vec(), form),
                    true => Coupling::new(dim, vec![1], without(dim, 1), hidden.to_vec(), form),
                }
            })
            .collect();
        let mut draw = |len: usize, scale: f32| -> Vec<f32> {
            (0..len).map(|_| scale * rng.random_range(-1.0..1.0)).collect()
        };
        let thetas = couplings.iter().map(|c| draw(c.n_params(), 0.6)).collect();
        let (x, grad_out) = (draw(n * dim, 2.0), draw(n * (dim + 1), 1.0));
        Self { couplings, thetas, x, grad_out, n }
    }

    fn chain(&self) -> Chain {
        Chain::new(self.couplings.clone())
    }

    fn thetas(&self) -> Vec<&[f32]> {
        self.thetas.iter().map(Vec::as_slice).collect()
    }

    fn thetas64(&self) -> Vec<Vec<f64>> {
        self.thetas.iter().map(|t| wide(t)).collect()
    }
}

fn without(dim: usize, column: usize) -> Vec<usize> {
    (0..dim).filter(|&c| c != column).collect()
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&x| x as f64).collect()
}

fn bits(v: &[f32]) -> Vec<u32> {
    v.iter().map(|x| x.to_bits()).collect()
}

/// z without the log-det column.
fn values(out: &[f32], dim: usize) -> Vec<f32> {
    out.chunks_exact(dim + 1).flat_map(|row| &row[..dim]).copied().collect()
}

fn assert_close(what: &str, got: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    // Relative to the largest entry: what a cancelling sum of entries of that size can promise.
    let scale = want.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((*g as f64 - w).abs() <= tolerance * scale, "{what}[{i}]: got {g}, want {w} (scale {scale})");
    }
}

fn check_against_reference(case: &Case) {
    let (chain, thetas, thetas64) = (case.chain(), case.thetas(), case.thetas64());
    let (x64, g64) = (wide(&case.x), wide(&case.grad_out));
    let (out, tape) = chain.forward(&thetas, &case.x, case.n);
    assert_close("out", &out, &reference::forward(&case.couplings, &thetas64, &x64, case.n), TOLERANCE);
    assert_eq!(bits(&chain.forward_only(&thetas, &case.x, case.n)), bits(&out), "forward_only");

    let (want, want_x) = reference::backward(&case.couplings, &thetas64, &x64, &g64, case.n);
    let got = chain.backward(&thetas, &tape, &case.grad_out);
    // A hidden unit within rounding of zero may be on the other side of the ReLU in f64: the gradients
    // then differ by that unit's share. Draws are continuous, so this is a matter of luck per seed; the
    // seeds are fixed by proptest's configuration below.
    assert_close("grad x", &got.x, &want_x, TOLERANCE);
    for (i, (got, want)) in got.thetas.iter().zip(&want).enumerate() {
        assert_close(&format!("grad theta {i}"), got, want, TOLERANCE);
    }
    let thetas_only = chain.backward_thetas(&thetas, &tape, &case.grad_out);
    assert!(thetas_only.iter().zip(&got.thetas).all(|(a, b)| bits(a) == bits(b)), "backward_thetas");
    let mut used: Vec<Vec<f32>> = got.thetas.iter().map(|theta| vec![f32::NAN; theta.len()]).collect();
    let into = &mut used.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>();
    chain.backward_thetas_into(&thetas, &tape, &case.grad_out, into);
    assert!(used.iter().zip(&got.thetas).all(|(a, b)| bits(a) == bits(b)), "backward_thetas_into");

    // Recomputed from z: the same output, and gradients that differ by the rounding of the way back.
    let (light, tape) = chain.forward_keeping(Memory::Recomputed, &thetas, &case.x, case.n);
    assert_eq!(bits(&light), bits(&out), "forward keeping z alone");
    let got = chain.backward(&thetas, &tape, &case.grad_out);
    assert_close("grad x, recomputed", &got.x, &want_x, 10.0 * TOLERANCE);
    for (i, (got, want)) in got.thetas.iter().zip(&want).enumerate() {
        assert_close(&format!("grad theta {i}, recomputed"), got, want, 10.0 * TOLERANCE);
    }

    let z = values(&out, chain.dim());
    let inverse = chain.inverse(&thetas, &z, case.n);
    assert_close(
        "inverse",
        &inverse,
        &reference::inverse(&case.couplings, &thetas64, &wide(&z), case.n),
        TOLERANCE,
    );
    assert_close("round trip", &inverse, &x64, TOLERANCE);
}

fn case() -> impl Strategy<Value = Case> {
    let hidden = prop_oneof![Just(vec![]), Just(vec![1]), Just(vec![7]), Just(vec![16, 5]), Just(vec![33])];
    let form = prop_oneof![Just(Form::ShiftThenScale), Just(Form::ScaleThenShift)];
    (1usize..70, 1usize..12, hidden, 1usize..4, form, any::<u64>())
        .prop_map(|(n, dim, hidden, depth, form, seed)| Case::new(n, dim, &hidden, depth, form, seed))
}

/// `usual`, unless PROPTEST_CASES says otherwise, as it does for a run under valgrind.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(300), failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default()
    })]
    #[test]
    fn kernels_agree_with_the_reference(case in case()) {
        check_against_reference(&case);
    }
}

/// Several chunks, full panels, both orders of summing the weight gradients.
#[test]
fn larger_shapes_agree_with_the_reference() {
    for form in [Form::ShiftThenScale, Form::ScaleThenShift] {
        check_against_reference(&Case::new(1500, 6, &[24], 3, form, 1));
        check_against_reference(&Case::new(200, 40, &[64], 2, form, 2));
        check_against_reference(&Case::new(530, 3, &[9, 4], 4, form, 3));
    }
}

/// Central differences of the f64 twin: the step's error is about h^2 = 1e-10, rounding about 1e-16 / h.
#[test]
fn the_reference_gradient_is_the_slope_of_the_reference() {
    let h = 1e-5;
    for form in [Form::ShiftThenScale, Form::ScaleThenShift] {
        for (dim, hidden) in [(1, vec![]), (2, vec![7]), (5, vec![16, 5])] {
            let case = Case::new(3, dim, &hidden, 2, form, 5);
            let (thetas, x, g) = (case.thetas64(), wide(&case.x), wide(&case.grad_out));
            let loss = |thetas: &[Vec<f64>], x: &[f64]| -> f64 {
                reference::forward(&case.couplings, thetas, x, case.n)
                    .iter()
                    .zip(&g)
                    .map(|(o, g)| o * g)
                    .sum()
            };
            let (grads, grad_x) = reference::backward(&case.couplings, &thetas, &x, &g, case.n);
            let close = |slope: f64, grad: f64| (slope - grad).abs() <= 1e-6 * (1.0 + grad.abs());
            for (i, &grad) in grad_x.iter().enumerate() {
                let at = |step: f64| loss(&thetas, &nudged(&x, i, step));
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!(close(slope, grad), "x[{i}]: {slope} {grad}");
            }
            for k in 0..thetas.len() {
                for (i, &grad) in grads[k].iter().enumerate() {
                    let at = |step: f64| {
                        let mut moved = thetas.clone();
                        moved[k] = nudged(&thetas[k], i, step);
                        loss(&moved, &x)
                    };
                    let slope = (at(h) - at(-h)) / (2.0 * h);
                    assert!(close(slope, grad), "theta {k}[{i}]: {slope} {grad}");
                }
            }
        }
    }
}

fn nudged(v: &[f64], i: usize, step: f64) -> Vec<f64> {
    let mut v = v.to_vec();
    v[i] += step;
    v
}

#[test]
fn thread_counts_change_no_bit() {
    // Both well above the work that stays on one thread; the second keeps its signals for later.
    for case in [
        Case::new(2000, 21, &[64], 3, Form::ShiftThenScale, 7),
        Case::new(150, 120, &[130], 3, Form::ScaleThenShift, 8),
    ] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (chain, thetas) = (case.chain(), case.thetas());
                let (out, tape) = chain.forward(&thetas, &case.x, case.n);
                let grads = chain.backward(&thetas, &tape, &case.grad_out);
                let back = chain.inverse(&thetas, &case.x, case.n);
                let (_, light) = chain.forward_keeping(Memory::Recomputed, &thetas, &case.x, case.n);
                let again = chain.backward(&thetas, &light, &case.grad_out).thetas.concat();
                [out, grads.thetas.concat(), grads.x, back, again].map(|v| bits(&v))
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
    }
}

#[test]
fn a_chain_used_again_gives_the_same_bits() {
    let case = Case::new(77, 5, &[16], 3, Form::ShiftThenScale, 9);
    let (chain, thetas) = (case.chain(), case.thetas());
    let step = || {
        let (out, tape) = chain.forward(&thetas, &case.x, case.n);
        (bits(&out), bits(&chain.backward(&thetas, &tape, &case.grad_out).thetas.concat()))
    };
    let first = step();
    chain.forward_only(&thetas, &case.x[..15], 3);
    assert_eq!(first, step());
}

#[test]
fn non_finite_inputs_stay_in_their_row() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        let mut case = Case::new(40, 4, &[7], 3, Form::ShiftThenScale, 11);
        let (chain, clean) = (case.chain(), case.x.clone());
        case.x[4 * 13 + 2] = bad;
        let thetas = case.thetas();
        let (out, tape) = chain.forward(&thetas, &case.x, case.n);
        let want = chain.forward_only(&thetas, &clean, case.n);
        for row in (0..case.n).filter(|&row| row != 13) {
            assert_eq!(bits(&out[row * 5..][..5]), bits(&want[row * 5..][..5]), "row {row}");
        }
        if bad.is_nan() {
            assert!(out[13 * 5..][..5].iter().any(|x| x.is_nan()), "NaN must show");
        }
        chain.backward(&thetas, &tape, &case.grad_out);
        chain.inverse(&thetas, &case.x, case.n);
    }
}

#[test]
fn no_rows_give_no_output_and_zero_gradients() {
    let case = Case::new(0, 3, &[4], 2, Form::ShiftThenScale, 12);
    let (chain, thetas) = (case.chain(), case.thetas());
    let (out, tape) = chain.forward(&thetas, &[], 0);
    let grads = chain.backward(&thetas, &tape, &[]);
    assert!(out.is_empty() && grads.x.is_empty());
    assert!(grads.thetas.concat().iter().all(|&g| g == 0.0));
}

#[test]
#[should_panic(expected = "must partition")]
fn a_mask_that_forgets_a_column_is_refused() {
    Coupling::new(3, vec![0], vec![1], vec![4], Form::ShiftThenScale);
}
