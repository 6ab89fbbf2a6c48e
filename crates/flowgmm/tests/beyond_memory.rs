//! Training draws rows that memory does not hold from a cache on disk, and the bits do not depend on where a row is.

mod small;

use std::{fmt::Write as _, path::Path, sync::Arc};

use flowgmm::{
    ErrorKind, Fit, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureValues, Request, Source, Training,
    bijection::{Form, Init},
    tensor::{Place, to_vec},
    train::{RowCacheWriter, TrainConfig, TrainState, Trainer, TrainingMatrix, TrainingRows},
};
use ndarray::{Array2, s};

/// The trained weights after a run whose unlabelled rows from `in_memory` on are on disk; or why there are none.
fn trained(config: &TrainConfig, in_memory: usize, directory: &Path) -> Result<Vec<Vec<u64>>, String> {
    let rng = &mut semisup::rng(3);
    let x = Array2::from_shape_fn((90, 2), |(i, j)| ((i * (7 + 4 * j)) % 31) as f64 / 15.0 - 1.0);
    let spec = FlowSpec::couplings(2, 2, &[8], Form::ScaleThenShift);
    let flow = Flow::new(spec, Init::Random, rng, &Place::cpu()).unwrap();
    let values = MixtureValues {
        means: ndarray::array![[-1.0, 0.0], [1.0, 0.0]],
        log_sigma: Array2::zeros((2, 1)),
        log_weight: vec![0.0; 2],
        log_prior: vec![0.0; 2],
        ..MixtureValues::default()
    };
    let mixture = Mixture::new(MixtureSpec::fixed(2, 2), &values, &Place::cpu()).unwrap();
    let others = x.slice(s![10.., ..]);
    let mut unlabelled = TrainingMatrix::new(others.slice(s![..in_memory, ..]));
    if in_memory < 80 {
        let mut writer = RowCacheWriter::new(directory, 2).unwrap();
        writer.add(&TrainingMatrix::new(others.slice(s![in_memory.., ..]))).unwrap();
        unlabelled = unlabelled.with_cache(Arc::new(writer.finish().unwrap()));
    }
    let rows = TrainingRows {
        labelled: TrainingMatrix::new(x.slice(s![..10, ..])),
        y: (0..10).map(|row| row % 2).collect(),
        unlabelled: Arc::new(unlabelled),
        soft_targets: None,
        n_classes: 2,
    };
    let state = TrainState::new(FlowGmm::new(flow, mixture).unwrap(), config);
    let mut trainer = Trainer::new(config, &rows, 1, state);
    trainer.run(&mut ()).map_err(|error| error.to_string())?;
    let model = trainer.finished_watched(&mut ()).unwrap();
    let thetas = model.thetas().into_iter();
    Ok(thetas.map(|theta| to_vec(theta.value()).into_iter().map(f64::to_bits).collect()).collect())
}

#[test]
fn rows_on_disk_train_the_same_bits_as_rows_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    for (name, config) in small::variants() {
        let all = trained(&config.train, 80, directory.path());
        assert!(all == trained(&config.train, 30, directory.path()), "{name}: some in memory");
        assert!(all == trained(&config.train, 1, directory.path()), "{name}: hardly any in memory");
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "no cache is left");
}

/// Rows of two numbers around (0, 0) and (6, 6) in two files; every 20th of the first is labelled.
fn request(directory: &Path, cached: bool) -> Request {
    let table = |from: usize, to: usize| {
        let mut text = String::from("a,b,class\n");
        for row in from..to {
            let side = row % 2;
            let noise = |k: usize| ((row * (k * 37 + 11)) % 101) as f64 / 50.0 - 1.0;
            let centre = 6.0 * side as f64;
            let class = if row % 20 < 2 && from == 0 { ["low", "high"][side] } else { "" };
            writeln!(text, "{},{},{class}", centre + noise(1), centre + noise(2)).unwrap();
        }
        text
    };
    let (first, second) = (directory.join("rows.csv"), directory.join("more.csv"));
    std::fs::write(&first, table(0, 3000)).unwrap();
    std::fs::write(&second, table(3000, 4000)).unwrap();
    let mut request = Request {
        memory: Some(3_500_000),
        unlabelled: vec![Source::path(second)],
        cache: cached.then(|| directory.join("cache")),
        ..Request::new(Source::path(first).label_column("class"))
    };
    for (path, value) in [("train.steps", 60), ("train.batch_unlabelled", 100), ("forest.n_trees", 5)] {
        request = request.with(path, value);
    }
    request
}

fn fit(request: &Request) -> Fit {
    flowgmm::fit(request, &mut ()).unwrap()
}

fn said(fit: &Fit) -> String {
    let said = fit.decisions().iter().find(|decision| decision.what == "rows").expect("it is said");
    format!("{}; {}", said.choice, said.why)
}

#[test]
fn a_table_beyond_memory_is_learnt_from_whole_and_the_bits_are_a_function_of_the_request() {
    let directory = tempfile::tempdir().unwrap();
    let request = request(directory.path(), true);
    let found = fit(&request);
    let held = found.training.data.n();
    assert!((600..2500).contains(&held), "{held}");
    // Sixty steps of 100 rows may draw all: 3,700 have no label.
    assert_eq!(found.model.provenance().n_unlabelled, 3700);
    let more = 4000 - held;
    assert!(
        said(&found).contains(&format!("{held} of 4000")) && said(&found).contains(&format!("{more} more"))
    );
    assert_eq!(std::fs::read_dir(directory.path().join("cache")).unwrap().count(), 0, "no cache is left");
    let again = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| fit(&request));
    assert!(found.model.to_bytes() == again.model.to_bytes());
    let sample = fit(&self::request(directory.path(), false));
    assert!(said(&sample).contains("no directory"), "{}", said(&sample));
    assert_eq!(sample.training.data.x(), found.training.data.x(), "everything but training sees the sample");
    assert!(sample.model.to_bytes() != found.model.to_bytes(), "training sees more");
}

#[test]
fn a_cache_holds_no_more_rows_than_training_draws() {
    let directory = tempfile::tempdir().unwrap();
    let request = request(directory.path(), true);
    let unlabelled = Training::read(&request, &mut ()).unwrap().data.unlabelled().len();
    // Every row is drawn with the same chance: the number has a standard deviation of 20 at most.
    let some =
        request.clone().with("train.batch_unlabelled", 10).with("train.steps", (unlabelled / 10 + 50) as u64);
    let n = fit(&some).model.provenance().n_unlabelled;
    assert!(n.abs_diff(unlabelled + 500) < 100, "{n} of {unlabelled} and 500 more");
    let none = fit(&request.with("train.batch_unlabelled", 5));
    assert_eq!(none.model.provenance().n_unlabelled, unlabelled);
    assert!(said(&none).contains("draws hardly more"), "{}", said(&none));
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error_of_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let request = Request {
        cache: Some(directory.path().join("rows.csv").join("no directory")),
        ..request(directory.path(), true)
    };
    let error = flowgmm::fit(&request, &mut ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("more memory"), "{error}");
}
