//! One path for every kind of row: files and data in memory, tables, matrices and images, give the same answers.

use std::{fs, path::PathBuf};

use flowgmm::{
    Classifier, Control, Error, ErrorKind, Fit, ImageArray, Model, Observer, Phase, Request, Rows,
    SampleRequest, Source,
    data::{Cells, Column, Frame},
    tensor::Place,
};
use ndarray::{Array2, s};
use semisup::{ImageShape, Toy};
use tempfile::TempDir;

/// A table of moons with a category beside the two coordinates; `labelled` rows have a label.
fn moons(n: usize, labelled: usize) -> (Frame, Vec<Option<String>>) {
    let data = Toy::Moons.sample(n, &mut semisup::rng(3));
    let numbers = |name: &str, j: usize| Column {
        name: name.into(),
        cells: Cells::Numbers(data.x().column(j).to_vec()),
    };
    let side = |row: usize| Some(if data.x()[[row, 0]] > 0.5 { "east" } else { "west" });
    let sides = Cells::Texts((0..n).map(side).collect());
    let labels: Vec<Option<String>> = data
        .y()
        .iter()
        .enumerate()
        .map(|(row, &k)| (row < labelled).then(|| data.classes()[k].clone()))
        .collect();
    let cells = Cells::Texts(labels.iter().map(|label| label.as_deref()).collect());
    let columns = vec![
        numbers("width", 0),
        numbers("height", 1),
        Column { name: "side".into(), cells: sides },
        Column { name: "moon".into(), cells },
    ];
    (Frame::new("moons", columns, (1..=n as u64).collect()).unwrap(), labels)
}

