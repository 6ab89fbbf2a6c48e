//! `flowgmm bench`: learners against each other on equal splits, by a plan.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use flowgmm::Control;

use flowgmm_bench::{
    Absent, DataDirectory, FailedCells, Outcome, Plan, Record, Registry, RunEvent, RunOptions, Summary,
    accuracy_table, in_plan_order, read_records, run as run_plan, suite_tables, update_file, write_outputs,
};

use crate::{
    Global,
    exit::{Failure, Result},
    files::same_file,
    interrupt, output, text,
};

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Plan: a TOML file of datasets, labels, learners and draws
    plan: PathBuf,
    /// Datasets of the plan to run [default: all]
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Directory of results and tables [default: beside the plan, results/PLAN]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory of the data [default: FLOWGMM_DATA, else ../shared/data]
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "FLOWGMM_DATA",
        hide_env = true,
        default_value = "../shared/data",
        hide_default_value = true
    )]
    data: PathBuf,
    /// Leave out datasets that are not there, instead of failing
    #[arg(long)]
    skip_absent: bool,
    /// Run nothing: make the tables from the results there are
    #[arg(long)]
    tables: bool,
    /// Run cells again that failed
    #[arg(long)]
    retry: bool,
    /// Cells that run at once, each on its share of the threads
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// Markdown file whose block `<!-- table:PLAN -->` is replaced by the table
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
}

impl Args {
    /// All of a plan, one cell after the other, into the results beside it; datasets that are not there are left out.
    pub fn of_plan(plan: PathBuf, data: PathBuf) -> Self {
        Self {
            plan,
            data,
            only: Vec::new(),
            out: None,
            skip_absent: true,
            tables: false,
            retry: false,
            jobs: NonZeroUsize::MIN,
            update: None,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    if let Some(update) = args.update.as_ref().filter(|update| same_file(update, &args.plan)) {
        return Err(Failure::Usage(format!(
            "--update {} is the plan itself; name the page",
            text::path(update)
        )));
    }
    interrupt::listen()?;
    let registry = flowgmm_bench::registry();
    let plan = Plan::read(&args.plan).and_then(|plan| plan.only(&args.only));
    let plan =
        plan.and_then(|plan| plan.check(&registry).map(|()| plan)).map_err(|error| match failure(error) {
            Failure::Usage(what) | Failure::Data(what) => {
                Failure::Usage(format!("plan {}: {what}", text::path(&args.plan)))
            }
            other => other,
        })?;
    let name = args.plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let beside = || args.plan.with_file_name("results").join(&name);
    let out = args.out.clone().unwrap_or_else(beside);
    fs::create_dir_all(&out).map_err(Failure::io(&out))?;
    let results = out.join("results.jsonl");
    if !args.tables {
        compete(args, global, &plan, &registry, &results)?;
    }
    let whole = Plan::read(&args.plan).map_err(failure)?;
    let records = read_records(&results).map_err(failure)?;
    write_outputs(&whole, &records, &out).map_err(failure)?;
    let summary = Summary::new(&whole, &records);
    if args.tables && summary.rows.is_empty() {
        return Err(Failure::Data(format!(
            "{} has no results of this plan: run it without --tables",
            text::path(&results)
        )));
    }
    let table = accuracy_table(&summary).trim_end().to_string() + "\n";
    if let Some(file) = &args.update {
        update_file(file, &name, &table).map_err(failure)?;
    }
    match global.json {
        true => output::print(&flowgmm_bench::json(&whole, &summary, &in_plan_order(&whole, &records))),
        false => match suite_tables(&summary.suite) {
            suite if suite.is_empty() => output::print(&table),
            suite => output::print(&format!("{table}\n{suite}")),
        },
    }
}

/// Runs what is not done yet.
fn compete(args: &Args, global: &Global, plan: &Plan, registry: &Registry, results: &Path) -> Result<()> {
    let failed = if args.retry { FailedCells::Retry } else { FailedCells::Keep };
    let absent = if args.skip_absent { Absent::Skip } else { Absent::Error };
    let version = concat!("flowgmm ", env!("CARGO_PKG_VERSION")).to_string();
    let options = RunOptions { failed, absent, jobs: args.jobs, version };
    let mut loader = DataDirectory::new(&args.data);
    let report = run_plan(plan, registry, results, &mut loader, &options, &mut |event| {
        if !global.quiet {
            tell(&event);
        }
        if interrupt::wanted() { Control::Stop } else { Control::Continue }
    });
    let report = report.map_err(failure)?;
    if report.cancelled {
        let message = format!(
            "interrupted; finished cells are in {}. The same command goes on from there",
            results.display()
        );
        return Err(Failure::Interrupted(message));
    }
    Ok(())
}

fn tell(event: &RunEvent) {
    match event {
        RunEvent::Finished(record) => output::say(&line(record)),
        RunEvent::Skipped(skipped) => output::say(&format!("skipped: {}: {}", skipped.dataset, skipped.why)),
        RunEvent::Loading(_) | RunEvent::Started { .. } | RunEvent::Fitting { .. } => {}
    }
}

fn line(record: &Record) -> String {
    let outcome = match &record.outcome {
        Outcome::Scored(scores) => text::percent(scores.accuracy),
        Outcome::Failed(why) => format!("failed: {why}"),
    };
    let cell = &record.cell;
    let unknown = match record.classes_without_label {
        0 => String::new(),
        1 => ", 1 class without a label".into(),
        n => format!(", {n} classes without a label"),
    };
    let (dataset, labels, draw, learner) = (&cell.dataset, &cell.labels, cell.draw, &cell.learner);
    format!("{dataset} ({labels}) draw {draw} {learner}: {outcome} in {:.1} s{unknown}", record.seconds())
}

/// The failure with this program's exit code.
pub fn failure(error: flowgmm_bench::Error) -> Failure {
    match error {
        flowgmm_bench::Error::Io { path, source } => Failure::Io { path, source },
        flowgmm_bench::Error::Rows(error) => error.into(),
        other if other.kind() == flowgmm::ErrorKind::Request => Failure::Usage(other.to_string()),
        other => Failure::Data(other.to_string()),
    }
}
