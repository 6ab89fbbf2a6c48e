//! `flowgmm data` from outside.

mod common;

use common::Bench;

#[test]
fn known_datasets_are_listed_with_their_licence() {
    let bench = Bench::new();
    let text = String::from_utf8(bench.run("data list").stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("mnist ") && line.contains("CC BY-SA 3.0")), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&bench.run("data list --json").stdout).unwrap();
    let svhn = json.as_array().unwrap().iter().find(|d| d["name"] == "svhn").expect("listed");
    assert!(svhn["files"][0]["urls"].is_array(), "{svhn}");
}

#[test]
fn a_damaged_file_is_named_and_costs_exit_code_3() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("mnist")).unwrap();
    bench.write("mnist/t10k-labels-idx1-ubyte.gz", "not gzip");
    let ended = bench.run("data check mnist --dir . --offline --json");
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&ended.stderr).contains("1 damaged: t10k-labels-idx1-ubyte.gz"),
        "{ended:?}"
    );
    let found: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let state = |file: &str| {
        let row = found.as_array().unwrap().iter().find(|row| row["file"] == file).expect(file);
        row["state"].as_str().unwrap().to_string()
    };
    assert_eq!(state("t10k-labels-idx1-ubyte.gz"), "damaged");
    assert_eq!(state("train-images-idx3-ubyte.gz"), "absent");
}

#[test]
fn what_cannot_be_fetched_is_said() {
    let bench = Bench::new();
    bench.fails("data get mnits", 2, &["mnits", "mnist"]);
    let ended = bench.run("data get mnist --dir . --offline --quiet");
    assert!(matches!(ended.status.code(), Some(3 | 5)), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("idx"), "{ended:?}");
}
