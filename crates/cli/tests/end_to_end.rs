//! The way of a user: fit, predict, evaluate, sample, inspect, and the demo.

mod common;

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use common::{Bench, cells, json, stderr};

/// A model that is worth evaluating, in about a second.
const FIT: &str = "fit train.csv --label label --model m.flow --steps 800 --seed 3";

#[test]
fn a_table_becomes_a_model_that_predicts_evaluates_samples_and_explains_itself() {
    let bench = Bench::new();
    let summary = bench.ok(&format!("{FIT} --verbose"));
    for part in ["1000", "10 labelled", "0: 5", "2 numeric", "train.steps", "round trip", "m.flow"] {
        assert!(summary.contains(part), "'{part}' is not in: {summary}");
    }
    assert!(bench.files().iter().all(|name| !name.ends_with(".tmp")), "{:?}", bench.files());

    // Evaluate, as JSON and for people.
    let scores = json(&bench.ok("evaluate m.flow test.csv --label label --json"));
    assert!(scores["accuracy"].as_f64().unwrap() > 0.9, "{scores}");
    assert!(scores["balanced_accuracy"].as_f64().unwrap() > 0.9);
    for key in ["nll", "ece", "brier"] {
        let value = scores[key].as_f64().unwrap();
        assert!((0.0..1.0).contains(&value), "{key}: {value}");
    }
    assert_eq!((scores["n"].as_u64(), scores["skipped_unlabelled"].as_u64()), (Some(2000), Some(0)));
    assert_eq!(scores["classes"], serde_json::json!(["0", "1"]));
    let confusion: u64 = scores["confusion"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(confusion, 2000);
    let text = bench.ok("evaluate m.flow train.csv --label label");
    assert!(text.contains("accuracy") && text.contains("990 without a label skipped"), "{text}");

    // Predict: one line for each row, in order, agreeing with evaluate.
    bench.ok("predict m.flow test.csv --out p.csv");
    let (predicted, truth) = (cells(&bench.read("p.csv")), cells(&bench.read("test.csv")));
    assert_eq!(
        predicted[0],
        ["class", "p_0", "p_1", "log_p_0", "log_p_1", "log_p", "boundary", "typicality"]
    );
    assert_eq!(predicted.len(), truth.len());
    let shares = json(&bench.ok("inspect m.flow --json"))["class_shares"].clone();
    let share = |k: usize| shares[k].as_f64().unwrap();
    assert!(
        (share(0) + share(1) - 1.0).abs() < 1e-6 && (share(0) - 0.5).abs() < 0.1,
        "moons are even: {shares}"
    );
    let mut right = 0;
    for (row, truth) in predicted[1..].iter().zip(&truth[1..]) {
        let number = |i: usize| row[i].parse::<f64>().unwrap();
        assert!((number(1) + number(2) - 1.0).abs() < 1e-6, "seven digits: {row:?}");
        assert_eq!(row[0], if number(1) >= number(2) { "0" } else { "1" });
        let joint = share(0) * number(3).exp() + share(1) * number(4).exp();
        assert!((joint.ln() - number(5)).abs() < 1e-4, "{row:?}");
        assert!(number(6) >= 0.0 && (0.0..=1.0).contains(&number(7)), "{row:?}");
        right += usize::from(row[0] == truth[2]);
    }
    assert_eq!(right as f64 / 2000.0, scores["accuracy"].as_f64().unwrap());

    // The same through pipes, with the columns in another order and one more of them.
    let shuffled: String = cells(&bench.read("test.csv"))
        .iter()
        .map(|row| format!("{},more,{}\n", row[1], row[0]))
        .collect::<String>()
        .replacen("more", "note", 1);
    let mut child = bench
        .command("predict m.flow - --out -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(shuffled.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), bench.read("p.csv"));

    // Sample: of one class, then of all; what was drawn is recognised.
    bench.ok("sample m.flow --n 200 --class 1 --out s.csv --seed 5");
    let drawn = cells(&bench.read("s.csv"));
    assert_eq!((drawn[0].join(","), drawn.len()), ("x1,x2,class".to_string(), 201));
    assert!(drawn[1..].iter().all(|row| row[2] == "1"));
    let back = json(&bench.ok("evaluate m.flow s.csv --label class --json"));
    assert!(back["accuracy"].as_f64().unwrap() > 0.9, "{back}");
    let all = bench.ok("sample m.flow --n 300 --out - --seed 5");
    assert_eq!(bench.ok("sample m.flow --n 300 --out - --seed 5"), all, "the seed decides");
    assert_ne!(bench.ok("sample m.flow --n 300 --out - --seed 6"), all);
    let classes: std::collections::BTreeSet<_> = cells(&all)[1..].iter().map(|row| row[2].clone()).collect();
    assert_eq!(classes.len(), 2);

    // Inspect.
    let card = json(&bench.ok("inspect m.flow --json --data test.csv"));
    assert_eq!(card["classes"], serde_json::json!(["0", "1"]));
    assert_eq!(card["columns"], serde_json::json!(["x1", "x2"]));
    assert_eq!((card["seed"].as_u64(), card["training"]["last"]["step"].as_u64()), (Some(3), Some(800)));
    assert_eq!(card["config"]["train"]["steps"], 800);
    assert!(card["parameters"].as_u64().unwrap() > 1000);
    for (which, rows) in [("training", 256), ("samples", 256), ("data", 2000)] {
        let certificate = &card["certificates"][which];
        assert_eq!(certificate["rows"], rows, "{which}");
        assert!(certificate["round_trip"].as_f64().unwrap() < 1e-3, "{which}: {certificate}");
        assert!(certificate["log_det"].as_f64().unwrap() < 1e-4, "{which}: {certificate}");
    }
    let text = bench.ok("inspect m.flow");
    for part in ["classes", "x1, x2", "affine", "training rows", "new samples", "data hash"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

#[test]
fn a_fit_reports_json_and_reads_standard_input() {
    let bench = Bench::new();
    let mut child = bench
        .command("fit - --label label --model m.flow --config tiny.toml --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bench.bytes("train.csv")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((summary["rows"].as_u64(), summary["labelled"].as_u64()), (Some(1000), Some(10)));
    assert_eq!(summary["labelled_per_class"], serde_json::json!({"0": 5, "1": 5}));
    assert_eq!((summary["steps"].as_u64(), summary["seed"].as_u64()), (Some(40), Some(0)));
    assert_eq!(summary["config"]["architecture"]["hidden"], serde_json::json!([4]));
    assert!(summary["loss"].is_f64() && summary["terms"]["labelled"].is_f64(), "{summary}");
    assert!(summary["certificate"]["round_trip"].as_f64().unwrap() < 1e-3);
    assert_eq!(summary["model"], "m.flow");
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let bench = Bench::new();
    for (name, threads, seed) in [("one", 1, 9), ("two", 2, 9), ("other", 1, 10)] {
        bench.ok(&format!(
            "fit train.csv --label label --model {name} --steps 40 --quiet --seed {seed} --threads {threads}"
        ));
    }
    assert!(bench.bytes("one") == bench.bytes("two"), "thread counts differ");
    assert!(bench.bytes("one") != bench.bytes("other"), "the seed matters");
    for threads in [1, 2] {
        bench.ok(&format!("predict one test.csv --out p{threads} --threads {threads}"));
    }
    assert_eq!(bench.read("p1"), bench.read("p2"));
}

/// A column named `class` keeps its name; the drawn class takes another.
#[test]
fn a_column_named_class_is_no_trouble() {
    let bench = Bench::new();
    bench.write("t.csv", bench.read("train.csv").replacen("x1,x2", "class,x2", 1));
    bench.ok("fit t.csv --label label --model m --config tiny.toml --quiet");
    assert!(bench.ok("sample m --n 1 --out -").starts_with("class,x2,class_\n"));
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let mut child = bench
        .command("sample m --n 500000 --out -")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap(); // stdout is closed by now
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(line, "x1,x2,class\n");
}

#[test]
fn the_demo_writes_a_report_and_does_not_depend_on_the_number_of_threads() {
    let bench = Bench::new();
    let run = |out: &str, threads: usize| {
        let output = bench.run(&format!("demo moons --json --seed 1 --out {out} --threads {threads}"));
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("moons fitted with all rows in"), "progress goes to stderr");
        json(&String::from_utf8(output.stdout).unwrap())["problems"].clone()
    };
    let (one, two) = (run("a/b", 1), run("two", 2));
    assert_eq!(one.as_array().unwrap().len(), 1);
    for fit in ["semi_supervised", "labelled_only"] {
        assert_eq!(one[0][fit]["scores"], two[0][fit]["scores"]);
    }
    assert!(one[0]["semi_supervised"]["scores"]["accuracy"].as_f64().unwrap() > 0.95, "{one}");
    let report = bench.read("a/b/report.html");
    assert!(report.starts_with("<!") && report.contains("Two moons") && !report.contains("Pinwheel"));
    for outside in ["<script", "src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!report.contains(outside), "not self-contained: {outside}");
    }
    for figure in [
        "moons-data.svg",
        "moons-latent.svg",
        "moons-generated.svg",
        "moons-labelled-only-data.svg",
        "moons-loss.svg",
    ] {
        assert!(bench.read(&format!("a/b/{figure}")).starts_with("<svg"), "{figure}");
        assert_eq!(bench.read(&format!("a/b/{figure}")), bench.read(&format!("two/{figure}")), "{figure}");
    }
}

/// A table as people have them: an identifier, categories, dates, gaps, a zero-inflated column, few labels.
fn people(rows: std::ops::Range<usize>, labelled: bool) -> String {
    let mut text = "id,age,city,joined,spent,vip,class\n".to_string();
    for i in rows {
        let (noise, old) = ((i * 7919) % 13, i % 2 == 0); // i % 2 is the class
        let age =
            if i % 7 == 3 { String::new() } else { (if old { 50 + noise } else { 25 + noise }).to_string() };
        let city = ["Rome", "Oslo", "Bern"][(i * 31 + usize::from(old)) % 3];
        let spent = if i % 3 == 0 { 0.0 } else { noise as f64 * noise as f64 * 1.5 };
        let class = match (labelled, old) {
            (false, _) => "",
            (true, true) => "old",
            (true, false) => "young",
        };
        let vip = if (i * 31) % 5 < 2 { "yes" } else { "no" };
        let (month, day) = (1 + i % 9, 10 + noise);
        text += &format!("{i},{age},{city},2019-0{month}-{day},{spent},{vip},{class}\n");
    }
    text
}

#[test]
fn a_mixed_table_with_gaps_and_more_unlabelled_files() {
    let bench = Bench::new();
    bench.write("few.csv", people(0..40, true));
    bench.write("more.csv", people(40..400, false));
    bench.write("test.tsv", people(400..500, true).replace(',', "\t"));
    let schema = bench.ok("fit few.csv --label class --print-schema");
    for part in ["identifier", "categorical", "date", "boolean", "missing"] {
        assert!(schema.contains(part), "'{part}' is not in: {schema}");
    }
    let fit = "fit few.csv --label class --unlabelled more.csv --model m --test test.tsv --steps 300 --quiet --json";
    let summary = json(&bench.ok(fit));
    assert_eq!((summary["labelled"].as_u64(), summary["unlabelled"].as_u64()), (Some(40), Some(360)));
    assert!(summary["test"]["accuracy"].as_f64().unwrap() > 0.9, "{summary}");
    assert!(summary["decisions"].as_array().unwrap().len() >= 3, "{summary}");

    // Samples are rows of the same table: known categories, dates, whole numbers, gaps.
    let drawn = cells(&bench.ok("sample m --n 60 --out -"));
    assert_eq!(drawn[0].join(","), "age,city,joined,spent,vip,class");
    for row in &drawn[1..] {
        assert!(row[0].is_empty() || row[0].parse::<i64>().is_ok(), "{row:?}");
        assert!(["Rome", "Oslo", "Bern"].contains(&row[1].as_str()) && row[2].len() == 10, "{row:?}");
        assert!(["yes", "no"].contains(&row[4].as_str()), "{row:?}");
    }
    bench.ok("predict m test.tsv --out p.jsonl");
    assert_eq!(bench.read("p.jsonl").lines().count(), 100);

    let calibrated = json(&bench.ok("calibrate m test.tsv --label class --out c --json"));
    let nll = |when: &str| calibrated[when]["nll"].as_f64().unwrap();
    assert!(nll("after") <= nll("before") + 1e-12, "{calibrated}");
    assert_ne!(bench.bytes("m"), bench.bytes("c"));

    bench.write("lacks.csv", "age,city\n3,Rome\n");
    bench.fails("predict m lacks.csv --out q.csv", 3, &["lacks.csv", "joined", "spent"]);
    bench.fails("fit few.csv --label class --numeric agee --model n", 2, &["agee", "age"]);
}

#[test]
fn presets_are_the_originals() {
    let bench = Bench::new();
    for (preset, depth, kind) in
        [("paper", 5, "random"), ("paper-toy", 5, "antipodal"), ("reference-code", 10, "antipodal")]
    {
        let text = bench.ok(&format!("fit train.csv --label label --preset {preset} --print-config"));
        assert!(
            text.contains(&format!("depth = {depth} ")) && text.contains(&format!("\"{kind}\"")),
            "{text}"
        );
    }
}
