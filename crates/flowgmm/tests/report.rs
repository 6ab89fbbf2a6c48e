//! The report of a fit: findings that agree with each other, one page with every section, a summary with pinned keys.

use flowgmm::{
    Control, ErrorKind, Fit, ImageArray, Observer, Phase, Report, ReportRequest, Request, Source,
    report::{Examined, Verdict},
};
use flowgmm_data::{Cells, Column, Frame};
use semisup::{ImageShape, Labelled, SemiSupervised, Toy};
use serde_json::{Value, json};

const SECTIONS: [&str; 7] = [
    "Does the unlabelled data help?",
    "How good are the predictions?",
    "Hardest rows",
    "Map of the latent space",
    "The data",
    "What was chosen, and how training went",
    "Do samples from the model look like real rows?",
];

/// A small network for a few dozen steps.
fn tiny(source: Source) -> Request {
    Request::new(source)
        .with("architecture.depth", 2)
        .with("architecture.hidden", json!([8]))
        .with("train.steps", 40)
        .with("calibration", "none")
        .with("seed", 3)
}

fn training_rows(data: &SemiSupervised) -> Source {
    let name = |k: usize| data.classes()[k].clone();
    Source::matrix(data.x()).labels(data.y().iter().map(|y| y.map(name)))
}

fn test_rows(data: &Labelled) -> Source {
    Source::matrix(data.x()).labels(data.y().iter().map(|&k| Some(data.classes()[k].clone())))
}

/// Ten labelled moon points and 150 without a label.
fn moons() -> SemiSupervised {
    let train = Toy::Moons.problem(1).train;
    let mut rows = train.labelled();
    rows.extend(train.unlabelled().into_iter().take(150));
    train.select(&rows).unwrap()
}

fn fit(source: Source) -> Fit {
    flowgmm::fit(&tiny(source), &mut ()).unwrap()
}

fn report(fit: &Fit, test: Option<&Source>) -> Report {
    let request =
        ReportRequest { test, model_name: Some("moons.flow".into()), ..ReportRequest::new("moons") };
    flowgmm::report(fit, &request, &mut ()).unwrap()
}

/// What holds for every page.
fn check_page(report: &Report, sections: &[&str]) -> String {
    let page = report.to_page().to_html();
    assert!(page.starts_with("<!doctype html>"));
    assert_eq!(page.matches("<h2>").count(), sections.len());
    for section in sections {
        assert_eq!(page.matches(&format!("<h2>{section}</h2>")).count(), 1, "{section}");
    }
    for broken in ["NaN", "Some(", "None", " --"] {
        assert!(!page.contains(broken), "'{broken}' in the page");
    }
    check_links(&page);
    page
}

/// Links lead to sections and to the terms explained at the end.
fn check_links(page: &str) {
    let targets: Vec<&str> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(targets.iter().any(|target| target.starts_with("term-")), "{targets:?}");
    for target in targets {
        assert_eq!(page.matches(&format!(" id=\"{target}\"")).count(), 1, "{target}");
    }
}

