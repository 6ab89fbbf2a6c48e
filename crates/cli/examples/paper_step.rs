//! Steps of the paper's image model (19.6 million parameters) on MNIST: what one costs, and whether devices agree.
//!
//!     cargo run --release --example paper_step -- --time
//!     cargo run --release --features wgpu --example paper_step -- --devices cpu gpu-software --images 1 --identity
//!
//! The first prints the median time of a step of the paper's batches, 32 labelled and 32 unlabelled images, and the peak
//! of memory: experiments/paper_step_torch.py prints the same of PyTorch. The second takes the same few images through
//! the same steps on each device and compares the loss of every step; it fails where they differ by more than 1e-3.
//! `cpu-double` is the processor in double precision.
//!
//! From random weights the loss falls from 14,000 to 200 in twenty steps, so steeply that rounding decides where to: the
//! processor in single and in double precision part by 14% within six steps of two images. `--identity` starts from a flow
//! that does nothing yet, from which the two stay together to 1e-5 for twenty steps; only there can devices be compared.

use std::{error::Error, fs, process::ExitCode, time::Instant};

use clap::Parser;
use flowgmm::{
    DeviceName, FitConfig, Fitter, Observer,
    bijection::{ImageShape, Init},
    tensor::Place,
    train::Control,
};
use flowgmm_datasets::{Store, StoreOptions, Subset};
use ndarray::Array2;
use semisup::SemiSupervised;
use serde_json::json;

/// Of a loss, relative to 1 + |loss|.
const AGREE: f64 = 1e-3;

#[derive(Parser, Debug)]
struct Arguments {
    /// Time steps of the paper's batches.
    #[arg(long)]
    time: bool,
    /// Devices whose losses are compared; also cpu-double.
    #[arg(long, num_args = 1.., default_values = ["cpu"])]
    devices: Vec<String>,
    /// Start from the identity, not from random weights.
    #[arg(long)]
    identity: bool,
    /// Labelled images of a step whose loss is compared, and as many unlabelled ones.
    #[arg(long, default_value_t = 2)]
    images: usize,
    /// Optimiser steps.
    #[arg(long, default_value_t = 20)]
    steps: usize,
    /// Where to write what was found.
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let found = if arguments.time { time(arguments)? } else { compare(arguments)? };
    println!("{found}");
    if let Some(path) = &arguments.out {
        fs::write(path, serde_json::to_string_pretty(&found)? + "\n")?;
    }
    match found["apart"].as_f64() {
        Some(apart) if apart.is_nan() || apart > AGREE => Err(format!("losses differ by {apart:e}").into()),
        _ => Ok(()),
    }
}

/// Median milliseconds of a step and peak memory.
fn time(arguments: &Arguments) -> Result<serde_json::Value, Box<dyn Error>> {
    let data = data()?;
    let mut watch = run(&data, arguments, None, &arguments.devices[0])?;
    watch.steps.remove(0);
    watch.steps.sort_by(f64::total_cmp);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    Ok(json!({
        "engine": "flowgmm",
        "work": "paper-mnist",
        "ms": watch.steps[watch.steps.len() / 2],
        "min_ms": watch.steps[0],
        "peak_mb": peak.map(|kilobytes| kilobytes / 1024.0),
    }))
}

/// The loss of every step on every device.
fn compare(arguments: &Arguments) -> Result<serde_json::Value, Box<dyn Error>> {
    let data = data()?;
    let mut losses = Vec::new();
    for device in &arguments.devices {
        let watch = run(&data, arguments, Some(arguments.images), device)?;
        eprintln!(
            "{device}: {:.1} s a step",
            watch.steps.iter().sum::<f64>() / 1e3 / watch.steps.len() as f64
        );
        losses.push(watch.losses);
    }
    let apart = losses.iter().flat_map(|other| {
        other.iter().zip(&losses[0]).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).collect::<Vec<_>>()
    });
    let apart = apart.fold(0.0, |most: f64, apart| if apart.is_nan() { apart } else { most.max(apart) });
    Ok(json!({
        "work": "paper-mnist",
        "images": [arguments.images, arguments.images],
        "identity": arguments.identity,
        "devices": arguments.devices,
        "losses": losses,
        "apart": apart,
    }))
}

/// MNIST with the labels of the authors' split 0.
fn data() -> Result<SemiSupervised, Box<dyn Error>> {
    let store = Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)));
    let train = store.images("mnist", Subset::Train)?;
    let mut y = vec![None; train.n];
    for &row in store.label_splits("mnist", 1000, train.n)?.seed(0)? {
        y[row] = Some(train.labels[row].into());
    }
    let x = train.images.iter().map(|&byte| f64::from(byte)).collect();
    let x = Array2::from_shape_vec((train.n, train.dim()), x)?;
    let columns = (0..train.dim()).map(|at| format!("pixel{at}")).collect();
    Ok(SemiSupervised::new(x, y, train.classes.clone(), columns)?)
}

/// Trains for some steps; `batch` overrides the paper's.
fn run(
    data: &SemiSupervised,
    arguments: &Arguments,
    batch: Option<usize>,
    device: &str,
) -> Result<Watch, Box<dyn Error>> {
    let shape = ImageShape { channels: 1, height: 28, width: 28 };
    let mut config = FitConfig::paper_image(data, shape)?;
    if let Some(batch) = batch {
        (config.train.batch_labelled, config.train.batch_unlabelled) = (batch, batch);
    }
    if arguments.identity {
        config.architecture.init = Init::Identity;
    }
    config.train.steps = arguments.steps + 1;
    let place = match device {
        "cpu-double" => Place::cpu_f64(),
        name => Place::on(&name.parse::<DeviceName>()?)?,
    };
    let mut watch =
        Watch { last: Instant::now(), stop: arguments.steps, steps: Vec::new(), losses: Vec::new() };
    match Fitter::new(&config, data, 0).place(place).run(&mut watch) {
        Err(flowgmm::Error::Interrupted { .. }) => Ok(watch),
        Err(error) => Err(error.into()),
        Ok(_) => Err("the run ended before it was stopped".into()),
    }
}

/// Notes what happens, and stops in time: what follows the last step is not of interest here.
struct Watch {
    last: Instant,
    stop: usize,
    steps: Vec<f64>, // milliseconds
    losses: Vec<f64>,
}

impl Observer for Watch {
    fn loss(&mut self, loss: f64) {
        self.losses.push(loss);
    }

    fn progress(&mut self, step: usize) -> Control {
        self.steps.push(self.last.elapsed().as_secs_f64() * 1e3);
        self.last = Instant::now();
        eprintln!("step {step}: {:.0} ms", self.steps[self.steps.len() - 1]);
        if step >= self.stop { Control::Stop } else { Control::Continue }
    }
}
