//! Two models of MNIST, one fitted to 1,000 labelled images alone and one to all: how honest the first is before and
//! after sigma^2 is learnt (paper, section 6.1), and how near images are to the decision boundary of each (6.2).
//!
//!     cargo run --release --example images -- --labels 1000 --labelled-only --model labelled.flowgmm
//!     cargo run --release --example images -- --labels 1000 --model all.flowgmm
//!     cargo run --release --example insight_images -- labelled.flowgmm all.flowgmm \
//!         --out experiments/results/insight/mnist-1000.json
//!
//! sigma^2 is learnt from 1,000 training images that are not among the labelled ones, and measured on the test set.

use std::{error::Error, fs, path::PathBuf, process::ExitCode};

use clap::Parser;
use flowgmm::{Model, analysis::boundary, tensor::Place};
use flowgmm_datasets::{ImageSet, Store, StoreOptions, Subset};
use ndarray::Array2;
use rand::seq::SliceRandom;
use semisup::{
    Classifier,
    metrics::{CalibrationErrors, accuracy},
};
use serde_json::{Value, json};

/// Images that teach sigma^2, and those whose distance to the boundary is measured.
const VALIDATION: usize = 1000;
const MEASURED: usize = 10_000;
/// Distances to the boundary below which images are counted (in standard deviations of a class).
const NEAR: [f64; 7] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0];

#[derive(Parser)]
struct Arguments {
    /// The model of labelled images alone
    labelled: PathBuf,
    /// The model of all images
    all: PathBuf,
    /// Which set
    #[arg(long, default_value = "mnist")]
    data: String,
    /// Labelled images of both models; a split of this size must exist
    #[arg(long, default_value_t = 1000)]
    labels: usize,
    /// Which of the authors' splits
    #[arg(long, default_value_t = 0)]
    split: usize,
    /// Which images are held back
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where the result goes
    #[arg(long)]
    out: PathBuf,
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

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let store = Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)));
    let train = store.images(&arguments.data, Subset::Train)?;
    let test = store.images(&arguments.data, Subset::Test)?;
    let shown =
        store.label_splits(&arguments.data, arguments.labels, train.n)?.seed(arguments.split)?.to_vec();
    let mut others: Vec<usize> = (0..train.n).filter(|row| !shown.contains(row)).collect();
    others.shuffle(&mut semisup::rng(arguments.seed));
    let (validation, unlabelled) = others.split_at(VALIDATION);
    let validation = train.select(validation);
    let unlabelled = train.select(&unlabelled[..MEASURED.min(unlabelled.len())]);
    drop(train);
    let of = |path: &PathBuf| -> Result<Value, Box<dyn Error>> {
        let model = Model::load(path, &Place::cpu())?;
        Ok(json!({
            "labelled": model.provenance().n_labelled,
            "unlabelled": model.provenance().n_unlabelled,
            "seed": model.provenance().seed,
            "accuracy": accuracy(&model.predict(pixels(&test).view()), &truth(&test)),
            "boundary": near(&model, &unlabelled),
            "calibration": calibration(model, &validation, &test),
        }))
    };
    let (labelled, all) = (of(&arguments.labelled)?, of(&arguments.all)?);
    let result =
        json!({ "data": arguments.data, "split": arguments.split, "labelled_only": labelled, "all": all });
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&arguments.out, serde_json::to_string_pretty(&result)? + "\n")?;
    println!("{}", serde_json::to_string_pretty(&result)?);
    Ok(())
}

/// Honesty on test images: with sigma^2 = 1, as the model file has it, and learnt on the validation images.
fn calibration(model: Model, validation: &ImageSet, test: &ImageSet) -> Value {
    let (x, y) = (pixels(test), truth(test));
    let measured = |model: &Model| {
        json!({
            "temperature": model.temperature(),
            "measures": CalibrationErrors::of(model.log_probs(x.view()).view(), &y),
        })
    };
    let fitted = measured(&model);
    let model = model.at_temperature(1.0);
    let raw = measured(&model);
    let learnt = measured(&model.calibrated(pixels(validation).view(), &truth(validation)));
    json!({ "one": raw, "fitted": fitted, "learnt": learnt })
}

/// The share of images that are near the decision boundary; and half the mean distance of two means, which is how far
/// the middle of a class is from it.
fn near(model: &Model, images: &ImageSet) -> Value {
    let found = boundary(model.gmm(), model.preprocess().apply(pixels(images).view()).view());
    let nearer = |than: f64| found.iter().filter(|row| row.distance < than).count() as f64 / images.n as f64;
    let means = model.gmm().mixture().values().means;
    let pairs = (0..means.nrows()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let apart: Vec<f64> =
        pairs.map(|(a, b)| (&means.row(a) - &means.row(b)).mapv(|d| d * d).sum().sqrt() / 2.0).collect();
    json!({
        "middle_of_a_class": apart.iter().sum::<f64>() / apart.len() as f64,
        "nearer_than": NEAR.map(|than| json!([than, nearer(than)])),
    })
}

fn truth(set: &ImageSet) -> Vec<usize> {
    set.labels.iter().map(|&y| y.into()).collect()
}

fn pixels(set: &ImageSet) -> Array2<f64> {
    let values = set.images.iter().map(|&byte| f64::from(byte)).collect();
    Array2::from_shape_vec((set.n, set.dim()), values).expect("an image set has n x dim bytes")
}
