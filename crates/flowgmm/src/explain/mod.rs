//! `flowgmm explain`: one page about what a model does with rows, and how far each prediction can be trusted.
//!
//! ```text
//! model, rows (all or a seeded sample) ─Seen→ z, probabilities, log p, boundary, typicality
//!   ─Judged→ temperature and conformal threshold, each half of the labelled rows judged by the other
//!   ─one module per section→ Page, JSON
//! ```
//!
//! Labels are not needed; sections that could say more with them say what to give.

mod boundary;
mod calibration;
mod cards;
mod counterfactuals;
mod domain;
mod features;
mod judged;
mod map;
mod next;
mod paths;
mod rows;
mod samples;
mod sets;
mod show;

use std::{path::PathBuf, time::Instant};

use flowgmm::{Model, Scores, analysis};
use flowgmm_report::{Page, Section, Tile};
use semisup::{Classifier, metrics::arg_max, ndarray::Array2};
use serde_json::{Value, json};

use crate::{
    OnDevice, Threads,
    exit::{Failure, Result},
    fit_report::percent,
    input::{self, Reading, Truth},
    interrupt,
    output::{self, check_writable},
    progress::Display,
    text,
};

use judged::Judged;
use rows::{Labels, Rows, Source};
use show::Show;

/// Rows looked at, if nothing else is said.
const ROWS: usize = 10_000;
/// Images looked at.
const IMAGES: usize = 2000;

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Table with the model's columns, or images: best rows that the model was not fitted to, some or all with labels
    file: PathBuf,
    #[command(flatten)]
    truth: Truth,
    /// Rows or images from elsewhere: how well can the model tell them from its own?
    #[arg(long, value_name = "PATH")]
    out_of_domain: Option<PathBuf>,
    /// Rows or images without labels to choose from: which should be labelled next?
    #[arg(long, value_name = "PATH")]
    unlabelled: Option<PathBuf>,
    /// Page to write
    #[arg(long, value_name = "PAGE.html", default_value = "explain.html")]
    out: PathBuf,
    /// Also write the numbers as one JSON object, with what there is to say about each row; `-` for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Most rows looked at; of more, a random sample is taken [default: 10000, of images 2000]
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Share of rows whose prediction set may miss the true class
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    alpha: f64,
    /// Seed of samples, splits and draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// No progress, no summary
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: OnDevice,
}

/// Rows and what the model says of them.
struct Seen {
    rows: Rows,
    /// `[n, dim]`
    z: Array2<f64>,
    scores: Scores,
    predicted: Vec<usize>,
    /// Latent distance to the decision boundary.
    boundary: Vec<f64>,
    /// How unusual log p(x) is among training rows.
    typicality: Vec<f64>,
}

impl Seen {
    /// Refuses rows too extreme for single precision, instead of inventing a class for them.
    fn new(model: &Model, rows: Rows) -> Result<Self> {
        let scores = model.score(rows.x.view());
        let broken = scores.log_probs.rows().into_iter().position(|row| row.iter().any(|v| v.is_nan()));
        if let Some(row) = broken {
            let place = if model.layout().is_some() { "image" } else { "line" };
            return Err(Failure::Data(format!(
                "{}, {place} {}: its values are too far from the training data to be scored; look for a wrong unit or a \
                 slipped digit, or remove it",
                rows.name, rows.names[row]
            )));
        }
        let z = model.encode(rows.x.view());
        let boundary = match model.classes().len() {
            0 | 1 => vec![f64::INFINITY; rows.n()],
            _ => analysis::boundary_of_latent(model.gmm(), z.view()).iter().map(|b| b.distance).collect(),
        };
        let typicality = model.typicality(&scores.log_marginal);
        Ok(Self { predicted: arg_max(scores.log_probs.view()), rows, z, scores, boundary, typicality })
    }

    /// The label of a row, or what the model takes it for.
    fn class(&self, row: usize) -> usize {
        self.rows.y[row].unwrap_or(self.predicted[row])
    }
}

