//! What can go wrong, in words a user can act on.
//!
//! Front ends translate [`Error::kind`]: the command into exit codes, a server into HTTP statuses, Python into exceptions.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::units;

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything this crate reports instead of panicking.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Rows that cannot be learnt from.
    #[error(transparent)]
    Data(semisup::Error),

    /// Columns that are missing, damaged or of another kind than expected.
    #[error(transparent)]
    Columns(flowgmm_data::Error),

    /// A table that cannot be read or written.
    #[error(transparent)]
    Table(flowgmm_tables::Error),

    /// Images or a dataset that cannot be read.
    #[error(transparent)]
    Images(#[from] flowgmm_datasets::Error),

    /// A sentence encoder that cannot be used.
    #[error(transparent)]
    Encoder(flowgmm_encoder::Error),

    /// A classical learner, such as a teacher, that could not be fitted.
    #[error(transparent)]
    Learner(flowgmm_learners::Error),

    /// Content that cannot be used, for a reason of its own.
    #[error("{0}")]
    Content(String),

    /// A request that makes no sense for these data or this model.
    #[error("{0}")]
    Request(String),

    /// Something that the request lacks.
    #[error("{message}")]
    Needed {
        /// What it lacks.
        what: Need,
        /// Why it is needed, and for what.
        message: String,
    },

    /// A configuration that describes no fit.
    #[error("invalid configuration: {0}")]
    Config(String),

    /// Training produced numbers that are not finite, again and again.
    #[error(
        "training diverged at step {step}: {cause}; {rollbacks} roll-backs with ever smaller steps did not help. \
         Lower the learning rate, or look for extreme values in the data"
    )]
    Diverged {
        /// Optimiser step at which it happened last.
        step: usize,
        /// Which quantity was not finite.
        cause: String,
        /// How often the trainer went back to a good state before it gave up.
        rollbacks: usize,
    },

    /// The observer asked to stop while training; the checkpoint, if any, holds the work.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// Optimiser steps done.
        step: usize,
    },

    /// The observer asked to stop while something else than training was done.
    #[error("interrupted while {during}")]
    Cancelled {
        /// What was being done.
        during: String,
    },

    /// A watch stopped the work below the front door.
    #[error("interrupted")]
    Stopped,

    /// Workers that train together and could not, or no longer agree.
    #[error("the workers of this fit cannot go on: {0}")]
    Workers(String),

    /// A model or checkpoint file that is damaged, foreign or from another version.
    #[error("{name}: not a usable model file: {reason}")]
    ModelFile {
        /// The file, or what stands for it.
        name: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A checkpoint of another run: other data, configuration or seed.
    #[error("{}: this checkpoint belongs to another run ({reason}); use another directory, or remove it", path.display())]
    ForeignCheckpoint {
        /// The checkpoint.
        path: PathBuf,
        /// Which part differs.
        reason: String,
    },

    /// A checkpoint that a fit from the beginning would replace.
    #[error("{}: {whose} is there, which would be replaced; resume it, remove it, or choose another directory", path.display())]
    CheckpointExists {
        /// The checkpoint.
        path: PathBuf,
        /// What it is, in words.
        whose: &'static str,
    },

    /// A checkpoint directory that another fit is using.
    #[error("{}: another fit is using this checkpoint directory; wait for it to end, or choose another directory", directory.display())]
    CheckpointInUse {
        /// The directory.
        directory: PathBuf,
    },

    /// A fit that needs more memory than there is.
    #[error(
        "this fit needs about {} of memory, and {} are available: most of it is for {most}. Lower {remedy}",
        units::bytes(*needed), units::bytes(*available)
    )]
    Memory {
        /// Bytes that the fit needs, about.
        needed: f64,
        /// Bytes that the machine has left.
        available: f64,
        /// What most of them are for.
        most: &'static str,
        /// Which settings make that less.
        remedy: &'static str,
    },

    /// Rows that memory does not hold, and the disk does not take.
    #[error(transparent)]
    RowCache(flowgmm_core::Error),

    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a request may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The column of a table that holds the labels.
    LabelColumn,
    /// The file with the labels of IDX images.
    LabelFile,
    /// The directory of a sentence encoder.
    TextEncoder,
}

/// Errors by what the user can do about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Change the request or its settings.
    Request,
    /// Mend the data.
    Data,
    /// Take another model file.
    ModelFile,
    /// Look at disk, network or permissions.
    Io,
    /// Change the training settings.
    Diverged,
    /// Nothing: the user asked for it.
    Cancelled,
}

