//! `flowgmm paper`: the paper's tables and figures, ours beside theirs, and how each is made.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use flowgmm::datasets::{State, Store};
use flowgmm::insight::Feature;
use flowgmm_bench::paper::{
    Analysis, How, Item, Models, Moves, OurNumber, ShownCell, items, run_boundary, run_calibration,
    run_distances, run_domains, run_features, run_generation, run_interpolation, run_toys,
};
use serde_json::{Value, json};

use crate::{
    Global, bench,
    exit::{Failure, Result},
    interrupt, output,
    progress::Progress,
    text,
};

/// Seeds of the fits to toys.
const SEEDS: u64 = 5;
/// Sets of appendix F that a model is fitted to, and those that are strange to both.
const DOMAINS: [&str; 2] = ["mnist", "fashion-mnist"];
const STRANGE: &str = "notmnist";

/// Arguments of `paper`.
#[derive(clap::Args)]
pub struct Args {
    /// Table, figure or appendix, such as table1, figure2 or appendix-g [default: list all]
    item: Option<String>,
    /// Make the item anew, instead of reading the results there are
    #[arg(long, requires = "item")]
    run: bool,
    /// Directory of plans and results
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Directory of the data [default: FLOWGMM_DATA, else ../shared/data]
    #[arg(short, long, value_name = "DIR", env = "FLOWGMM_DATA", default_value = "../shared/data")]
    data: PathBuf,
    #[command(flatten)]
    images: ImageArgs,
}

/// Of items that look at models of images.
#[derive(clap::Args)]
#[command(next_help_heading = "Items about models of images")]
struct ImageArgs {
    /// Training steps of their models
    #[arg(long, value_name = "N", default_value = "1000", requires = "run")]
    steps: NonZeroUsize,
    /// Model file to take instead of fitting one; twice for figure4c, FlowGMM Sup first
    #[arg(long, value_name = "FILE", requires = "run")]
    model: Vec<PathBuf>,
    /// Set of images
    #[arg(long, value_name = "NAME", default_value = "mnist", requires = "run")]
    set: String,
    /// Unlabelled images whose distance to the boundary is measured (figure4c)
    #[arg(long, value_name = "N", default_value = "10000", requires = "run")]
    rows: NonZeroUsize,
    /// Test images to be joined, counted from 0 (figure4ab) [default: the first of some classes]
    #[arg(long, value_name = "A:B", value_delimiter = ',', value_parser = pair, requires = "run")]
    pairs: Vec<[usize; 2]>,
    /// Test images to be changed, counted from 0 (figure4d)
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0,1,2,3", requires = "run")]
    images: Vec<usize>,
    /// Layer whose activations are moved, from 1 (figure4d)
    #[arg(long, value_name = "N", default_value_t = 3, requires = "run")]
    layer: usize,
    /// Channel of that layer, from 0 (figure4d)
    #[arg(long, value_name = "N", default_value_t = 0, requires = "run")]
    channel: usize,
    /// Row and column of the place in that layer, from 0 (figure4d) [default: everywhere]
    #[arg(long, value_name = "ROW:COLUMN", value_parser = pair, requires = "run")]
    place: Option<[usize; 2]>,
    /// Standard deviations of the channel by which it is moved (figure4d)
    #[arg(
        long,
        value_name = "ALPHA",
        value_delimiter = ',',
        default_value = "-4,-2,2,4",
        allow_negative_numbers = true,
        requires = "run"
    )]
    alphas: Vec<f64>,
}

/// Two numbers with a colon between them.
fn pair(text: &str) -> std::result::Result<[usize; 2], String> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let both = text.split_once(':').and_then(|(a, b)| Some([number(a)?, number(b)?]));
    both.ok_or_else(|| format!("'{text}' is not two numbers with a colon between them, such as 3:8"))
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let all = items();
    let Some(name) = &args.item else { return list(&all, args, global) };
    let item = all.iter().find(|item| item.id == name).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|item| item.id).collect();
        Failure::Usage(format!("the paper has no '{name}' here; it has {}", known.join(", ")))
    })?;
    if !args.experiments.is_dir() {
        return Err(Failure::Usage(format!(
            "{} is not there: it comes with the source of flowgmm; name it with --experiments",
            text::path(&args.experiments)
        )));
    }
    if args.run {
        make(item, args, global)?;
    }
    show(item, args, global)
}

