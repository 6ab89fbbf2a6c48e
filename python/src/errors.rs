//! Errors of the library as Python exceptions.

use flowgmm::{Error, ErrorKind, Need};
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError},
};

create_exception!(
    flowgmm,
    DivergedError,
    PyRuntimeError,
    "Training produced numbers that are not finite, again and again."
);
create_exception!(flowgmm, InternalError, PyRuntimeError, "A bug in flowgmm. Please report it.");

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    match error {
        Error::Io { path, source } => {
            let text = format!("{}: {source}", path.display());
            // The subclass, such as FileNotFoundError, follows from the number.
            match source.raw_os_error() {
                Some(number) => PyOSError::new_err((number, source.to_string(), path)),
                None => PyOSError::new_err(text),
            }
        }
        Error::Needed { what: Need::TextEncoder, ref message } => {
            PyValueError::new_err(format!("{message}. Use encoder=DIRECTORY"))
        }
        error => of_kind(error.kind(), error.to_string()),
    }
}

fn of_kind(kind: ErrorKind, text: String) -> PyErr {
    match kind {
        ErrorKind::Request | ErrorKind::Data | ErrorKind::ModelFile => PyValueError::new_err(text),
        ErrorKind::Io => PyOSError::new_err(text),
        ErrorKind::Diverged => DivergedError::new_err(text),
        ErrorKind::Cancelled => PyKeyboardInterrupt::new_err(text),
    }
}

/// The exception of a panic, which is our bug.
pub fn bug(what: &str) -> PyErr {
    InternalError::new_err(format!("internal error: {what}. This is a bug in flowgmm"))
}
