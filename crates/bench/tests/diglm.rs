//! What a user of DIGLM would notice.

use flowgmm_bench::Diglm;
use flowgmm_data::ImageLayout;
use semisup::{Classifier, Learner, SemiSupervised, Toy, metrics::accuracy, ndarray::Array2};

const SHORT: Diglm = Diglm { lambda: 1.0, steps: Some(400) };

#[test]
fn it_learns_moons_and_repeats_itself() {
    let problem = Toy::Moons.problem(1);
    let fit = |seed: u64| SHORT.fit(&problem.train, seed).unwrap().log_probs(problem.test.x());
    let log_probs = fit(1);
    assert!(log_probs.iter().all(|value| *value <= 0.0), "log-probabilities");
    assert_eq!(log_probs, fit(1));
    assert_ne!(log_probs, fit(2), "the seed matters");
    let found = accuracy(&semisup::metrics::arg_max(log_probs.view()), problem.test.y());
    // A line through the moons is right on about 80%.
    assert!(found > 0.75, "{found}");
}

/// Images of 8 x 8 pixels: a bright half, left or right, with noise that is a function of the place.
fn halves(n: usize, first: usize) -> (Array2<f64>, Vec<usize>) {
    let pixel = |(row, at): (usize, usize)| {
        let noise = (((first + row) * 64 + at) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let bright = usize::from(at % 8 >= 4) == (first + row) % 2;
        (noise % 100) as f64 + if bright { 100.0 } else { 0.0 }
    };
    (Array2::from_shape_fn((n, 64), pixel), (0..n).map(|row| (first + row) % 2).collect())
}

#[test]
fn images_take_the_flow_for_images() {
    let layout = ImageLayout::new(1, 8, 8).unwrap();
    let (x, y) = halves(60, 0);
    let known = y.iter().enumerate().map(|(row, &k)| (row < 10).then_some(k)).collect();
    let data = SemiSupervised::new(x, known, vec!["left".into(), "right".into()], layout.names()).unwrap();
    let model = Diglm { steps: Some(60), ..SHORT }.fit(&data.with_image_shape(layout.shape()), 1).unwrap();
    let (x, y) = halves(40, 1000);
    assert!(accuracy(&model.predict(x.view()), &y) > 0.9);
    // Batch statistics are stored: a row alone is as it is among others.
    let (one, all) = (model.log_probs(x.slice(semisup::ndarray::s![3..4, ..])), model.log_probs(x.view()));
    assert!((&one.row(0) - &all.row(3)).iter().all(|gap| gap.abs() < 1e-4), "{one} {}", all.row(3));
}

#[test]
fn settings_that_make_no_sense_are_said_to() {
    let problem = Toy::Moons.problem(1);
    let error = Diglm { lambda: -1.0, ..SHORT }.fit(&problem.train, 1).unwrap_err().to_string();
    assert!(error.contains("lambda must be a number from 0, got -1"), "{error}");
    let error = Diglm { steps: Some(0), ..SHORT }.fit(&problem.train, 1).unwrap_err().to_string();
    assert!(error.contains("steps"), "{error}");
    assert_eq!(SHORT.with_steps(7).unwrap().steps, Some(7));
}
