//! How the program ends: every failure in one line on stderr, and an exit code that scripts can rely on.

use std::{
    fmt, io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use flowgmm::{ErrorKind, Need};

use crate::output;

/// The codes, for `--help`.
pub const HELP: &str = "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad data, 4 bad model file, 5 input or \
                        output failed, 6 training diverged, 130 interrupted";

/// Shorthand for this program's results.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a command did not finish.
#[derive(Debug)]
pub enum Failure {
    /// A bug of ours.
    Internal(String),
    /// A request that makes no sense.
    Usage(String),
    /// Content that cannot be used.
    Data(String),
    /// The library said no.
    Library(flowgmm::Error),
    /// The file system said no.
    Io {
        /// The file, directory or stream.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Ctrl-C, with what is left of the work.
    Interrupted(String),
    /// Whoever read our output has seen enough.
    ReaderGone,
}

/// What shells call death by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

impl Failure {
    /// An I/O failure at `path`.
    pub fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// The exit code.
    fn code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Internal(_) => 1,
            Self::Usage(_) => 2,
            Self::Data(_) => 3,
            Self::Library(error) => code(error.kind()),
            Self::Io { .. } => 5,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }
}

/// The exit code of an error of the library.
fn code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Request => 2,
        ErrorKind::Data => 3,
        ErrorKind::ModelFile => 4,
        ErrorKind::Io => 5,
        ErrorKind::Diverged => 6,
        ErrorKind::Cancelled => INTERRUPTED,
    }
}

/// The flag that gives what a request lacks.
fn flag(what: Need) -> &'static str {
    match what {
        Need::LabelColumn => "--label COLUMN",
        Need::LabelFile => "--labels FILE",
        Need::TextEncoder => "--encoder DIR",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internal(what) => write!(f, "internal error: {what}. This is a bug in flowgmm"),
            Self::Usage(what) | Self::Data(what) | Self::Interrupted(what) => f.write_str(what),
            Self::Library(error @ flowgmm::Error::Needed { what, .. }) => {
                write!(f, "{error}. Use {}", flag(*what))
            }
            Self::Library(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::ReaderGone => f.write_str("nobody reads the output"),
        }
    }
}

impl<E: Into<flowgmm::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Library(error.into())
    }
}

/// Runs the program and turns its end into an exit code; a panic is an internal error like any other.
pub fn conclude(run: impl FnOnce() -> Result<()>) -> u8 {
    // Read from the hook: it knows the place, and runs on whichever thread panicked.
    panic::set_hook(Box::new(|info| {
        if flowgmm::tables::is_decoding() {
            return; // a damaged file upset its decoder; the reader turns that into an error
        }
        let text = info.payload_as_str().unwrap_or("panic");
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        say(&Failure::Internal(format!("{text}{place}")));
    }));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            if !matches!(failure, Failure::ReaderGone) {
                say(&failure);
            }
            failure.code()
        }
        Err(_) => 1,
    }
}

fn say(failure: &Failure) {
    output::say(&format!("error: {failure}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of exit codes, as `--help` and the documentation have it.
    #[test]
    fn every_kind_of_error_has_its_code() {
        let table = [
            (ErrorKind::Request, 2),
            (ErrorKind::Data, 3),
            (ErrorKind::ModelFile, 4),
            (ErrorKind::Io, 5),
            (ErrorKind::Diverged, 6),
            (ErrorKind::Cancelled, 130),
        ];
        for (kind, expected) in table {
            assert_eq!(code(kind), expected, "{kind:?}");
            assert!(HELP.contains(&expected.to_string()), "{expected} is not in the help");
        }
    }
}
