//! Comparisons of learners: everything behind `flowgmm bench` and `flowgmm fit --learner`, except arguments and terminal.
//!
//! ```text
//! Plan (TOML) + Registry (name -> learner) + Loader (dataset -> rows)
//!     -run-> results.jsonl (one line for each cell: dataset x labels x learner x draw)
//!     -Summary, Suite-> Markdown, CSV, JSON, HTML
//! name + Training -fit_learner-> LearnerFit -> predictions, scores
//! ```
//!
//! What holds: a finished cell is on disk before its job begins another, so a run can be killed and started again at any time; a
//! cell runs anew only if its data rule, labels, draw, learner or the learner's settings change; a cell that fails or
//! panics is a result like others; a dataset that is not there is an error before any cell runs, unless the caller asks
//! to skip it. The numbers do not depend on the number of threads as long as those of the learners do not; seconds and
//! memory do.
//!
//! ```
//! use std::num::NonZeroUsize;
//!
//! use flowgmm::Control;
//! use flowgmm_bench::{
//!     Absent, FailedCells, LoadError, Loaded, Loader, Plan, PlanDataset, RunOptions, Summary, accuracy_table,
//!     read_records, registry, run,
//! };
//!
//! struct Moons;
//! impl Loader for Moons {
//!     fn load(&mut self, _: &PlanDataset) -> Result<Loaded, LoadError> {
//!         let all = semisup::Toy::Moons.sample(500, &mut semisup::rng(1));
//!         Ok(Loaded { all, test: None, splits: vec![] })
//!     }
//! }
//! let plan = Plan::parse(r#"
//!     title = "Moons"
//!     learners = ["knn", "label-spreading"]
//!     draws = { first = 1, count = 2 }
//!     [[dataset]]
//!     name = "moons"
//!     file = "moons"
//!     labels = 5
//! "#)?;
//! let results = std::env::temp_dir().join(format!("flowgmm-bench-doc-{}.jsonl", std::process::id()));
//! let options = RunOptions { failed: FailedCells::Keep, absent: Absent::Error, jobs: NonZeroUsize::MIN, version: "doc".into() };
//! let report = run(&plan, &registry(), &results, &mut Moons, &options, &mut |_| Control::Continue)?;
//! assert_eq!((report.ran, report.failed), (4, 0));
//! let summary = Summary::new(&plan, &read_records(&results)?);
//! assert!(accuracy_table(&summary).starts_with("| learner | moons (5) |"));
//! # std::fs::remove_file(&results).unwrap();
//! # Ok::<(), flowgmm_bench::Error>(())
//! ```

mod compare;
mod draw;
mod error;
mod events;
mod falls;
mod jobs;
mod known;
mod labels;
mod learners;
mod load;
mod markdown;
mod measure;
mod named;
mod output;
mod page;
pub mod paper;
mod plan;
mod record;
mod registry;
mod results_file;
mod run;
mod stats;
mod student;
mod suite;
mod suite_table;
mod summary;

pub use compare::{LearnerFit, LearnerReport, LearnerScores, fit_learner, fit_learner_watched};
pub use draw::{DrawRule, DrawnLabels, draw_labels};
pub use error::Error;
pub use events::{Absent, FailedCells, RunEvent, RunObserver, RunOptions, RunReport, Skipped};
pub use falls::{Fall, Falls};
pub use flowgmm_learners::{AnyError, AnyLearner};
pub use labels::LabelSource;
pub use learners::{Diglm, DiglmModel, registry};
pub use load::{DataDirectory, LoadError, Loaded, Loader};
pub use markdown::{accuracy_table, comparison_table, explanation, replace_block, update_file};
pub use named::NamedProblem;
pub use output::{csv, in_plan_order, json, write_outputs};
pub use page::page;
pub use plan::{Draws, Plan, PlanDataset, TestRows};
pub use record::{CellKey, CellScores, LEAST_PROBABILITY, Outcome, Record};
pub use registry::{Chosen, Registry};
pub use results_file::{ResultsFile, read_records};
pub use run::run;
pub use stats::{MeanSd, Paired, least_p_flip, paired};
pub use suite::{AgainstShares, Group, LARGE_SHORTFALL, Overall, Shortfall, Suite};
pub use suite_table::suite_tables;
pub use summary::{Entry, SIGNIFICANCE, Summary, SummaryRow, Versus};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
