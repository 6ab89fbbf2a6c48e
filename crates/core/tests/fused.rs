//! The fused kernel is the composed operations, faster: the same values, log-dets, inverses and gradients over random
//! shapes and depths, alone and between layers it does not know; the same bits at any number of threads; and only
//! where it applies, so that double precision stays double.

mod support;

use burn_tensor::Tensor;
use flowgmm_core::{
    Engine, Flow, FlowSpec,
    bijection::{Bijection, BijectionSpec, Form, Init, Mapped, Mask, Transform},
    tensor::{Place, to_vec},
};
use proptest::prelude::*;
use rand::{Rng as _, seq::IndexedRandom};
use semisup::Rng;
use support::{Probe, assert_close, bits, normal_rows, probe_gradients};

/// Both engines round in single precision (6e-8), in another order; one coupling is some ten operations deep.
const VALUES: f64 = 2e-5;
/// A gradient goes through the chain twice and sums over rows.
const GRADIENTS: f64 = 5e-5;

fn config() -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(21);
    ProptestConfig { cases: 64, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

fn hidden() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![]), Just(vec![5]), Just(vec![16, 7])]
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::ShiftThenScale), Just(Form::ScaleThenShift)]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn fused_chains_equal_composed_ones(
        dim in 1_usize..=9, rows in 1_usize..=40, depth in 1_usize..=20, hidden in hidden(), form in form(), seed: u64,
    ) {
        let rng = &mut semisup::rng(seed);
        check_engines(couplings(dim, depth, &hidden, form, rng), rows, rng);
    }

    #[test]
    fn fused_runs_between_other_layers_equal_composed_ones(
        dim in 1_usize..=7, rows in 1_usize..=20, depth in 2_usize..=10, seed: u64,
    ) {
        let rng = &mut semisup::rng(seed);
        check_engines(mixed(dim, depth, rng), rows, rng);
    }
}

/// Couplings with random masks.
fn couplings(dim: usize, depth: usize, hidden: &[usize], form: Form, rng: &mut Rng) -> FlowSpec {
    let masks = [Mask::KeepEven, Mask::KeepOdd, Mask::KeepFirst, Mask::KeepSecond];
    let layers = (0..depth).map(|_| BijectionSpec::Coupling {
        mask: *masks.choose(rng).expect("four"),
        hidden: hidden.to_vec(),
        transform: Transform::Affine { form },
    });
    FlowSpec { dim, layers: layers.collect() }
}

/// Affine couplings with permutations, splines and ActNorms in between.
fn mixed(dim: usize, depth: usize, rng: &mut Rng) -> FlowSpec {
    let mut kinds = BijectionSpec::examples(dim, rng);
    kinds.retain(|kind| !matches!(kind, BijectionSpec::Logit { .. }));
    let layers = (0..depth).flat_map(|_| {
        let run = rng.random_range(1..4);
        let mut layers = couplings(dim, run, &[6], Form::ScaleThenShift, rng).layers;
        layers.push(kinds.choose(rng).expect("many kinds").clone());
        layers
    });
    FlowSpec { dim, layers: layers.collect() }
}

fn single(spec: FlowSpec, rng: &mut Rng) -> Flow {
    let mut flow = Flow::new(spec, Init::Random, rng, &Place::cpu()).expect("a valid architecture");
    // Deep chains of fresh random couplings amplify without bound; trained ones do not. Smaller weights keep the
    // comparison about the engines and not about the condition of the flow.
    let shrink = 1.0 / (flow.depth() as f64).sqrt();
    for theta in flow.thetas_mut() {
        let smaller = theta.value().clone() * shrink;
        theta.set(smaller);
    }
    flow
}

fn check_engines(spec: FlowSpec, rows: usize, rng: &mut Rng) {
    let (dim, place) = (spec.dim, Place::cpu());
    let fused = single(spec, rng).with_engine(Engine::Fused);
    let composed = fused.clone().with_engine(Engine::Composed);
    assert_eq!((fused.engine(), composed.engine()), (Engine::Fused, Engine::Composed));
    let x: Tensor<2> = place.rows(normal_rows(rows, dim, rng).view());

    let (one, other) = (fused.forward(x.clone()), composed.forward(x.clone()));
    assert_eq!((one.value.dims(), one.log_det.dims()), ([rows, dim], [rows, 1]));
    assert_close("z", &to_vec(&one.value), &to_vec(&other.value), VALUES);
    check_log_dets(&one, &other);
    // From the same latent points, or the two round trips would be compared instead of the two inverses.
    let z = other.value;
    assert_close("f^-1(z)", &to_vec(&fused.inverse(z.clone())), &to_vec(&composed.inverse(z)), GRADIENTS);

    let probe = Probe::new(rows, dim, rng, &place);
    let (fused_x, fused_thetas) = probe_gradients(&fused, &probe, &x);
    let (composed_x, composed_thetas) = probe_gradients(&composed, &probe, &x);
    assert_close("gradient of x", &fused_x, &composed_x, GRADIENTS);
    assert_eq!(fused_thetas.len(), composed_thetas.len());
    for (i, (one, other)) in fused_thetas.iter().zip(&composed_thetas).enumerate() {
        assert_close(&format!("gradient of theta {i}"), one, other, GRADIENTS);
    }

    // Hidden values recomputed from the inverse carry the rounding of the way back.
    let (light_x, light_thetas) = probe_gradients(&fused.with_engine(Engine::LowMemory), &probe, &x);
    assert_close("gradient of x, recomputed", &light_x, &composed_x, 10.0 * GRADIENTS);
    for (i, (one, other)) in light_thetas.iter().zip(&composed_thetas).enumerate() {
        assert_close(&format!("gradient of theta {i}, recomputed"), one, other, 10.0 * GRADIENTS);
    }
}

