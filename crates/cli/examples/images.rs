//! FlowGMM on MNIST (or another set of images) with the labels that the paper's authors drew.
//!
//!     cargo run --release --example images -- --labels 1000 --out experiments/results/images/mnist-1000.json
//!
//! Progress goes to stderr: steps a second, loss, accuracy on the labelled images. At the end the test set is scored
//! once: accuracy, bits per pixel. `--held-out` measures on labelled images that training does not see instead, and
//! `--unseen-labels` on unlabelled training images, which is how settings are compared.

use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;
use flowgmm::data::ImageLayout;
use flowgmm::{
    FitConfig, Fitter, Means, Model, Observer, Rows,
    analysis::boundary,
    bijection::ImageShape,
    bits_per_dim, dequantised,
    objective::Agreement,
    tensor::Place,
    train::{Control, EpochRecord, ImageViews, Refine},
};
use flowgmm_datasets::{ImageSet, Store, StoreOptions, Subset};
use ndarray::Array2;
use semisup::{Classifier, SemiSupervised, metrics::accuracy};
use serde_json::json;

#[derive(Parser, Debug)]
struct Arguments {
    /// Which set: mnist, fashion-mnist, cifar10, ..
    #[arg(long, default_value = "mnist")]
    data: String,
    /// Labelled images; a split of this size must exist.
    #[arg(long, default_value_t = 1000)]
    labels: usize,
    /// Which of the authors' splits.
    #[arg(long, default_value_t = 0)]
    split: usize,
    /// Optimiser steps, if not the preset's.
    #[arg(long)]
    steps: Option<usize>,
    /// Seed of the run.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Leave out the unlabelled images.
    #[arg(long)]
    labelled_only: bool,
    /// Leave out the consistency of two views.
    #[arg(long)]
    no_consistency: bool,
    /// The paper's model instead of the one for CPUs.
    #[arg(long)]
    paper: bool,
    /// Keep every so many-th labelled image back, and measure on those instead of the test set.
    #[arg(long)]
    held_out: Option<usize>,
    /// Measure on so many unlabelled training images instead of the test set.
    #[arg(long, conflicts_with = "held_out")]
    unseen_labels: Option<usize>,
    /// Temperature of the discriminative terms.
    #[arg(long)]
    temperature: Option<f64>,
    /// Spread of the random means.
    #[arg(long)]
    means: Option<f64>,
    /// How sure the other view must be to count.
    #[arg(long)]
    confidence: Option<f64>,
    /// Refinement: first decisions, every, views at rest, as fractions of training; 1 1 1 is none.
    #[arg(long, num_args = 3, value_names = ["FROM", "EVERY", "REST"])]
    refine: Option<Vec<f64>>,
    /// Views: shift, rotation in degrees, scale, shear, erased square.
    #[arg(long, num_args = 5, value_names = ["PIXELS", "DEGREES", "SCALE", "SHEAR", "SIDE"])]
    views: Option<Vec<f64>>,
    /// Weight of consistency.
    #[arg(long)]
    consistency: Option<f64>,
    /// Images of a step: labelled and unlabelled.
    #[arg(long, num_args = 2)]
    batch: Option<Vec<usize>>,
    /// Highest learning rate.
    #[arg(long)]
    rate: Option<f64>,
    /// Decay of the moving average.
    #[arg(long)]
    ema: Option<f64>,
    /// Where to write the results.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Where to write the model.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Score this model instead of fitting one.
    #[arg(long)]
    evaluate: Option<PathBuf>,
}

