//! Plans that are run, killed, resumed, and told.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use flowgmm::Control;
use flowgmm_bench::{
    Absent, AnyError, AnyLearner, Error, FailedCells, LabelSource, LoadError, Loaded, Loader, Outcome, Plan,
    PlanDataset, Record, Registry, RunEvent, RunOptions, RunReport, Skipped, read_records, run,
    write_outputs,
};
use flowgmm_learners::AnyModel;
use flowgmm_learners::{NearestNeighbours, RowLength};
use semisup::{Learner, SemiSupervised, Toy, rng};

const PLAN: &str = include_str!("data/toys.toml");

/// A loader of toys, changed by a function; nothing else is there.
struct Toys(fn(Loaded) -> Loaded);

const TOYS: Toys = Toys(|loaded| loaded);

fn toy(dataset: &PlanDataset) -> Result<Toy, LoadError> {
    dataset.file.parse().map_err(|_| LoadError::Absent(format!("put {} there", dataset.file)))
}

impl Loader for Toys {
    fn check(&mut self, dataset: &PlanDataset) -> Result<(), LoadError> {
        toy(dataset).map(drop)
    }

    fn load(&mut self, dataset: &PlanDataset) -> Result<Loaded, LoadError> {
        let all = toy(dataset)?.sample(200, &mut rng(1));
        Ok((self.0)(Loaded { all, test: None, splits: vec![] }))
    }
}

fn options(failed: FailedCells) -> RunOptions {
    RunOptions { failed, absent: Absent::Error, jobs: NonZeroUsize::MIN, version: "test".into() }
}

/// Three cells at once.
fn run_jobs(plan: &Plan, path: &Path, cells: usize) -> RunReport {
    let mut finished = 0;
    let mut observer = |event: RunEvent| {
        finished += usize::from(matches!(event, RunEvent::Finished(_)));
        if finished >= cells { Control::Stop } else { Control::Continue }
    };
    let options = RunOptions { jobs: NonZeroUsize::new(3).unwrap(), ..options(FailedCells::Keep) };
    run(plan, &Registry::baselines(), path, &mut { TOYS }, &options, &mut observer).expect("it runs")
}

fn plan(text: &str) -> Plan {
    Plan::parse(text).expect("a good plan")
}

/// Runs until `cells` have finished.
fn run_some(plan: &Plan, registry: &Registry, path: &Path, failed: FailedCells, cells: usize) -> RunReport {
    let mut finished = 0;
    let mut observer = |event: RunEvent| {
        finished += usize::from(matches!(event, RunEvent::Finished(_)));
        if finished >= cells { Control::Stop } else { Control::Continue }
    };
    run(plan, registry, path, &mut { TOYS }, &options(failed), &mut observer).expect("it runs")
}

fn run_all(plan: &Plan, registry: &Registry, path: &Path) -> RunReport {
    run_some(plan, registry, path, FailedCells::Keep, usize::MAX)
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
    let (plan, registry) = (plan(PLAN), Registry::baselines());
    let (_a, whole) = place();
    let report = run_all(&plan, &registry, &whole);
    assert_eq!((report.ran, report.failed, report.before, report.cancelled), (27, 0, 0, false));
    assert_eq!(plan.n_cells(), 27);

    let (_b, pieces) = place();
    let first = run_some(&plan, &registry, &pieces, FailedCells::Keep, 4);
    assert_eq!((first.ran, first.cancelled), (4, true));
    let second = run_some(&plan, &registry, &pieces, FailedCells::Keep, 15);
    assert_eq!((second.ran, second.before, second.cancelled), (15, 4, true));
    let third = run_all(&plan, &registry, &pieces);
    assert_eq!((third.ran, third.before, third.cancelled), (8, 19, false));
    assert_eq!(lasting(&whole), lasting(&pieces));
    assert_eq!(run_all(&plan, &registry, &pieces).ran, 0, "nothing is left");
}

