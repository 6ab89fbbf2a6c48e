//! What every bijection owes: the inverse undoes it, the log-det is that of the Jacobian, gradients are those of
//! finite differences; chains compose and cut; fresh identity flows are the identity; and the promises of single
//! kinds (splines at their box and knots, ActNorm's data-dependent start, couplings that look only at kept columns).
//! Every kind of [`BijectionSpec::examples`] is tried, over random sizes and parameters, in double precision.

mod support;

use burn_tensor::Tensor;
use flowgmm_core::{
    Flow, FlowSpec,
    bijection::{Bijection, BijectionSpec, Form, Init, Mapped, Mask, Transform},
    jacobian, log_abs_det,
    tensor::{Place, to_array, to_vec},
};
use ndarray::Array2;
use proptest::prelude::*;
use rand::{Rng as _, seq::IndexedRandom};
use semisup::Rng;
use support::{Probe, assert_close, bits, normal_rows, probe_gradients, slope_at_zero, uniform_rows};

/// Round trips in double precision: rounding times the condition of a few layers.
const ROUND_TRIP: f64 = 1e-9;
/// Central differences with step 1e-5 are good to about 1e-10 where the map is smooth; a spline's knot within the
/// step costs step * (jump of the second derivative).
const JACOBIAN: f64 = 1e-5;
/// Central differences with step 1e-6: 1e-12 of truncation and 1e-16 / 1e-6 times the size of the probe.
const DIFFERENCE: f64 = 1e-5;

/// The same cases on every run; another seed or more cases should hold as well.
fn config() -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(20);
    ProptestConfig { cases: 24, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_inverse_undoes_every_bijection(dim in 1_usize..=6, rows in 1_usize..=8, seed: u64) {
        for_every_kind(dim, seed, |spec, rng| check_inverse(&one(spec, dim, rng), &rows_for(spec, rows, dim, rng)));
    }

    #[test]
    fn the_log_det_is_that_of_the_jacobian(dim in 1_usize..=6, rows in 1_usize..=8, seed: u64) {
        for_every_kind(dim, seed, |spec, rng| check_log_det(&one(spec, dim, rng), &rows_for(spec, rows, dim, rng)));
    }

    #[test]
    fn gradients_are_those_of_finite_differences(dim in 1_usize..=6, rows in 1_usize..=8, seed: u64) {
        let mut tally = Tally::default();
        for_every_kind(dim, seed, |spec, rng| {
            let (flow, x) = (one(spec, dim, rng), rows_for(spec, rows, dim, rng));
            check_gradients(&flow, &x, rng, &mut tally);
        });
        tally.check();
    }

    #[test]
    fn chains_of_all_kinds_compose_and_cut(dim in 1_usize..=6, rows in 1_usize..=8, depth in 2_usize..=6, seed: u64) {
        let rng = &mut semisup::rng(seed);
        let flow = mixed_chain(dim, depth, rng);
        let x = normal_rows(rows, dim, rng);
        check_inverse(&flow, &x);
        check_log_det(&flow, &x);
        for cut in 0..=depth {
            check_slices(&flow, cut, &x);
        }
    }

    #[test]
    fn gradients_flow_through_chains(dim in 1_usize..=6, rows in 1_usize..=8, depth in 2_usize..=5, seed: u64) {
        let rng = &mut semisup::rng(seed);
        let mut tally = Tally::default();
        check_gradients(&mixed_chain(dim, depth, rng), &normal_rows(rows, dim, rng), rng, &mut tally);
        tally.check();
    }

    #[test]
    fn a_fresh_identity_flow_is_the_identity(dim in 1_usize..=6, rows in 1_usize..=8, seed: u64) {
        let rng = &mut semisup::rng(seed);
        check_identity(dim, &(normal_rows(rows, dim, rng) * 2.0), rng);
    }

    #[test]
    fn actnorm_standardises_its_first_batch(dim in 1_usize..=6, rows in 2_usize..=30, seed: u64) {
        let rng = &mut semisup::rng(seed);
        check_adapt(&(normal_rows(rows, dim, rng) * 7.0 + 3.0), rng);
    }

    #[test]
    fn a_coupling_looks_only_at_what_it_keeps(dim in 2_usize..=6, rows in 1_usize..=8, seed: u64) {
        for_every_kind(dim, seed, |spec, rng| {
            if let Some(mask) = mask_of(spec) {
                check_blindness(&one(spec, dim, rng), mask, &normal_rows(rows, dim, rng), rng);
            }
        });
    }
}

