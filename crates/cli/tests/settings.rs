//! Flag > variable > config file > default, and a print-out that says which it was.

mod common;

use common::{Bench, json, stderr};

const FIT: &str = "fit train.csv --label label --model m";

#[test]
fn every_value_is_printed_with_its_source() {
    let bench = Bench::new();
    bench.write(
        "c.toml",
        "seed = 5\nthreads = 2\nteachers = []\n[architecture]\nsigma = 2\ncoupling = { kind = \"spline\", bins = 8, bound = 4.0 }\n\
         [train]\nsteps = 70\nnoise = 0.25\n[train.schedule]\npeak = 0.5\n",
    );
    let output = bench
        .command(&format!("{FIT} --print-config --config c.toml --steps 33"))
        .env("FLOWGMM_SEED", "6")
        .env("FLOWGMM_STEPS", "44")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "seed = 6  # from: env",
        "threads = 2  # from: config file",
        "device = \"cpu\"  # from: default",
        "engine = \"fused\"  # from: default",
        "teachers = []  # from: config file",
        "sigma = 2  # from: config file",
        "steps = 33  # from: flag",
        "noise = 0.25  # from: config file",
        "peak = 0.5  # from: config file",
        "kind = \"spline\"  # from: config file",
        "bins = 8  # from: config file",
        "beta1 = 0.9  # from: default",
    ] {
        assert!(text.lines().any(|l| l == line), "'{line}' is not in:\n{text}");
    }
    let leaves = text.lines().filter(|line| line.contains(" = "));
    assert!(leaves.clone().count() > 30 && leaves.clone().all(|line| line.contains("# from: ")), "{text}");
    assert!(!bench.path("m").exists(), "printing is all it does");
}

/// What is printed is itself a config file, and decides the same model.
#[test]
fn the_print_out_is_a_config_file() {
    let bench = Bench::new();
    bench.write("c.toml", format!("{}seed = 4\n", "") + common::TINY);
    let printed = bench.ok(&format!("{FIT} --print-config --config c.toml"));
    bench.write("printed.toml", &printed);
    let again = bench.ok(&format!("{FIT} --print-config --config printed.toml"));
    let plain =
        |text: &str| text.lines().map(|l| l.split("  #").next().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(plain(&printed), plain(&again));
    bench.ok(&format!("{FIT}1 --config c.toml --quiet"));
    bench.ok(&format!("{FIT}2 --config printed.toml --quiet"));
    assert!(bench.bytes("m1") == bench.bytes("m2"));
}

#[test]
fn mistakes_in_a_config_file_are_named() {
    let bench = Bench::new();
    let check = |content: &str, said: &[&str]| {
        bench.write("c.toml", content);
        let said = [&["c.toml"], said].concat();
        bench.fails(&format!("{FIT} --config c.toml --quiet"), 2, &said);
    };
    check("stepz = 3\n", &["unknown key 'stepz'"]);
    check("[train]\nstepz = 3\n", &["unknown key 'train.stepz'", "steps"]);
    check("[train.adam]\nbeta3 = 3\n", &["unknown key 'train.adam.beta3'", "beta2"]);
    check("[prepare]\ndimz = 3\n", &["prepare", "dimz"]);
    check("[train.adam.decay]\nkind = \"l2\"\nrate = 0.1\nrats = 3\n", &["train.adam.decay", "rats"]);
    check("[train]\nsteps = \"many\"\n", &["train.steps", "many"]);
    check("[train]\nsteps = -1\n", &["train.steps", "-1"]);
    check("threads = 0\n", &["threads"]);
    check("prepare = { kind = \"magic\" }\n", &["prepare", "magic"]);
    check("[train\n", &["TOML"]);
}

/// Values of the right type that describe no model.
#[test]
fn impossible_settings_are_refused() {
    let bench = Bench::new();
    for content in ["[architecture]\ndepth = 0\n", "[architecture]\nhidden = [0]\n"] {
        bench.write("c.toml", content);
        bench.fails(&format!("{FIT} --config c.toml --quiet"), 2, &["config file c.toml", "must be between"]);
    }
}

/// Settings that lead nowhere end with the code for it and without a model.
#[test]
fn a_fit_that_diverges_says_so() {
    let bench = Bench::new();
    let rate = "[train.schedule]\npeak = 1e30\nwarm_up = 0.0\n";
    for content in [format!("{}{rate}", common::TINY), format!("[train]\nsteps = 3\n{rate}")] {
        bench.write("c.toml", content);
        bench.fails(&format!("{FIT} --config c.toml --quiet"), 6, &["diverged at step"]);
        assert!(!bench.path("m").exists());
    }
}

/// The flow alone, by a flag of the fit or of the commands that predict, from one model file.
#[test]
fn the_flow_predicts_alone_on_demand() {
    let bench = Bench::new();
    bench.tiny_model("both");
    let fitted = json(&bench.ok("fit train.csv -l label -m alone -c tiny.toml --pure-flow --json"));
    assert_eq!(fitted["config"]["forest"], serde_json::Value::Null);
    assert_eq!(fitted["held_out"]["forest_accuracy"], serde_json::Value::Null);
    let alone = bench.ok("predict alone test.csv");
    assert_ne!(bench.ok("predict both test.csv"), alone);
    assert_eq!(bench.ok("predict both test.csv --pure-flow"), alone);
    let accuracy = |words: &str| json(&bench.ok(words))["accuracy"].clone();
    assert_eq!(
        accuracy("evaluate both test.csv --pure-flow --json"),
        accuracy("evaluate alone test.csv --json")
    );
    let (both, alone) = (bench.ok("inspect both"), bench.ok("inspect alone"));
    assert!(
        ["% flow, ", "% trees, ", "% naive Bayes (right on 10 held-out labels: flow "]
            .iter()
            .all(|part| both.contains(part)),
        "{both}"
    );
    assert!(alone.contains("the flow alone, by Bayes' rule (right on 10 held-out labels: "), "{alone}");
    bench.write("tiny.toml", "forest = \"none\"\n[train]\nsteps = 40\n");
    bench.tiny_model("none");
    assert!(bench.ok("inspect none").contains("the flow alone"));
}
