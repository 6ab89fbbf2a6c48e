//! What can go wrong before or between cells. What goes wrong within a cell is recorded in it.

use std::{io, path::PathBuf};

/// Why a plan cannot be run, or its results cannot be kept.
#[derive(Debug, thiserror::Error)]
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
    /// A name that nobody registered.
    #[error("the plan: unknown learner '{name}'; known are {known}")]
    UnknownLearner {
        /// The name.
        name: String,
        /// All known names.
        known: String,
    },
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
    /// A Markdown file without the block.
    #[error("no block to replace: {0}")]
    Block(String),
    /// Labels that cannot be drawn.
    #[error(transparent)]
    Data(#[from] semisup::Error),
}

impl Error {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Error::Io { path: path.to_path_buf(), source }
    }
}