fn for_every_kind(dim: usize, seed: u64, mut law: impl FnMut(&BijectionSpec, &mut Rng)) {
    let rng = &mut semisup::rng(seed);
    for spec in BijectionSpec::examples(dim, rng) {
        law(&spec, rng);
    }
}

fn place() -> Place {
    Place::cpu_f64()
}

/// A flow of one layer with random parameters.
fn one(spec: &BijectionSpec, dim: usize, rng: &mut Rng) -> Flow {
    let spec = FlowSpec { dim, layers: vec![spec.clone()] };
    Flow::new(spec, Init::Random, rng, &place()).expect("examples are valid")
}

/// A flow of `depth` random kinds; the logit is left out, because other layers leave its domain.
fn mixed_chain(dim: usize, depth: usize, rng: &mut Rng) -> Flow {
    let mut kinds = BijectionSpec::examples(dim, rng);
    kinds.retain(|spec| !matches!(spec, BijectionSpec::Logit { .. }));
    let layers = (0..depth).map(|_| kinds.choose(rng).expect("many kinds").clone()).collect();
    Flow::new(FlowSpec { dim, layers }, Init::Random, rng, &place()).expect("examples are valid")
}

/// Rows in the domain of a bijection; for splines both inside and outside of the box.
fn rows_for(spec: &BijectionSpec, rows: usize, dim: usize, rng: &mut Rng) -> Array2<f64> {
    match spec {
        BijectionSpec::Logit { .. } => uniform_rows(rows, dim, 0.01, 0.99, rng),
        BijectionSpec::Coupling { transform: Transform::Spline { .. }, .. } => {
            normal_rows(rows, dim, rng) * 2.0
        }
        _ => normal_rows(rows, dim, rng),
    }
}

fn mask_of(spec: &BijectionSpec) -> Option<Mask> {
    match spec {
        BijectionSpec::Coupling { mask, .. } => Some(*mask),
        _ => None,
    }
}

fn flat(x: &Array2<f64>) -> Vec<f64> {
    x.iter().copied().collect()
}

fn forward(flow: &Flow, x: &Array2<f64>) -> (Array2<f64>, Vec<f64>) {
    let Mapped { value, log_det } = flow.forward(place().rows(x.view()));
    assert_eq!(log_det.dims(), [x.nrows(), 1]);
    (to_array(&value), to_vec(&log_det))
}

fn check_inverse(flow: &Flow, x: &Array2<f64>) {
    let z = flow.forward(place().rows(x.view())).value;
    let back = to_vec(&flow.inverse(z));
    assert_close(&format!("f^-1(f(x)) of {:?}", flow.spec()), &back, &flat(x), ROUND_TRIP);
    // And the other way round, from latent points that no row was mapped to.
    let again = to_vec(&flow.forward(flow.inverse(place().rows(x.view()))).value);
    assert_close(&format!("f(f^-1(z)) of {:?}", flow.spec()), &again, &flat(x), ROUND_TRIP);
}

fn check_log_det(flow: &Flow, x: &Array2<f64>) {
    let (_, log_det) = forward(flow, x);
    for (row, &log_det) in x.rows().into_iter().zip(&log_det) {
        let numeric = log_abs_det(jacobian(flow, row.to_vec(), &place()));
        let gap = (log_det - numeric).abs();
        assert!(gap <= JACOBIAN * (1.0 + log_det.abs()), "{log_det} is not {numeric}: {:?}", flow.spec());
    }
}

