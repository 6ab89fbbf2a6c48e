//! Plans that are run, killed, resumed, and told.

use std::cell::Cell as Counter;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flowgmm_bench::{
    AnyError, AnyLearner, Dataset, Error, Failed, Loaded, Options, Outcome, Plan, Progress, Record, Registry,
    RunReport, Skipped, read_records, run, write_outputs,
};
use flowgmm_learners::AnyModel;
use flowgmm_learners::{NearestNeighbours, RowLength};
use semisup::{Learner, SemiSupervised, Toy, rng};

const PLAN: &str = include_str!("data/toys.toml");

/// A loader of toys that counts how often it was asked; nothing else is there.
fn toys(dataset: &Dataset) -> Result<Option<Loaded>, AnyError> {
    let Ok(toy) = dataset.file.parse::<Toy>() else { return Ok(None) };
    Ok(Some(Loaded { all: toy.sample(200, &mut rng(1)), test: None, splits: vec![] }))
}

fn plan(text: &str) -> Plan {
    Plan::parse(text).expect("a good plan")
}

/// Runs until `cells` have finished.
fn run_some(plan: &Plan, registry: &Registry, path: &Path, failed: Failed, cells: usize) -> RunReport {
    let cancel = AtomicBool::new(cells == 0);
    let options = Options { cancel: &cancel, failed, version: "test".into() };
    let finished = Counter::new(0);
    let mut progress = |event: Progress| {
        if let Progress::Finished(_) = event {
            finished.set(finished.get() + 1);
            cancel.store(finished.get() >= cells, Ordering::Relaxed);
        }
    };
    run(plan, registry, path, &mut toys, &options, &mut progress).expect("it runs")
}

fn run_all(plan: &Plan, registry: &Registry, path: &Path) -> RunReport {
    run_some(plan, registry, path, Failed::Keep, usize::MAX)
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let results = directory.path().join("results.jsonl");
    (directory, results)
}

/// Cells and scores, without what differs from run to run.
fn lasting(path: &Path) -> Vec<(String, Outcome)> {
    let records = read_records(path).expect("results");
    records.into_iter().map(|r| (format!("{:?} {:?} {}", r.cell, r.rows, r.data), r.outcome)).collect()
}

#[test]
fn a_run_that_is_stopped_and_resumed_ends_as_one_that_was_not() {
    let (plan, registry) = (plan(PLAN), Registry::rivals());
    let (_a, whole) = place();
    let report = run_all(&plan, &registry, &whole);
    assert_eq!((report.ran, report.failed, report.before, report.cancelled), (27, 0, 0, false));
    assert_eq!(plan.n_cells(), 27);

    let (_b, pieces) = place();
    let first = run_some(&plan, &registry, &pieces, Failed::Keep, 4);
    assert_eq!((first.ran, first.cancelled), (4, true));
    let second = run_some(&plan, &registry, &pieces, Failed::Keep, 15);
    assert_eq!((second.ran, second.before, second.cancelled), (15, 4, true));
    let third = run_all(&plan, &registry, &pieces);
    assert_eq!((third.ran, third.before, third.cancelled), (8, 19, false));
    assert_eq!(lasting(&whole), lasting(&pieces));
    assert_eq!(run_all(&plan, &registry, &pieces).ran, 0, "nothing is left");
}

#[test]
fn a_torn_last_line_is_cut_off_and_its_cell_runs_again() {
    let (plan, registry) = (plan(PLAN), Registry::rivals());
    let (_a, path) = place();
    run_some(&plan, &registry, &path, Failed::Keep, 5);
    let (before, text) = (lasting(&path), fs::read(&path).unwrap());
    for cut in [1, 40, 300] {
        fs::write(&path, &text[..text.len() - cut]).unwrap();
        // Without its newline alone, a line is whole.
        let kept = if cut == 1 { 5 } else { 4 };
        assert_eq!(read_records(&path).unwrap().len(), kept, "{cut} bytes lost");
        assert_eq!(run_some(&plan, &registry, &path, Failed::Keep, 5 - kept).before, kept);
        assert_eq!(lasting(&path), before, "{cut} bytes lost");
    }
    assert_eq!(run_all(&plan, &registry, &path).ran, 22);
}