fn list(all: &[Item], args: &Args, global: &Global) -> Result<()> {
    let store = Store::offline(&args.data);
    let absent = |item: &Item| -> Vec<String> {
        let there = |name: &&str| {
            let files = store.check(name).unwrap_or_default();
            files.iter().any(|file| !matches!(file.state, State::Absent(_)))
        };
        item.data.iter().filter(|name| !there(name)).map(|name| name.to_string()).collect()
    };
    if global.json {
        let describe = |item: &Item| {
            json!({"item": item.id, "title": item.title, "commands": item.commands(), "cost": item.cost,
                "data": item.data, "absent": absent(item)})
        };
        return output::print_json(&Value::Array(all.iter().map(describe).collect()));
    }
    let mut said = String::new();
    for item in all {
        said += &format!("{:<12} {}\n", item.id, item.title);
        for command in item.commands() {
            said += &format!("             {command}\n");
        }
        said += &format!("             cost: {}\n", item.cost);
        match absent(item) {
            none if none.is_empty() => {}
            absent => said += &format!("             absent: {}\n", absent.join(", ")),
        }
    }
    output::print(&said)
}

/// Makes an item anew.
fn make(item: &Item, args: &Args, global: &Global) -> Result<()> {
    let directory = args.experiments.join("results").join("paper");
    match item.how {
        How::Plans(plans) => plans.iter().try_for_each(|plan| {
            let plan = args.experiments.join(format!("{plan}.toml"));
            bench::run(&bench::Args::of_plan(plan, args.data.clone()), global)
        }),
        How::Toys(toys) => {
            interrupt::listen()?;
            let mut progress = Progress::new(global.quiet);
            let threads = global.threads(None);
            let found = run_toys(toys, SEEDS, threads, &directory, &mut progress);
            found.map(drop).map_err(bench::failure)
        }
        How::Images(analysis) => {
            interrupt::listen()?;
            look(analysis, &directory, args, global).map_err(bench::failure)
        }
        How::Distances => run_distances(item.id, &directory).map(drop).map_err(bench::failure),
        How::Commands(_) => Err(Failure::Usage(format!(
            "{} is made by these commands:\n  {}",
            item.id,
            item.commands().join("\n  ")
        ))),
    }
}

/// Looks at models of images.
fn look(analysis: Analysis, directory: &Path, args: &Args, global: &Global) -> flowgmm_bench::Result<()> {
    let ImageArgs { steps, model, set, rows, pairs, images, layer, channel, place, alphas } = &args.images;
    let mut progress = Progress::new(global.quiet);
    let mut models = Models {
        store: Store::offline(&args.data),
        directory: args.experiments.join("models"),
        steps: steps.get(),
        given: model.clone(),
        observer: &mut progress,
    };
    let found = match analysis {
        Analysis::Calibration => run_calibration(set, &mut models, directory),
        Analysis::Interpolation => run_interpolation(set, pairs, &mut models, directory),
        Analysis::Boundary => run_boundary(set, rows.get(), &mut models, directory),
        Analysis::Features => {
            let place = place.map(|[row, column]| (row, column));
            let feature = Feature { layer: *layer, channel: *channel, place };
            let moves = Moves { feature, alphas: alphas.clone(), images: images.clone() };
            run_features(set, &moves, &mut models, directory)
        }
        Analysis::Domains => {
            let [digits, clothes] = DOMAINS;
            run_domains(digits, &[clothes, STRANGE], &mut models, directory)?;
            run_domains(clothes, &[digits, STRANGE], &mut models, directory)
        }
        Analysis::Generation => run_generation(set, &mut models, directory),
    };
    found.map(drop)
}

fn show(item: &Item, args: &Args, global: &Global) -> Result<()> {
    let cells = item.ours(&args.experiments);
    if global.json {
        return output::print_json(
            &json!({"item": item.id, "title": item.title, "commands": item.commands(),
            "cost": item.cost, "cells": cells}),
        );
    }
    let head = ["", "data", "paper", "ours"].map(String::from).to_vec();
    let rows = cells.iter().map(|cell| {
        let theirs = cell.theirs.map_or("-".into(), |theirs| format!("{theirs:.*}", cell.digits));
        vec![cell.row.to_string(), cell.column.to_string(), theirs, ours(cell)]
    });
    let mut said = format!("{}\n\n", item.title);
    if cells.is_empty() {
        said += "The paper shows pictures and no numbers.\n";
    } else {
        said += &text::left_columns(&[head].into_iter().chain(rows).collect::<Vec<_>>());
    }
    said += &format!("\nmade by: {}\ncost: {}\n", item.commands().join("\n         "), item.cost);
    output::print(&said)
}

/// `84.8 ± 0.5 (5 runs), best by validation 85.3`, or why there is no number.
fn ours(cell: &ShownCell) -> String {
    let digits = cell.digits;
    match &cell.ours {
        Err(why) => format!("({why})"),
        Ok(OurNumber { mean, sd, draws, best_by_validation }) => {
            let mut said = format!("{mean:.digits$}");
            if let Some(sd) = sd {
                said += &format!(" ± {sd:.digits$} ({draws} runs)");
            }
            if let Some(best) = best_by_validation {
                said += &format!(", best by validation {best:.digits$}");
            }
            said
        }
    }
}
