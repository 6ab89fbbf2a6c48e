//! `fit --report`: one self-contained page whose numbers are those of the summary.

mod common;

use common::{Bench, json, stderr};
use serde_json::Value;

const SECTIONS: [&str; 7] = [
    "Does the unlabelled data help?",
    "How good are the predictions?",
    "Hardest rows",
    "Map of the latent space",
    "The data",
    "What was chosen, and how training went",
    "Do samples from the model look like real rows?",
];

fn fit(bench: &Bench, more: &str) -> Value {
    json(&bench.ok(&format!(
        "fit train.csv --label label --model m.flow --report r.html --json --quiet --seed 3 {more}"
    )))
}

fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("'{key}' is no number in {object}"))
}

/// What holds for every report.
fn check_page(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    let svg_namespace = "http://www.w3.org/2000/svg";
    for outside in ["http://", "https://", "<script", "<link", "@import", "url("] {
        let page = page.replace(svg_namespace, "");
        assert!(!page.contains(outside), "not self-contained: {outside}");
    }
    for attribute in ["src=\"", "href=\""] {
        let mut targets = page.split(attribute).skip(1);
        let inside = |target: &str| target.starts_with("data:") || target.starts_with('#');
        assert!(targets.all(inside), "{attribute} leads outside");
    }
    for section in SECTIONS {
        assert_eq!(page.matches(&format!("<h2>{section}</h2>")).count(), 1, "{section}");
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"));
    for broken in ["NaN", "inf\u{a0}%", "Some(", "None"] {
        assert!(!page.contains(broken), "'{broken}' in the page");
    }
}

/// The comparison `help` of a summary, with its laws.
fn check_help(help: &Value) -> [f64; 4] {
    let [difference, low, high, n] = ["difference", "low", "high", "n"].map(|key| number(help, key));
    assert!(-1.0 <= low && low <= difference && difference <= high && high <= 1.0, "{help}");
    let by_hand = number(help, "semi_supervised") - number(help, "labelled_only");
    assert!((difference - by_hand).abs() < 1e-9, "{help}");
    let verdict = if low > 0.0 {
        "helps"
    } else if high < 0.0 {
        "harms"
    } else {
        "open"
    };
    assert!(help["verdict"].is_null() || help["verdict"] == verdict, "{help}");
    [difference, low, high, n]
}

/// A difference of shares as the page writes it.
fn points(difference: f64) -> String {
    format!("{:+.1}", 100.0 * difference).replace("-0.0", "+0.0").replace('-', "\u{2212}")
}

#[test]
fn a_report_answers_from_held_out_labels() {
    let bench = Bench::new();
    let summary = fit(&bench, "--steps 800");
    let page = bench.read("r.html");
    check_page(&page);
    assert_eq!(summary["report"], "r.html");
    let help = &summary["help"];
    let [difference, low, high, n] = check_help(help);
    assert_eq!((n, help["by"].as_str()), (10.0, Some("cross-validation")));
    // Ten rows cannot prove a small difference: the interval is wide, whatever the fits did.
    assert!(high - low > 0.3, "{help}");
    for value in [difference, low, high] {
        assert!(page.contains(&points(value)), "{} is not on the page", points(value));
    }
    assert!(page.contains("cross-validation") && !page.contains("test rows are predicted"));
    let samples = &summary["two_sample"];
    let [accuracy, low, high] = ["accuracy", "low", "high"].map(|key| number(samples, key));
    assert!(0.3 < low && low < accuracy && accuracy < high && high < 1.0, "{samples}");
    assert!(page.contains(&format!("{:.1}\u{a0}%", 100.0 * accuracy)));
    assert!(bench.files().iter().all(|name| !name.ends_with(".tmp")), "{:?}", bench.files());
}

#[test]
fn test_rows_are_the_better_judge() {
    let bench = Bench::new();
    // A flow that follows the moons. What the recipe chooses for tables is made for noisier ones.
    bench.write(
        "moons.toml",
        "forest = \"none\"\n[[teachers]]\ntemperature = 1.0\nweight = 1.0\n[teachers.method]\nkind = \"label-spreading\"\n\
         neighbours = 10\nalpha = 0.99\n[train]\nnoise = 0.05\nview_noise = 0.05\n",
    );
    let summary = fit(&bench, "--steps 800 --test test.csv --config moons.toml");
    let page = bench.read("r.html");
    check_page(&page);
    let help = &summary["help"];
    let [difference, low, high, n] = check_help(help);
    assert_eq!((n, help["by"].as_str()), (2000.0, Some("test rows")));
    assert_eq!(number(help, "semi_supervised"), number(&summary["test"], "accuracy"));
    // Moons with ten labels are what semi-supervised learning is for.
    assert_eq!(help["verdict"], "helps", "{summary}");
    assert!(difference > 0.02 && high - low < 0.1, "{help}");
    assert!(page.contains("The unlabelled rows help"));
    let [.., n] = check_help(&summary["help_by_cross_validation"]);
    assert_eq!(n, 10.0);
}

/// Labels without rhyme or reason in 30 columns: a model can learn the 60 by heart, but not foretell those held out.
#[test]
fn held_out_labels_are_not_seen() {
    use rand::Rng as _;
    let bench = Bench::new();
    let mut rng = semisup::rng(11);
    let mut table = (0..30).map(|j| format!("x{j},")).collect::<String>() + "label\n";
    for i in 0..160 {
        table += &(0..30).map(|_| format!("{:.3},", rng.random_range(-1.0..1.0))).collect::<String>();
        table += if i >= 60 { "\n" } else { ["a\n", "b\n"][i % 2] };
    }
    bench.write("train.csv", table);
    let summary = fit(&bench, "--steps 500");
    assert!(number(&summary, "labelled_accuracy") > 0.95, "learnt by heart: {summary}");
    for learner in ["semi_supervised", "labelled_only", "logistic_regression"] {
        let accuracy = number(&summary["help"], learner);
        assert!((0.3..0.7).contains(&accuracy), "{learner} is right on {accuracy} of coin tosses"); // 3 standard errors
    }
}

/// The report is a function of data, settings and seed.
#[test]
fn the_same_seed_gives_the_same_answers_and_the_report_changes_no_model() {
    let bench = Bench::new();
    let run = |threads: usize| fit(&bench, &format!("--config tiny.toml --threads {threads}"));
    let (one, two) = (run(1), run(2));
    for key in ["help", "two_sample"] {
        assert_eq!(one[key], two[key], "{key}");
    }
    let with = bench.bytes("m.flow");
    bench.ok("fit train.csv --label label --model n.flow --config tiny.toml --quiet --seed 3");
    assert!(with == bench.bytes("n.flow"), "the report changed the model");
}

#[test]
fn hostile_names_stay_text() {
    let bench = Bench::new();
    let nasty = "<img src=x onerror=alert(1)>";
    let table = bench.read("train.csv").replacen("x1", &format!("\"{nasty}\"\"&</td>\""), 1);
    let table: String =
        table.lines().map(|line| format!("{}\n", line.replace(",1", &format!(",{nasty}")))).collect();
    assert!(table.matches(nasty).count() >= 6);
    bench.write("train.csv", table);
    fit(&bench, "--config tiny.toml");
    let page = bench.read("r.html");
    check_page(&page);
    assert!(!page.contains("<img"), "markup of a class or a column got through");
    assert!(page.contains("&lt;img"), "the name is not shown at all");
}

#[test]
fn too_few_labels_are_said_to_be_too_few() {
    let bench = Bench::new();
    let rows: Vec<String> = bench.read("train.csv").lines().map(String::from).collect();
    let with = |per_class: usize| {
        let mut seen = [0, 0];
        let kept = rows.iter().filter(|row| match row.as_bytes().last() {
            Some(b'0' | b'1') if !row.ends_with(',') => {
                let k = usize::from(row.ends_with('1'));
                seen[k] += 1;
                seen[k] <= per_class
            }
            _ => true,
        });
        kept.cloned().collect::<Vec<_>>().join("\n")
    };
    bench.write("train.csv", with(1));
    let summary = fit(&bench, "--config tiny.toml");
    let page = bench.read("r.html");
    check_page(&page);
    assert!(summary["help"].is_null(), "one label a class cannot be held out: {summary}");
    assert!(page.contains("cannot be said") && page.contains("There is nothing to judge by"), "says so");

    bench.write("train.csv", with(2));
    let summary = fit(&bench, "--config tiny.toml");
    let [_, low, high, n] = check_help(&summary["help"]);
    assert_eq!((n, summary["help"]["verdict"].as_str()), (4.0, Some("open")));
    assert!(low < -0.2 && high > 0.2, "four rows prove nothing: {summary}");
    assert!(bench.read("r.html").contains("is open"));
}

#[test]
fn without_unlabelled_rows_there_is_nothing_to_add() {
    let bench = Bench::new();
    let rows: Vec<String> = bench.read("test.csv").lines().take(61).map(String::from).collect();
    bench.write("train.csv", rows.join("\n"));
    let summary = fit(&bench, "--config tiny.toml");
    check_page(&bench.read("r.html"));
    assert!(summary["help"].is_null(), "{summary}");
    assert!(bench.read("r.html").contains("no unlabelled rows"));
}

/// Categories, dates, gaps and an identifier, over two files.
#[test]
fn a_mixed_table_shows_rows_in_its_own_units() {
    let bench = Bench::new();
    let mut tables = ["id,age,city,joined,y\n".to_string(), "id,age,city,joined,y\n".to_string()];
    for i in 0..300 {
        let (old, noise) = (i % 2 == 0, (i * 7919) % 13);
        let age = if i % 7 == 3 { String::new() } else { (if old { 50 } else { 25 } + noise).to_string() };
        let label = ["young", "old"][usize::from(old)];
        let label = if i < 30 { label } else { "" };
        let city = ["Rome", "Oslo", "Bern"][(i * 31 + usize::from(old)) % 3];
        let row = format!("{i},{age},{city},2019-0{}-{},{label}\n", 1 + i % 9, 10 + noise);
        tables[usize::from(i >= 100)] += &row;
    }
    bench.write("a.csv", &tables[0]);
    bench.write("b.csv", &tables[1]);
    let summary =
        json(&bench.ok(
            "fit a.csv --unlabelled b.csv --label y --model m --report r.html --steps 200 --json --quiet",
        ));
    check_help(&summary["help"]);
    let page = bench.read("r.html");
    check_page(&page);
    for part in ["categorical", "identifier", "14.", "2019-01-10", "a.csv:", "b.csv:", "Rome"] {
        assert!(page.contains(part), "'{part}' is not on the page");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_training() {
    let bench = Bench::new();
    let fit = "fit train.csv --label label --model m.flow";
    bench.fails(&format!("{fit} --report no/such/r.html"), 5, &["no/such/r.html"]);
    bench.fails(&format!("{fit} --report ."), 5, &["directory"]);
    bench.fails(&format!("{fit} --report m.flow"), 2, &["--report", "m.flow"]);
    bench.fails(&format!("{fit} --report ./train.csv"), 2, &["--report", "train.csv"]);
    assert!(bench.read("train.csv").starts_with("x1,x2,label"), "the table is as it was");
    assert!(!bench.path("m.flow").exists(), "nothing was trained");
    let output = bench.run(&format!("{fit} --report r.html --print-config"));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_the_report_leaves_the_model_and_no_page() {
    use std::process::{Command, Stdio};
    let bench = Bench::new();
    // A wide net and many labels: the short fits take long enough to be met.
    bench.write("train.csv", bench.read("test.csv"));
    bench.write("slow.toml", "[architecture]\nhidden = [256]\n[train]\nsteps = 400\n");
    let mut child = bench
        .command("fit train.csv --label label --model m.flow --report r.html --config slow.toml --quiet")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while !bench.path("m.flow").exists() && began.elapsed().as_secs() < 120 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.try_wait().unwrap().is_none(), "the report is too fast for this test");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{message}");
    for part in ["interrupted while the report was made", "m.flow"] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    assert_eq!(bench.files().iter().filter(|name| name.contains("r.html")).count(), 0, "{:?}", bench.files());
    bench.ok("inspect m.flow");
}
