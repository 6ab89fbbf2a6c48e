//! `explain`: one self-contained page about a model and rows, with or without labels, of tables and images.

mod common;

use std::process::Output;

use common::{Bench, json, pictures, stderr, written};
use serde_json::Value;

const SECTIONS: [&str; 11] = [
    "Are the probabilities calibrated?",
    "Prediction sets, and when to abstain",
    "Trust cards",
    "Label these next",
    "Map of the latent space",
    "How far from the decision boundary?",
    "Interpolation in the latent space",
    "Counterfactuals: what would have to change?",
    "Which columns matter",
    "What each class looks like to the model",
    "Out-of-distribution detection",
];

fn check_page(page: &str, sections: &[&str]) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for outside in ["http://", "https://", "<script", "<link", "@import", "url("] {
        assert!(
            !page.replace("http://www.w3.org/2000/svg", "").contains(outside),
            "not self-contained: {outside}"
        );
    }
    for section in sections {
        assert_eq!(page.matches(&format!("<h2>{section}</h2>")).count(), 1, "{section}");
    }
    for broken in ["NaN", "inf\u{a0}%", "Some(", "None,"] {
        assert!(!page.contains(broken), "'{broken}' in the page");
    }
}

fn share(value: &Value) -> f64 {
    let share = value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    assert!((0.0..=1.0).contains(&share), "{share}");
    share
}

/// A model that has learnt the moons, and far-away rows beside them.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.ok("fit train.csv --label label --model m.flow --quiet --seed 3 --steps 600");
    let far: String =
        (0..60).map(|i| format!("{},{}\n", 5.0 + 0.1 * i as f64, -4.0 - 0.05 * i as f64)).collect();
    bench.write("far.csv", format!("x1,x2\n{far}"));
    bench
}

#[test]
fn a_table_with_labels_and_out_of_distribution_rows() {
    let bench = bench();
    bench.write("e.json", bench.ok("explain m.flow test.csv --label label --unlabelled train.csv --out-of-distribution far.csv --out e.html --seed 5 --json"));
    check_page(&bench.read("e.html"), &SECTIONS);
    let found = json(&bench.read("e.json"));
    let rows = found["rows"].as_u64().unwrap() as usize;
    let calibration = &found["calibration"];
    assert_eq!(calibration["calibrated"]["ece"].as_array().unwrap().len(), 3);
    let nll = |kind: &str| calibration[kind]["nll"].as_f64().unwrap();
    assert!(
        nll("calibrated") <= nll("as_trained") + 0.02,
        "a temperature cannot do much harm: {calibration}"
    );
    let coverage = share(&found["prediction_sets"]["measured"]["coverage"]);
    assert!((coverage - 0.9).abs() < 0.08, "{coverage}"); // some hundred rows
    let trust = found["trust"].as_array().unwrap();
    assert_eq!(trust.len(), rows);
    for card in trust {
        let p: f64 = card["p"].as_array().unwrap().iter().map(share).sum();
        assert!((p - 1.0).abs() < 1e-6, "{card}");
        let typical = share(&card["typicality"]);
        let one = card["set"].as_array().unwrap().len() == 1;
        assert_eq!(card["abstain"].as_bool().unwrap(), !one || typical < 0.02, "{card}");
    }
    let best = share(&found["out_of_distribution"]["best_auroc"]);
    assert!(best > 0.98, "rows far away are detected: {best}");
    assert_eq!(found["label_next"].as_array().unwrap().len(), 12);
    let dips = found["paths"].as_array().unwrap().iter().filter(|path| path["within_class"] == false);
    for path in dips {
        let p: Vec<f64> =
            path["log_p_latent"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let classes = path["classes"].as_array().unwrap();
        let crossing = (1..p.len()).find(|&i| classes[i] != classes[0]).unwrap();
        let highest = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (before, after) = (highest(&p[..crossing]), highest(&p[crossing..]));
        assert!(p[crossing] < before && p[crossing - 1] < after, "a way between classes dips: {p:?}");
        assert_ne!(classes.first(), classes.last());
    }
    // The same seed, the same answers.
    bench.write("f.json", bench.ok("explain m.flow test.csv --label label --unlabelled train.csv --out-of-distribution far.csv --out f.html --seed 5 --quiet --threads 1 --json"));
    let again = json(&bench.read("f.json"));
    for part in ["calibration", "prediction_sets", "trust", "label_next", "out_of_distribution", "columns"] {
        assert_eq!(found[part], again[part], "{part}");
    }
}

#[test]
fn a_table_without_labels_says_what_to_give() {
    let bench = bench();
    let without: String = bench
        .read("test.csv")
        .lines()
        .map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0))
        .collect();
    bench.write("rows.csv", without);
    let summary = bench.ok("explain m.flow rows.csv");
    assert!(summary.contains("explain.html"), "{summary}");
    let page = bench.read("explain.html");
    check_page(&page, &SECTIONS);
    for option in ["with labels", "Out-of-distribution"] {
        assert!(page.contains(option), "{option}");
    }
    let found = json(&bench.ok("explain m.flow rows.csv --json --out g.html --rows 50"));
    assert_eq!((found["rows"].as_u64(), found["calibration"].is_null()), (Some(50), true));
    assert!(found["rows_in_all"].as_u64().unwrap() > 50);
    assert!(bench.read("g.html").contains("drawn at random"));
    assert_eq!(found["label_next"].as_array().unwrap().len(), 12, "rows without a label can be labelled");
    // Standard input is as good as a file.
    let piped: Output = {
        use std::{io::Write, process::Stdio};
        let mut child = bench
            .command("explain m.flow - --out h.html --quiet")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bench.read("rows.csv").as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    assert!(piped.status.success(), "{}", stderr(&piped));
    assert!(piped.stdout.is_empty() && written(&bench.path("h.html")));
}

