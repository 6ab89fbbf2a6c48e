//! How the program ends: every failure in one line on stderr, and an exit code that scripts can rely on.

use std::{
    fmt, io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::ExitCode,
};

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
    /// The reader or the splitter of data said no.
    Problem(semisup::Error),
    /// The columns said no.
    Frame(flowgmm_data::Error),
    /// The reader or writer of files said no.
    Table(flowgmm_tables::Error),
    /// The model said no.
    Model(flowgmm::Error),
    /// The file system said no.
    Io {
        /// The file, directory or stream.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A download failed.
    Transfer(String),
    /// Ctrl-C, with what is left of the work.
    Interrupted(String),
    /// Whoever read our output has seen enough.
    ReaderGone,
}

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
            Self::Problem(error) | Self::Model(flowgmm::Error::Data(error)) => match error {
                semisup::Error::BadPreprocess { .. } => 4,
                semisup::Error::UnknownToy(_) => 2,
                _ => 3,
            },
            Self::Frame(error) | Self::Table(flowgmm_tables::Error::Table(error)) => match error {
                flowgmm_data::Error::BadSchema { .. } | flowgmm_data::Error::BadEncoding { .. } => 4,
                flowgmm_data::Error::UnknownColumn { .. } | flowgmm_data::Error::BadOverride { .. } => 2,
                _ => 3,
            },
            Self::Table(error) => {
                if error.is_io() {
                    5
                } else {
                    3
                }
            }
            Self::Model(error) => match error {
                flowgmm::Error::Config(_) | flowgmm::Error::ForeignCheckpoint { .. } => 2,
                flowgmm::Error::ModelFile { .. } => 4,
                flowgmm::Error::Io { .. } => 5,
                flowgmm::Error::Diverged { .. } => 6,
                flowgmm::Error::Interrupted { .. } => INTERRUPTED,
                flowgmm::Error::Data(_) => 3,
            },
            Self::Io { .. } | Self::Transfer(_) => 5,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }
}

/// What shells call death by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internal(what) => write!(f, "internal error: {what}. This is a bug in flowgmm"),
            Self::Usage(what) | Self::Data(what) | Self::Transfer(what) | Self::Interrupted(what) => {
                f.write_str(what)
            }
            Self::Problem(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::ReaderGone => f.write_str("nobody reads the output"),
        }
    }
}

impl From<semisup::Error> for Failure {
    fn from(error: semisup::Error) -> Self {
        Self::Problem(error)
    }
}

impl From<flowgmm_data::Error> for Failure {
    fn from(error: flowgmm_data::Error) -> Self {
        Self::Frame(error)
    }
}

impl From<flowgmm_tables::Error> for Failure {
    fn from(error: flowgmm_tables::Error) -> Self {
        Self::Table(error)
    }
}

impl From<flowgmm::Error> for Failure {
    fn from(error: flowgmm::Error) -> Self {
        Self::Model(error)
    }
}

/// Runs the program and turns its end into an exit code; a panic is an internal error like any other.
pub fn conclude(run: impl FnOnce() -> Result<()>) -> ExitCode {
    // Read from the hook: it knows the place, and runs on whichever thread panicked.
    panic::set_hook(Box::new(|info| {
        if flowgmm_tables::is_decoding() {
            return; // a damaged file upset its decoder; the reader turns that into an error
        }
        let text = info.payload_as_str().unwrap_or("panic");
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        say(&Failure::Internal(format!("{text}{place}")));
    }));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            if !matches!(failure, Failure::ReaderGone) {
                say(&failure);
            }
            ExitCode::from(failure.code())
        }
        Err(_) => ExitCode::from(1),
    }
}

fn say(failure: &Failure) {
    use io::Write as _;
    // Not `eprintln!`: a closed stderr must not become a second failure.
    let _ = writeln!(io::stderr(), "error: {failure}");
}