/// What holds for every comparison.
fn check_help(report: &Report) {
    let help = &report.help;
    assert_eq!(help.verdict.is_some(), help.best().is_some());
    for found in [help.by_test_rows, help.by_cross_validation].into_iter().flatten() {
        let (low, high) = (found.interval.low, found.interval.high);
        assert!(
            -1.0 <= low && low <= found.difference && found.difference <= high && high <= 1.0,
            "{found:?}"
        );
        assert!((found.difference - (found.semi_supervised - found.labelled_only)).abs() < 1e-9, "{found:?}");
    }
    if let (Some(found), Some(verdict)) = (help.best(), help.verdict) {
        let expected = match found.interval {
            interval if interval.low > 0.0 => Verdict::Helps,
            interval if interval.high < 0.0 => Verdict::Harms,
            _ => Verdict::Open,
        };
        assert_eq!(verdict, expected);
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object")).keys().map(String::as_str).collect()
}

fn sorted<const N: usize>(mut keys: [&str; N]) -> [&str; N] {
    keys.sort_unstable();
    keys
}

#[test]
fn test_rows_are_the_better_judge_and_the_summary_keeps_its_keys() {
    let problem = Toy::Moons.problem(1);
    let test = test_rows(&problem.test);
    let fit = fit(training_rows(&moons()));
    let report = report(&fit, Some(&test));
    check_help(&report);
    let page = check_page(&report, &SECTIONS);
    let help = &report.help;
    assert_eq!(help.by_test_rows.map(|found| found.n), Some(problem.test.n()));
    assert_eq!(help.by_cross_validation.map(|found| found.n), Some(10));
    let trust = report.trust.as_ref().unwrap();
    let evaluated = flowgmm::evaluate(&fit.model, &test, &mut ()).unwrap();
    assert_eq!(trust.scores, evaluated.scores);
    assert_eq!(Some(trust.scores.accuracy), help.best().map(|found| found.semi_supervised));
    assert_eq!(report.hardest.examined, Examined::TestRows);
    assert!(page.contains("moons.flow") && page.contains("Test rows whose own label is least probable"));

    // Two columns are shown as they came, the labelled rows first.
    let (data, before) = (moons(), report.latent.before.as_ref().unwrap());
    for (point, row) in before.iter().zip(data.labelled()) {
        assert_eq!(point[..], data.x().row(row).to_vec()[..]);
    }
    assert!(page.contains("Rows as they came") && page.contains("The two columns: x1 across, x2 up."));

    let summary = report.summary();
    assert!(
        summary.facts.iter().all(|(_, sentence)| page.contains(sentence) || sentence.contains("recognised"))
    );
    let mut summary = serde_json::to_value(&summary).unwrap();
    let compared =
        ["by", "difference", "high", "labelled_only", "logistic_regression", "low", "n", "semi_supervised"];
    assert_eq!(keys(&summary), sorted(["help", "help_by_cross_validation", "two_sample", "report_seconds"]));
    assert_eq!(keys(&summary["help_by_cross_validation"]), compared);
    assert_eq!(keys(&summary["two_sample"]), sorted(["accuracy", "low", "high", "n", "classifier"]));
    assert_eq!(summary["help"]["by"], "test rows");
    assert_eq!(summary["help_by_cross_validation"]["by"], "cross-validation");
    let verdict = summary["help"].as_object_mut().unwrap().remove("verdict").unwrap();
    assert!(["helps", "harms", "open"].contains(&verdict.as_str().unwrap()));
    assert_eq!(keys(&summary["help"]), compared);
}

/// The report is a function of the fit; only its seconds differ.
#[test]
fn the_same_seed_gives_the_same_report() {
    let run = || {
        let report = report(&fit(training_rows(&moons())), None);
        check_help(&report);
        check_page(&report, &SECTIONS);
        let mut found = serde_json::to_value(&report).unwrap();
        found["seconds"] = Value::Null;
        found["overview"]["fit_seconds"] = Value::Null;
        found
    };
    let (one, two) = (run(), run());
    assert_eq!(one, two);
    assert_eq!(one["hardest"]["examined"], "held_out_rows");
    assert_eq!(one["help"]["cross_validation"]["steps"], 4, "{}", one["help"]);
}

/// Phases as they begin; stops in the one of this name.
#[derive(Default)]
struct Watcher {
    phases: Vec<String>,
    stop_in: &'static str,
}

impl Observer for Watcher {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.phases.push(format!("{phase:?}"));
    }

    fn progress(&mut self, _done: usize) -> Control {
        let now = self.phases.last().map(String::as_str).unwrap_or_default();
        if !self.stop_in.is_empty() && now.starts_with(self.stop_in) {
            Control::Stop
        } else {
            Control::Continue
        }
    }
}

#[test]
fn every_phase_is_announced_and_an_observer_may_stop() {
    let test = test_rows(&Toy::Moons.problem(1).test);
    let fit = fit(training_rows(&moons()));
    let run = |stop_in: &'static str| {
        let mut watcher = Watcher { stop_in, ..Watcher::default() };
        let request = ReportRequest { test: Some(&test), ..ReportRequest::new("moons") };
        let result = flowgmm::report(&fit, &request, &mut watcher);
        (result, watcher.phases)
    };
    let (result, phases) = run("");
    assert!(result.is_ok());
    let count = |name: &str| phases.iter().filter(|phase| phase.starts_with(name)).count();
    // Four folds, twice; two fits to each, and one to the labelled rows for the test rows.
    assert_eq!((count("CrossValidating"), count("Comparing"), count("Training")), (8, 1, 17), "{phases:?}");
    for phase in ["Scoring", "Training", "Section"] {
        let error = run(phase).0.expect_err(phase);
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{phase}: {error}");
    }
}