fn main() -> ExitCode {
    match measure(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

// More than 60 lines: a third of it is the record that is written.
fn measure(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)));
    let train = store.images(&arguments.data, Subset::Train)?;
    let labelled =
        store.label_splits(&arguments.data, arguments.labels, train.n)?.seed(arguments.split)?.to_vec();
    let (held, shown) = held_out(labelled, arguments.held_out);
    let test = match (arguments.held_out, arguments.unseen_labels) {
        (Some(_), _) => train.select(&held),
        (None, None) => store.images(&arguments.data, Subset::Test)?,
        (None, Some(n)) => {
            let hidden: Vec<usize> = (0..train.n).filter(|row| !shown.contains(row)).take(n).collect();
            train.select(&hidden)
        }
    };
    let shape = ImageShape { channels: train.channels, height: train.height, width: train.width };
    let layout = ImageLayout { channels: train.channels, height: train.height, width: train.width };
    let data = problem(&train, &shown, &held, arguments.labelled_only)?;
    drop(train);
    let config = configuration(&arguments, &data, shape)?;
    let start = Instant::now();
    let mut watch = Watch { start, last: start, steps: 0, total: config.train.steps };
    let model = match &arguments.evaluate {
        None => Fitter::new(&config, &data, arguments.seed).rows(Rows::Images { layout }).run(&mut watch)?,
        Some(path) => Model::load(path, &Place::cpu())?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let scored = Instant::now();
    let x = pixels(&test);
    let predicted = model.predict(x.view());
    let truth: Vec<usize> = test.labels.iter().map(|&y| y.into()).collect();
    let noisy = dequantised(x.view(), &mut semisup::rng(arguments.seed));
    let right = accuracy(&predicted, &truth);
    let bits = bits_per_dim(&model.score(noisy.view()).log_marginal, shape.dim());
    let distances = boundary(model.gmm(), model.preprocess().apply(x.view()).view());
    let near = distances.iter().filter(|row| row.distance < 5.0).count();
    let result = json!({
        "command": command(),
        "version": env!("CARGO_PKG_VERSION"),
        "data": arguments.data,
        "labels": shown.len(),
        "unlabelled": data.unlabelled().len(),
        "split": arguments.split,
        "seed": arguments.seed,
        "measured_on": match (arguments.held_out, arguments.unseen_labels) {
            (Some(_), _) => "held-out labelled images",
            (None, Some(_)) => "unlabelled training images",
            (None, None) => "test set",
        },
        "nearer_than_5_to_the_boundary": near as f64 / test.n as f64,
        "images": test.n,
        "accuracy": right,
        "errors": ((1.0 - right) * test.n as f64).round(),
        "bits_per_dim": bits,
        "steps": config.train.steps,
        "steps_per_second": watch.steps as f64 / watch.trained(),
        "seconds": seconds,
        "scoring_seconds": scored.elapsed().as_secs_f64(),
        "threads": rayon::current_num_threads(),
        "parameters": model.gmm().spec().flow.n_parameters(),
        "rollbacks": model.provenance().rollbacks,
        "certificate": model.provenance().certificate,
        "config": config,
    });
    report(&arguments, &model, &result)
}

/// Labelled rows that are measured on, one in `every` if any, and those that are shown.
fn held_out(labelled: Vec<usize>, every: Option<usize>) -> (Vec<usize>, Vec<usize>) {
    let Some(every) = every else { return (Vec::new(), labelled) };
    let (held, shown): (Vec<_>, Vec<_>) = labelled.into_iter().enumerate().partition(|(i, _)| i % every == 0);
    let rows = |pairs: Vec<(usize, usize)>| pairs.into_iter().map(|(_, row)| row).collect();
    (rows(held), rows(shown))
}

/// The arguments, but for those that say where files are.
fn command() -> String {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    for place in ["--out", "--model", "--evaluate"] {
        if let Some(at) = arguments.iter().position(|argument| argument == place) {
            arguments.drain(at..(at + 2).min(arguments.len()));
        }
    }
    arguments.join(" ")
}

/// Prints and stores what was found.
fn report(
    arguments: &Arguments,
    model: &Model,
    result: &serde_json::Value,
) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{}: accuracy {:.4} on {} images ({}), {:.1}% near the boundary, {:.3} bits/dim, {:.0} s, {:.2} steps/s",
        arguments.data,
        result["accuracy"].as_f64().unwrap_or(f64::NAN),
        result["images"],
        result["measured_on"].as_str().unwrap_or_default(),
        100.0 * result["nearer_than_5_to_the_boundary"].as_f64().unwrap_or(f64::NAN),
        result["bits_per_dim"].as_f64().unwrap_or(f64::NAN),
        result["seconds"].as_f64().unwrap_or(f64::NAN),
        result["steps_per_second"].as_f64().unwrap_or(f64::NAN),
    );
    if let Some(path) = &arguments.out {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, serde_json::to_string_pretty(result)? + "\n")?;
    }
    if let Some(path) = &arguments.model {
        model.save(path)?;
    }
    Ok(())
}

