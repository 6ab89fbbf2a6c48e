//! A table in several files: a folder or a pattern, through `fit` and `predict`.

use std::{fs, path::Path};

use assert_cmd::Command;

fn flowgmm(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("flowgmm").unwrap();
    command.current_dir(folder).args(arguments).output().unwrap()
}

/// Two clusters, every fifth row labelled.
fn rows(range: std::ops::Range<usize>) -> String {
    let row = |i: usize| {
        let (class, noise) = (i % 2, (i * 37 % 100) as f64 / 100.0);
        let label = if i.is_multiple_of(5) { ["a", "b"][class] } else { "" };
        format!("{},{},{label}\n", 5.0 * class as f64 + noise, 3.0 * noise)
    };
    std::iter::once("u,v,class\n".to_string()).chain(range.map(row)).collect()
}

#[test]
fn a_folder_and_a_pattern_fit_and_predict_as_one_file_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("whole.csv"), rows(0..100)).unwrap();
    fs::create_dir(path.join("parts")).unwrap();
    for (part, range) in [0..30, 30..60, 60..100].into_iter().enumerate() {
        fs::write(path.join(format!("parts/part-{part}.csv")), rows(range)).unwrap();
    }
    fs::write(path.join("parts/_SUCCESS"), "").unwrap();
    let mut predictions = Vec::new();
    for (model, source) in
        [("w.flowgmm", "whole.csv"), ("f.flowgmm", "parts"), ("p.flowgmm", "parts/part-*.csv")]
    {
        let fit =
            flowgmm(path, &["fit", source, "--label", "class", "--model", model, "--steps", "20", "-q"]);
        assert!(fit.status.success(), "{source}: {}", String::from_utf8_lossy(&fit.stderr));
        let predicted = flowgmm(path, &["predict", model, source, "-q"]);
        assert!(predicted.status.success(), "{source}: {}", String::from_utf8_lossy(&predicted.stderr));
        predictions.push(String::from_utf8(predicted.stdout).unwrap());
    }
    assert_eq!(predictions[0].lines().count(), 101);
    assert!(
        predictions.iter().all(|other| *other == predictions[0]),
        "parts give other predictions than the whole"
    );

    let over = flowgmm(path, &["predict", "w.flowgmm", "parts", "--out", "parts/part-1.csv"]);
    assert_eq!(
        over.status.code(),
        Some(2),
        "an output over a part: {}",
        String::from_utf8_lossy(&over.stderr)
    );
    let none = flowgmm(path, &["predict", "w.flowgmm", "parts/x-*.csv"]);
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(!none.status.success() && said.contains("x-*.csv") && said.contains("no such file"), "{said}");
}