/// How many derivatives were compared, and how many sat on a kink.
#[derive(Default)]
struct Tally {
    compared: usize,
    kinks: usize,
}

impl Tally {
    fn compare(&mut self, what: &str, autodiff: f64, numeric: Option<f64>) {
        match numeric {
            None => self.kinks += 1,
            Some(numeric) => {
                let gap = (autodiff - numeric).abs();
                assert!(gap <= DIFFERENCE * (1.0 + numeric.abs()), "{what}: {autodiff} is not {numeric}");
                self.compared += 1;
            }
        }
    }

    /// Kinks are a set of measure zero: skipping them must not become a way out.
    fn check(&self) {
        assert!(self.kinks * 20 <= self.compared, "{} kinks in {}", self.kinks, self.compared);
    }
}

/// Every coordinate of x, some coordinates of every parameter vector, and two directions through all of it.
fn check_gradients(flow: &Flow, x: &Array2<f64>, rng: &mut Rng, tally: &mut Tally) {
    let place = place();
    let (rows, dim) = x.dim();
    let probe = Probe::new(rows, dim, rng, &place);
    let (of_x, of_thetas) = probe_gradients(flow, &probe, &place.rows(x.view()));
    let value = |flow: &Flow, x: Vec<f64>| to_vec(&probe.of(flow, place.matrix(x, [rows, dim])))[0];

    for i in 0..rows * dim {
        let slope = slope_at_zero(|step| {
            let mut x = flat(x);
            x[i] += step;
            value(flow, x)
        });
        tally.compare(&format!("x[{i}] of {:?}", flow.spec()), of_x[i], slope);
    }
    let along = |t: usize, direction: &[f64]| {
        slope_at_zero(|step| {
            let mut moved = flow.clone();
            let theta = &mut moved.thetas_mut()[t];
            let values = to_vec(theta.value()).iter().zip(direction).map(|(v, d)| v + step * d).collect();
            theta.set(place.vector(values));
            value(&moved, flat(x))
        })
    };
    for (t, gradient) in of_thetas.iter().enumerate() {
        assert!(gradient.iter().all(|g| g.is_finite()));
        for _ in 0..6.min(gradient.len()) {
            let i = rng.random_range(0..gradient.len());
            let unit: Vec<f64> = (0..gradient.len()).map(|j| f64::from(u8::from(i == j))).collect();
            tally.compare(&format!("theta {t}[{i}] of {:?}", flow.spec()), gradient[i], along(t, &unit));
        }
        // A random direction meets every coordinate at once: none can be wrong unnoticed.
        for _ in 0..2 {
            let direction = flat(&(normal_rows(1, gradient.len(), rng) * 0.3));
            let expected: f64 = direction.iter().zip(gradient).map(|(d, g)| d * g).sum();
            tally.compare(
                &format!("direction in theta {t} of {:?}", flow.spec()),
                expected,
                along(t, &direction),
            );
        }
    }
}

fn check_slices(flow: &Flow, cut: usize, x: &Array2<f64>) {
    let (z, log_det) = forward(flow, x);
    let (head, tail) = (flow.slice(0..cut), flow.slice(cut..flow.depth()));
    let (h, first) = forward(&head, x);
    let (via, second) = forward(&tail, &h);
    assert_close("value by two slices", &flat(&via), &flat(&z), ROUND_TRIP);
    let sum: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a + b).collect();
    assert_close("log_det by two slices", &sum, &log_det, ROUND_TRIP);
    let back = to_vec(&head.inverse(place().rows(h.view())));
    assert_close("f_{:l}^-1 of f_{:l}(x)", &back, &flat(x), ROUND_TRIP);
}

