//! `flowgmm demo`: what unlabelled rows are worth, on the paper's toy problems and on handwritten digits.

use std::{fs, path::PathBuf};

use flowgmm::demo::{self, Demo, ProblemName, Solved};
use serde_json::json;

use crate::{
    Global,
    exit::{Failure, Result},
    files::{Files, Kind},
    interrupt,
    output::{self, TableOutput, write_whole},
    progress::Progress,
    text,
};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Problems: moons, circles, eight-gaussians, pinwheel, digits [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<ProblemName>,
    /// Directory for the report and its figures
    #[arg(short, long, value_name = "DIR", default_value = "flowgmm-demo")]
    out: PathBuf,
    /// Seed of data, labels and fits
    #[arg(short, long, value_name = "N", default_value_t = 0, env = "FLOWGMM_SEED", hide_env = true)]
    seed: u64,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    fs::create_dir_all(&args.out).map_err(Failure::io(&args.out))?;
    let report = args.out.join("report.html");
    Files::new(global.force).writes("report", Some(&report), Kind::Page).check()?;
    interrupt::listen()?;
    let mut progress = Progress::new(global.quiet);
    let found = demo::run(&args.names, args.seed, global.threads(None), &mut progress);
    let found = found.map_err(|error| match error.kind() {
        flowgmm::ErrorKind::Cancelled => Failure::Interrupted("interrupted; no report was written".into()),
        _ => error.into(),
    })?;
    write(&found, args)?;
    drop(progress);
    if global.json {
        return output::print_json(&json!({
            "seed": found.seed,
            "seconds": found.seconds,
            "report": report.display().to_string(),
            "problems": found.problems,
        }));
    }
    let head = ["dataset", "labels", "unlabelled", "semi-supervised", "labelled only", "gain", "seconds"];
    let head = head.map(String::from).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(found.problems.iter().map(row)).collect();
    let table = text::columns(&rows);
    output::print(&format!("Test accuracy\n\n{table}\n{} shows the pictures.\n", text::path(&report)))
}

/// The page, its figures, and the rows as tables that can be tried with `fit`, `predict` and `evaluate`.
fn write(found: &Demo, args: &Args) -> Result<()> {
    for (name, content) in &found.files {
        write_whole(&args.out.join(name), content.as_bytes())?;
    }
    for (name, table) in &found.tables {
        let mut out = TableOutput::at(&args.out.join(name));
        out.write(table.clone())?;
        out.finish()?;
    }
    write_whole(&args.out.join("report.html"), found.page.to_html().as_bytes())
}

fn row(solved: &Solved) -> Vec<String> {
    vec![
        solved.dataset.name().to_string(),
        solved.labels.to_string(),
        solved.unlabelled.to_string(),
        text::percent(solved.semi_supervised.scores.accuracy),
        text::percent(solved.labelled_only.scores.accuracy),
        format!("{:+.1}", 100.0 * solved.gain),
        format!("{:.1}", solved.seconds()),
    ]
}