/// What a page is about.
struct Subject<'a> {
    model: &'a Model,
    seen: Seen,
    /// What the labelled rows teach, if there are enough.
    judged: Option<Judged>,
    strangers: Option<Rows>,
    pool: Option<Rows>,
    show: Show<'a>,
    alpha: f64,
    seed: u64,
}

impl Subject<'_> {
    /// `rows` or `images`.
    fn what(&self) -> &'static str {
        if self.model.layout().is_some() { "images" } else { "rows" }
    }
}

/// A section and what it has for machines.
struct Part {
    section: Section,
    json: Option<(&'static str, Value)>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    args.threads.configure()?;
    if !(args.alpha > 0.0 && args.alpha < 1.0) {
        return Err(Failure::Usage(format!("--alpha is a share between 0 and 1, got {}", args.alpha)));
    }
    if args.rows == Some(0) {
        return Err(Failure::Usage("--rows must be at least 1".into()));
    }
    check_writable(&args.out)?;
    if let Some(json) = args.json.as_deref().filter(|json| !input::is_standard(json)) {
        check_writable(json)?;
    }
    let model = input::model(&args.model, &args.device.place()?)?;
    let mut display = Display::new(args.quiet);
    let subject = subject(args, &model, &mut display)?;
    let parts = parts(&subject, &mut display)?;
    let mut object = json!({
        "model": args.model.display().to_string(),
        "data": subject.seen.rows.name,
        "rows": subject.seen.rows.n(),
        "rows_in_all": subject.seen.rows.total,
        "classes": model.classes(),
        "seed": args.seed,
        "page": args.out.display().to_string(),
    });
    let mut sections = Vec::new();
    for Part { section, json } in parts {
        sections.push(section);
        if let Some((name, value)) = json {
            object[name] = value;
        }
    }
    object["seconds"] = json!(began.elapsed().as_secs_f64());
    let page = Page {
        title: format!("What the model makes of {}", subject.seen.rows.name),
        lead: lead(&subject),
        tiles: tiles(&subject, &object),
        headline: None,
        sections,
        footer: format!(
            "flowgmm {} explain, seed {}, {:.1} s. Model: {}.",
            env!("CARGO_PKG_VERSION"),
            args.seed,
            began.elapsed().as_secs_f64(),
            args.model.display()
        ),
    };
    output::write_whole(&args.out, page.to_html().as_bytes())?;
    match &args.json {
        Some(path) if input::is_standard(path) => output::print_json(&object)?,
        Some(path) => output::write_whole(path, format!("{object:#}\n").as_bytes())?,
        None => {}
    }
    if !args.quiet && !args.json.as_deref().is_some_and(input::is_standard) {
        output::print(&text::facts(&facts(&subject, &object)))?;
    }
    Ok(())
}

fn subject<'a>(args: &'a Args, model: &'a Model, display: &mut Display) -> Result<Subject<'a>> {
    let most = args.rows.unwrap_or(if model.layout().is_some() { IMAGES } else { ROWS });
    let source = Source { model, model_path: &args.model, reading: &args.reading, most, seed: args.seed };
    display.count("reading", 0, 1);
    if model.layout().is_none()
        && args.truth.label.as_ref().is_some_and(|label| model.columns().contains(label))
    {
        let label = args.truth.label.as_deref().unwrap_or_default();
        return Err(Failure::Usage(format!(
            "'{label}' is a column that the model predicts from, not the label"
        )));
    }
    let labels = Labels::Named { column: args.truth.label.as_deref(), file: args.truth.labels.as_deref() };
    let rows = source.read(&args.file, labels)?;
    let other =
        |path: &Option<PathBuf>| path.as_ref().map(|path| source.read(path, Labels::Unread)).transpose();
    let (strangers, pool) = (other(&args.out_of_domain)?, other(&args.unlabelled)?);
    let seen = Seen::new(model, rows)?;
    let judged = Judged::new(model, &seen, args.alpha, args.seed);
    let show = Show::new(model, &seen);
    Ok(Subject { model, seen, judged, strangers, pool, show, alpha: args.alpha, seed: args.seed })
}

/// All sections, top to bottom.
fn parts(subject: &Subject, display: &mut Display) -> Result<Vec<Part>> {
    type Make = fn(&Subject) -> Part;
    let all: [(&str, Make); 11] = [
        ("calibration", calibration::part),
        ("prediction sets", sets::part),
        ("trust cards", cards::part),
        ("label next", next::part),
        ("latent map", map::part),
        ("boundary", boundary::part),
        ("paths", paths::part),
        ("counterfactuals", counterfactuals::part),
        ("features", features::part),
        ("samples", samples::part),
        ("strangers", domain::part),
    ];
    let total = all.len();
    let mut parts = Vec::with_capacity(total);
    for (done, (name, make)) in all.into_iter().enumerate() {
        display.count(name, done, total);
        if interrupt::wanted() {
            return Err(Failure::Interrupted("interrupted; no page was written".into()));
        }
        parts.push(make(subject));
    }
    display.count("page", total, total);
    Ok(parts)
}

fn lead(subject: &Subject) -> String {
    let rows = &subject.seen.rows;
    let labelled = rows.y.iter().flatten().count();
    let (what, classes) = (subject.what(), subject.model.classes().len());
    let labels = match labelled {
        0 => "None of them has a label, so that this page shows what the model does, not whether it is right"
            .into(),
        n if n == rows.n() => "All of them have labels".to_string(),
        n => format!("{n} of them have labels"),
    };
    format!(
        "{} of {}, seen by a model of {classes} classes. {labels}.{}",
        rows.described(what),
        rows.name,
        match labelled {
            0 => "",
            _ => " What is said about being right holds if the model was not fitted to these rows.",
        }
    )
}

fn tiles(subject: &Subject, object: &Value) -> Vec<Tile> {
    let tile = |name: &str, value: String, note: &str| Tile { name: name.into(), value, note: note.into() };
    let mut tiles = Vec::new();
    if let Some(judged) = &subject.judged {
        tiles.push(tile("Accuracy", percent(judged.accuracy()), "of the labelled ones"));
        let (before, after) = (judged.stored.ece[1].equal_width, judged.calibrated.ece[1].equal_width);
        tiles.push(tile(
            "Calibration error",
            percent(after),
            &format!("{} as the model file has it", percent(before)),
        ));
        let wanted = format!(
            "{} wanted; {:.2} classes in a set",
            percent(1.0 - subject.alpha),
            judged.coverage.mean_size
        );
        tiles.push(tile("Sets that hold the truth", percent(judged.coverage.coverage), &wanted));
    }
    let abstain =
        object["trust"].as_array().map_or(0, |rows| rows.iter().filter(|row| row["abstain"] == true).count());
    let share = abstain as f64 / subject.seen.rows.n() as f64;
    tiles.push(tile("Better to abstain", percent(share), "see the trust cards"));
    if let Some(best) = object["out_of_domain"]["best_auroc"].as_f64() {
        let by = object["out_of_domain"]["best_score"].as_str().unwrap_or_default();
        tiles.push(tile("Strangers told apart", format!("{best:.3}"), &format!("AUROC by {by}")));
    }
    tiles
}

fn facts(subject: &Subject, object: &Value) -> Vec<(&'static str, String)> {
    let mut facts = vec![("data", subject.seen.rows.described(subject.what()))];
    if let Some(judged) = &subject.judged {
        facts.push(("accuracy", text::percent(judged.accuracy())));
        let change = format!(
            "{:.4} -> {:.4} (temperature {:.3})",
            judged.stored.ece[1].equal_width, judged.calibrated.ece[1].equal_width, judged.temperature
        );
        facts.push(("calibration error (ECE)", change));
        facts.push((
            "prediction sets",
            format!(
                "{} hold the true class, {:.2} classes in a set",
                text::percent(judged.coverage.coverage),
                judged.coverage.mean_size
            ),
        ));
    }
    if let Some(best) = object["out_of_domain"]["best_auroc"].as_f64() {
        let by = object["out_of_domain"]["best_score"].as_str().unwrap_or_default();
        facts.push(("out of domain", format!("AUROC {best:.4} by {by}")));
    }
    facts.push(("page", object["page"].as_str().unwrap_or_default().to_string()));
    facts
}
