//! `flowgmm paper` from outside, and presets that say where they do not suit.

mod common;

use common::{Bench, json, stderr};

#[test]
fn every_item_has_a_command_and_a_cost() {
    let bench = Bench::new();
    let listed = json(&bench.ok("paper --json --data nowhere"));
    let items = listed.as_array().unwrap();
    for name in ["figure1", "table1", "table3", "calibration", "figure4c", "appendix-f", "appendix-h"] {
        let item = items.iter().find(|item| item["item"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(
            !item["commands"][0].as_str().unwrap().is_empty() && !item["cost"].as_str().unwrap().is_empty()
        );
    }
    let table1 = items.iter().find(|item| item["item"] == "table1").unwrap();
    assert_eq!(table1["absent"].as_array().unwrap().len(), 4, "nothing is there");
    assert!(bench.ok("paper").contains("flowgmm paper table1 --run"));
    bench.fails("paper table9", 2, &["table9", "table1"]);
    bench.fails("paper table1", 2, &["experiments is not there", "--experiments"]);
}

#[test]
fn an_item_is_made_and_shown_beside_the_papers() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("e")).unwrap();
    assert!(bench.ok("paper appendix-g --experiments e").contains("(not run)"));
    let shown = bench.ok("paper appendix-g --experiments e --run");
    assert!(shown.contains("D = 784") && shown.contains("3.000") && !shown.contains("not run"), "{shown}");
    let cells = json(&bench.ok("paper appendix-g --experiments e --json"));
    assert_eq!(cells["cells"][0]["theirs"], 1.0);
    let ours = cells["cells"][0]["ours"]["Ok"]["mean"].as_f64().unwrap();
    assert!((ours - 1.0).abs() < 0.1, "{ours}");
    bench.fails("paper appendix-h --experiments e --run --data nowhere", 3, &["mnist", "nowhere"]);
    bench.fails("paper figure4ab --experiments e --run --pairs 3", 2, &["'3'", "3:8"]);
    bench.fails("paper figure4c --experiments e --steps 5", 2, &["--run"]);
}

#[test]
fn a_preset_that_does_not_suit_says_so_before_it_starts() {
    let bench = Bench::new();
    let mut table = String::from("a,b,c,label\n");
    for row in 0..60 {
        let label = if row < 10 { ["x", "y"][row % 2] } else { "" };
        table += &format!("{},{},{},{label}\n", row % 7, (row * 5) % 11, (row * row) % 13);
    }
    bench.write("t.csv", table);
    let fitted = bench.run("fit t.csv --label label --preset paper --model m");
    assert_eq!(fitted.status.code(), Some(0), "{}", stderr(&fitted));
    let said = stderr(&fitted);
    assert!(said.contains("trains for 50 steps here") && said.contains("'auto'"), "{said}");
    let toy = bench.run("fit t.csv --label label --preset paper-toy --steps 2 --model m --force");
    assert!(stderr(&toy).contains("for points in the plane"), "{}", stderr(&toy));
}

/// A dataset of the paper by name, from a small file in its format: balanced, prepared, scored on its test rows.
#[test]
fn a_dataset_is_fitted_by_its_name() {
    let bench = Bench::new();
    let mut table = String::from(" 60 90\n");
    for row in 0..150usize {
        let signal = if row < 60 { 0.4 } else { 0.0 };
        let cell = |j: usize| ((row * 31 + j * 17) as f64 * 0.618_033_988_749_894_9).fract() + signal;
        table += &format!(" {}\n", (0..50).map(|j| cell(j).to_string()).collect::<Vec<_>>().join(" "));
    }
    std::fs::create_dir_all(bench.path("data/miniboone")).unwrap();
    bench.write("data/miniboone/MiniBooNE_PID.txt", table);
    let words = "fit --dataset miniboone --data data --preset paper --steps 20 --model m --json --quiet";
    let fitted = json(&bench.ok(words));
    assert_eq!((fitted["rows"].as_u64(), fitted["labelled"].as_u64()), (Some(108), Some(20)), "{fitted}");
    assert!(fitted["test"].is_object() || fitted["test"]["accuracy"].is_number(), "{fitted}");
    let config = bench.ok("fit --dataset miniboone --data data --preset paper --print-config");
    assert!(config.contains("peak = 0.0003"), "the paper's rate for this table: {config}");
    bench.fails("fit --dataset hepmass --data data --model m", 3, &["hepmass", "flowgmm data get hepmass"]);
    bench.fails("fit --dataset minibone --data data --model m", 3, &["Did you mean 'miniboone'?"]);
    bench.fails("fit train.csv --dataset miniboone --model m", 2, &["--dataset"]);
}
