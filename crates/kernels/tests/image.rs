//! Runs of steps on images: the inverse undoes them, gradients are those of finite differences, running statistics that
//! equal the batch's give the batch's result, and bits do not depend on thread counts.

use flowgmm_kernels::Form;
use flowgmm_kernels::conv::Workspace;
use flowgmm_kernels::image::{
    Half, ImageChain, ImageStep, LightCoupling, Mix, NormStatistics, Plane, Squeeze,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SHAPE: Plane = Plane { channels: 1, height: 6, width: 8 };

fn coupling(shape: Plane, keep: Half, hidden: usize, form: Form) -> LightCoupling {
    LightCoupling::new(shape, keep, hidden, form, &Workspace::default())
}

fn chain() -> ImageChain {
    let squeezed = Plane { channels: 4, height: 3, width: 4 };
    let mix = || ImageStep::Mix(Mix::new(squeezed, vec![2, 0, 3, 1]));
    ImageChain::new(vec![
        ImageStep::Squeeze(Squeeze::new(SHAPE)),
        mix(),
        ImageStep::Coupling(coupling(squeezed, Half::First, 5, Form::ShiftThenScale)),
        mix(),
        ImageStep::Coupling(coupling(squeezed, Half::Second, 18, Form::ScaleThenShift)),
    ])
}

struct Case {
    thetas: Vec<Vec<f32>>,
    statistics: Vec<Vec<f32>>,
    x: Vec<f32>,
    n: usize,
}

impl Case {
    fn new(chain: &ImageChain, n: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = |n: usize, from: f32, to: f32| -> Vec<f32> {
            (0..n).map(|_| rng.random_range(from..to)).collect()
        };
        let parametrised = chain.steps().iter().filter(|step| step.n_params() > 0);
        let thetas = parametrised.map(|step| draw(step.n_params(), -0.4, 0.4)).collect();
        let couplings = chain.steps().iter().filter_map(|step| match step {
            ImageStep::Coupling(coupling) => Some(coupling),
            _ => None,
        });
        let statistics = couplings.map(|coupling| draw(coupling.n_statistics(), 0.2, 1.2)).collect();
        Self { thetas, statistics, x: draw(n * chain.dim(), -1.5, 1.5), n }
    }

    fn thetas(&self) -> Vec<&[f32]> {
        self.thetas.iter().map(Vec::as_slice).collect()
    }

    fn statistics(&self) -> Vec<&[f32]> {
        self.statistics.iter().map(Vec::as_slice).collect()
    }
}

#[test]
fn the_inverse_undoes_the_run() {
    let chain = chain();
    let case = Case::new(&chain, 5, 1);
    let (thetas, running) = (case.thetas(), case.statistics());
    let out = chain.forward_only(&thetas, NormStatistics::Running(&running), &case.x, case.n);
    let z: Vec<f32> =
        out.chunks_exact(chain.dim() + 1).flat_map(|row| &row[..chain.dim()]).copied().collect();
    let back = chain.inverse(&thetas, NormStatistics::Running(&running), &z, case.n);
    // A few roundings of 6e-8, through scales up to e^0.4 and convolutions good to 1e-5.
    assert!(back.iter().zip(&case.x).all(|(a, b)| (a - b).abs() < 2e-4));
}

#[test]
fn a_forward_pass_with_a_tape_is_the_one_without() {
    let chain = chain();
    let case = Case::new(&chain, 6, 2);
    let (out, _) = chain.forward(&case.thetas(), &case.x, case.n);
    assert_eq!(out, chain.forward_only(&case.thetas(), NormStatistics::Batch, &case.x, case.n));
}

/// sum(out * weights) in double precision.
fn probe(out: &[f32], weights: &[f32]) -> f64 {
    out.iter().zip(weights).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let chain = chain();
    let mut case = Case::new(&chain, 4, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let weights: Vec<f32> = (0..case.n * (chain.dim() + 1)).map(|_| rng.random_range(-1.0..1.0)).collect();
    let (_, tape) = chain.forward(&case.thetas(), &case.x, case.n);
    let found = chain.backward(&case.thetas(), &tape, &weights);
    assert_eq!(found.thetas.len(), case.thetas.len());
    let mut kinks = 0;
    let mut compare = |what: &str, got: f64, along: &mut dyn FnMut(f32) -> f64| {
        // Single precision: the step balances rounding (1e-6 of the probe's terms) and curvature.
        const STEP: f32 = 2e-3;
        let (down, here, up) = (along(-STEP), along(0.0), along(STEP));
        let (before, after) = ((here - down) / f64::from(STEP), (up - here) / f64::from(STEP));
        let slope = 0.5 * (before + after);
        let scale = 1.0 + slope.abs();
        if (before - after).abs() > 0.1 * scale {
            kinks += 1; // a ReLU's corner
        } else {
            assert!((got - slope).abs() < 0.03 * scale, "{what}: {got} is not {slope}");
        }
    };
    let mut directions = 0;
    for t in 0..case.thetas.len() {
        // A random direction meets every coordinate at once.
        for _ in 0..4 {
            let scale = 1.0 / (case.thetas[t].len() as f32).sqrt();
            let direction: Vec<f32> =
                (0..case.thetas[t].len()).map(|_| scale * rng.random_range(-1.7..1.7)).collect();
            let got = probe(&found.thetas[t], &direction);
            let original = case.thetas[t].clone();
            compare(&format!("theta {t}"), got, &mut |step| {
                case.thetas[t] = original.iter().zip(&direction).map(|(v, d)| v + step * d).collect();
                probe(&chain.forward_only(&case.thetas(), NormStatistics::Batch, &case.x, case.n), &weights)
            });
            case.thetas[t] = original;
            directions += 1;
        }
    }
    for _ in 0..8 {
        let direction: Vec<f32> = (0..case.x.len()).map(|_| 0.1 * rng.random_range(-1.7f32..1.7)).collect();
        let got = probe(&found.x, &direction);
        let original = case.x.clone();
        compare("x", got, &mut |step| {
            case.x = original.iter().zip(&direction).map(|(v, d)| v + step * d).collect();
            probe(&chain.forward_only(&case.thetas(), NormStatistics::Batch, &case.x, case.n), &weights)
        });
        case.x = original;
        directions += 1;
    }
    assert!(kinks * 4 <= directions, "{kinks} kinks in {directions} directions");
}

#[test]
fn rows_with_stored_statistics_do_not_see_each_other() {
    let chain = chain();
    let case = Case::new(&chain, 7, 5);
    let (thetas, running) = (case.thetas(), case.statistics());
    let all = chain.forward_only(&thetas, NormStatistics::Running(&running), &case.x, case.n);
    for row in 0..case.n {
        let x = &case.x[row * chain.dim()..][..chain.dim()];
        let alone = chain.forward_only(&thetas, NormStatistics::Running(&running), x, 1);
        let among = &all[row * (chain.dim() + 1)..][..chain.dim() + 1];
        assert!(alone.iter().zip(among).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs())));
    }
}

#[test]
fn thread_counts_change_no_bit() {
    let chain = chain();
    let case = Case::new(&chain, 70, 6);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (out, tape) = chain.forward(&case.thetas(), &case.x, case.n);
            let found = chain.backward(&case.thetas(), &tape, &out);
            (out, found.thetas, found.x)
        })
    };
    let one = run(1);
    assert!(run(2) == one && run(5) == one);
}