#[test]
fn hostile_names_stay_text() {
    let bench = Bench::new();
    let hostile = |csv: String| {
        let csv = csv
            .replace(",0\n", ",<img src=x onerror=alert(1)>\n")
            .replace(",1\n", ",\"{{ 1234*4321 }}</svg><b>\"\n");
        csv.replacen("x1,x2", "<script>x1,x2\" onload=\"y", 1)
    };
    bench.write("train.csv", hostile(bench.read("train.csv")));
    bench.write(
        "test.csv",
        hostile(bench.read("test.csv").lines().take(80).map(|l| format!("{l}\n")).collect()),
    );
    bench.tiny_model("m.flow");
    bench.ok("explain m.flow test.csv --label label --out e.html --out-of-distribution test.csv --quiet");
    let page = bench.read("e.html");
    for markup in ["<img", "<b>", "<script", "onload=\"", "</svg><b"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.contains("&lt;img") && !page.contains("5332114"));
}

#[test]
fn images() {
    let bench = Bench::new();
    pictures::folder(&bench, "bars", 0, 24, 12);
    bench.write("tiny.toml", pictures::TINY);
    bench.ok("fit bars --model m.flow --config tiny.toml --quiet --seed 1");
    for at in 0..20 {
        let noise =
            (0..pictures::HEIGHT * pictures::WIDTH).map(|i| ((i + 80 * at + 1) * 7919 % 1009 % 256) as u8);
        let picture = flowgmm::data::Image::new(1, pictures::HEIGHT, pictures::WIDTH, noise.collect());
        pictures::write_png(&bench, &format!("noise/some/{at:03}.png"), &picture);
    }
    bench.write(
        "e.json",
        bench.ok("explain m.flow bars --out-of-distribution noise --out e.html --quiet --json"),
    );
    let mut sections = SECTIONS;
    sections[8] = "What the channels do";
    let page = bench.read("e.html");
    check_page(&page, &sections);
    assert!(page.matches("<image").count() > 60, "cards, paths, counterfactuals, channels, samples");
    let found = json(&bench.read("e.json"));
    let layers = found["channels"]["layers"].as_array().unwrap();
    assert!(layers.len() > 5 && layers.iter().all(|layer| !layer["spread"].as_array().unwrap().is_empty()));
    let best = share(&found["out_of_distribution"]["best_auroc"]);
    assert!(best > 0.9, "noise is no bars: {best}");
}

#[test]
fn bad_input_is_named() {
    let bench = Bench::new();
    bench.tiny_model("m.flow");
    bench.fails("explain m.flow absent.csv", 5, &["absent.csv"]);
    bench.fails("explain m.flow test.csv --label nope", 3, &["nope"]);
    bench.fails("explain m.flow test.csv --alpha 1.5", 2, &["--alpha"]);
    bench.fails("explain m.flow test.csv --rows 0", 2, &["--rows"]);
    bench.fails("explain test.csv test.csv", 4, &["test.csv"]);
    bench.write("other.csv", "a,b\n1,2\n");
    bench.fails("explain m.flow other.csv", 3, &["x1"]);
    bench.write("empty.csv", "x1,x2,label\n");
    bench.fails("explain m.flow empty.csv --label label", 3, &["empty.csv"]);
    bench.write("class.csv", "x1,x2,label\n0,0,zebra\n");
    bench.fails("explain m.flow class.csv --label label", 3, &["zebra"]);
    bench.write("far.csv", "x1,x2\n1e300,1e300\n0.1,nonsense\n");
    bench.fails("explain m.flow far.csv", 3, &["far.csv", "line"]);
    bench.fails("explain m.flow test.csv --out .", 5, &["directory"]);
    // One row is a page, too.
    bench.write("one.csv", "x1,x2,label\n0.1,0.2,0\n");
    bench.ok("explain m.flow one.csv --label label --out-of-distribution one.csv --unlabelled one.csv --quiet --out one.html");
    check_page(&bench.read("one.html"), &SECTIONS);
}