fn check_identity(dim: usize, x: &Array2<f64>, rng: &mut Rng) {
    let mut layers = BijectionSpec::examples(dim, rng);
    layers.retain(|spec| mask_of(spec).is_some());
    layers.extend([BijectionSpec::ActNorm, BijectionSpec::Linear { order: (0..dim).collect() }]);
    let flow = Flow::new(FlowSpec { dim, layers }, Init::Identity, rng, &place()).unwrap();
    let (z, log_det) = forward(&flow, x);
    // Only splines compute anything at all on the way: their bins are equal up to rounding.
    assert_close("identity", &flat(&z), &flat(x), 1e-12);
    assert_close("its log_det", &log_det, &vec![0.0; x.nrows()], 1e-12);
}

fn check_adapt(x: &Array2<f64>, rng: &mut Rng) {
    let (rows, dim) = x.dim();
    let mut x = x.clone();
    x.column_mut(dim - 1).fill(4.0); // nothing to standardise there
    let mut flow = one(&BijectionSpec::ActNorm, dim, rng);
    flow.adapt(&place().rows(x.view()));
    let (z, log_det) = forward(&flow, &x);
    assert!(z.iter().chain(&log_det).all(|v| v.is_finite()));
    for (j, column) in z.columns().into_iter().enumerate() {
        let mean = column.sum() / rows as f64;
        let variance = column.mapv(|v| (v - mean).powi(2)).sum() / rows as f64;
        assert!(mean.abs() < 1e-12, "mean {mean}");
        let expected = if j == dim - 1 { 0.0 } else { 1.0 };
        assert!((variance - expected).abs() < 1e-9, "variance {variance}");
    }
}

/// Moving one changed column moves that column's image and no other's, to the last bit.
fn check_blindness(flow: &Flow, mask: Mask, x: &Array2<f64>, rng: &mut Rng) {
    let (keep, change) = mask.split(x.ncols());
    let (z, log_det) = forward(flow, x);
    for &c in &change {
        let mut moved = x.clone();
        moved.column_mut(c).mapv_inplace(|v| v + rng.random_range(0.1..0.5));
        let (z_moved, log_det_moved) = forward(flow, &moved);
        for j in (0..x.ncols()).filter(|&j| j != c) {
            assert_eq!(bits(&z.column(j).to_vec()), bits(&z_moved.column(j).to_vec()), "column {j} saw {c}");
        }
        assert!(
            z.column(c).iter().zip(z_moved.column(c)).all(|(a, b)| b > a),
            "increasing in its own column"
        );
        if flow.spec().layers[0].kind() != "spline" {
            assert_eq!(bits(&log_det), bits(&log_det_moved), "the scale saw column {c}");
        }
    }
    for &k in &keep {
        assert_eq!(z.column(k), x.column(k), "kept columns stay");
    }
}

const BINS: usize = 5;
const BOUND: f64 = 3.0;

/// A spline of one column: its knots depend on parameters alone.
fn lone_spline(init: Init, seed: u64) -> Flow {
    let transform = Transform::Spline { bins: BINS, bound: BOUND };
    let layers = vec![BijectionSpec::Coupling { mask: Mask::KeepEven, hidden: vec![6], transform }];
    Flow::new(FlowSpec { dim: 1, layers }, init, &mut semisup::rng(seed), &place()).unwrap()
}

/// The knots of a lone spline on the data side, from the documented formula.
fn knots(flow: &Flow) -> Vec<f64> {
    let thetas = flow.thetas();
    let part = |i: usize| to_vec(&thetas[0].part(i));
    let hidden: Vec<f64> = part(1).iter().map(|b| b.max(0.0)).collect();
    let (w, b) = (part(2), part(3));
    let raw: Vec<f64> = (0..BINS)
        .map(|o| b[o] + hidden.iter().enumerate().map(|(i, h)| w[o * hidden.len() + i] * h).sum::<f64>())
        .collect();
    let total: f64 = raw.iter().map(|r| r.exp()).sum();
    let mut knots = vec![-BOUND];
    for r in raw {
        let width = 2.0 * BOUND * (1e-3 + (1.0 - 1e-3 * BINS as f64) * r.exp() / total);
        knots.push(knots[knots.len() - 1] + width);
    }
    knots
}