impl Error {
    /// What the user can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Data(error) => of_problem(error),
            Self::Columns(error) => of_columns(error),
            Self::Table(flowgmm_tables::Error::Table(error)) => of_columns(error),
            Self::Table(error) if error.is_io() => ErrorKind::Io,
            Self::Table(_) | Self::Learner(_) | Self::Content(_) => ErrorKind::Data,
            Self::Images(error) => of_images(error),
            Self::Encoder(flowgmm_encoder::Error::Stopped { .. }) => ErrorKind::Cancelled,
            Self::Encoder(flowgmm_encoder::Error::Io { .. }) => ErrorKind::Io,
            Self::Needed { what: Need::LabelFile, .. } => ErrorKind::Data,
            Self::Encoder(_) | Self::Request(_) | Self::Needed { .. } | Self::Config(_) => ErrorKind::Request,
            Self::ForeignCheckpoint { .. } | Self::CheckpointExists { .. } => ErrorKind::Request,
            Self::CheckpointInUse { .. } | Self::Memory { .. } => ErrorKind::Request,
            Self::Diverged { .. } => ErrorKind::Diverged,
            Self::Interrupted { .. } | Self::Cancelled { .. } | Self::Stopped => ErrorKind::Cancelled,
            Self::ModelFile { .. } => ErrorKind::ModelFile,
            Self::Io { .. } | Self::RowCache(_) | Self::Workers(_) => ErrorKind::Io,
        }
    }

    /// An error of the file system at `path`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), source }
    }
}

fn of_problem(error: &semisup::Error) -> ErrorKind {
    match error {
        semisup::Error::BadPreprocess { .. } => ErrorKind::ModelFile,
        semisup::Error::UnknownToy(_) => ErrorKind::Request,
        _ => ErrorKind::Data,
    }
}

fn of_columns(error: &flowgmm_data::Error) -> ErrorKind {
    use flowgmm_data::Error as E;
    match error {
        E::BadSchema { .. } | E::BadEncoding { .. } => ErrorKind::ModelFile,
        E::UnknownColumn { .. } | E::BadOverride { .. } => ErrorKind::Request,
        _ => ErrorKind::Data,
    }
}

fn of_images(error: &flowgmm_datasets::Error) -> ErrorKind {
    use flowgmm_datasets::{Blame, Error as E};
    match (error, error.blame()) {
        (E::Stopped { .. }, _) => ErrorKind::Cancelled,
        (_, Blame::Usage) => ErrorKind::Request,
        (_, Blame::Data) => ErrorKind::Data,
        (_, Blame::Io) => ErrorKind::Io,
    }
}

impl From<semisup::Error> for Error {
    fn from(error: semisup::Error) -> Self {
        Self::Data(error)
    }
}

impl From<semisup::Stopped> for Error {
    fn from(_: semisup::Stopped) -> Self {
        Self::Stopped
    }
}

impl From<flowgmm_data::Error> for Error {
    fn from(error: flowgmm_data::Error) -> Self {
        Self::Columns(error)
    }
}

impl From<flowgmm_tables::Error> for Error {
    fn from(error: flowgmm_tables::Error) -> Self {
        match error {
            flowgmm_tables::Error::Table(error) => Self::Columns(error),
            other => Self::Table(other),
        }
    }
}

impl From<flowgmm_learners::Error> for Error {
    fn from(error: flowgmm_learners::Error) -> Self {
        match error {
            flowgmm_learners::Error::Data(error) => Self::Data(error),
            flowgmm_learners::Error::Stopped(_) => Self::Stopped,
            other => Self::Learner(other),
        }
    }
}

impl From<flowgmm_encoder::Error> for Error {
    fn from(error: flowgmm_encoder::Error) -> Self {
        Self::Encoder(error)
    }
}

impl From<flowgmm_core::Error> for Error {
    fn from(error: flowgmm_core::Error) -> Self {
        use flowgmm_core::Error as E;
        match error {
            E::Data(error) => Self::Data(error),
            E::Config(what) => Self::Config(what),
            E::Diverged { step, cause, rollbacks } => Self::Diverged { step, cause, rollbacks },
            E::Interrupted { step } => Self::Interrupted { step },
            E::ModelFile { path, reason } => Self::ModelFile { name: path.display().to_string(), reason },
            E::ForeignCheckpoint { path, reason } => Self::ForeignCheckpoint { path, reason },
            E::CheckpointExists { path, whose } => Self::CheckpointExists { path, whose },
            E::CheckpointInUse { directory } => Self::CheckpointInUse { directory },
            error @ E::RowCache { .. } => Self::RowCache(error),
            E::Io { path, source } => Self::Io { path, source },
            E::Workers(what) => Self::Workers(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_what_can_be_done_about_it() {
        let kind = |error: Error| error.kind();
        assert_eq!(kind(semisup::Error::NoLabels { name: "t".into() }.into()), ErrorKind::Data);
        assert_eq!(kind(semisup::Error::BadPreprocess { why: String::new() }.into()), ErrorKind::ModelFile);
        assert_eq!(kind(flowgmm_data::Error::BadSchema { why: String::new() }.into()), ErrorKind::ModelFile);
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let table = flowgmm_tables::Error::Io { name: "t".into(), source: gone() };
        assert_eq!(kind(table.into()), ErrorKind::Io);
        assert_eq!(kind(Error::io(Path::new("m"))(gone())), ErrorKind::Io);
        assert_eq!(kind(flowgmm_core::Error::Config("depth".into()).into()), ErrorKind::Request);
        assert_eq!(kind(flowgmm_core::Error::Interrupted { step: 3 }.into()), ErrorKind::Cancelled);
        assert_eq!(kind(semisup::Stopped.into()), ErrorKind::Cancelled);
        let diverged = flowgmm_core::Error::Diverged { step: 1, cause: String::new(), rollbacks: 0 };
        assert_eq!(kind(diverged.into()), ErrorKind::Diverged);
    }
}
