//! What can go wrong before or between cells. What goes wrong within a cell is recorded in it.

use std::{io, path::PathBuf};

use flowgmm::ErrorKind;

use crate::Skipped;

/// Why a plan cannot be run, its results cannot be kept, or a learner cannot be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A plan that is not TOML, or not of our fields.
    #[error("the plan cannot be read: {0}")]
    Toml(#[from] toml::de::Error),
    /// A plan that makes no sense.
    #[error("the plan: {0}")]
    Plan(String),
    /// A name that no learner has.
    #[error("unknown learner '{name}'; known are {known}")]
    UnknownLearner {
        /// The name.
        name: String,
        /// All known names.
        known: String,
    },
    /// Training steps for a learner that is not trained in steps, or none.
    #[error("'{name}' cannot be trained for {steps} steps")]
    Steps {
        /// The learner.
        name: String,
        /// The steps asked for.
        steps: usize,
    },
    /// Datasets of a plan that are not there.
    #[error("{}", listed(.0))]
    Absent(Vec<Skipped>),
    /// A dataset that is there but cannot be used.
    #[error("dataset '{dataset}': {why}")]
    Unusable {
        /// Its name in the plan.
        dataset: String,
        /// What is wrong with it.
        why: String,
    },
    /// A learner that gave no model.
    #[error("{name} failed: {why}")]
    Learner {
        /// The learner.
        name: String,
        /// What it says.
        why: String,
    },
    /// Rows that cannot be read.
    #[error(transparent)]
    Rows(#[from] flowgmm::Error),
    /// A line of the results that is not ours, and not the last, which a kill may tear.
    #[error("{}, line {line}: not a result: {why}. Repair or remove the line, or choose another file", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// Two runs on one file of results.
    #[error("{}: another run is writing to it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Threads that the system does not give.
    #[error("the threads of the jobs cannot be started: {0}")]
    Threads(String),
    /// A Markdown file without the block.
    #[error("no block to replace: {0}")]
    Block(String),
    /// Labels drawn at random that are all of one class.
    #[error("{}: at least two classes are needed", one_class(*.n, .class))]
    OneLabelledClass {
        /// How many labels.
        n: usize,
        /// Their class.
        class: String,
    },
    /// Labels that cannot be drawn.
    #[error(transparent)]
    Data(#[from] semisup::Error),
}

fn listed(absent: &[Skipped]) -> String {
    let line = |skipped: &Skipped| format!("dataset '{}': {}", skipped.dataset, skipped.why);
    absent.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn one_class(n: usize, class: &str) -> String {
    match n {
        1 => format!("the 1 random label is of class '{class}'"),
        _ => format!("all {n} random labels are of class '{class}'"),
    }
}

impl Error {
    /// What the user can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } | Self::Threads(_) => ErrorKind::Io,
            Self::Toml(_) | Self::Plan(_) | Self::UnknownLearner { .. } | Self::Steps { .. } => {
                ErrorKind::Request
            }
            Self::Rows(error) => error.kind(),
            Self::Absent(_)
            | Self::Unusable { .. }
            | Self::Learner { .. }
            | Self::BadLine { .. }
            | Self::Busy { .. }
            | Self::Block(_)
            | Self::OneLabelledClass { .. }
            | Self::Data(_) => ErrorKind::Data,
        }
    }

    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Error::Io { path: path.to_path_buf(), source }
    }
}