/// The images as rows of pixel values, with the labels that are shown.
fn problem(
    train: &ImageSet,
    shown: &[usize],
    held: &[usize],
    labelled_only: bool,
) -> semisup::Result<SemiSupervised> {
    let mut y = vec![None; train.n];
    shown.iter().for_each(|&row| y[row] = Some(train.labels[row].into()));
    let columns = (0..train.dim()).map(|at| format!("pixel{at}")).collect();
    let data = SemiSupervised::new(pixels(train), y, train.classes.clone(), columns)?;
    if labelled_only {
        return Ok(data.labelled_only());
    }
    let rows: Vec<usize> = (0..train.n).filter(|row| !held.contains(row)).collect();
    if held.is_empty() { Ok(data) } else { data.select(&rows) }
}

fn pixels(set: &ImageSet) -> Array2<f64> {
    let values = set.images.iter().map(|&byte| f64::from(byte)).collect();
    Array2::from_shape_vec((set.n, set.dim()), values).expect("an image set has n x dim bytes")
}

fn configuration(
    arguments: &Arguments,
    data: &SemiSupervised,
    shape: ImageShape,
) -> flowgmm::Result<FitConfig> {
    let mut config =
        if arguments.paper { FitConfig::paper_image(data, shape)? } else { FitConfig::image(data, shape)? };
    if let Some(r) = arguments.means {
        config.architecture.means = Means::Random { r };
    }
    let train = &mut config.train;
    train.steps = arguments.steps.unwrap_or(train.steps);
    if let Some([shift, rotate, scale, shear, erase]) = arguments.views.as_deref() {
        let flip = train.views.is_some_and(|views| views.flip);
        let (rotate, scale, shear) = (*rotate, *scale, *shear);
        train.views = Some(ImageViews {
            shape,
            shift: *shift as usize,
            flip,
            rotate,
            scale,
            shear,
            erase: *erase as usize,
        });
    }
    if let Some(consistency) = &mut train.objective.consistency {
        consistency.weight = arguments.consistency.unwrap_or(consistency.weight);
        if let Some(confidence) = arguments.confidence {
            consistency.agreement = Agreement::CrossEntropy { confidence };
        }
    }
    if let Some([from, every, rest]) = arguments.refine.as_deref() {
        train.refine = Some(Refine { from: *from, every: *every, rest: *rest });
    }
    train.objective.temperature = arguments.temperature.unwrap_or(train.objective.temperature);
    if let Some([labelled, unlabelled]) = arguments.batch.as_deref() {
        (train.batch_labelled, train.batch_unlabelled) = (*labelled, *unlabelled);
    }
    train.schedule.peak = arguments.rate.unwrap_or(train.schedule.peak);
    train.ema = arguments.ema.or(train.ema);
    if arguments.no_consistency {
        train.objective.consistency = None;
    }
    Ok(config)
}

/// Progress on stderr.
struct Watch {
    start: Instant,
    last: Instant,
    steps: usize,
    total: usize,
}

impl Watch {
    /// Seconds from the first step to the last.
    fn trained(&self) -> f64 {
        (self.last - self.start).as_secs_f64().max(1e-9)
    }
}

impl Observer for Watch {
    fn epoch(&mut self, record: &EpochRecord) {
        eprintln!("{:6.0} s  step {}/{}  {record:?}", self.trained(), self.steps, self.total);
    }

    fn progress(&mut self, step: usize) -> Control {
        if self.steps == 0 {
            self.start = Instant::now(); // reading and preparing are not training
        }
        self.steps = step;
        self.last = Instant::now();
        if step.is_multiple_of(100) {
            eprintln!(
                "{:6.0} s  step {step}/{}  {:.2} steps/s",
                self.trained(),
                self.total,
                step as f64 / self.trained()
            );
        }
        Control::Continue
    }
}
