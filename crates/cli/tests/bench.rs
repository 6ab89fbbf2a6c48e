//! `flowgmm bench` from outside.

mod common;

use common::{
    Bench,
    pictures::{folder, idx, many, npy},
};

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
    bench.fails("bench moons.toml --data .", 3, &["elsewhere"]);
    let first = bench.run("bench moons.toml --data . --skip-absent --update page.md");
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert_eq!(first.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("moons (5 per class) draw").count(), 4, "{said}");
    assert!(said.contains("skipped: elsewhere"), "{said}");
    let page = bench.read("page.md");
    assert!(page.starts_with("before\n") && page.ends_with("after\n"), "{page}");
    assert!(page.contains("moons") && page.contains("knn"), "{page}");
    let results = bench.read("results/moons/results.jsonl");
    assert_eq!(results.lines().count(), 4);

    let at_once = bench.ok("bench moons.toml --data . --skip-absent --jobs 2 --out at-once --quiet");
    assert_eq!(at_once, String::from_utf8_lossy(&first.stdout), "the same table from cells at once");
    bench.fails("bench moons.toml --data . --jobs 0", 2, &["--jobs"]);

    std::fs::create_dir(bench.path("empty")).unwrap();
    bench.write("empty/results.jsonl", "");
    bench.fails(
        "bench moons.toml --data . --out empty --tables",
        3,
        &["no results of this plan", "without --tables"],
    );
    let again = bench.run("bench moons.toml --data . --skip-absent");
    assert!(
        !String::from_utf8_lossy(&again.stderr).contains("moons (5 per class) draw"),
        "nothing is done twice"
    );
    assert_eq!(bench.read("results/moons/results.jsonl"), results);
}

/// Pictures in folders with labels drawn, and pictures in IDX files with a split as the paper's authors give theirs.
const PICTURES: &str = r#"
title = "Bars"
learners = [
    "flowgmm", "flowgmm-no-consistency", "flowgmm-labelled", "diglm", "m1m2",
    "knn", "logistic-regression", "mlp", "label-spreading",
]
draws = { first = 3, count = 1 }
[steps]
flowgmm = 60
flowgmm-no-consistency = 20
flowgmm-labelled = 20
diglm = 60
m1m2 = 60
mlp = 60
[[dataset]]
name = "folders"
file = "pictures"
labels = 8
options = { kind = "images", test = "fresh" }
[[dataset]]
name = "idx"
file = "bars-idx3-ubyte"
split = "splits.npy"
test = { share = 0.25, limit = 100 }
options = { kind = "images", labels = "bars-idx1-ubyte" }
"#;

#[test]
fn a_plan_of_images_runs_every_learner_and_names_its_split() {
    let bench = Bench::new();
    bench.write("bars.toml", PICTURES);
    folder(&bench, "pictures", 0, 30, 0);
    folder(&bench, "fresh", 100, 20, 0);
    let (pixels, labels) = many(80, 1, 8, 12);
    bench.write("bars-idx3-ubyte", idx(&[80, 8, 12], &pixels));
    bench.write("bars-idx1-ubyte", idx(&[80], &labels));
    let rows: Vec<u8> = (0..2 * 16i32).flat_map(|row| (row % 16).to_le_bytes()).collect();
    bench.write("splits.npy", npy("<i4", &[2, 16], &rows));
    let table = bench.ok("bench bars.toml --data . --quiet");
    assert!(table.contains("| m1m2 |") && !table.contains("failed"), "{table}");
    let results: Vec<serde_json::Value> =
        bench.read("results/bars/results.jsonl").lines().map(common::json).collect();
    assert_eq!(results.len(), 18);
    for result in &results {
        let (data, learner) = (result["dataset"].as_str().unwrap(), result["learner"].as_str().unwrap());
        let accuracy = result["outcome"]["scored"]["accuracy"].as_f64().unwrap_or_else(|| panic!("{result}"));
        println!("{learner} on {data}: {accuracy}");
        // Bars are anywhere: no line divides them, and auto-encoders need more steps than a test can take.
        if ["flowgmm", "diglm", "knn", "label-spreading"].contains(&learner) {
            assert!(accuracy > 0.9, "{learner} on {data}: {accuracy}");
        }
        let split = result["split"].as_str().unwrap();
        let rows = match data {
            "folders" => [16, 44, 40],
            _ => [16, 44, 20], // a quarter of all, none of the split
        };
        assert_eq!(result["rows"], serde_json::json!(rows), "{learner} on {data}");
        assert!(data != "idx" || split.contains("splits.npy from draw 3"), "{split}");
        let stepped = result["settings"].as_str().unwrap().contains("60");
        assert!(stepped || !["flowgmm", "diglm", "m1m2", "mlp"].contains(&learner), "{result}");
    }

    bench.write("odd.toml", PICTURES.replace("mlp = 60", "knn = 60"));
    bench.fails("bench odd.toml --data .", 2, &["knn", "60 steps"]);
    bench.write("odd.toml", PICTURES.replace("mlp = 60", "pi-model = 60"));
    bench.fails("bench odd.toml --data .", 2, &["'pi-model' is in steps but not in learners"]);
    bench.write("odd.toml", PICTURES.replace("kind = \"images\"", "kind = \"sounds\""));
    let odd = bench.run("bench odd.toml --data . --out odd");
    assert!(String::from_utf8_lossy(&odd.stderr).contains("'sounds' is neither"), "{odd:?}");
    // Pictures without a label cannot be drawn from.
    folder(&bench, "pictures", 50, 0, 3);
    let unlabelled = bench.run("bench bars.toml --data . --only folders --out other");
    assert!(String::from_utf8_lossy(&unlabelled.stderr).contains("has no label"), "{unlabelled:?}");
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
