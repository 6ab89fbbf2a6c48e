//! Any set of learners on any set of tables, numbers of labels and draws: run, resumed, compared, written as tables.
//!
//! ```text
//! Plan (TOML) + Registry (name -> learner) + loader (dataset -> rows)
//!     -run-> results.jsonl (one line for each cell: dataset x labels x learner x draw)
//!     -Summary-> Markdown, CSV, JSON, HTML
//! ```
//!
//! What holds: a finished cell is on disk before the next begins, so a run can be killed and started again at any
//! time; a cell runs anew only if its data rule, labels, draw, learner or the learner's settings change; a cell that
//! fails or panics is a result like others; a dataset that is not there is skipped by name. The numbers do not depend
//! on the number of threads as long as those of the learners do not; seconds and memory do.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use flowgmm_bench::{Failed, Loaded, Options, Plan, Registry, Summary, accuracy_table, read_records, run};
//!
//! let plan = Plan::parse(r#"
//!     title = "Moons"
//!     learners = ["knn", "label-spreading"]
//!     draws = { first = 1, count = 2 }
//!     [[dataset]]
//!     name = "moons"
//!     file = "moons"
//!     labels = 5
//! "#)?;
//! let results = std::env::temp_dir().join(format!("arena-doc-{}.jsonl", std::process::id()));
//! let moons = semisup::Toy::Moons.sample(500, &mut semisup::rng(1));
//! let mut load = |_: &_| Ok(Some(Loaded { all: moons.clone(), test: None, splits: vec![] }));
//! let options = Options { cancel: &AtomicBool::new(false), failed: Failed::Keep, version: "doc".into() };
//! let report = run(&plan, &Registry::rivals(), &results, &mut load, &options, &mut |_| {})?;
//! assert_eq!((report.ran, report.failed), (4, 0));
//! let summary = Summary::new(&plan, &read_records(&results)?);
//! assert!(accuracy_table(&summary).starts_with("| learner | moons (5) |"));
//! # std::fs::remove_file(&results).unwrap();
//! # Ok::<(), flowgmm_bench::Error>(())
//! ```

mod diglm;
mod draw;
mod error;
mod markdown;
mod measure;
mod output;
mod page;
mod plan;
mod record;
mod registry;
mod run;
mod stats;
mod store;
mod student;
mod summary;

pub use diglm::{Diglm, DiglmModel};
pub use draw::{DrawRule, DrawnLabels, draw_labels};
pub use error::Error;
pub use flowgmm_learners::{AnyError, AnyLearner};
pub use markdown::{accuracy_table, comparison_table, explanation, replace_block, update_file};
pub use output::{csv, json, write_outputs};
pub use page::page;
pub use plan::{Dataset, Draws, LabelSource, Plan, TestRows};
pub use record::{Cell, CellScores, Outcome, Record};
pub use registry::{Chosen, Registry};
pub use run::{Failed, Loaded, Loader, Options, Progress, RunReport, Skipped, run};
pub use stats::{Paired, Spread, least_p_flip, paired};
pub use store::{Store, read_records};
pub use summary::{Entry, Row, SIGNIFICANCE, Summary, Versus};

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
