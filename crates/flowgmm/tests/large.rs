//! Tables larger than the memory that a fit may take, and larger than the sample that teachers see.

use std::fmt::Write as _;

use flowgmm::{Request, Source, Training};
use semisup::Classifier as _;

/// Rows of two numbers around (0, 0) and (6, 6); every 20th is labelled.
fn table(rows: usize) -> String {
    let mut text = String::from("a,b,class\n");
    for row in 0..rows {
        let side = row % 2;
        let noise = |k: usize| ((row * (k * 37 + 11)) % 101) as f64 / 50.0 - 1.0;
        let centre = 6.0 * side as f64;
        let class = if row % 20 < 2 { ["low", "high"][side] } else { "" };
        writeln!(text, "{},{},{class}", centre + noise(1), centre + noise(2)).unwrap();
    }
    text
}

fn request(rows: usize, memory: Option<u64>) -> (tempfile::TempDir, Request) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    std::fs::write(&path, table(rows)).unwrap();
    let source = Source::path(&path).label_column("class");
    (directory, Request { memory, ..Request::new(source) })
}

#[test]
fn of_a_table_beyond_memory_labelled_rows_and_some_others_are_learnt_from() {
    let (_kept, request) = request(4000, Some(3_500_000));
    let training = Training::read(&request, &mut ()).unwrap();
    let n = training.data.n();
    assert!((600..2500).contains(&n), "{n}");
    assert_eq!(training.data.labelled().len(), 400);
    let plan = training.plan(&request, &mut ()).unwrap();
    let said = plan.decisions.iter().find(|decision| decision.what == "rows").expect("it is said");
    assert!(said.choice.starts_with(&format!("{n} of 4000")) && said.why.contains("--memory"), "{said:?}");
    // Rows know their lines: row i of the file is on line i + 2, and its class follows from its number.
    for row in 0..n {
        let line: usize = training.origins.of(row).parse().unwrap();
        let labelled = (line - 2) % 20 < 2;
        assert_eq!(training.data.y()[row].is_some(), labelled, "line {line}");
    }
    let again = Training::read(&request, &mut ()).unwrap();
    assert_eq!(again.data.x(), training.data.x(), "the same seed keeps the same rows");
}

#[test]
fn a_table_that_fits_is_read_whole() {
    let (_kept, request) = request(500, None);
    let training = Training::read(&request, &mut ()).unwrap();
    assert_eq!(training.data.n(), 500);
    let plan = training.plan(&request, &mut ()).unwrap();
    assert!(plan.decisions.iter().all(|decision| decision.what != "rows" && decision.what != "sample"));
}

/// More unlabelled rows than teachers see: it is said, and the model separates the classes all the same.
#[test]
fn teachers_see_a_sample_of_many_rows() {
    let (_kept, request) = request(34_000, None);
    let found = flowgmm::fit(&request.with("train.steps", 60), &mut ()).unwrap();
    let said = found.model.decisions().iter().find(|decision| decision.what == "sample");
    assert!(said.is_some_and(|decision| decision.choice.contains("30000")), "{said:?}");
    let x = ndarray::array![[0.0, 0.0], [6.0, 6.0]];
    let predicted = semisup::metrics::arg_max(found.model.score(x.view()).log_probs.view());
    let names: Vec<&str> = predicted.iter().map(|&k| found.model.classes()[k].as_str()).collect();
    assert_eq!(names, ["low", "high"]);
}
