//! Image flows: the kernels equal the composed operations, prediction does not depend on who else is in the batch, the
//! paper's architectures have the authors' parameter counts, and a fit of images is a model like any other.

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::time::Duration;

use flowgmm::{
    Bijection, Checkpoints, Engine, FitConfig, Fitter, Flow, FlowSpec, ImageFlow, ImageStage, Model,
    Observer, Phase, Resume,
    bijection::{BijectionSpec, Form, ImageMask, ImageShape, Init, Mapped, NormStatistics},
    bits_per_dim, dequantised,
    tensor::{Place, to_vec},
    train::{Control, ImageViews},
};
use ndarray::Array2;
use rand::Rng as _;
use semisup::{Classifier, SemiSupervised, metrics::accuracy};
use support::{Probe, assert_close, bits, normal_rows, probe_gradients};

/// Winograd convolutions round at about 1e-6 of the largest value, and every batch norm may amplify that.
const SINGLE: f64 = 2e-4;
/// Gradients go through all of it twice.
const SINGLE_GRADIENT: f64 = 2e-3;

const SHAPE: ImageShape = ImageShape { channels: 1, height: 8, width: 8 };

fn light(stages: &[(usize, usize)]) -> FlowSpec {
    let stages = stages.iter().map(|&(couplings, hidden)| ImageStage { couplings, hidden }).collect();
    let mut layers = ImageFlow::Light { shape: SHAPE, stages }.layers();
    layers.remove(0); // the logit wants rows in [0, 1]
    FlowSpec { dim: SHAPE.dim(), layers }
}

fn flow(spec: FlowSpec, seed: u64) -> Flow {
    Flow::new(spec, Init::Random, &mut semisup::rng(seed), &Place::cpu()).unwrap()
}

#[test]
fn kernels_equal_composed_operations() {
    let place = Place::cpu();
    for (seed, spec, rows) in
        [(1, light(&[(2, 5)]), 3), (2, light(&[(1, 17), (3, 20)]), 7), (3, light(&[(2, 32)]), 40)]
    {
        let rng = &mut semisup::rng(seed);
        let fused = flow(spec, seed).with_engine(Engine::Fused);
        let composed = fused.clone().with_engine(Engine::Composed);
        let x = place.rows(normal_rows(rows, SHAPE.dim(), rng).view());
        for statistics in [NormStatistics::Running, NormStatistics::Batch] {
            let (one, other) =
                (fused.clone().with_statistics(statistics), composed.clone().with_statistics(statistics));
            let (a, b) = (one.forward(x.clone()), other.forward(x.clone()));
            assert_close("z", &to_vec(&a.value), &to_vec(&b.value), SINGLE);
            assert_close("log_det", &to_vec(&a.log_det), &to_vec(&b.log_det), SINGLE);
            assert_ne!(bits(&to_vec(&a.value)), bits(&to_vec(&b.value)), "the kernel did not run");
        }
        let (a, b) = (fused.inverse(x.clone()), composed.inverse(x.clone()));
        assert_close("inverse", &to_vec(&a), &to_vec(&b), SINGLE);
        let probe = Probe::new(rows, SHAPE.dim(), rng, &place);
        let batch = |flow: &Flow| {
            let mut flow = flow.clone().with_statistics(NormStatistics::Batch);
            // Statistics are no parameters of a training pass.
            let trained = flow.trained();
            let (of_x, of_thetas) = probe_gradients(&flow, &probe, &x);
            let kept = of_thetas.into_iter().zip(trained).filter(|(_, on)| *on).map(|(g, _)| g);
            flow.set_mode(Default::default());
            (of_x, kept.collect::<Vec<_>>())
        };
        let ((of_x, of_thetas), (want_x, want_thetas)) = (batch(&fused), batch(&composed));
        assert_close("gradient of x", &of_x, &want_x, SINGLE_GRADIENT);
        for (i, (got, want)) in of_thetas.iter().zip(&want_thetas).enumerate() {
            assert_close(&format!("gradient of theta {i}"), got, want, SINGLE_GRADIENT);
        }
    }
}

#[test]
fn single_precision_inverts_what_the_kernels_did() {
    let rng = &mut semisup::rng(4);
    let flow = flow(light(&[(3, 16), (2, 16)]), 4);
    let x = Place::cpu().rows(normal_rows(20, SHAPE.dim(), rng).view());
    let Mapped { value, .. } = flow.forward(x.clone());
    assert_close("f^-1(f(x))", &to_vec(&flow.inverse(value)), &to_vec(&x), SINGLE);
}