fn write_csv(directory: &TempDir, frame: &Frame) -> PathBuf {
    let path = directory.path().join("moons.csv");
    let mut text = frame.column_names().join(",") + "\n";
    for row in 0..frame.n() {
        let cells = frame.columns().iter().map(|column| match &column.cells {
            Cells::Numbers(values) => format!("{:?}", values[row]),
            Cells::Texts(texts) => texts.get(row).unwrap_or("").to_string(),
        });
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    fs::write(&path, text).unwrap();
    path
}

fn small(source: Source) -> Request {
    Request::new(source)
        .with("train.steps", 30)
        .with("architecture.depth", 2)
        .with("architecture.hidden", vec![8])
        .with("seed", 5)
}

fn fit(request: &Request) -> Fit {
    flowgmm::fit(request, &mut ()).unwrap()
}

fn table_model() -> (Model, Frame) {
    let (frame, _) = moons(300, 20);
    (fit(&small(Source::frame(frame.clone()).label_column("moon"))).model, frame)
}

#[test]
fn a_file_and_the_same_table_in_memory_give_the_same_model_and_predictions() {
    let directory = TempDir::new().unwrap();
    let (frame, _) = moons(300, 20);
    let path = write_csv(&directory, &frame);
    let of_file = fit(&small(Source::path(&path).label_column("moon"))).model;
    let of_memory = fit(&small(Source::frame(frame.clone()).label_column("moon"))).model;
    assert!(of_file.to_bytes() == of_memory.to_bytes());
    assert_eq!(of_file.rows().label(), Some("moon"));
    let all = |source: Source| flowgmm::predict(&of_file, &source).unwrap().all().unwrap().0;
    let (a, b) = (all(Source::path(&path)), all(Source::frame(frame.clone())));
    assert_eq!((a.log_probs, a.z), (b.log_probs, b.z));
    let evaluation = |source: Source| flowgmm::evaluate(&of_file, &source, &mut ()).unwrap();
    let found = evaluation(Source::path(&path)); // the label column is remembered
    assert_eq!((found.scores.n, found.skipped_unlabelled), (20, 280));
    assert_eq!(found.scores.accuracy, evaluation(Source::frame(frame).label_column("moon")).scores.accuracy);
}

#[test]
fn labels_beside_a_table_in_memory_are_a_column_of_it() {
    let (frame, labels) = moons(300, 20);
    let in_column = fit(&small(Source::frame(frame.clone()).label_column("moon"))).model;
    let mut columns = frame.into_columns();
    columns.pop();
    let lines: Vec<u64> = (1..=300).collect();
    let rows = Frame::new("moons", columns.clone(), lines.clone()).unwrap();
    let beside = fit(&small(Source::frame(rows.clone()).named_labels("moon", labels.clone()))).model;
    assert!(beside.to_bytes() == in_column.to_bytes());
    // Cut into several frames, and with labels of the name of a column.
    let part = |rows: std::ops::Range<usize>| rows.collect::<Vec<_>>();
    let cut = [rows.select(&part(0..100)), rows.select(&part(100..300))];
    let cut = fit(&small(Source::frames_of(cut.into()).named_labels("width", labels.clone()))).model;
    assert_eq!(cut.rows().label(), Some("width_"));
    let all = |model: &Model| flowgmm::predict(model, &Source::frame(rows.clone())).unwrap().all().unwrap().0;
    assert_eq!(all(&cut).log_probs, all(&beside).log_probs);
    let few = small(Source::frame(rows.clone()).labels(labels[..10].to_vec()));
    let error = flowgmm::fit(&few, &mut ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(error.to_string().contains("300 rows, and 10 labels"), "{error}");
}

#[test]
fn a_matrix_is_rows_too() {
    let data = Toy::Moons.problem(2);
    let train = &data.train;
    let labels: Vec<_> = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone())).collect();
    let model = fit(&small(Source::matrix(train.x()).labels(labels.clone()))).model;
    assert!(matches!(model.rows(), Rows::Matrix { columns } if columns == &["x1", "x2"]));
    let test = &data.test;
    let found = flowgmm::predict(&model, &Source::matrix(test.x())).unwrap().all().unwrap().0;
    assert_eq!(found.classes(), model.predict(test.x()));
    // A table with its columns, in another order, is as good.
    let column = |name: &str, j: usize| Column {
        name: name.into(),
        cells: Cells::Numbers(test.x().column(j).to_vec()),
    };
    let lines = (1..=test.n() as u64).collect();
    let table = Frame::new("t", vec![column("x2", 1), column("x1", 0)], lines).unwrap();
    let of_table = flowgmm::predict(&model, &Source::frame(table)).unwrap().all().unwrap().0;
    assert_eq!(found.log_probs, of_table.log_probs);
    let narrow = test.x().slice(s![.., ..1]).to_owned();
    let error = flowgmm::predict(&model, &Source::matrix(narrow.view())).err().unwrap();
    assert!(error.kind() == ErrorKind::Data && error.to_string().contains("1 columns"), "{error}");
    let known = test.y().iter().map(|&k| Some(test.classes()[k].clone()));
    let found = flowgmm::evaluate(&model, &Source::matrix(test.x()).labels(known), &mut ()).unwrap();
    assert_eq!(found.scores.n, test.n());
    let other = Source::matrix(test.x()).labels(vec![Some("cat".to_string()); test.n()]);
    assert!(flowgmm::evaluate(&model, &other, &mut ()).unwrap_err().to_string().contains("'cat'"));
}

/// Images of 8 x 8 pixels: a bright half, left or right.
fn halves(n: usize) -> (ImageArray, Vec<Option<String>>) {
    let pixel = |i: usize| {
        let (image, at) = (i / 64, i % 64);
        let noise = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        noise as u8 + if usize::from(at % 8 >= 4) == image % 2 { 150 } else { 0 }
    };
    let shape = ImageShape { channels: 1, height: 8, width: 8 };
    let images = ImageArray::new(shape, (0..64 * n).map(pixel).collect()).unwrap();
    (images, (0..n).map(|i| (i < 20).then(|| ["left", "right"][i % 2].to_string())).collect())
}

