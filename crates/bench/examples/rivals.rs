//! A plan's rivals on gzipped CSV files with the label last: how a program binds this crate, and a quick look at how
//! rivals fare where FlowGMM itself is not at hand.
//!
//!     cargo run --release -p flowgmm-bench --example rivals -- PLAN.toml DATA_DIRECTORY OUT_DIRECTORY [DATASET...]
//!
//! Learners that only the `flowgmm` program knows are left out.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flowgmm_bench::{
    AnyError, Dataset, Failed, Loaded, Options, Outcome, Plan, Progress, Registry, read_records, run,
    write_outputs,
};
use semisup::Labelled;
use semisup::ndarray::Array2;

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let mut path = || arguments.next().map(PathBuf::from).ok_or("PLAN DATA OUT [DATASET...]");
    let (plan, data, out) = (path()?, path()?, path()?);
    let registry = Registry::rivals();
    let mut plan = Plan::read(&plan)?.only(&arguments.collect::<Vec<_>>())?;
    plan.learners.retain(|name| registry.get(name).is_some());
    plan.ours.clear();
    std::fs::create_dir_all(&out)?;
    let results = out.join("results.jsonl");
    let options =
        Options { cancel: &AtomicBool::new(false), failed: Failed::Keep, version: "example".into() };
    let report = run(&plan, &registry, &results, &mut |dataset| load(&data, dataset), &options, &mut tell)?;
    println!("{} cells ran, {} of them failed", report.ran, report.failed);
    for file in write_outputs(&plan, &read_records(&results)?, &out)? {
        println!("{}", file.display());
    }
    Ok(())
}

fn tell(event: Progress) {
    match event {
        Progress::Finished(record) => {
            let cell = &record.cell;
            let outcome = match &record.outcome {
                Outcome::Scored(scores) => format!("{:.1}%", 100. * scores.accuracy),
                Outcome::Failed(why) => why.clone(),
            };
            println!(
                "{}, {} draw {}: {outcome} in {:.1} s",
                cell.dataset,
                cell.learner,
                cell.draw,
                record.seconds()
            );
        }
        Progress::Skipped(skipped) => println!("skipped: {}: {}", skipped.dataset, skipped.why),
        Progress::Loading(_) | Progress::Started { .. } => {}
    }
}

fn load(data: &Path, dataset: &Dataset) -> Result<Option<Loaded>, AnyError> {
    let path = data.join(&dataset.file);
    if !path.exists() {
        return Ok(None);
    }
    if path.extension().is_none_or(|ending| ending != "gz") {
        return Err("this example reads gzipped CSV only".into());
    }
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(&path)?).read_to_string(&mut text)?;
    let skip = usize::from(dataset.options.get("header").is_some_and(|header| header == "present"));
    let (mut x, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(skip) {
        let (row, label) = line.rsplit_once(',').ok_or("a line without a comma")?;
        for cell in row.split(',') {
            x.push(cell.trim().parse::<f64>()?);
        }
        names.push(label.trim());
    }
    let mut classes: BTreeMap<&str, usize> = names.iter().map(|name| (*name, 0)).collect();
    classes.values_mut().zip(0..).for_each(|(place, k)| *place = k);
    let y = names.iter().map(|name| classes[name]).collect();
    let x = Array2::from_shape_vec((names.len(), x.len() / names.len().max(1)), x)?;
    let columns = (1..=x.ncols()).map(|j| format!("column {j}")).collect();
    let all = Labelled::new(x, y, classes.keys().map(|name| name.to_string()).collect(), columns)?;
    Ok(Some(Loaded { all, test: None, splits: Vec::new() }))
}