#[test]
fn a_spline_is_the_identity_outside_its_box() {
    for init in [Init::Identity, Init::Random] {
        let flow = lone_spline(init, 5);
        let x = Array2::from_shape_vec((6, 1), vec![-1e6, -40.0, -3.000001, 3.000001, 17.5, 1e6]).unwrap();
        let (z, log_det) = forward(&flow, &x);
        assert_eq!(z, x);
        assert_eq!(log_det, [0.0; 6]);
        assert_eq!(to_array(&flow.inverse(place().rows(z.view()))), x);
        check_finite_gradients(&flow, &x, Some(0.0));
    }
}

#[test]
fn a_spline_is_whole_at_its_edges_and_knots() {
    for (init, seed) in [(Init::Identity, 0), (Init::Random, 1), (Init::Random, 2), (Init::Random, 3)] {
        let flow = lone_spline(init, seed);
        let knots = knots(&flow);
        assert!((knots[BINS] - BOUND).abs() < 1e-12, "the bins fill the box");
        let mut points = vec![-BOUND, BOUND];
        points.extend(&knots);
        let x = Array2::from_shape_vec((points.len(), 1), points).unwrap();
        check_inverse(&flow, &x);
        check_finite_gradients(&flow, &x, None);
        // Value and slope are continuous there.
        let (z, log_det) = forward(&flow, &x);
        for step in [-1e-9, 1e-9] {
            let (near, near_log_det) = forward(&flow, &x.mapv(|v| v + step));
            assert_close("value beside a knot", &flat(&near), &flat(&z), 1e-7);
            for (a, b) in near_log_det.iter().zip(&log_det) {
                assert!((a - b).abs() < 1e-6, "slope jumps from {b} to {a}");
            }
        }
        assert_eq!([z[[0, 0]], z[[1, 0]]].map(|v| (v * 1e12).round() / 1e12), [-BOUND, BOUND]);
    }
}

/// Gradients are numbers; outside of the box the parameters' are `thetas`.
fn check_finite_gradients(flow: &Flow, x: &Array2<f64>, thetas: Option<f64>) {
    let probe = Probe::new(x.nrows(), x.ncols(), &mut semisup::rng(9), &place());
    let (of_x, of_thetas) = probe_gradients(flow, &probe, &place().rows(x.view()));
    assert!(of_x.iter().all(|g| g.is_finite()), "{of_x:?}");
    for gradient in of_thetas {
        assert!(gradient.iter().all(|g| g.is_finite() && thetas.is_none_or(|t| *g == t)), "{gradient:?}");
    }
}

#[test]
fn the_logit_squeezes_and_its_inverse_is_exact() {
    let flow = one(&BijectionSpec::Logit { alpha: 0.05 }, 2, &mut semisup::rng(0));
    let x = ndarray::array![[0.0, 1.0], [0.5, 0.25]];
    let (z, _) = forward(&flow, &x);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    assert_close("logit", &flat(&z), &[0.05, 0.95, 0.5, 0.275].map(logit), 1e-14);
    check_inverse(&flow, &x);
}

#[test]
fn single_precision_round_trips_too() {
    // 8 couplings of 16 columns: about 1e-6 of rounding, amplified by scales up to e.
    let place = Place::cpu();
    let rng = &mut semisup::rng(11);
    let flow = Flow::new(FlowSpec::couplings(16, 8, &[32], Form::ScaleThenShift), Init::Random, rng, &place)
        .unwrap();
    let x: Tensor<2> = place.rows(normal_rows(64, 16, rng).view());
    let back = flow.inverse(flow.forward(x.clone()).value);
    assert_close("f^-1(f(x)) in f32", &to_vec(&back), &to_vec(&x), 2e-5);
}