#[test]
fn a_row_is_mapped_alike_in_any_company() {
    let rng = &mut semisup::rng(5);
    let x = normal_rows(9, SHAPE.dim(), rng);
    let place = Place::cpu();
    for engine in [Engine::Fused, Engine::Composed] {
        let flow = flow(light(&[(2, 12)]), 5).with_engine(engine);
        let all = flow.forward(place.rows(x.view()));
        for row in 0..x.nrows() {
            let alone = flow.forward(place.rows(x.slice(ndarray::s![row..row + 1, ..])));
            let mine = all.value.clone().narrow(0, row, 1);
            assert_close("alone and among others", &to_vec(&alone.value), &to_vec(&mine), 1e-5);
        }
        // With statistics of the batch it does depend on the others: that is what must stay in training.
        let batch = flow.with_statistics(NormStatistics::Batch);
        let among = batch.forward(place.rows(x.view())).value.narrow(0, 0, 1);
        let fewer = batch.forward(place.rows(x.slice(ndarray::s![..4, ..]))).value.narrow(0, 0, 1);
        assert_ne!(bits(&to_vec(&among)), bits(&to_vec(&fewer)));
    }
}

#[test]
fn settled_statistics_are_those_of_the_batch() {
    let place = Place::cpu_f64();
    let spec = ImageFlow::Paper { shape: SHAPE, hidden: 2, blocks: 1 };
    let spec = FlowSpec { dim: SHAPE.dim(), layers: spec.layers()[1..].to_vec() };
    let rng = &mut semisup::rng(6);
    let mut flow = Flow::new(spec, Init::Random, rng, &place).unwrap();
    let x = place.rows(normal_rows(64, SHAPE.dim(), rng).view());
    let settled = to_vec(&flow.update_running_statistics(x.clone(), 1.0));
    let batch = flow.clone().with_statistics(NormStatistics::Batch).forward(x.clone());
    assert_eq!(bits(&settled), bits(&to_vec(&batch.value)));
    // Stored variances are unbiased, so the two differ by a factor of about 1 + 1/4096.
    let stored = flow.forward(x);
    assert_close("stored and batch statistics", &to_vec(&stored.value), &to_vec(&batch.value), 1e-2);
}

#[test]
fn the_papers_flows_have_the_authors_parameter_counts() {
    for (shape, expected) in [
        (ImageShape { channels: 1, height: 28, width: 28 }, 19_552_008),
        (ImageShape { channels: 3, height: 32, width: 32 }, 19_631_640),
    ] {
        let layers = ImageFlow::Paper { shape, hidden: 64, blocks: 8 }.layers();
        let spec = FlowSpec { dim: shape.dim(), layers };
        spec.validate().unwrap();
        assert_eq!(spec.n_parameters(), Some(expected));
    }
    // The count is what a flow has: on nets small enough to build.
    for spec in [
        FlowSpec { dim: 64, layers: ImageFlow::Paper { shape: SHAPE, hidden: 3, blocks: 2 }.layers() },
        light(&[(2, 5), (1, 3)]),
    ] {
        let flow = flow(spec.clone(), 0);
        let trained = flow.thetas().into_iter().zip(flow.trained());
        let count: usize = trained.filter(|(_, on)| *on).map(|(theta, _)| theta.len()).sum();
        assert_eq!(spec.n_parameters(), Some(count));
        let statistics: usize = spec.layers.iter().map(|layer| layer.n_running_statistics().unwrap()).sum();
        let stored = flow.thetas().into_iter().zip(flow.trained()).filter(|(_, on)| !*on);
        assert_eq!(statistics, stored.map(|(theta, _)| theta.len()).sum::<usize>());
    }
}

#[test]
fn nonsense_shapes_are_refused() {
    let odd = ImageShape { channels: 1, height: 7, width: 8 };
    let coupling = |shape, mask| BijectionSpec::ConvAffine {
        shape,
        mask,
        net: flowgmm::bijection::ConvNet::Plain { hidden: 2 },
        form: Form::ShiftThenScale,
    };
    let huge = ImageShape { channels: usize::MAX, height: usize::MAX, width: 2 };
    for (spec, dim) in [
        (BijectionSpec::Squeeze { shape: odd }, 56),
        (BijectionSpec::Squeeze { shape: SHAPE }, 63),
        (BijectionSpec::Squeeze { shape: huge }, 64),
        (coupling(SHAPE, ImageMask::Channels), 64),
        (coupling(huge, ImageMask::Checkerboard), 64),
        (BijectionSpec::ChannelMix { shape: SHAPE, order: vec![1] }, 64),
        (BijectionSpec::FactorOut { shape: SHAPE, keep: 1, layers: vec![BijectionSpec::ActNorm] }, 64),
        (BijectionSpec::FactorOut { shape: SHAPE.squeezed(), keep: 2, layers: vec![] }, 64),
    ] {
        assert!(spec.validate(dim).is_err(), "{spec:?}");
    }
}

/// Bars: upright ones are of class 0, lying ones of class 1; ten of each carry a label.
fn bars(n: usize, seed: u64) -> (SemiSupervised, Vec<usize>) {
    let rng = &mut semisup::rng(seed);
    let truth: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let mut x = Array2::zeros((n, 64));
    for (mut row, &class) in x.rows_mut().into_iter().zip(&truth) {
        let (at, grey) = (rng.random_range(1..7), f64::from(rng.random_range(120..256_u32)));
        for i in 1..7 {
            row[if class == 0 { 8 * i + at } else { 8 * at + i }] = grey;
        }
    }
    let y = truth.iter().enumerate().map(|(i, &k)| (i < 20).then_some(k)).collect();
    let columns = (0..64).map(|i| format!("p{i}")).collect();
    (SemiSupervised::new(x, y, vec!["upright".into(), "lying".into()], columns).unwrap(), truth)
}