#[test]
fn too_few_labels_are_said_to_be_too_few() {
    let data = moons();
    let with = |per_class: usize| {
        let mut seen = [0, 0];
        let labels = data.y().iter().map(|y| {
            let k = (*y)?;
            seen[k] += 1;
            (seen[k] <= per_class).then(|| data.classes()[k].clone())
        });
        report(&fit(Source::matrix(data.x()).labels(labels.collect::<Vec<_>>())), None)
    };
    let one = with(1);
    assert!(one.help.verdict.is_none() && one.trust.is_none(), "one label a class cannot be held out");
    assert_eq!(one.hardest.examined, Examined::TrainingRows);
    let page = check_page(&one, &SECTIONS);
    assert!(page.contains("cannot be said") && page.contains("There is nothing to judge by"), "says so");
    assert_eq!(serde_json::to_value(one.summary()).unwrap()["help"], Value::Null);
    let two = with(2);
    check_help(&two);
    assert_eq!((two.help.best().map(|found| found.n), two.help.verdict), (Some(4), Some(Verdict::Open)));
    assert!(check_page(&two, &SECTIONS).contains("It is open whether"));
}

#[test]
fn without_unlabelled_rows_there_is_nothing_to_add() {
    let some = Toy::Moons.problem(1).test.select(&(0..60).collect::<Vec<_>>());
    let report = report(&fit(test_rows(&some)), None);
    assert!(report.help.verdict.is_none() && report.hardest.undecided.is_empty());
    assert_eq!(report.trust.as_ref().map(|trust| trust.n), Some(60), "labels are still cross-validated");
    assert!(check_page(&report, &SECTIONS).contains("no unlabelled rows"));
}

/// Numbers, categories and gaps, with names that try to be markup.
#[test]
fn a_table_shows_rows_in_its_own_units_and_names_stay_text() {
    let nasty = "<img src=x>";
    let (mut ages, mut cities, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..200 {
        let old = i % 2 == 0;
        ages.push(if i % 7 == 3 { f64::NAN } else { f64::from(if old { 50 } else { 25 } + (i * 31) % 13) });
        cities.push(Some(["Rome", "Oslo", nasty][(i as usize * 31 + usize::from(old)) % 3]));
        labels.push((i < 30).then_some(["young", "old"][usize::from(old)]));
    }
    let text = |cells: Vec<Option<&str>>| Cells::Texts(cells.into_iter().collect());
    let columns = vec![
        Column { name: "age".into(), cells: Cells::Numbers(ages) },
        Column { name: "city".into(), cells: text(cities) },
        Column { name: "y".into(), cells: text(labels) },
    ];
    let frame = Frame::new("people.csv", columns, (2..202).collect()).unwrap();
    let report = report(&fit(Source::frame(frame).label_column("y")), None);
    check_help(&report);
    let page = check_page(&report, &SECTIONS);
    assert_eq!(report.hardest.columns, ["age", "city"], "the one that separates the classes first");
    let age = &report.data.columns[0];
    assert_eq!((age.name.as_str(), report.hardest.named_by), ("age", "Line"));
    assert!((age.missing - 0.14).abs() < 0.02, "{age:?}");
    let whole = |text: &String| text.parse::<u32>().is_ok();
    assert!(report.hardest.undecided.iter().filter_map(|row| row.values[0].as_ref()).all(whole));
    assert!(!page.contains("<img") && page.contains("&lt;img") && page.contains("categorical"));
    assert!(page.contains("first two principal components"), "a category is no axis");
}

/// Bright above or bright below.
#[test]
fn images_are_shown_as_pictures() {
    let shape = ImageShape { channels: 1, height: 8, width: 8 };
    let pixel = |image: usize, at: usize| {
        let bright = image.is_multiple_of(2) == (at < 32);
        (if bright { 180 } else { 40 } + (image * 37 + at * 11) % 40) as u8
    };
    let pixels = (0..60).flat_map(|image| (0..64).map(move |at| pixel(image, at))).collect();
    let labels = (0..60).map(|image| (image < 12).then(|| ["above", "below"][image % 2].to_string()));
    let source = Source::images(ImageArray::new(shape, pixels).unwrap()).labels(labels);
    let request = Request::new(source).with("train.steps", 10).with("seed", 3);
    let fit = flowgmm::fit(&request, &mut ()).unwrap();
    let report = report(&fit, None);
    check_help(&report);
    let sections = SECTIONS.map(|section| section.replace("rows", "images"));
    let page = check_page(&report, &sections.each_ref().map(String::as_str));
    assert!(report.samples.two_sample.is_none() && report.latent.before.is_none());
    assert_eq!(report.samples.images.len(), 2);
    assert!(report.hardest.undecided.iter().all(|row| row.picture.is_some()));
    let (_, body) = page.split_once("</style>").unwrap();
    assert!(body.contains("Samples from the model") && !body.contains("rows"), "rows are called images");
}