/// A log-det is a sum of scales of both signs: its error is that of its terms, not of the sum.
fn check_log_dets(one: &Mapped, other: &Mapped) {
    for (a, b) in to_vec(&one.log_det).into_iter().zip(to_vec(&other.log_det)) {
        assert!((a - b).abs() <= VALUES * (1.0 + b.abs()), "log_det {a} is not {b}");
    }
}

/// The bits of everything a flow computes: values, log-dets, inverse and gradients.
fn everything(flow: &Flow, x: &Tensor<2>, probe: &Probe) -> Vec<Vec<u64>> {
    let Mapped { value, log_det } = flow.forward(x.clone());
    let (of_x, of_thetas) = probe_gradients(flow, probe, x);
    let mut all = vec![bits(&to_vec(&value)), bits(&to_vec(&log_det)), bits(&of_x)];
    all.push(bits(&to_vec(&flow.inverse(value))));
    all.extend(of_thetas.iter().map(|g| bits(g)));
    all
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let rng = &mut semisup::rng(22);
    // Rows below, at and above what one thread takes, and one run that is cut.
    for (rows, dim, depth, hidden) in [(3, 2, 4, vec![8]), (257, 5, 8, vec![32]), (1000, 7, 18, vec![16, 7])]
    {
        let flow = single(couplings(dim, depth, &hidden, Form::ScaleThenShift, rng), rng);
        let x = Place::cpu().rows(normal_rows(rows, dim, rng).view());
        let probe = Probe::new(rows, dim, rng, &Place::cpu());
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| everything(&flow, &x, &probe))
        };
        let alone = with(1);
        assert_eq!(with(2), alone, "{rows} rows at 2 threads");
        assert_eq!(with(3), alone, "{rows} rows at 3 threads");
    }
}

#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    let rng = &mut semisup::rng(23);
    let flow = single(couplings(5, 6, &[16], Form::ShiftThenScale, rng), rng);
    let x = normal_rows(67, 5, rng);
    let all = to_vec(&flow.forward(Place::cpu().rows(x.view())).value);
    for row in 0..67 {
        let alone = to_vec(&flow.forward(Place::cpu().rows(x.slice(ndarray::s![row..row + 1, ..]))).value);
        assert_eq!(bits(&alone), bits(&all[row * 5..(row + 1) * 5]), "row {row}");
    }
}

#[test]
fn double_precision_takes_the_composed_path() {
    let place = Place::cpu_f64();
    let rng = &mut semisup::rng(24);
    let spec = couplings(4, 3, &[8], Form::ScaleThenShift, rng);
    let fused = Flow::new(spec, Init::Random, rng, &place).unwrap();
    let composed = fused.clone().with_engine(Engine::Composed);
    let x = place.rows(normal_rows(9, 4, rng).view());
    let probe = Probe::new(9, 4, rng, &place);
    assert_eq!(everything(&fused, &x, &probe), everything(&composed, &x, &probe));
    // Sixteen digits, not seven.
    let back = fused.inverse(fused.forward(x.clone()).value);
    assert_close("f^-1(f(x)) in f64", &to_vec(&back), &to_vec(&x), 1e-13);
}

#[test]
fn the_kernel_really_runs() {
    // Its roundings are its own: if every bit agreed, the composed path would be compared with itself.
    let rng = &mut semisup::rng(26);
    let fused = single(couplings(5, 8, &[32], Form::ScaleThenShift, rng), rng);
    let composed = fused.clone().with_engine(Engine::Composed);
    let x = Place::cpu().rows(normal_rows(257, 5, rng).view());
    let probe = Probe::new(257, 5, rng, &Place::cpu());
    let (one, other) = (everything(&fused, &x, &probe), everything(&composed, &x, &probe));
    for (what, (one, other)) in
        ["z", "log_det", "gradient of x", "inverse"].iter().zip(one.iter().zip(&other))
    {
        assert_ne!(one, other, "{what} did not take the kernel");
    }
}

#[test]
fn no_rows_are_no_trouble() {
    let rng = &mut semisup::rng(25);
    let flow = single(couplings(3, 4, &[5], Form::ScaleThenShift, rng), rng);
    let x = Place::cpu().matrix(Vec::new(), [0, 3]);
    assert_eq!(flow.forward(x.clone()).value.dims(), [0, 3]);
    assert_eq!(flow.inverse(x).dims(), [0, 3]);
}