fn small(data: &SemiSupervised, steps: usize) -> FitConfig {
    let mut config = FitConfig::image(data, SHAPE).unwrap();
    let stages = vec![ImageStage { couplings: 2, hidden: 8 }, ImageStage { couplings: 2, hidden: 8 }];
    config.architecture.image = Some(ImageFlow::Light { shape: SHAPE, stages });
    config.architecture.hidden = vec![16];
    config.train.views = Some(ImageViews::shifts(SHAPE, 1));
    config.train.steps = steps;
    config.train.batch_labelled = 16;
    config.train.batch_unlabelled = 32;
    config
}

#[test]
fn a_fit_of_images_is_a_model_like_any_other() {
    let (data, truth) = bars(300, 1);
    let model = fit(&small(&data, 150), &data, 3).unwrap();
    let scores = model.score(data.x());
    assert!(accuracy(&model.predict(data.x()), &truth) > 0.97);
    let noisy = dequantised(data.x(), &mut semisup::rng(0));
    let bits_per_pixel = bits_per_dim(&model.score(noisy.view()).log_marginal, 64);
    assert!((0.0..8.0).contains(&bits_per_pixel), "{bits_per_pixel}: worse than no model at all");
    // Exact inverse down to the pixels: the squeeze of the logit is undone.
    let back = model.decode(model.encode(data.x()).view());
    let off = (&back - &data.x()).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(off < 0.1, "pixels come back within {off}");
    let (drawn, _) = model.sample(5, Some(0), 0.5, &mut semisup::rng(0));
    assert!(drawn.iter().all(|v| v.is_finite() && (-15.0..=270.0).contains(v)));
    let certificate = model.provenance().certificate.unwrap();
    assert!(certificate.round_trip_f64 < 1e-8 && certificate.log_det < 1e-4, "{certificate:?}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bars.flow");
    model.save(&path).unwrap();
    let again = Model::load(&path, &Place::cpu()).unwrap();
    assert_eq!(bits(&scores.log_marginal), bits(&again.score(data.x()).log_marginal));
}

#[test]
fn the_papers_model_trains_and_predicts_from_stored_statistics() {
    let (data, truth) = bars(200, 4);
    let mut config = FitConfig::paper_image(&data, SHAPE).unwrap();
    config.architecture.image = Some(ImageFlow::Paper { shape: SHAPE, hidden: 4, blocks: 1 });
    config.architecture.init = Init::Identity;
    config.train.schedule.peak = 3e-3;
    config.train.views = Some(ImageViews::shifts(SHAPE, 1));
    config.train.steps = 120;
    let model = fit(&config, &data, 1).unwrap();
    let losses: Vec<f64> = model.history().epochs.iter().map(|epoch| epoch.loss).collect();
    assert!(losses.last() < losses.first(), "{losses:?}");
    assert!(accuracy(&model.predict(data.x()), &truth) > 0.8);
    let together = model.score(data.x()).log_marginal;
    let alone = model.score(data.x().slice(ndarray::s![..1, ..])).log_marginal;
    assert!((together[0] - alone[0]).abs() < 1e-3 * together[0].abs(), "{} is not {}", together[0], alone[0]);
}

/// Stops after a number of steps.
struct Stop {
    after: usize,
    training: bool,
}

impl Observer for Stop {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, step: usize) -> Control {
        if self.training && step == self.after { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_resumed_fit_of_images_is_the_same_to_the_last_bit() {
    let (data, _) = bars(120, 2);
    let config = small(&data, 12);
    let straight = fit(&config, &data, 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = || Checkpoints::new(folder.path(), Duration::from_secs(3600), Resume::IfPresent);
    let stopped = Fitter::new(&config, &data, 5)
        .checkpoints(checkpoints())
        .run(&mut Stop { after: 7, training: false });
    assert!(stopped.is_err());
    let resumed = Fitter::new(&config, &data, 5).checkpoints(checkpoints()).run(&mut ()).unwrap();
    let of = |model: &Model| bits(&model.score(data.x()).log_marginal);
    assert_eq!(of(&straight), of(&resumed));
}

#[test]
fn rows_that_are_no_images_are_refused() {
    let (data, _) = bars(40, 3);
    let wide = ImageShape { channels: 1, height: 8, width: 9 };
    assert!(FitConfig::image(&data, wide).unwrap_err().to_string().contains("72"));
    let dark = SemiSupervised::new(
        data.x().mapv(|v| v - 1.0),
        data.y().to_vec(),
        data.classes().to_vec(),
        data.columns().to_vec(),
    );
    assert!(FitConfig::paper_image(&dark.unwrap(), SHAPE).unwrap_err().to_string().contains("-1"));
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
