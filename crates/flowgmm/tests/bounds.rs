//! Bad cells, absurd sizes and files of strangers through the front door: an error of the right kind, in words.

#[path = "../../encoder/tests/common/mod.rs"]
mod tiny;

use std::{fs, path::PathBuf};

use flowgmm::{
    ErrorKind, FitPlan, MOST_TEMPERATURE, Model, Need, Reading, Request, SampleRequest, Source, TextEncoder,
    Training, tensor::Place,
};
use tempfile::TempDir;

/// Two classes of forty rows, as wide as they are high, half of them labelled; `cell` replaces the x of row 7 (line 9).
fn table(cell: &str, classes: [&str; 2]) -> String {
    let row = |i: usize| {
        let k = i % 2;
        let x = if i == 7 { cell.to_string() } else { format!("{}", k as f64 * 4.0 + (i % 5) as f64 * 0.3) };
        let label = if i < 20 { classes[k] } else { "" };
        format!("{x},{},{label}\n", k as f64 * 3.0 - (i % 7) as f64 * 0.2)
    };
    format!("x,z,y\n{}", (0..40).map(row).collect::<String>())
}

fn write(directory: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn small(source: Source) -> Request {
    Request::new(source)
        .with("train.steps", 20)
        .with("architecture.depth", 2)
        .with("architecture.hidden", vec![8])
}

fn fitted(directory: &TempDir, content: String) -> Model {
    let path = write(directory, "train.csv", content);
    flowgmm::fit(&small(Source::path(path).label_column("y")), &mut ()).unwrap().model
}

#[track_caller]
fn assert_says(message: String, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(message.contains(part), "'{part}' is not in: {message}"));
}

