//! Every demo problem on fresh draws, semi-supervised beside labelled-only: a table of the book.
//!
//!     cargo run --release --example accuracy                       # 5 draws; writes experiments/results/core.json
//!     cargo run --release --example accuracy -- --moons 100        # 100 seeds of moons; writes moons-seeds.json
//!     cargo run --release --example book                           # puts the stored results into the book
//!
//! Settings are the demo's (`FitConfig::toy`, `Recipe::choose`). They were chosen on draws 0 to 14; the table is
//! made on draws 1000 to 1004, which nobody had looked at before.

use std::{fs, path::PathBuf, time::Instant};

use flowgmm::{Bijection as _, FitConfig, Fitter, Recipe};
use rayon::prelude::*;
use semisup::{Classifier, Problem, Toy, digits_problem, metrics::accuracy};
use serde::Serialize;

const FIRST_SEED: u64 = 1000;
const DRAWS: u64 = 5;

#[derive(Serialize)]
struct Run {
    dataset: String,
    seed: u64,
    labels: usize,
    unlabelled: usize,
    semi_supervised: f64,
    labelled_only: f64,
    rollbacks: usize,
    seconds: f64,
}

#[derive(Serialize)]
struct Results {
    command: String,
    version: String,
    threads: usize,
    runs: Vec<Run>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let names = Toy::ALL.iter().map(|toy| toy.name()).chain(["digits"]);
            let jobs = names.flat_map(|name| (FIRST_SEED..FIRST_SEED + DRAWS).map(move |seed| (name, seed)));
            let results = run(jobs.collect(), "cargo run --release --example accuracy");
            print!("{}", table(&results));
            store("core.json", &results);
        }
        ["--moons", n] => {
            let n: u64 = n.parse().expect("--moons takes a number of seeds");
            let command = format!("cargo run --release --example accuracy -- --moons {n}");
            let results = run((0..n).map(|seed| ("moons", seed)).collect(), &command);
            let worst = results.runs.iter().map(|r| r.semi_supervised).fold(1.0, f64::min);
            let rollbacks: usize = results.runs.iter().map(|r| r.rollbacks).sum();
            print!("{}", table(&results));
            println!("{n} seeds, none diverged; {rollbacks} roll-backs; worst accuracy {worst:.4}");
            store("moons-seeds.json", &results);
        }
        _ => {
            eprintln!("usage: accuracy [--moons N]");
            std::process::exit(2);
        }
    }
}

fn run(jobs: Vec<(&str, u64)>, command: &str) -> Results {
    let runs = jobs.par_iter().map(|(name, seed)| one(name, *seed)).collect();
    let version = env!("CARGO_PKG_VERSION").into();
    Results { command: command.into(), version, threads: rayon::current_num_threads(), runs }
}

fn one(name: &str, seed: u64) -> Run {
    let (problem, config) = match name.parse::<Toy>() {
        Ok(toy) => (toy.problem(seed), FitConfig::toy()),
        Err(_) => {
            let problem = digits_problem(5, seed);
            let config = Recipe::choose(&problem.train, seed).expect("settings for digits").config;
            (problem, config)
        }
    };
    let Problem { train, test } = problem;
    let began = Instant::now();
    let model = Fitter::new(&config, &train, seed).run(&mut ()).expect("demo problems train");
    let seconds = began.elapsed().as_secs_f64();
    let alone = Fitter::new(&config, &train.labelled_only(), seed).run(&mut ()).expect("demo problems train");
    for model in [&model, &alone] {
        let finite =
            |theta: &&flowgmm::Theta| flowgmm::tensor::to_vec(theta.value()).iter().all(|v| v.is_finite());
        assert!(model.gmm().flow().thetas().iter().all(finite), "{name} {seed}: a weight is not finite");
    }
    Run {
        dataset: name.into(),
        seed,
        labels: train.labelled().len(),
        unlabelled: train.unlabelled().len(),
        semi_supervised: accuracy(&model.predict(test.x()), test.y()),
        labelled_only: accuracy(&alone.predict(test.x()), test.y()),
        rollbacks: model.provenance().rollbacks,
        seconds,
    }
}

fn table(results: &Results) -> String {
    let mut out = String::from(
        "| data | labels | unlabelled | FlowGMM, labelled + unlabelled | FlowGMM, labelled only | draws |\n|---|---|---|---|---|---|\n",
    );
    let mut names: Vec<&str> = results.runs.iter().map(|run| run.dataset.as_str()).collect();
    names.dedup();
    for name in names {
        let runs: Vec<&Run> = results.runs.iter().filter(|run| run.dataset == name).collect();
        let cell = |value: fn(&Run) -> f64| {
            let values: Vec<f64> = runs.iter().map(|run| 100.0 * value(run)).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
            format!("{mean:.1} ± {sd:.1}")
        };
        out += &format!(
            "| {name} | {} | {} | **{}** | {} | {} |\n",
            runs[0].labels,
            runs[0].unlabelled,
            cell(|run| run.semi_supervised),
            cell(|run| run.labelled_only),
            runs.len()
        );
    }
    out
}

fn store(name: &str, results: &Results) {
    let path = root().join("experiments/results").join(name);
    fs::create_dir_all(path.parent().expect("has a directory")).expect("the results directory can be made");
    fs::write(&path, serde_json::to_string_pretty(results).expect("plain data") + "\n")
        .expect("results are written");
    eprintln!("wrote {}", path.display());
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