#[test]
fn images_in_memory_are_rows_too() {
    let (images, labels) = halves(60);
    let stage = serde_json::json!({ "couplings": 1, "hidden": 4 });
    let flow = serde_json::json!({ "kind": "light", "shape": { "channels": 1, "height": 8, "width": 8 }, "stages": [stage, stage] });
    let request =
        small(Source::images(images.clone()).labels(labels.clone())).with("architecture.image", flow);
    let fit = fit(&request);
    let model = &fit.model;
    assert_eq!(model.classes(), ["left", "right"]);
    assert!(fit.bits_per_dim().is_some_and(f64::is_finite));
    let found = flowgmm::evaluate(model, &Source::images(images.clone()).labels(labels), &mut ()).unwrap();
    assert_eq!((found.scores.n, found.skipped_unlabelled), (20, 40));
    assert!(found.bits_per_dim.is_some());
    let x = Array2::zeros((2, 64));
    let error = flowgmm::predict(model, &Source::matrix(x.view())).err().unwrap();
    assert!(error.to_string().contains("holds no images"), "{error}");
    let (table, _) = table_model();
    let error = flowgmm::predict(&table, &Source::images(images)).err().unwrap();
    assert!(error.to_string().contains("fitted to a table"), "{error}");
}

#[test]
fn rows_come_back_from_every_layer() {
    let (model, frame) = table_model();
    let source = Source::frame(frame.clone());
    let x = model.rows().encoding().unwrap().apply(&frame).unwrap().x;
    for layer in [Some(0), Some(1), None] {
        let mut chunks = flowgmm::encode(&model, &source, layer).unwrap();
        let z = chunks.next().unwrap().unwrap();
        assert!(chunks.next().is_none());
        let back = flowgmm::decode(&model, z.z.view(), layer).unwrap();
        let gap = (&back - &x).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
        assert!(gap < 1e-4, "layer {layer:?}: {gap}");
        let table = Source::frame(z.to_frame().unwrap());
        let rows: Vec<Frame> =
            flowgmm::decode_table(&model, &table, layer).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows[0].column("side"), frame.column("side"), "categories come back as they were");
    }
    let z = flowgmm::encode(&model, &source, None).unwrap().next().unwrap().unwrap().z;
    assert_eq!(z, model.encode(x.view()));
    assert_eq!(z, model.score(x.view()).z);
    let error = flowgmm::encode(&model, &source, Some(99)).err().unwrap();
    assert!(matches!(&error, Error::Request(what) if what.contains("0 to 2")), "{error}");
}

/// Before the first layer rows are the preprocessed ones; the first coupling keeps the columns that the second one changes, and the
/// other way round.
#[test]
fn activations_are_those_of_the_layer_asked_for() {
    let (model, frame) = table_model();
    let x = model.rows().encoding().unwrap().apply(&frame).unwrap().x;
    let at = |layer| model.encode_to(layer, x.view()).unwrap();
    let [before, middle, z] = [at(0), at(1), at(2)];
    let same = |a: &Array2<f64>, b: &Array2<f64>| -> Vec<usize> {
        let gap =
            |j: usize| (&a.column(j) - &b.column(j)).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
        (0..a.ncols()).filter(|&j| gap(j) < 1e-6).collect()
    };
    let all: Vec<usize> = (0..z.ncols()).collect();
    assert_eq!(same(&before, &model.preprocess().apply(x.view())), all);
    assert_eq!(same(&z, &model.encode(x.view())), all);
    let (first, second) = (same(&before, &middle), same(&middle, &z));
    assert!(!first.is_empty() && !second.is_empty(), "a coupling keeps columns: {first:?}, {second:?}");
    let mut kept = [first, second].concat();
    kept.sort_unstable();
    assert_eq!(kept, all, "and changes the others");
    let back = model.decode_from(1, middle.view()).unwrap();
    assert!((&back - &x).iter().all(|gap| gap.abs() < 1e-4));
}