#[test]
fn infinite_numbers_are_refused_in_fit_and_predict_and_may_mean_missing() {
    let directory = TempDir::new().unwrap();
    let digits = "1".repeat(400);
    let model = fitted(&directory, table("1", ["a", "b"]));
    for cell in ["inf", "-inf", "1e999", digits.as_str()] {
        let path = write(&directory, "bad.csv", table(cell, ["a", "b"]));
        let source = Source::path(&path).label_column("y");
        let error = flowgmm::fit(&small(source.clone()), &mut ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        assert_says(error.to_string(), &["bad.csv", "line 9", "column 'x'", "--missing="]);
        let error = flowgmm::predict(&model, &Source::path(&path)).unwrap().all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        assert_says(error.to_string(), &["bad.csv", "line 9", "column 'x'", "--missing="]);
        let reading = Reading { missing: vec![cell.into()], ..Reading::default() };
        assert!(flowgmm::fit(&small(source.reading(reading.clone())), &mut ()).is_ok(), "{cell} is missing");
        let source = Source::path(&path).reading(reading);
        assert_eq!(flowgmm::predict(&model, &source).unwrap().all().unwrap().0.log_marginal.len(), 40);
    }
}

#[test]
fn infinite_numbers_of_typed_formats_are_refused() {
    use flowgmm::tables::arrow::{
        RecordBatch,
        array::{Float64Array, StringArray},
    };
    let x = (0..40).map(|i| if i == 7 { f64::INFINITY } else { f64::from(i % 5) });
    let y = (0..40).map(|i| (i < 20).then_some(["a", "b"][i % 2]));
    let batch = RecordBatch::try_from_iter([
        ("x", std::sync::Arc::new(Float64Array::from_iter_values(x)) as _),
        ("y", std::sync::Arc::new(StringArray::from_iter(y)) as _),
    ]);
    let source = Source::record_batches(&[batch.unwrap()]).unwrap().label_column("y");
    let error = flowgmm::fit(&small(source), &mut ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    assert_says(error.to_string(), &["line 8", "column 'x'", "inf"]);
}

#[test]
fn classes_keep_their_names_and_labels_match_them() {
    let directory = TempDir::new().unwrap();
    let model = fitted(&directory, table("1", ["1.0", "2.0"]));
    assert_eq!(semisup::Classifier::classes(&model), ["1.0", "2.0"]);
    for classes in [["1.0", "2.0"], ["1", "2"], ["01", "2.00"]] {
        let path = write(&directory, "test.csv", table("1", classes));
        let scores = flowgmm::evaluate(&model, &Source::path(path).label_column("y"), &mut ()).unwrap();
        assert_eq!(scores.skipped_unlabelled, 20, "{classes:?}");
    }
    let codes = fitted(&directory, table("1", ["01", "1"]));
    assert_eq!(semisup::Classifier::classes(&codes), ["01", "1"]);
}

#[test]
fn a_fit_that_needs_more_memory_than_there_is_is_refused_while_it_is_planned() {
    let directory = TempDir::new().unwrap();
    let path = write(&directory, "train.csv", table("1", ["a", "b"]));
    let plan = |key: &str, value: serde_json::Value| -> flowgmm::Result<FitPlan> {
        let request = small(Source::path(&path).label_column("y")).with(key, value);
        Training::read(&request, &mut ())?.plan(&request, &mut ())
    };
    let refused = |key: &str, value: serde_json::Value, parts: &[&str]| {
        let error = plan(key, value).err().unwrap_or_else(|| panic!("{key} was planned"));
        assert_eq!(error.kind(), ErrorKind::Request, "{error}");
        assert_says(error.to_string(), parts);
    };
    refused(
        "architecture.hidden",
        vec![65536; 12].into(),
        &["memory", "available", "Lower architecture.hidden"],
    );
    refused("architecture.hidden", vec![u64::MAX].into(), &["hidden widths", "65536"]);
    refused("architecture.depth", 100_000.into(), &["architecture.depth", "1024"]);
    let request = small(Source::path(&path).label_column("y"));
    let training = Training::read(&request, &mut ()).unwrap();
    let planned = training.plan(&request, &mut ()).unwrap();
    let seconds = planned.seconds(&training).expect("a few steps of it can be timed");
    assert!(seconds > 0.0 && seconds < 600.0, "{seconds} s for 20 small steps");
    let cost = planned.cost;
    assert!(cost.memory > 1e6 && cost.memory < 2e8, "{cost:?}");
}

#[test]
fn samples_have_a_temperature_that_leaves_them_finite() {
    let directory = TempDir::new().unwrap();
    let model = fitted(&directory, table("1", ["a", "b"]));
    let at = |temperature: f64| SampleRequest { temperature, ..SampleRequest::new(50) };
    for temperature in [1e38, f64::INFINITY, f64::NAN, -1.0, 2.0 * MOST_TEMPERATURE] {
        let error = flowgmm::sample(&model, &at(temperature)).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Request, "{error}");
        assert_says(error.to_string(), &["temperature", &format!("{temperature:?}"), "100"]);
    }
    for temperature in [0.0, 1.0, MOST_TEMPERATURE] {
        for chunk in flowgmm::sample(&model, &at(temperature)).unwrap() {
            match chunk.to_frame(&model) {
                Ok(frame) => assert!((0..50).all(|row| frame.column("x").unwrap().text(row).is_some())),
                Err(error) => assert_says(error.to_string(), &["temperature 100", "not finite"]),
            }
        }
    }
}

#[test]
fn a_model_of_texts_finds_its_encoder_where_it_was() {
    let directory = TempDir::new().unwrap();
    let (encoder, moved) = (directory.path().join("encoder"), directory.path().join("moved"));
    tiny::Model::random(tiny::Family::Bert, 5).write(&encoder);
    let words = [["oil price", "market falls"], ["team wins", "the game"]];
    let row = |i: usize| {
        let label = if i < 20 { ["money", "sport"][i % 2] } else { "" };
        format!("the {} {i},{},{label}\n", words[i % 2][i / 2 % 2], i % 3)
    };
    let path = write(&directory, "news.csv", format!("body,n,y\n{}", (0..40).map(row).collect::<String>()));
    let reading = |directory: Option<&PathBuf>| {
        let text = TextEncoder { directory: directory.cloned(), ..TextEncoder::default() };
        Reading { text, ..Reading::default() }
    };
    let source = |directory: Option<&PathBuf>| Source::path(&path).reading(reading(directory));
    let mut request = small(source(Some(&encoder)).label_column("y"));
    request.texts = vec!["body".into()];
    let model = flowgmm::fit(&request, &mut ()).unwrap().model;
    let model = Model::from_bytes(&model.to_bytes(), &Place::cpu()).unwrap();
    let predicted = |directory: Option<&PathBuf>| {
        flowgmm::predict(&model, &source(directory))?.all().map(|(predictions, _)| predictions.log_marginal)
    };
    let with = predicted(Some(&encoder)).unwrap();
    assert_eq!(predicted(None).unwrap(), with, "the encoder is found without being named");

    fs::rename(&encoder, &moved).unwrap();
    let lost = predicted(None).unwrap_err();
    assert!(matches!(lost, flowgmm::Error::Needed { what: Need::TextEncoder, .. }), "{lost}");
    assert_says(lost.to_string(), &["'body'", &encoder.display().to_string(), "not there any more"]);
    assert_eq!(predicted(Some(&moved)).unwrap(), with, "by its content it is the same");

    tiny::Model::random(tiny::Family::Bert, 6).write(&encoder);
    let other = predicted(None).unwrap_err();
    assert_says(other.to_string(), &[&encoder.display().to_string(), "another one"]);
    let given = predicted(Some(&encoder)).unwrap_err();
    assert_eq!(given.kind(), ErrorKind::Request, "{given}");
    assert_says(given.to_string(), &["another sentence encoder", &encoder.display().to_string()]);
}