#[test]
fn nonsense_elsewhere_is_an_error_and_stays() {
    let (plan, registry) = (plan(PLAN), Registry::rivals());
    let (_a, path) = place();
    run_some(&plan, &registry, &path, Failed::Keep, 2);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "?", 1)).unwrap();
    let cancel = AtomicBool::new(false);
    let options = Options { cancel: &cancel, failed: Failed::Keep, version: "test".into() };
    let error = run(&plan, &registry, &path, &mut toys, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("results.jsonl, line 1: not a result"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replacen('{', "?", 1));
}

#[test]
fn two_runs_cannot_share_a_file() {
    let (_a, path) = place();
    let _open = flowgmm_bench::Store::open(&path).unwrap();
    assert!(matches!(flowgmm_bench::Store::open(&path), Err(Error::Busy { .. })));
}

#[test]
fn absent_data_are_skipped_by_name() {
    let text = PLAN.replace("file = \"moons\"", "file = \"nowhere.csv\"");
    let (_a, path) = place();
    let report = run_all(&plan(&text), &Registry::rivals(), &path);
    let skipped = Skipped { dataset: "moons".into(), learner: None, why: "nowhere.csv is not there".into() };
    assert_eq!((report.ran, report.skipped), (9, vec![skipped]));
    assert_eq!(run_all(&plan(PLAN), &Registry::rivals(), &path).ran, 18, "and run when they are there");
}