#[test]
fn a_model_travels_as_bytes() {
    let (model, frame) = table_model();
    let bytes = model.to_bytes();
    let again = Model::from_bytes(&bytes, &Place::cpu()).unwrap();
    let all = |model: &Model| {
        let source = Source::frame(frame.clone());
        flowgmm::predict(model, &source).unwrap().all().unwrap().0.log_probs
    };
    assert_eq!(all(&model), all(&again));
    for cut in [0, 7, bytes.len() / 2, bytes.len() - 1] {
        let error = Model::from_bytes(&bytes[..cut], &Place::cpu()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ModelFile, "{error}");
    }
}

#[test]
fn samples_are_rows_of_the_table_and_calibration_does_not_hurt() {
    let (model, frame) = table_model();
    let request = SampleRequest { class: Some("1".into()), seed: 2, ..SampleRequest::new(50) };
    let drawn: Vec<Frame> =
        flowgmm::sample(&model, &request).unwrap().map(|chunk| chunk.to_frame(&model).unwrap()).collect();
    assert_eq!(drawn[0].column_names(), ["width", "height", "side", "class"]);
    assert!((0..50).all(|row| drawn[0].column("class").unwrap().text(row).as_deref() == Some("1")));
    assert!(
        (0..50).all(|row| ["east", "west"].contains(&&*drawn[0].column("side").unwrap().text(row).unwrap()))
    );
    let unknown = SampleRequest { class: Some("cat".into()), ..SampleRequest::new(1) };
    assert!(flowgmm::sample(&model, &unknown).is_err());
    let found = flowgmm::calibrate(&model, &Source::frame(frame).label_column("moon"), &mut ()).unwrap();
    assert!(found.after.nll <= found.before.nll && found.before.n == 20);
    assert_eq!(found.before.accuracy, found.after.accuracy);
}

#[test]
fn work_can_be_watched_and_stopped() {
    struct StopIn {
        phase: Phase,
        seen: Vec<Phase>,
    }
    impl Observer for StopIn {
        fn phase(&mut self, phase: &Phase, _: Option<usize>) {
            self.seen.push(phase.clone());
        }
        fn progress(&mut self, _: usize) -> Control {
            if self.seen.last() == Some(&self.phase) { Control::Stop } else { Control::Continue }
        }
    }
    let (frame, _) = moons(300, 20);
    let request = small(Source::frame(frame.clone()).label_column("moon"));
    let mut watcher = StopIn { phase: Phase::Training, seen: Vec::new() };
    let error = flowgmm::fit(&request, &mut watcher).unwrap_err();
    assert!(matches!(error, Error::Interrupted { step: 1 }), "{error}");
    let seen = &watcher.seen;
    assert!(seen.starts_with(&[Phase::Reading, Phase::Preprocessing, Phase::Choosing]), "{seen:?}");
    assert!(seen.ends_with(&[Phase::PlacingMeans, Phase::Training]), "{seen:?}");
    let (model, _) = table_model();
    let mut watcher = StopIn { phase: Phase::Scoring, seen: Vec::new() };
    let error = flowgmm::evaluate(&model, &Source::frame(frame), &mut watcher).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn settings_are_overridden_by_path_and_old_names_are_answered_with_the_new() {
    let (frame, _) = moons(60, 20);
    let source = || Source::frame(frame.clone()).label_column("moon");
    let fit = fit(&small(source()).with("train.noise", 0.5));
    assert_eq!((fit.settings.config.train.noise, fit.settings.seed), (0.5, 5));
    assert!(fit.settings.overridden().any(|(path, value, _)| path == "train.noise" && value == 0.5));
    let says = |path: &str| flowgmm::fit(&small(source()).with(path, 1), &mut ()).unwrap_err().to_string();
    assert!(says("train.stepz").contains("unknown key 'train.stepz'"));
    for (old, new) in [("guides", "teachers"), ("columns", "quantile_transform")] {
        assert!(says(old).contains(new), "{old}: {}", says(old));
    }
}
