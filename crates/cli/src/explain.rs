//! `flowgmm explain`: one page about what a model does with rows, and how far each prediction can be trusted.

use std::path::PathBuf;

use flowgmm::{ExplainRequest, Explanation};
use serde_json::json;

use crate::{
    Global, OnDevice,
    exit::{Failure, Result},
    files::{Files, Kind},
    interrupt, output,
    progress::Progress,
    reading::{ReadingArgs, Truth},
    text,
};

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, or images; best rows it was not fitted to, some with labels
    file: PathBuf,
    #[command(flatten)]
    truth: Truth,
    /// Rows from elsewhere: how well can the model tell them from its own?
    #[arg(long, value_name = "PATH", alias = "out-of-domain", help_heading = "More rows")]
    out_of_distribution: Option<PathBuf>,
    /// Rows without labels to choose from: which should be labelled next?
    #[arg(long, value_name = "PATH", help_heading = "More rows")]
    unlabelled: Option<PathBuf>,
    /// Page to write; with --json the findings go to standard output as well
    #[arg(short, long, value_name = "PAGE.html", default_value = "explain.html", help_heading = "Output")]
    out: PathBuf,
    /// Most rows looked at; of more, a random sample is taken [default: 10000, of images 2000]
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Share of rows whose prediction set may miss the true class
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    alpha: f64,
    /// Seed of samples, splits and draws
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    if !(args.alpha > 0.0 && args.alpha < 1.0) {
        return Err(Failure::Usage(format!("--alpha is a share between 0 and 1, got {}", args.alpha)));
    }
    if args.rows == Some(0) {
        return Err(Failure::Usage("--rows must be at least 1".into()));
    }
    Files::new(global.force)
        .reads("MODEL", [&args.model])
        .reads("FILE", [&args.file])
        .reads("--labels", &args.truth.labels)
        .reads("--out-of-distribution", &args.out_of_distribution)
        .reads("--unlabelled", &args.unlabelled)
        .writes("--out", Some(&args.out), Kind::Page)
        .check()?;
    interrupt::listen()?;
    let model = args.device.load(&args.model, Some(&args.file))?;
    let other = |path: &Option<PathBuf>| path.as_ref().map(|path| args.reading.source(path));
    let request = ExplainRequest {
        out_of_distribution: other(&args.out_of_distribution),
        unlabelled: other(&args.unlabelled),
        rows: args.rows,
        alpha: args.alpha,
        seed: args.seed,
        ..ExplainRequest::new(args.truth.of(args.reading.source(&args.file)))
    };
    let mut progress = Progress::new(global.quiet);
    let found = flowgmm::explain(&model, &request, &mut progress).map_err(|error| match error.kind() {
        flowgmm::ErrorKind::Cancelled => Failure::Interrupted("interrupted; no page was written".into()),
        _ => error.into(),
    })?;
    drop(progress);
    output::warn(&found.warnings);
    let name = args.model.display().to_string();
    let mut to_write = found.to_page();
    to_write.footer += &format!(" Model: {name}.");
    output::write_whole(&args.out, to_write.to_html().as_bytes())?;
    let page = args.out.display().to_string();
    if global.json {
        let mut object = serde_json::to_value(&found).expect("plain data");
        object["model"] = json!(name);
        object["page"] = json!(page);
        return output::print_json(&object);
    }
    if global.quiet {
        return Ok(());
    }
    output::print(&text::facts(&facts(&found, page)))
}

fn facts(found: &Explanation, page: String) -> Vec<(&'static str, String)> {
    let mut facts = vec![("data", found.described())];
    if let Some(calibration) = &found.calibration {
        facts.push(("accuracy", text::percent(calibration.accuracy)));
        let ece = format!(
            "{:.4} -> {:.4} (temperature {:.3})",
            calibration.as_stored.ece[1].equal_width,
            calibration.calibrated.ece[1].equal_width,
            calibration.temperature_learnt
        );
        facts.push(("calibration error (ECE)", ece));
    }
    if let Some(sets) = &found.prediction_sets {
        let (share, size) = (text::percent(sets.measured.coverage), sets.measured.mean_size);
        facts
            .push(("prediction sets", format!("{share} contain the true class, {size:.2} classes in a set")));
    }
    if let Some(detection) = &found.out_of_distribution {
        let best = format!("AUROC {:.4} by {}", detection.best_auroc, detection.best_score);
        facts.push(("out of distribution", best));
    }
    facts.push(("page", page));
    facts
}
