//! What `flowgmm explain` promises, measured: coverage and calibration, labels chosen against labels drawn, out-of-distribution rows.
//!
//!     cargo run --release --example insight -- conformal --data DIR --out experiments/results/insight/conformal.json
//!     cargo run --release --example insight -- label-next --data DIR --out experiments/results/insight/label-next.json
//!     cargo run --release --example insight -- out-of-domain MODEL --data DIR --ours mnist \
//!         --others fashion-mnist notmnist --out experiments/results/insight/out-of-domain-mnist.json
//!
//! DIR holds the datasets (see `flowgmm data`). Settings were chosen on draws below 2000, results are of draws from 2000
//! on. A result is written as soon as it is known; the same command goes on from there.

use std::{
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::{Parser, Subcommand};
use flowgmm::data::{Encoding, Schema, labels};
use flowgmm::tables::Header;
use flowgmm::{
    Model, Recipe,
    insight::{OutOfDistributionDetector, label_next},
    tensor::Place,
};
use flowgmm_bench::{DrawRule, DrawnLabels, TestRows, draw_labels};
use flowgmm_datasets::{Collection, ImageSource, ReadOptions};
use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{
    Classifier, Labelled, Problem, SemiSupervised,
    metrics::{CalibrationErrors, Conformal, Detection, at_temperature, coverage, fit_temperature_with},
};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Coverage of conformal sets and calibration on rows that were not fitted to
    Conformal {
        #[command(flatten)]
        common: Common,
        /// Datasets
        #[arg(long, num_args = 1.., default_values_t = ["optdigits".to_string(), "agnews".to_string()])]
        sets: Vec<String>,
    },
    /// Accuracy with labels that the model asks for, and with as many labels drawn
    LabelNext {
        #[command(flatten)]
        common: Common,
        /// Datasets
        #[arg(long, num_args = 1.., default_values_t = ["optdigits".to_string(), "pendigits".to_string(), "satimage".to_string()])]
        sets: Vec<String>,
        /// Times that labels are asked for; four makes some ten at once, as `explain` does
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
    },
    /// How well each score tells the images of a model from others
    OutOfDomain {
        #[command(flatten)]
        common: Common,
        /// Model file
        model: PathBuf,
        /// The dataset it was fitted to
        #[arg(long)]
        ours: String,
        /// Others
        #[arg(long, num_args = 1..)]
        others: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Common {
    /// Directory of the datasets
    #[arg(long)]
    data: PathBuf,
    /// Where results go
    #[arg(long)]
    out: PathBuf,
    /// First draw
    #[arg(long, default_value_t = 2000)]
    first: u64,
    /// Number of draws
    #[arg(long, default_value_t = 5)]
    draws: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    match Arguments::parse().what {
        What::Conformal { common, sets } => every(&common, &sets, conformal),
        What::LabelNext { common, sets, rounds } => {
            every(&common, &sets, |set, draw| chosen_against_drawn(set, draw, usize::from(rounds)))
        }
        What::OutOfDomain { common, model, ours, others } => out_of_domain(&common, &model, &ours, &others),
    }
}

/// Measures each dataset and draw that is not measured yet.
fn every(common: &Common, sets: &[String], measure: impl Fn(&Set, u64) -> Outcome<Value>) -> Outcome<()> {
    let mut results = read(&common.out)?;
    for name in sets {
        let set = Set::load(&common.data, name)?;
        for draw in common.first..common.first + common.draws {
            if results.iter().any(|result| result["set"] == name.as_str() && result["draw"] == draw) {
                continue;
            }
            let began = Instant::now();
            let mut result = measure(&set, draw)?;
            result["set"] = json!(name);
            result["draw"] = json!(draw);
            result["seconds"] = json!(began.elapsed().as_secs_f64().round());
            println!("{result}");
            results.push(result);
            write(&common.out, &results)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Outcome<Vec<Value>> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

fn write(path: &Path, results: &[Value]) -> Outcome<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let lines: Vec<String> = results.iter().map(Value::to_string).collect();
    Ok(fs::write(path, format!("[\n{}\n]\n", lines.join(",\n")))?)
}

/// A dataset, with test rows of its own or without.
struct Set {
    all: Labelled,
    test: Option<Labelled>,
    per_class: usize,
}

impl Set {
    fn load(root: &Path, name: &str) -> Outcome<Self> {
        if name == "agnews" {
            let path = root.join("embeddings/agnews_minilm384_f16.npz");
            let part = |suffix: &str| table(&path, Header::Present, Some(suffix));
            return Ok(Self { all: part("_train")?, test: Some(part("_test")?), per_class: 50 });
        }
        let path = root.join(format!("tabular/{name}.csv.gz"));
        Ok(Self { all: table(&path, Header::Absent, None)?, test: None, per_class: 5 })
    }

    /// A few labels of each class, the rest unlabelled, `share` of the rows for testing.
    fn draw(&self, share: f64, draw: u64) -> Outcome<Problem> {
        let test = TestRows { share, limit: usize::MAX };
        let labels = DrawnLabels::PerClass(self.per_class);
        let rule = DrawRule { test, labels, unlabelled_limit: usize::MAX };
        Ok(draw_labels(&self.all, self.test.as_ref(), &rule, draw)?)
    }
}

/// A table whose last column is the label.
fn table(path: &Path, header: Header, suffix: Option<&str>) -> Outcome<Labelled> {
    let options = flowgmm::tables::Options { header, suffix: suffix.map(String::from), ..Default::default() };
    let frame = flowgmm::tables::open(path, &options)?.read_all()?;
    let label = frame.column_names().pop().ok_or("a table without columns")?;
    let known = labels(&frame, &label, &[])?;
    let encoding = Encoding::learn(&Schema::infer(&frame, Some(&label), &[])?, &frame)?;
    let y: Option<Vec<usize>> = known.y.into_iter().collect();
    let y = y.ok_or("a row without a label")?;
    let rows = Labelled::new(encoding.apply(&frame)?.x, y, known.classes, encoding.feature_names())?;
    Ok(rows.with_steps(encoding.steps()))
}

fn fit(data: &SemiSupervised, seed: u64) -> Outcome<Model> {
    Ok(flowgmm::Fitter::new(&Recipe::choose(data, seed)?.config, data, seed).run(&mut ())?)
}

fn accuracy(model: &Model, test: &Labelled) -> f64 {
    semisup::metrics::accuracy(&model.predict(test.x()), test.y())
}

/// Two halves of the test rows: each is judged by what the other has taught, the means of both are reported.
fn conformal(set: &Set, draw: u64) -> Outcome<Value> {
    let problem = set.draw(0.5, draw)?;
    let model = fit(&problem.train, draw)?;
    let flowgmm::Predictions { log_probs, log_conditional: logits, .. } = model.score(problem.test.x());
    let prior = model.gmm().mixture().values().log_prior;
    let raw = at_temperature(logits.view(), &prior, 1.0);
    let y = problem.test.y();
    let mut rows: Vec<usize> = (0..y.len()).collect();
    rows.shuffle(&mut semisup::rng(draw));
    let (one, other) = rows.split_at(rows.len() / 2);
    let pick = |from: &Array2<f64>, rows: &[usize]| from.select(Axis(0), rows);
    let truth = |rows: &[usize]| rows.iter().map(|&row| y[row]).collect::<Vec<usize>>();
    let mut halves = Vec::new();
    let mut calibrated = Array2::zeros(log_probs.dim());
    for (teach, judge) in [(one, other), (other, one)] {
        let learnt = Conformal::fit(pick(&log_probs, teach).view(), &truth(teach), 0.1);
        halves.push(coverage(&learnt.sets(pick(&log_probs, judge).view()), &truth(judge)));
        let t = fit_temperature_with(pick(&logits, teach).view(), &prior, &truth(teach));
        for (&row, p) in judge.iter().zip(at_temperature(pick(&logits, judge).view(), &prior, t).rows()) {
            calibrated.row_mut(row).assign(&p);
        }
    }
    let mean = |of: fn(&semisup::metrics::Coverage) -> f64| halves.iter().map(of).sum::<f64>() / 2.0;
    Ok(json!({
        "labels": problem.train.labelled().len(),
        "rows": y.len(),
        "accuracy": accuracy(&model, &problem.test),
        "coverage": mean(|half| half.coverage),
        "coverage_of_halves": halves.iter().map(|half| half.coverage).collect::<Vec<_>>(),
        "mean_size": mean(|half| half.mean_size),
        "empty": mean(|half| half.empty),
        "raw": CalibrationErrors::of(raw.view(), y),
        "fitted": CalibrationErrors::of(log_probs.view(), y),
        "calibrated": CalibrationErrors::of(calibrated.view(), y),
    }))
}

/// As many labels again, drawn or asked for, a few at a time; each time the model is fitted anew with nothing to choose, as
/// `fit` does.
fn chosen_against_drawn(set: &Set, draw: u64, rounds: usize) -> Outcome<Value> {
    let problem = set.draw(0.2, draw)?;
    let truth = truth_of(set, draw)?;
    let train = &problem.train;
    let count = train.labelled().len();
    let before = fit(train, draw)?;
    let first = accuracy(&before, &problem.test);
    let mut asked = with_labels(train, &truth, &[])?;
    let mut model = before;
    for round in 0..rounds {
        let (labelled, unlabelled) = (asked.labelled(), asked.unlabelled());
        let x = |rows: &[usize]| asked.x().select(Axis(0), rows);
        let more = count * (round + 1) / rounds - count * round / rounds;
        let chosen = label_next(&model, x(&unlabelled).view(), Some(x(&labelled).view()), more);
        let chosen: Vec<usize> = chosen.iter().map(|suggestion| unlabelled[suggestion.row]).collect();
        asked = with_labels(&asked, &truth, &chosen)?;
        model = fit(&asked, draw)?;
    }
    let mut drawn = train.unlabelled();
    drawn.shuffle(&mut semisup::rng(draw));
    drawn.truncate(count);
    let drawn = fit(&with_labels(train, &truth, &drawn)?, draw)?;
    Ok(json!({
        "labels": count,
        "rounds": rounds,
        "before": first,
        "asked": accuracy(&model, &problem.test),
        "drawn": accuracy(&drawn, &problem.test),
    }))
}

/// The same rows with the labels of some more.
fn with_labels(data: &SemiSupervised, truth: &[usize], rows: &[usize]) -> Outcome<SemiSupervised> {
    let mut y = data.y().to_vec();
    rows.iter().for_each(|&row| y[row] = Some(truth[row]));
    let more = SemiSupervised::new(data.x().to_owned(), y, data.classes().to_vec(), data.columns().to_vec())?;
    Ok(more.with_steps(data.steps().to_vec()))
}

/// The classes of all of a problem's training rows, found by their values.
fn truth_of(set: &Set, draw: u64) -> Outcome<Vec<usize>> {
    let problem = set.draw(0.2, draw)?;
    let key = |row: ndarray::ArrayView1<f64>| row.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let mut classes = std::collections::HashMap::new();
    for (row, &y) in set.all.x().rows().into_iter().zip(set.all.y()) {
        classes.insert(key(row), y);
    }
    problem
        .train
        .x()
        .rows()
        .into_iter()
        .map(|row| Ok(*classes.get(&key(row)).ok_or("a row of the table")?))
        .collect()
}

/// Scores learnt from training images, judged on test images and others.
fn out_of_domain(common: &Common, model: &Path, ours: &str, others: &[String]) -> Outcome<()> {
    let model = Model::load(model, &Place::cpu())?;
    let layout = model.rows().layout().ok_or("a model of images")?;
    let images = |set: &str, part: &str, n: usize| -> Outcome<Array2<f64>> {
        let path = common.data.join(format!("{set}/{part}-images-idx3-ubyte.gz"));
        let source = ImageSource::of(&path, None)?.ok_or("no images")?;
        let all = Collection::open(&path, source, &ReadOptions { labels: None, suffix: None })?;
        Ok(all.rows(layout, 0..n.min(all.n()))?)
    };
    let detector = OutOfDistributionDetector::fit(&model, images(ours, "train", 10_000)?.view());
    let own = detector.scores(&model, images(ours, "t10k", 10_000)?.view());
    let mut results = Vec::new();
    for other in others {
        let strange = detector.scores(&model, images(other, "t10k", 10_000)?.view());
        for ((score, ours), (_, strange)) in own.named().into_iter().zip(strange.named()) {
            let found = Detection::of(ours, strange);
            println!("{other}, {score}: AUROC {:.4}", found.auroc);
            results.push(json!({ "other": other, "score": score, "found": found }));
        }
    }
    write(&common.out, &results)
}
