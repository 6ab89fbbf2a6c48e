//! Test accuracy of `fit` without settings on real tables, over draws of the labels.
//!
//!     cargo run --release --example tables -- [DRAWS] [NAME...]        # writes experiments/results/tables.json
//!
//! Data are looked for in `FLOWGMM_DATA`, else in `../shared/data`; a table that is not there is reported as skipped.
//! Each draw takes a fifth of the rows (at most 20,000) as test rows and keeps the labels of a few rows of each class
//! among the rest (AG-News has test rows of its own); draws are numbered from 1000. Settings were chosen on other
//! draws. Results are appended, so that an interrupted run goes on.

use std::{fs, path::PathBuf, time::Instant};

use flowgmm::{Recipe, fit};
use flowgmm_tables::{Header, Options, open};
use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{Cells, Classifier, Encoding, Labelled, Schema, Scores, SemiSupervised, labels};
use serde::{Deserialize, Serialize};

/// A table, its file, and labels kept of each class.
const TABLES: [(&str, &str, usize); 8] = [
    ("optdigits", "tabular/optdigits.csv.gz", 5),
    ("pendigits", "tabular/pendigits.csv.gz", 5),
    ("satimage", "tabular/satimage.csv.gz", 5),
    ("letter", "tabular/letter.csv.gz", 10),
    ("magic04", "tabular/magic04.data.gz", 10),
    ("spambase", "tabular/spambase.csv.gz", 10),
    ("covtype", "tabular/covtype.data.gz", 50),
    ("agnews", "embeddings/agnews_minilm384_f16.npz", 50),
];
const FIRST_DRAW: u64 = 1000;
/// Unlabelled rows that are kept, at most.
const UNLABELLED: usize = 100_000;

#[derive(Serialize, Deserialize)]
struct Run {
    dataset: String,
    draw: u64,
    labels_per_class: usize,
    unlabelled: usize,
    accuracy: f64,
    nll: f64,
    ece: f64,
    seconds: f64,
    decisions: Vec<flowgmm::Decision>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let draws: u64 = arguments.next().map_or(5, |n| n.parse().expect("a number of draws"));
    let wanted: Vec<String> = arguments.collect();
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/results/tables.json"));
    let mut runs: Vec<Run> = fs::read_to_string(&path)
        .map_or(Vec::new(), |text| serde_json::from_str(&text).expect("written by this program"));
    for (name, file, per_class) in TABLES {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let Some((train, test)) = load(name, file) else { continue };
        for draw in FIRST_DRAW..FIRST_DRAW + draws {
            if runs.iter().any(|run| run.dataset == name && run.draw == draw) {
                continue;
            }
            let run = one(name, &train, test.as_ref(), per_class, draw);
            println!("{name} draw {draw}: {:.4} in {:.0} s", run.accuracy, run.seconds);
            runs.push(run);
            fs::write(&path, serde_json::to_string_pretty(&runs).expect("plain data"))
                .expect("results can be written");
        }
    }
    print!("{}", table(&runs));
}

/// All rows with their labels, and test rows where the data have them.
fn load(name: &str, file: &str) -> Option<(Labelled, Option<Labelled>)> {
    let root =
        std::env::var_os("FLOWGMM_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let path = root.join(file);
    if !path.exists() {
        println!("skipped: {name} is not at {}", path.display());
        return None;
    }
    let read = |suffix: Option<&str>| {
        let header = if suffix.is_some() { Header::Present } else { Header::Absent };
        let options = Options { header, suffix: suffix.map(String::from), ..Options::default() };
        let frame = open(path.as_path(), &options).and_then(|mut reader| reader.read_all()).expect("a table");
        let label = frame.column_names().pop().expect("columns"); // the label is the last
        let known = labels(&frame, &label, &[]).expect("labels");
        let schema = Schema::infer(&frame, Some(&label), &[]).expect("a schema");
        let encoding = Encoding::learn(&schema, &frame).expect("an encoding");
        let x = encoding.encode(&frame).expect("numbers").x;
        assert!(frame.columns().iter().all(|c| matches!(c.cells, Cells::Numbers(_)) || c.name == label));
        let y = known.y.into_iter().map(|y| y.expect("all rows are labelled")).collect();
        Labelled::new(x, y, known.classes, encoding.feature_names()).expect("valid rows")
    };
    match name {
        "agnews" => Some((read(Some("_train")), Some(read(Some("_test"))))),
        _ => Some((read(None), None)),
    }
}

fn one(name: &str, all: &Labelled, own_test: Option<&Labelled>, per_class: usize, draw: u64) -> Run {
    let (data, test) = draw_labels(all, own_test, per_class, draw);
    let began = Instant::now();
    let recipe = Recipe::choose(&data, draw).expect("settings");
    let model = fit(&recipe.config, &data, draw).expect("it trains");
    let seconds = began.elapsed().as_secs_f64();
    let scores = Scores::from_log_probs(&model.log_probs(test.x()), test.y());
    Run {
        dataset: name.into(),
        draw,
        labels_per_class: per_class,
        unlabelled: data.unlabelled().len(),
        accuracy: scores.accuracy,
        nll: scores.nll,
        ece: scores.ece,
        seconds,
        decisions: recipe.decisions,
    }
}

fn draw_labels(
    all: &Labelled,
    own_test: Option<&Labelled>,
    per_class: usize,
    draw: u64,
) -> (SemiSupervised, Labelled) {
    let mut rng = semisup::rng(draw);
    let mut rows: Vec<usize> = (0..all.n()).collect();
    rows.shuffle(&mut rng);
    let test = match own_test {
        Some(test) => test.clone(),
        None => all.select(&rows.split_off(all.n() - (all.n() / 5).min(20_000))),
    };
    let mut left = vec![per_class; all.n_classes()];
    let (mut labelled, mut unlabelled) = (Vec::new(), Vec::new());
    for row in rows {
        let k = all.y()[row];
        if left[k] > 0 {
            left[k] -= 1;
            labelled.push(row);
        } else if unlabelled.len() < UNLABELLED {
            unlabelled.push(row);
        }
    }
    let x: Array2<f64> = all.x().select(Axis(0), &[labelled.as_slice(), &unlabelled].concat());
    let y = labelled.iter().map(|&row| Some(all.y()[row])).chain(unlabelled.iter().map(|_| None)).collect();
    let data = SemiSupervised::new(x, y, all.classes().to_vec(), all.columns().to_vec());
    (data.expect("every class has labels"), test)
}

fn table(runs: &[Run]) -> String {
    let mut text =
        "| data | labels per class | test accuracy | ECE | seconds | draws |\n|---|---|---|---|---|---|\n"
            .to_string();
    for (name, _, per_class) in TABLES {
        let mine: Vec<&Run> = runs.iter().filter(|run| run.dataset == name).collect();
        if mine.is_empty() {
            continue;
        }
        let n = mine.len() as f64;
        let mean = |value: fn(&Run) -> f64| mine.iter().map(|run| value(run)).sum::<f64>() / n;
        let accuracy = mean(|run| run.accuracy);
        let spread = (mine.iter().map(|run| (run.accuracy - accuracy).powi(2)).sum::<f64>() / n).sqrt();
        text += &format!(
            "| {name} | {per_class} | {:.1} ± {:.1} | {:.3} | {:.0} | {} |\n",
            100.0 * accuracy,
            100.0 * spread,
            mean(|run| run.ece),
            mean(|run| run.seconds),
            mine.len()
        );
    }
    text
}
