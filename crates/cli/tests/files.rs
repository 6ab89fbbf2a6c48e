//! Nothing of the user's is destroyed: no command writes over what it reads, or over a file of another kind.

mod common;

use std::fs;

use common::Bench;

/// Runs a command that must be refused before any work; every file must be as it was.
fn refused(bench: &Bench, words: &str, said: &[&str]) {
    let files = |bench: &Bench| -> Vec<(String, Vec<u8>)> {
        bench.files().into_iter().map(|name| (name.clone(), bench.bytes(&name))).collect()
    };
    let before = files(bench);
    bench.fails(words, 2, said);
    assert!(before == files(bench), "{words} changed a file");
}

const FIT: &str = "fit train.csv --label label --config tiny.toml --quiet";

#[test]
fn no_command_writes_over_what_it_reads() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.write("elsewhere.csv", bench.read("test.csv"));
    refused(&bench, &format!("{FIT} --model train.csv"), &["--model train.csv", "FILE train.csv"]);
    refused(&bench, &format!("{FIT} --model ./train.csv"), &["--model ./train.csv", "FILE train.csv"]);
    refused(
        &bench,
        &format!("{FIT} --test test.csv --model test.csv"),
        &["--model test.csv", "--test test.csv"],
    );
    refused(&bench, &format!("{FIT} --model tiny.toml"), &["--model tiny.toml", "--config tiny.toml"]);
    let unlabelled = format!("{FIT} --unlabelled elsewhere.csv --model elsewhere.csv");
    refused(&bench, &unlabelled, &["--model elsewhere.csv", "--unlabelled elsewhere.csv"]);
    refused(&bench, &format!("{FIT} --model n --report n"), &["--report n", "--model n"]);
    refused(
        &bench,
        &format!("{FIT} --model n --report train.csv"),
        &["--report train.csv", "FILE train.csv"],
    );
    let learner = "fit train.csv --label label --learner knn --predictions train.csv";
    refused(&bench, learner, &["--predictions train.csv", "FILE train.csv"]);
    refused(&bench, "predict m test.csv --out test.csv", &["--out test.csv", "FILE test.csv"]);
    refused(&bench, "predict m test.csv --out m", &["--out m", "MODEL m"]);
    refused(&bench, "predict m test.csv --out m --force", &["--out m", "MODEL m"]);
    refused(&bench, "encode m test.csv --out test.csv", &["--out test.csv", "FILE test.csv"]);
    refused(&bench, "encode m test.csv --out m", &["--out m", "MODEL m"]);
    refused(&bench, "decode m test.csv --out test.csv", &["--out test.csv", "FILE test.csv"]);
    refused(&bench, "sample m --n 3 --out m", &["--out m", "MODEL m"]);
    refused(&bench, "explain m test.csv --out test.csv", &["--out test.csv", "FILE test.csv"]);
    refused(&bench, "explain m test.csv --out m", &["--out m", "MODEL m"]);
    let other = "explain m test.csv --out-of-distribution elsewhere.csv --out elsewhere.csv";
    refused(&bench, other, &["--out elsewhere.csv", "--out-of-distribution elsewhere.csv"]);
    refused(&bench, "explain m test.csv --unlabelled train.csv --out train.csv", &["--unlabelled train.csv"]);
    refused(&bench, "calibrate m test.csv --out test.csv", &["--out test.csv", "FILE test.csv"]);
    refused(&bench, "calibrate m test.csv --out m", &["--out m", "MODEL m"]);
}

#[cfg(unix)]
#[test]
fn links_do_not_hide_a_file() {
    let bench = Bench::new();
    bench.tiny_model("m");
    std::os::unix::fs::symlink("train.csv", bench.path("soft")).unwrap();
    fs::hard_link(bench.path("train.csv"), bench.path("hard")).unwrap();
    refused(&bench, &format!("{FIT} --model soft"), &["--model soft", "FILE train.csv"]);
    refused(&bench, &format!("{FIT} --model hard --force"), &["--model hard", "FILE train.csv"]);
    refused(&bench, "predict m hard --out train.csv", &["--out train.csv", "FILE hard"]);
}

#[test]
fn files_of_another_kind_are_replaced_only_by_force() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.tiny_model("other");
    bench.write("notes.txt", "years of work\n");
    bench.write("p.parquet", "not parquet\n");
    bench.write("r.html", "no page\n");
    let cases = [
        (format!("{FIT} --model notes.txt"), "notes.txt"),
        (format!("{FIT} --model test.csv"), "test.csv"),
        (format!("{FIT} --model n --report r.html"), "r.html"),
        ("predict m test.csv --out other".into(), "other"),
        ("predict m test.csv --out p.parquet".into(), "p.parquet"),
        ("sample m --n 3 --out other".into(), "other"),
        ("explain m test.csv --out notes.txt".into(), "notes.txt"),
        ("calibrate m test.csv --out notes.txt".into(), "notes.txt"),
    ];
    for (words, file) in &cases {
        refused(&bench, words, &[file, "exists", "--force"]);
    }
    bench.ok("predict m test.csv --out other --force");
    assert!(bench.read("other").starts_with("class,"));
    bench.ok("calibrate m test.csv --out notes.txt --force");
    bench.ok("inspect notes.txt");
    // What a command wrote, it may write again.
    for _ in 0..2 {
        bench.tiny_model("m");
        bench.ok("predict m test.csv --out again.csv");
        bench.ok("predict m test.csv --out again.parquet");
        bench.ok("explain m test.csv --out again.html --quiet --rows 50");
    }
}

#[test]
fn calibrate_writes_in_place_only_when_asked() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let before = bench.bytes("m");
    bench.ok("calibrate m test.csv --out calibrated");
    assert_eq!(bench.bytes("m"), before);
    bench.ok("calibrate m test.csv --in-place");
    assert_eq!(bench.bytes("m"), bench.bytes("calibrated"));
}