/// A learner that does what its name says.
struct Faulty(&'static str);

impl AnyLearner for Faulty {
    fn name(&self) -> String {
        self.0.into()
    }

    fn settings(&self) -> String {
        self.0.into()
    }

    fn fit_any(&self, data: &SemiSupervised, seed: u64) -> Result<AnyModel, AnyError> {
        match self.0 {
            "fails" => Err("no luck".into()),
            "panics" => panic!("a bug at seed {seed}"),
            _ => {
                if self.0 == "slow" {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                }
                Ok(Box::new(NearestNeighbours { k: 1, length: RowLength::Kept }.fit(data, seed)?))
            }
        }
    }
}

#[test]
fn cells_that_fail_or_panic_are_recorded_and_the_rest_goes_on() {
    let plan = plan(
        &PLAN
            .replace("\"gaussian-mixture\"", "\"fails\", \"panics\"")
            .replace("labels = [2, 5]", "labels = 2"),
    );
    let mut registry = Registry::rivals();
    registry.register("fails", Faulty("fails")).register("panics", Faulty("panics"));
    let (_a, path) = place();
    let report = run_all(&plan, &registry, &path);
    assert_eq!((report.ran, report.failed), (24, 12));
    let records = read_records(&path).unwrap();
    let outcome = |learner: &str| &records.iter().find(|r| r.cell.learner == learner).unwrap().outcome;
    assert_eq!(*outcome("fails"), Outcome::Failed("no luck".into()));
    assert_eq!(*outcome("panics"), Outcome::Failed("panicked: a bug at seed 7".into()));
    assert!(matches!(outcome("knn"), Outcome::Scored(_)));

    assert_eq!(run_all(&plan, &registry, &path).ran, 0, "failed is done");
    registry.register("panics", Faulty("mends"));
    assert_eq!(run_all(&plan, &registry, &path).ran, 6, "other settings are another cell");
    assert_eq!(
        run_some(&plan, &registry, &path, Failed::Retry, usize::MAX).ran,
        6,
        "those that failed again"
    );
    let table =
        flowgmm_bench::accuracy_table(&flowgmm_bench::Summary::new(&plan, &read_records(&path).unwrap()));
    assert!(table.contains("| fails | failed | failed |"), "{table}");
}

#[test]
fn labels_that_cannot_be_drawn_fail_their_cells() {
    let (_a, path) = place();
    let one_class_short = |dataset: &Dataset| -> Result<Option<Loaded>, AnyError> {
        let loaded = toys(dataset)?.expect("a toy");
        let only: Vec<usize> = (0..loaded.all.n()).filter(|&row| loaded.all.y()[row] == 0).collect();
        Ok(Some(Loaded { all: loaded.all.select(&only), ..loaded }))
    };
    let cancel = AtomicBool::new(false);
    let options = Options { cancel: &cancel, failed: Failed::Keep, version: "test".into() };
    let report =
        run(&plan(PLAN), &Registry::rivals(), &path, &mut { one_class_short }, &options, &mut |_| {})
            .unwrap();
    assert_eq!((report.ran, report.failed), (27, 27));
    let Outcome::Failed(why) = &read_records(&path).unwrap()[0].outcome else { panic!("no class 1") };
    assert!(why.contains("has no labelled row"), "{why}");
}

#[test]
fn after_a_draw_over_budget_the_later_ones_are_left_out() {
    let text =
        PLAN.replace("\"gaussian-mixture\"", "\"slow\"").replace("title", "budget_seconds = 0.03\ntitle");
    let mut registry = Registry::new();
    registry
        .register("knn", Faulty("fast"))
        .register("label-spreading", Faulty("fast"))
        .register("slow", Faulty("slow"));
    let (_a, path) = place();
    let report = run_all(&plan(&text), &registry, &path);
    let of_slow = report.skipped.iter().filter(|skipped| skipped.learner.as_deref() == Some("slow"));
    assert_eq!(of_slow.count(), 6, "two of three draws for each of three rows: {:?}", report.skipped);
    let slow = read_records(&path).unwrap().iter().filter(|r| r.cell.learner == "slow").count();
    assert_eq!(slow, 3);
}

#[test]
fn a_split_file_decides_which_rows_are_labelled() {
    let text = PLAN.replace("labels = [2, 5]", "split = \"labels/four.npy\"");
    let splits = |dataset: &Dataset| -> Result<Option<Loaded>, AnyError> {
        let loaded = toys(dataset)?.expect("a toy");
        let y = loaded.all.y().to_vec();
        let of = |k: usize| y.iter().position(|&label| label == k).expect("both classes");
        let last = |k: usize| y.iter().rposition(|&label| label == k).expect("both classes");
        Ok(Some(Loaded { splits: vec![vec![of(0), of(1)], vec![last(0), last(1), of(0)]], ..loaded }))
    };
    let (_a, path) = place();
    let cancel = AtomicBool::new(false);
    let options = Options { cancel: &cancel, failed: Failed::Keep, version: "test".into() };
    let plan = plan(&text);
    run(&plan, &Registry::rivals(), &path, &mut { splits }, &options, &mut |_| {}).unwrap();
    let records = read_records(&path).unwrap();
    let labelled = |draw: u64| {
        let is = |r: &&Record| r.cell.dataset == "moons" && r.cell.draw == draw;
        records.iter().find(is).unwrap().rows
    };
    assert_eq!(
        [7, 8, 9].map(labelled),
        [[2, 158, 40], [3, 157, 40], [2, 158, 40]],
        "the third is the first again"
    );
    let table = flowgmm_bench::accuracy_table(&flowgmm_bench::Summary::new(&plan, &records));
    assert!(table.contains("| moons (four) |"), "{table}");
}

#[test]
fn all_files_are_written_and_readable() {
    let plan = plan(PLAN);
    let (directory, path) = place();
    run_all(&plan, &Registry::rivals(), &path);
    let records = read_records(&path).unwrap();
    let files = write_outputs(&plan, &records, &directory.path().join("out")).unwrap();
    let read = |name: &str| {
        let file =
            files.iter().find(|file| file.ends_with(name)).unwrap_or_else(|| panic!("{name} is written"));
        fs::read_to_string(file).unwrap()
    };
    assert_eq!(read("cells.csv").lines().count(), 28);
    let json: serde_json::Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 27);
    assert_eq!(json["summary"]["rows"].as_array().unwrap().len(), 3);
    let html = read("report.html");
    assert!(html.contains("Accuracy against labels") && html.contains("Accuracy against time"));
    assert!(!html.contains("NaN"));
    let table = read("table.md");
    assert!(table.contains("| learner | moons (2) | moons (5) | pinwheel (3) |"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("| moons")).count(), 2, "{table}");
    assert_eq!(table.matches("**").count(), 6, "one best in each of three columns: {table}");
    let record = &records[0];
    assert_eq!((record.seed, record.version.as_str(), record.rows), (7, "test", [4, 156, 40]));
    assert!(record.threads > 0 && record.date.starts_with("20") && record.plan == plan.hash());
    if cfg!(target_os = "linux") {
        assert!(record.peak_memory.unwrap() > 1 << 20);
    }
}
