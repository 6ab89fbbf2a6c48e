//! Errors of finding, downloading and reading datasets: what went wrong, where, and what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

/// An error of this crate.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed to read or write a file.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried: "read", "write", ...
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// No room for a download.
    #[error(
        "the disk of {} is full after {written} bytes. What was downloaded is kept: make room, and the next \
         attempt resumes from there, or choose another directory",
        path.display()
    )]
    DiskFull {
        /// The unfinished file.
        path: PathBuf,
        /// What it holds.
        written: u64,
    },

    /// A file that is cut off, altered, or not what its name says.
    #[error("{} cannot be read as {format}: {why}. Take another copy of it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// What is wrong with it.
        why: String,
    },

    /// A file that reads well but whose rows do not make a dataset.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with the rows.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// A table or array that could not be read; the message names the file.
    #[error(transparent)]
    Table(#[from] flowgmm_tables::Error),

    /// No dataset has this name.
    #[error("there is no dataset '{name}'. {hint}")]
    UnknownDataset {
        /// The name asked for.
        name: String,
        /// The closest name, and all names.
        hint: String,
    },

    /// A dataset of another kind than requested, such as images instead of a table.
    #[error("'{name}' holds {found}, not {wanted}")]
    WrongKind {
        /// The dataset.
        name: &'static str,
        /// What it holds.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },

    /// A file is in none of the directories searched.
    #[error("{file} of '{dataset}' was not found. Searched {}. {remedy}", places(looked))]
    Absent {
        /// The dataset.
        dataset: &'static str,
        /// The file.
        file: String,
        /// Where it was looked for.
        looked: Vec<PathBuf>,
        /// How to get it.
        remedy: String,
    },

    /// A file without an address to download it from.
    #[error(
        "{file} of '{dataset}' has no address to download from. Get it from {home} and put it at {}",
        place.display()
    )]
    NoSource {
        /// The dataset.
        dataset: &'static str,
        /// The file.
        file: &'static str,
        /// The page of the dataset.
        home: &'static str,
        /// Where it belongs.
        place: PathBuf,
    },

    /// No directory for downloads is known.
    #[error("no directory for downloads is set, and one is needed")]
    NoCache,

    /// The store was told not to use the network.
    #[error(
        "{file} of '{dataset}' is not in {} and this store is offline. Put it there, or allow downloads",
        place.display()
    )]
    Offline {
        /// The dataset.
        dataset: &'static str,
        /// The file.
        file: &'static str,
        /// The directory.
        place: PathBuf,
    },

    /// The server answered, but not with the file.
    #[error("{url} answered with status {status}{}", status_hint(*status))]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },

    /// The network or the server failed.
    #[error(
        "cannot download {url}: {why}. What was downloaded is kept: the next attempt resumes from there. A proxy \
         between here and the server must be set, and so must its certificates if it has its own"
    )]
    Network {
        /// The address.
        url: String,
        /// What happened.
        why: String,
    },

    /// An address this build or this crate cannot use.
    #[error("cannot download {url}: {why}")]
    Address {
        /// The address.
        url: String,
        /// Why not.
        why: String,
    },

    /// Every address of a file failed.
    #[error("no address of {file} worked:{}", errors.iter().map(|error| format!("\n  {error}")).collect::<String>())]
    AllFailed {
        /// The file.
        file: &'static str,
        /// One error for each address.
        errors: Vec<Error>,
    },

    /// A download, or a file on disk, of the wrong length.
    #[error("{what} has {found} bytes, expected {expected}. {remedy}")]
    WrongSize {
        /// The address or the file.
        what: String,
        /// Its length.
        found: u64,
        /// The known length.
        expected: u64,
        /// What to do.
        remedy: &'static str,
    },

    /// A download, or a file on disk, with other content than is known.
    #[error("{what} has the {kind} {found}, expected {expected}. {remedy}")]
    WrongChecksum {
        /// The address or the file.
        what: String,
        /// MD5 or SHA-256.
        kind: &'static str,
        /// What was computed.
        found: String,
        /// What is known.
        expected: &'static str,
        /// What to do.
        remedy: &'static str,
    },

    /// Another process is writing the same file.
    #[error("another process is downloading {}: wait until it is done", path.display())]
    Busy {
        /// The unfinished file.
        path: PathBuf,
    },

    /// The caller stopped a download.
    #[error("stopped. What was downloaded of {} is kept: the next attempt resumes from there", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },

    /// Images that cannot be used, or that do not fit their labels.
    #[error("{}: {why}", path.display())]
    Images {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },

    /// No labels were drawn for this many, or for this seed.
    #[error("{}: {why}", path.display())]
    Split {
        /// The file of the splits.
        path: PathBuf,
        /// What does not fit, and what would.
        why: String,
    },
}

/// What has to change before an error goes away: the request, the data, or the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The request: an unknown name, a wrong kind.
    Usage,
    /// The content of a file.
    Data,
    /// The machine or the network.
    Io,
}

impl Error {
    /// What has to change before it goes away.
    pub fn blame(&self) -> Blame {
        match self {
            Self::UnknownDataset { .. } | Self::WrongKind { .. } => Blame::Usage,
            Self::Damaged { .. }
            | Self::Content { .. }
            | Self::Split { .. }
            | Self::Images { .. }
            | Self::WrongSize { .. }
            | Self::WrongChecksum { .. } => Blame::Data,
            Self::Table(error) if !error.is_io() => Blame::Data,
            _ => Blame::Io,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }

    pub(crate) fn damaged(path: &Path, format: &'static str, why: impl ToString) -> Self {
        Self::Damaged { path: path.into(), format, why: why.to_string() }
    }

    pub(crate) fn images(path: &Path, why: impl ToString) -> Self {
        Self::Images { path: path.into(), why: why.to_string() }
    }

    /// A failed read: damaged content if a decoder says so, else the machine's fault.
    pub(crate) fn reading(path: &Path, format: &'static str, error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.kind() {
            UnexpectedEof => Self::damaged(path, format, "it ends too early"),
            InvalidData | InvalidInput => Self::damaged(path, format, error),
            _ => Self::io("read", path, error),
        }
    }

    pub(crate) fn content(path: &Path, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Content { path: path.into(), source: source.into() }
    }
}

fn places(looked: &[PathBuf]) -> String {
    looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn status_hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": the server does not allow it. A proxy or a login may stand between",
        404 | 410 => ": the file is no longer at this address",
        429 | 503 => ": the server is busy, try again later",
        _ => "",
    }
}