#[test]
fn cells_at_once_give_what_cells_in_turn_give() {
    let plan = plan(PLAN);
    let (_a, in_turn) = place();
    run_all(&plan, &Registry::baselines(), &in_turn);
    let (directory, at_once) = place();
    let first = run_jobs(&plan, &at_once, 5);
    assert!(first.cancelled && (5..=7).contains(&first.ran), "cells under way may finish: {first:?}");
    let second = run_jobs(&plan, &at_once, usize::MAX);
    assert_eq!((second.ran + first.ran, second.before, second.cancelled), (27, first.ran, false));
    let sorted = |path: &Path| {
        let mut all = lasting(path);
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    assert_eq!(sorted(&in_turn), sorted(&at_once));
    let records = read_records(&at_once).unwrap();
    assert!(records.iter().all(|r| r.peak_memory.is_none() && r.threads >= 1), "memory is of all cells");
    // Tables are in the plan's order, whatever finished first.
    write_outputs(&plan, &records, directory.path()).unwrap();
    let text = fs::read_to_string(directory.path().join("cells.csv")).unwrap();
    let order: Vec<String> =
        text.lines().skip(1).map(|line| line.splitn(5, ',').take(4).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(order[..2], ["moons 2 knn 7", "moons 2 gaussian-mixture 7"]);
    assert_eq!(order[26], "pinwheel 3 label-spreading 9");
}

#[test]
fn labels_at_random_may_miss_a_class_and_the_run_goes_on() {
    let text = PLAN.replace("labels = 3", "labels = [{ random_per_class = 1 }, { random_total = 1 }]");
    let (_a, path) = place();
    let plan = plan(&text);
    let report = run_all(&plan, &Registry::baselines(), &path);
    let records = read_records(&path).unwrap();
    let of = |labels: LabelSource| records.iter().filter(move |r| r.cell.labels == labels);
    let one: Vec<&Record> = of(LabelSource::RandomTotal(1)).collect();
    assert_eq!((one.len(), report.failed), (9, 9), "one label is of one class");
    let Outcome::Failed(why) = &one[0].outcome else { panic!("one class is not enough") };
    assert!(why.contains("the 1 random label is of class"), "{why}");
    let five: Vec<&Record> = of(LabelSource::RandomPerClass(1)).collect();
    assert!(five.iter().all(|r| r.rows == [5, 155, 40] && r.shares_nll.is_some()));
    assert!(five.iter().any(|r| r.classes_without_label > 0), "five labels for five classes");
    for record in five.iter().filter(|r| r.classes_without_label > 0) {
        let scores = record.scores().unwrap();
        assert!(scores.nll.is_none() && scores.clipped_nll.unwrap() > 0., "{record:?}");
        assert!(scores.accuracy < 0.95, "rows of an unknown class are errors: {record:?}");
    }
    let table = flowgmm_bench::accuracy_table(&flowgmm_bench::Summary::new(&plan, &records));
    assert!(table.contains("| pinwheel (1 x K at random) | pinwheel (1 at random) |"), "{table}");
    assert!(table.contains("A class without a label is unknown to the learner"), "{table}");
    assert_eq!(run_all(&plan, &Registry::baselines(), &path).ran, 0, "nothing is left");
}

#[test]
fn all_labels_and_no_unlabelled_row_are_a_problem_like_others() {
    let text = PLAN.replace("labels = [2, 5]", "labels = 100").replace("labels = 3", "labels = 500");
    let everything = r#"learners = ["knn", "gaussian-mixture", "label-spreading", "self-training", "svc", "random-forest",
        "extra-trees", "gradient-boosting", "logistic-regression-plain", "experts"]"#;
    let text = text.replace(r#"learners = ["knn", "gaussian-mixture", "label-spreading"]"#, everything);
    let (_a, path) = place();
    let report = run_all(&plan(&text.replace("count = 3", "count = 1")), &Registry::baselines(), &path);
    assert_eq!((report.ran, report.failed), (20, 0), "{:?}", lasting(&path));
    assert!(read_records(&path).unwrap().iter().all(|record| record.rows == [160, 0, 40]));
}

#[test]
fn a_torn_last_line_is_cut_off_and_its_cell_runs_again() {
    let (plan, registry) = (plan(PLAN), Registry::baselines());
    let (_a, path) = place();
    run_some(&plan, &registry, &path, FailedCells::Keep, 5);
    let (before, text) = (lasting(&path), fs::read(&path).unwrap());
    for cut in [1, 40, 300] {
        fs::write(&path, &text[..text.len() - cut]).unwrap();
        // Without its newline alone, a line is whole.
        let kept = if cut == 1 { 5 } else { 4 };
        assert_eq!(read_records(&path).unwrap().len(), kept, "{cut} bytes lost");
        assert_eq!(run_some(&plan, &registry, &path, FailedCells::Keep, 5 - kept).before, kept);
        assert_eq!(lasting(&path), before, "{cut} bytes lost");
    }
    assert_eq!(run_all(&plan, &registry, &path).ran, 22);
}

#[test]
fn nonsense_elsewhere_is_an_error_and_stays() {
    let (plan, registry) = (plan(PLAN), Registry::baselines());
    let (_a, path) = place();
    run_some(&plan, &registry, &path, FailedCells::Keep, 2);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "?", 1)).unwrap();
    let options = options(FailedCells::Keep);
    let error =
        run(&plan, &registry, &path, &mut { TOYS }, &options, &mut |_| Control::Continue).unwrap_err();
    assert!(error.to_string().contains("results.jsonl, line 1: not a result"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replacen('{', "?", 1));
}

#[test]
fn two_runs_cannot_share_a_file() {
    let (_a, path) = place();
    let _open = flowgmm_bench::ResultsFile::open(&path).unwrap();
    assert!(matches!(flowgmm_bench::ResultsFile::open(&path), Err(Error::Busy { .. })));
}

#[test]
fn absent_data_are_an_error_before_any_cell_runs_or_skipped_by_name() {
    let absent_moons = plan(&PLAN.replace("file = \"moons\"", "file = \"nowhere.csv\""));
    let registry = Registry::baselines();
    let (_a, path) = place();
    let attempt = |plan: &Plan, absent: Absent| {
        let options = RunOptions { absent, ..options(FailedCells::Keep) };
        run(plan, &registry, &path, &mut { TOYS }, &options, &mut |_| Control::Continue)
    };
    let error = attempt(&absent_moons, Absent::default()).unwrap_err();
    assert_eq!(error.to_string(), "dataset 'moons': put nowhere.csv there");
    assert_eq!(error.kind(), flowgmm::ErrorKind::Data);
    assert!(read_records(&path).unwrap().is_empty(), "nothing runs");

    let nothing = plan(&PLAN.replace("file = \"", "file = \"no-"));
    let error = attempt(&nothing, Absent::Skip).unwrap_err().to_string();
    assert!(error.contains("put no-moons there") && error.contains("put no-pinwheel there"), "{error}");

    let report = attempt(&absent_moons, Absent::Skip).unwrap();
    let skipped = Skipped { dataset: "moons".into(), learner: None, why: "put nowhere.csv there".into() };
    assert_eq!((report.ran, report.skipped), (9, vec![skipped]));
    assert_eq!(run_all(&plan(PLAN), &registry, &path).ran, 18, "and run when they are there");
}

#[test]
fn data_that_cannot_be_used_are_an_error() {
    struct Damaged;
    impl Loader for Damaged {
        fn load(&mut self, _: &PlanDataset) -> Result<Loaded, LoadError> {
            Err("half a file".into())
        }
    }
    let (_a, path) = place();
    let options = RunOptions { absent: Absent::Skip, ..options(FailedCells::Keep) };
    let plan = plan(PLAN);
    let run = run(&plan, &Registry::baselines(), &path, &mut Damaged, &options, &mut |_| Control::Continue);
    assert_eq!(run.unwrap_err().to_string(), "dataset 'moons': half a file");
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
    let mut registry = Registry::baselines();
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
        run_some(&plan, &registry, &path, FailedCells::Retry, usize::MAX).ran,
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
    let mut one_class_short = Toys(|loaded| {
        let only: Vec<usize> = (0..loaded.all.n()).filter(|&row| loaded.all.y()[row] == 0).collect();
        Loaded { all: loaded.all.select(&only), ..loaded }
    });
    let (plan, options) = (plan(PLAN), options(FailedCells::Keep));
    let report =
        run(&plan, &Registry::baselines(), &path, &mut one_class_short, &options, &mut |_| Control::Continue);
    let report = report.unwrap();
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
    let mut splits = Toys(|loaded| {
        let y = loaded.all.y().to_vec();
        let of = |k: usize| y.iter().position(|&label| label == k).expect("both classes");
        let last = |k: usize| y.iter().rposition(|&label| label == k).expect("both classes");
        Loaded { splits: vec![vec![of(0), of(1)], vec![last(0), last(1), of(0)]], ..loaded }
    });
    let (_a, path) = place();
    let (plan, options) = (plan(&text), options(FailedCells::Keep));
    run(&plan, &Registry::baselines(), &path, &mut splits, &options, &mut |_| Control::Continue).unwrap();
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
    run_all(&plan, &Registry::baselines(), &path);
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

/// Everything looks as if it were there, and is not when it is read: a file of several is missing.
struct Hollow;

impl Loader for Hollow {
    fn load(&mut self, dataset: &PlanDataset) -> Result<Loaded, LoadError> {
        Err(LoadError::Absent(format!("get {}", dataset.file)))
    }
}

#[test]
fn a_plan_whose_data_are_all_absent_is_an_error_even_if_they_may_be_skipped() {
    let (_directory, path) = place();
    let skipping = RunOptions { absent: Absent::Skip, ..options(FailedCells::Keep) };
    let error =
        run(&plan(PLAN), &Registry::baselines(), &path, &mut Hollow, &skipping, &mut |_| Control::Continue)
            .expect_err("no table can be made of nothing");
    assert!(matches!(&error, Error::Absent(absent) if !absent.is_empty()), "{error:?}");
    assert!(error.to_string().contains("get "), "{error}");
}

/// Validation rows are the same in every draw, no learner sees them, and the accuracy on them is recorded.
#[test]
fn validation_rows_are_held_out_and_scored() {
    let (_directory, path) = place();
    let with = plan(&PLAN.replacen("title", "validation = 60\ntitle", 1));
    run_all(&with, &Registry::baselines(), &path);
    let records = read_records(&path).unwrap();
    assert!(!records.is_empty());
    for record in &records {
        let [labelled, unlabelled, test] = record.rows;
        assert!(labelled + unlabelled + test <= 140, "200 less 60: {:?}", record.rows);
        let validation = record.validation.expect("it is scored");
        assert!((0.3..=1.0).contains(&validation), "{validation}");
        assert!(record.cell.split.contains("validation 60"), "{}", record.cell.split);
    }
    let too_many = plan(&PLAN.replacen("title", "validation = 200\ntitle", 1));
    let (_directory, path) = place();
    let error = run(
        &too_many,
        &Registry::baselines(),
        &path,
        &mut { TOYS },
        &options(FailedCells::Keep),
        &mut |_| Control::Continue,
    );
    assert!(error.unwrap_err().to_string().contains("leave none to learn from"));
}
