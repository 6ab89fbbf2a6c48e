//! `flowgmm bench` from outside.

mod common;

use common::Bench;

const PLAN: &str = r#"
title = "Moons"
learners = ["knn", "logistic-regression"]
draws = { first = 0, count = 2 }
test = { share = 0.2, limit = 100 }
unlabelled_limit = 300
[[dataset]]
name = "moons"
file = "test.csv"
labels = 5
[[dataset]]
name = "elsewhere"
file = "elsewhere.csv"
labels = 5
"#;

#[test]
fn a_plan_runs_once_resumes_and_fills_a_table() {
    let bench = Bench::new();
    bench.write("moons.toml", PLAN);
    bench.write("page.md", "before\n<!-- table:moons -->\n<!-- end -->\nafter\n");
    let first = bench.run("bench moons.toml --data . --update page.md");
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert_eq!(first.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("moons draw").count(), 4, "{said}");
    assert!(said.contains("skipped: elsewhere"), "{said}");
    let page = bench.read("page.md");
    assert!(page.starts_with("before\n") && page.ends_with("after\n"), "{page}");
    assert!(page.contains("moons") && page.contains("knn"), "{page}");
    let results = bench.read("results/moons/results.jsonl");
    assert_eq!(results.lines().count(), 4);

    let again = bench.run("bench moons.toml --data .");
    assert!(!String::from_utf8_lossy(&again.stderr).contains("moons draw"), "nothing is done twice");
    assert_eq!(bench.read("results/moons/results.jsonl"), results);
}

#[test]
fn plans_that_make_no_sense_are_usage_errors() {
    let bench = Bench::new();
    bench.write("bad.toml", PLAN.replace("knn", "nkk"));
    bench.fails("bench bad.toml --data .", 2, &["nkk", "knn"]);
    bench.write("torn.toml", "title = ");
    bench.fails("bench torn.toml --data .", 2, &["plan"]);
    bench.fails("bench absent.toml --data .", 5, &["absent.toml"]);
}
